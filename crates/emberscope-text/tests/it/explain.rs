//! The plan as text and the plan as data, of the same execution.

use emberscope_log::block::ParseOptions;
use emberscope_log::event::plan::{PlanTree, plan_with_serde};
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::discover;
use emberscope_model::load::load;
use emberscope_text::explain::{Explained, parse};
use std::path::Path;

/// Names in pre-order with their depth, without what only one side shows.
fn shape(tree: &PlanTree) -> Vec<(usize, String)> {
    let mut depths: Vec<Option<usize>> = Vec::new();
    let mut shape = Vec::new();
    for node in &tree.nodes {
        let name = tree.text(node.name).trim_end().to_owned();
        let parent = node.parent.map(|parent| parent as usize);
        let depth = match parent {
            None => Some(0),
            // Below a reused exchange the text has nothing.
            Some(parent) => depths[parent].map(|depth| depth + 1),
        };
        depths.push(depth.filter(|_| !name.starts_with("Reused")));
        // Of a subquery that is used again the text has only the expression.
        if let Some(depth) = depth
            && name != "ReusedSubquery"
        {
            shape.push((depth, name));
        }
    }
    shape
}

fn drawn(shape: &[(usize, String)]) -> String {
    shape.iter().map(|(depth, name)| format!("{}{name}\n", "  ".repeat(*depth))).collect()
}

#[test]
fn the_text_in_a_log_is_the_plan_in_the_log() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs");
    let (mut same, mut differ) = (0, Vec::new());
    let mut folders: Vec<_> = std::fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        for source in discover(folder.to_str().unwrap()).unwrap().runs {
            let keep = ParseOptions { keep_plan_text: true, ..ParseOptions::default() };
            let run = load(&source, ScanOptions::default(), keep, &|_| {});
            for execution in &run.sql_executions {
                for version in &execution.versions {
                    let Some(text) = version.text.and_then(|text| run.blob_text(text)) else { continue };
                    let Some(tree) = run.plan_tree(version) else { continue };
                    let explained: Explained = parse(&text).unwrap_or_default();
                    let (expected, found) = (shape(&tree), shape(&explained.tree()));
                    if expected == found {
                        same += 1;
                    } else {
                        differ.push(format!(
                            "{} SQL {}\n{text}\n--- log\n{}--- text\n{}",
                            folder.display(),
                            execution.id,
                            drawn(&expected),
                            drawn(&found)
                        ));
                    }
                }
            }
        }
    }
    assert!(same > 100, "{same} plans");
    assert!(
        differ.is_empty(),
        "{} of {} differ:\n{}",
        differ.len(),
        same + differ.len(),
        differ.join("\n=====\n")
    );
}

/// What the script `fixtures/scenarios/explain.py` wrote.
fn data(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

#[test]
fn each_form_of_explain_is_the_plan_before_it_ran() {
    for version in ["3.5.9", "4.3.0"] {
        let logged = plan_with_serde(data(&format!("explain-{version}/initial.json")).as_bytes()).unwrap();
        for form in ["formatted", "extended", "simple", "show"] {
            let explained = parse(&data(&format!("explain-{version}/{form}.txt"))).unwrap();
            assert_eq!(drawn(&shape(&explained.tree())), drawn(&shape(&logged)), "{version} {form}");
            assert_eq!(explained.is_final, Some(false));
            assert_eq!(explained.is_formatted, matches!(form, "formatted" | "show"), "{version} {form}");
        }
        let logged = plan_with_serde(data(&format!("explain-{version}/final.json")).as_bytes()).unwrap();
        let explained = parse(&data(&format!("explain-{version}/final.txt"))).unwrap();
        assert_eq!(drawn(&shape(&explained.tree())), drawn(&shape(&logged)), "{version} final");
        assert_eq!(explained.is_final, Some(true));
    }
}

/// Expression ids differ between two plannings of one query; where no block tells the output, logs have more.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut is_id = false;
    for character in text.chars() {
        is_id = (is_id && character.is_ascii_alphanumeric()) || matches!(character, '#' | '=');
        if !is_id {
            out.push(character);
        }
    }
    out
}

#[test]
fn operators_carry_their_arguments_as_logs_have_them() {
    let logged = plan_with_serde(data("explain-3.5.9/initial.json").as_bytes()).unwrap();
    let details: Vec<String> =
        logged.nodes.iter().map(|node| without_numbers(logged.text(node.simple_string))).collect();
    for (form, least) in [("formatted", 22), ("simple", 26)] {
        let explained = parse(&data(&format!("explain-3.5.9/{form}.txt"))).unwrap();
        let same = explained
            .operators
            .iter()
            .zip(&details)
            .filter(|(operator, detail)| without_numbers(&operator.simple_string) == **detail)
            .count();
        assert!(same >= least, "{form}: {same} of {} operators", details.len());
    }
    let exchange = |form: &str| {
        let explained = parse(&data(&format!("explain-3.5.9/{form}.txt"))).unwrap();
        let found = explained.operators.iter().find(|operator| operator.name == "Exchange").unwrap();
        without_numbers(&found.simple_string)
    };
    assert_eq!(exchange("formatted"), "Exchange hashpartitioning(name, 6), ENSURE_REQUIREMENTS, [plan_id]");
    assert_eq!(exchange("simple"), exchange("formatted"));
}

#[test]
fn a_cut_or_damaged_text_gives_what_is_there() {
    let text = data("explain-3.5.9/formatted.txt");
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        if let Some(explained) = parse(&text[..cut]) {
            explained.plan_info();
            assert!(
                explained.operators.iter().enumerate().all(|(at, one)| one.parent.is_none_or(|p| p < at))
            );
        }
    }
    let half = parse(&text[..text.len() / 2]).unwrap();
    assert_eq!(half.operators[0].name, "AdaptiveSparkPlan");
    for text in
        ["", "\n\n", "SELECT 1", "Exception in thread main", "+- +- +- x", "* (", "(1) ", ":- :- a (1)"]
    {
        parse(text);
    }
    assert_eq!(parse("SELECT a, count(*) FROM t GROUP BY a"), None);
    assert_eq!(parse("no plan at all\nand more\n"), None);
}

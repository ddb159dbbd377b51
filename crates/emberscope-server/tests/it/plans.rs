//! SQL executions and their plans.

use crate::views::Run;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name}: {value}"))
}

#[test]
fn plans_are_whole_graphs() {
    for fixture in ["sql-aqe-4.3.0", "sql-noaqe-3.4.4", "plans-4.3.0", "python-udf-4.3.0", "cache-4.3.0"] {
        let run = Run::of(fixture);
        for row in list(&run.json("sql"), "executions") {
            let id = &row["id"];
            let execution = run.json(&format!("sql/{id}"));
            assert_eq!(&execution["execution"], row, "{fixture} {id}");
            for version in list(&execution, "versions") {
                if version["has_tree"] != json!(true) {
                    continue;
                }
                let number = &version["version"];
                let plan = run.json(&format!("sql/{id}/plans/{number}"));
                let nodes: BTreeSet<i64> =
                    list(&plan, "nodes").iter().map(|node| node["id"].as_i64().unwrap()).collect();
                assert!(!nodes.is_empty(), "{fixture} {id} {number}");
                for edge in list(&plan, "edges") {
                    assert!(nodes.contains(&edge["from"].as_i64().unwrap()), "{edge}");
                    assert!(nodes.contains(&edge["to"].as_i64().unwrap()), "{edge}");
                }
                let clusters: BTreeSet<i64> =
                    list(&plan, "clusters").iter().map(|cluster| cluster["id"].as_i64().unwrap()).collect();
                for node in list(&plan, "nodes") {
                    assert!(node["cluster"].as_i64().is_none_or(|id| clusters.contains(&id)), "{node}");
                }
                let of_nodes: f64 =
                    list(&plan, "nodes").iter().filter_map(|node| node["time_ms"].as_f64()).sum();
                if let Some(total) = plan["time_ms"].as_f64() {
                    assert!((of_nodes - total).abs() < 1.0, "{fixture} {id} {number}: {of_nodes} {total}");
                }
            }
        }
    }
}

#[test]
fn time_of_a_plan_is_run_time_of_its_stages() {
    let run = Run::of("sql-aqe-4.3.0");
    for row in list(&run.json("sql"), "executions") {
        let id = &row["id"];
        let execution = run.json(&format!("sql/{id}"));
        let plan = run.json(&format!("sql/{id}/plans/last"));
        let of_stages: i64 =
            list(&execution, "stages").iter().filter_map(|stage| stage["work"]["run_time_ms"].as_i64()).sum();
        let total = plan["time_ms"].as_f64().unwrap();
        assert!(total <= of_stages as f64 + 1.0, "{id}: {total} of {of_stages}");
    }
}

#[test]
fn changes_between_versions() {
    let run = Run::of("sql-aqe-4.3.0");
    let mut has_change = false;
    for row in list(&run.json("sql"), "executions") {
        let (id, versions) = (&row["id"], row["plan_versions"].as_u64().unwrap());
        let same = run.json(&format!("sql/{id}/plan-diff?from=0&to=0"));
        assert_eq!((&same["changed"], &same["added"], &same["removed"]), (&json!(0), &json!(0), &json!(0)));
        let diff = run.json(&format!("sql/{id}/plan-diff"));
        assert_eq!(diff["to"], json!(versions - 1));
        let count = |version: &str| list(&run.json(&format!("sql/{id}/plans/{version}")), "nodes").len();
        let number = |name: &str| diff[name].as_u64().unwrap() as usize;
        assert_eq!(number("same") + number("changed") + number("added"), count("last"));
        assert_eq!(number("same") + number("changed") + number("removed"), count("0"));
        has_change |= number("added") > 0;
    }
    assert!(has_change);
    assert_eq!(run.get("sql/0/plans/99").status, StatusCode::NOT_FOUND);
    assert_eq!(run.get("sql/9999").status, StatusCode::NOT_FOUND);
    let text = run.json("sql/0/plans/last/text");
    assert!(text["text"].as_str().unwrap().contains("== Physical Plan =="), "{text}");
}

#[test]
fn operators_are_tied_to_clauses_stages_and_tasks() {
    let run = Run::of("explain-4.3.0");
    let row = list(&run.json("sql"), "executions")
        .iter()
        .rev()
        .find(|row| row["root_id"] == row["id"])
        .unwrap()
        .clone();
    let id = &row["id"];
    let mapping = run.json(&format!("sql/{id}/mapping"));
    assert_eq!(mapping["statement"]["origin"], "log");
    let text = mapping["statement"]["text"].as_str().unwrap();
    assert!(text.starts_with("SELECT d.name,\n") && text.ends_with("LIMIT 10"), "{text}");
    let operators = list(&mapping, "operators");
    let join = operators.iter().find(|one| one["operator"] == "SortMergeJoin").unwrap();
    assert_eq!(join["fragment"]["start"], json!({ "line": 6, "column": 6 }));
    assert_eq!((&join["confidence"], &join["stages_confidence"]), (&json!("high"), &json!("high")), "{join}");
    assert!(
        !list(join, "stages").is_empty()
            && join["tasks"].as_u64().unwrap() > 0
            && join["rows"].as_u64().unwrap() > 0
    );
    // Places are those of the text that is answered, and operators those of the plan.
    let lines: Vec<&str> = text.lines().collect();
    let plan = run.json(&format!("sql/{id}/plans/last"));
    for operator in operators.iter().filter(|one| one["fragment"].is_object()) {
        let (start, end) = (&operator["fragment"]["start"], &operator["fragment"]["end"]);
        assert!(
            start["line"].as_u64().unwrap() <= end["line"].as_u64().unwrap()
                && end["line"].as_u64().unwrap() <= lines.len() as u64
        );
    }
    let shown: BTreeSet<i64> = list(&plan, "nodes").iter().map(|node| node["id"].as_i64().unwrap()).collect();
    assert!(operators.iter().filter(|one| shown.contains(&one["node_id"].as_i64().unwrap())).count() >= 10);
    let first = run.json(&format!("sql/{id}/mapping?version=0"));
    assert_eq!(first["version"], 0);
    assert!(list(&first, "operators").iter().any(|one| one["operator"] == "SortMergeJoin"));
}

#[test]
fn a_statement_that_the_log_lacks_can_be_given() {
    let run = Run::of("sql-aqe-4.3.0");
    let id = list(&run.json("sql"), "executions")
        .iter()
        .max_by_key(|row| row["plan_nodes"].as_u64())
        .unwrap()["id"]
        .clone();
    assert_eq!(run.json(&format!("sql/{id}/mapping"))["statement"], Value::Null);
    let given = run.json(&format!("sql/{id}/mapping?statement=SELECT%20k%20FROM%20t%20WHERE%20password%20%3D%20%27hunter2%27%20GROUP%20BY%20k"));
    assert_eq!(given["statement"]["origin"], "given");
    assert!(!given.to_string().contains("hunter2"), "{given}");
    assert!(!list(&given["statement"], "fragments").is_empty());
    for (wrong, status) in
        [("9999/mapping", StatusCode::NOT_FOUND), ("0/mapping?version=99", StatusCode::NOT_FOUND)]
    {
        assert_eq!(run.get(&format!("sql/{wrong}")).status, status, "{wrong}");
    }
    let long = format!("sql/{id}/mapping?statement=SELECT+{}", "a".repeat(50_000));
    assert_eq!(run.get(&long).status, StatusCode::BAD_REQUEST);
}

//! One finding for one cause, one value for one setting.

use crate::made::{Made, fixture, read_path, task};
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose};
use emberscope_analysis::finding::Finding;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

fn of_kind<'d>(diagnosis: &'d Diagnosis, kind: &str) -> Vec<&'d Finding> {
    diagnosis.findings.iter().filter(|finding| finding.kind == kind).collect()
}

#[test]
fn a_filter_in_ten_queries_is_one_finding() {
    let log = "../../validation/logs/plan-missing-pushdown-bad-4.3.0.zst";
    let run = read_path(&Path::new(env!("CARGO_MANIFEST_DIR")).join(log));
    let whole = diagnose(&run, &Options::default());
    let [finding] = of_kind(&whole, "missingPushdown")[..] else { panic!("{:?}", whole.findings) };
    assert_eq!(finding.evidence["times"], 10);
    assert_eq!(finding.evidence["queries"], json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert!(
        finding.title.ends_with("(the same in 10 queries: 0, 1, 2, 3, 4 and 5 more)"),
        "{}",
        finding.title
    );
    // Worth what all ten are together, each second once.
    let saved = finding.savings.wall_ms.unwrap().high;
    let one = diagnose(&run, &Options { sql_id: Some(3), ..Options::default() });
    let [of_one] = of_kind(&one, "missingPushdown")[..] else { panic!("{:?}", one.findings) };
    assert!(of_one.evidence.get("times").is_none());
    assert!(saved > 5 * of_one.savings.wall_ms.unwrap().high, "{saved}");
    assert_eq!(whole.verdict.actions.len(), 1);
}

#[test]
fn a_timeout_that_two_findings_raise_has_the_value_that_serves_both() {
    for name in ["dynamic-allocation-3.4.4", "dynamic-allocation-4.3.0"] {
        let diagnosis = diagnose(&fixture(name), &Options::default());
        let wants: Vec<(&str, &str, &str)> = diagnosis
            .findings
            .iter()
            .flat_map(|finding| finding.recommendation.changes.iter().map(move |change| (finding, change)))
            .filter(|(_, change)| change.key == "spark.dynamicAllocation.executorIdleTimeout")
            .map(|(finding, change)| {
                let text = finding.recommendation.text.as_str();
                (finding.kind, change.proposed.as_deref().unwrap(), text)
            })
            .collect();
        let kinds: BTreeSet<&str> = wants.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(kinds, BTreeSet::from(["autoscalingChurn", "coldStart"]), "{name}");
        assert!(wants.iter().all(|(_, value, _)| *value == "180s"), "{wants:?}");
        let own = "`spark.dynamicAllocation.executorIdleTimeout` can have only one value: 180s serves other findings too, where 11s would do for this one.";
        assert!(wants.iter().any(|(kind, _, text)| *kind == "coldStart" && text.ends_with(own)), "{wants:?}");
    }
}

#[test]
fn settings_of_one_value_are_left_alone() {
    let mut made = Made::new("3.5.1", 2, 4, &[]);
    let even = || (0..16).map(|_| task(500).shuffle_read(1 << 20, 10_000)).collect::<Vec<_>>();
    made.job(None, &[even()]);
    made.job(None, &[even()]);
    let diagnosis = diagnose(&made.run(), &Options::default());
    assert!(diagnosis.findings.iter().all(|finding| !finding.recommendation.text.contains("only one value")));
}

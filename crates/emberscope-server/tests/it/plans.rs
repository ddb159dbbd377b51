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

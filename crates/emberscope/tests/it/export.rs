//! Runs as files of other tools.

use crate::command::{Dir, show};
use serde_json::Value;
use std::path::Path;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_trace_and_a_page() {
    let dir = Dir::new(&[]);
    let log = fixture("sql-aqe-4.3.0");
    let trace = dir.command(&["export", &log, "--format", "perfetto"]).output().unwrap();
    assert!(trace.status.success(), "{}", show(&trace));
    let trace: Value = serde_json::from_slice(&trace.stdout).unwrap();
    let tasks = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "task");
    assert!(tasks.count() > 10);
    let page = dir.command(&["export", &log, "--out", "run.html"]).output().unwrap();
    assert!(page.status.success(), "{}", show(&page));
    let written = std::fs::read_to_string(dir.path().join("run.html")).unwrap();
    let same = dir.command(&["diagnose", &log, "--format", "html"]).output().unwrap();
    assert_eq!(written, String::from_utf8(same.stdout).unwrap());
}

#[test]
fn one_run_at_a_time() {
    let dir = Dir::new(&[]);
    let several = dir.command(&["export", &fixture("rdd-4.3.0"), &fixture("rdd-3.4.4")]).output().unwrap();
    assert_eq!(several.status.code(), Some(2), "{}", show(&several));
    let none = dir.command(&["export", "nothing"]).output().unwrap();
    assert_eq!(none.status.code(), Some(3), "{}", show(&none));
}

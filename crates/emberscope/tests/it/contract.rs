//! The JSON that other programs rely on: every promised key, with the right value for the base log.

use crate::base;
use crate::command::Dir;
use serde_json::{Value, json};

/// Checks that `actual` holds everything that `expected` does; more is free.
fn check(path: &str, expected: &Value, actual: &Value) {
    match expected {
        Value::Object(fields) => {
            for (key, value) in fields {
                let found = actual.get(key).unwrap_or_else(|| panic!("{path}.{key} is missing"));
                check(&format!("{path}.{key}"), value, found);
            }
        }
        _ => assert_eq!(actual, expected, "{path}"),
    }
}

#[test]
fn summary() {
    let dir = Dir::new(&[("app-1", base::log().as_bytes())]);
    let output = dir.run(&["summary", "app-1", "--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let work = json!({
        "run_time_ms": 900, "cpu_time_ns": 800_000_000, "gc_time_ms": 10, "input_bytes": 1000, "input_records": 10,
        "output_bytes": 0, "output_records": 0, "shuffle_read_bytes": 0, "shuffle_read_records": 0,
        "shuffle_write_bytes": 400, "shuffle_write_records": 10, "shuffle_write_time_ns": 2_500_000,
        "memory_spilled_bytes": 0, "disk_spilled_bytes": 0
    });
    let expected = json!({
        "schema_version": 1,
        "application": {
            "id": "app-1", "attempt_id": null, "name": "base", "user": "ember", "spark_version": "3.5.1",
            "start_time_ms": 1000, "end_time_ms": 4000, "duration_ms": 3000, "status": "succeeded"
        },
        "totals": {
            "jobs": 1, "jobs_failed": 0, "stages": 1, "stage_attempts": 1, "stages_skipped": 0, "sql_executions": 0,
            "tasks": {
                "partitions": 1, "attempts": 1, "succeeded": 1, "failed": 0, "killed": 0, "resubmitted": 0,
                "speculative": 0
            },
            "useful": work, "all_work": work,
            "lost": {
                "run_time_ms": 0, "attempt_time_ms": 0,
                "by_cause": {
                    "failed": 0, "killed": 0, "speculation": 0, "stage_retry": 0, "resubmitted": 0,
                    "executor_loss": 0, "fetch_failed": 0
                }
            },
            "executors": { "peak": 1, "mean": 1.0, "allocated_core_ms": 6000, "busy_core_ms": 900 },
            "sql_wall_ms": 0, "job_wall_ms": 1300, "driver_only_ms": 1700
        },
        "trust": {
            "lines": 10, "events": 10, "bad_lines": { "count": 0, "first": [] }, "truncated_tail": false,
            "unknown_events": {}, "coverage": { "tasks_expected": 1, "tasks_seen": 1, "ratio": 1.0, "stages": [] },
            "estimated": [], "missing_members": [], "compacted": false, "clamped": {}, "engine": "spark",
            "spark_version": "3.5.1", "notes": []
        }
    });
    check("", &expected, &summary);
    // Held from 2100 to 3100, less what passed between the task's end and the driver's notice of it.
    let occupied = summary["totals"]["executors"]["occupied_core_ms"].as_i64().unwrap();
    assert!((955..=1000).contains(&occupied), "{occupied}");
    let file = &summary["trust"]["files"][0];
    check(
        "trust.files[0]",
        &json!({ "path": "app-1", "codec": "plain", "status": "ok", "reason": null }),
        file,
    );
    assert_eq!(file["bytes"], json!(base::log().len()));
    assert_eq!(file["decoded_bytes"], json!(base::log().len()));
}

#[test]
fn what_was_not_measured_is_null() {
    let log = base::log();
    let end = log.find(r#","Task Metrics""#).unwrap();
    let next = log[end..].find('\n').unwrap() + end;
    let dir = Dir::new(&[("app-1", format!("{}}}{}", &log[..end], &log[next..]).as_bytes())]);
    let output = dir.run(&["summary", "app-1", "--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["totals"]["useful"]["run_time_ms"], Value::Null);
    assert_eq!(summary["totals"]["executors"]["busy_core_ms"], Value::Null);
    let text = dir.show(&["summary", "app-1"]);
    assert!(text.contains("run time       not measured"), "{text}");
}

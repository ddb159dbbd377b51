//! Timelines: small whatever is asked for, and nothing lost on the way.

use crate::views::Run;
use axum::http::StatusCode;
use serde_json::{Value, json};

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name}: {value}"))
}

/// Attempts of all lanes, whole and in densities.
fn attempts(timeline: &Value) -> u64 {
    let of_lane = |lane: &Value| {
        let whole = list(&lane["tasks"], "task_id").len() as u64;
        let rest: u64 = list(&lane["density"], "attempts").iter().map(|n| n.as_u64().unwrap()).sum();
        whole + rest
    };
    list(timeline, "lanes").iter().map(of_lane).sum()
}

#[test]
fn every_attempt_is_in_every_timeline() {
    for fixture in ["executor-loss-4.3.0", "speculation-4.3.0", "dynamic-allocation-4.3.0"] {
        let run = Run::of(fixture);
        let totals = run.json("summary")["totals"].clone();
        for lanes in ["executors", "hosts", "stages"] {
            let shown = run.json(&format!("timeline?lanes={lanes}&lane_limit=400&width_px=64"));
            assert_eq!(json!(attempts(&shown)), totals["tasks"]["attempts"], "{fixture} {lanes}");
            assert_eq!(shown["attempts"], totals["tasks"]["attempts"], "{fixture} {lanes}");
            for lane in list(&shown, "lanes") {
                let rows = lane["rows"].as_u64().unwrap();
                assert!(list(&lane["tasks"], "row").iter().all(|row| row.as_u64().unwrap() < rows));
            }
        }
        let shown = run.json("timeline");
        assert_eq!(shown["jobs"]["total"], totals["jobs"]);
        assert_eq!(shown["stages"]["total"], totals["stage_attempts"]);
        assert_eq!(shown["duration_ms"], run.json("summary")["application"]["duration_ms"]);
    }
}

#[test]
fn parts_of_a_task_add_up() {
    let run = Run::of("sql-aqe-4.3.0");
    let shown = run.json("timeline");
    for lane in list(&shown, "lanes") {
        let tasks = &lane["tasks"];
        for at in 0..list(tasks, "task_id").len() {
            let length = tasks["to_ms"][at].as_i64().unwrap() - tasks["from_ms"][at].as_i64().unwrap();
            let parts: i64 =
                tasks["parts"][at].as_array().unwrap().iter().map(|ms| ms.as_i64().unwrap()).sum();
            assert_eq!(parts, length, "{lane}");
        }
    }
}

#[test]
fn a_part_of_the_run() {
    let run = Run::of("sql-aqe-4.3.0");
    let stage = run.json("stages")["stages"][0].clone();
    let (from, to) = (&stage["from_ms"], &stage["to_ms"]);
    let shown = run.json(&format!("timeline?from_ms={from}&to_ms={to}&stage={}", stage["id"]));
    assert_eq!(json!(attempts(&shown)), stage["tasks"]["attempts"]);
    assert_eq!(list(&shown["stages"], "spans").len(), 1);
    assert_eq!(run.get("timeline?from_ms=5&to_ms=4").status, StatusCode::BAD_REQUEST);
    assert_eq!(run.get("timeline?lanes=colour").status, StatusCode::BAD_REQUEST);
}

#[test]
fn series_integrate_to_the_totals() {
    for fixture in ["executor-loss-4.3.0", "sql-aqe-4.3.0", "dynamic-allocation-4.3.0"] {
        let run = Run::of(fixture);
        let totals = run.json("summary")["totals"].clone();
        let series = run.json("series?buckets=50");
        let piece = series["bucket_ms"].as_f64().unwrap();
        let area = |values: &Value| -> f64 {
            values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap() * piece).sum()
        };
        let near = |a: f64, b: f64| (a - b).abs() <= 0.01 * b.max(100.0);
        let allocated = totals["executors"]["allocated_core_ms"].as_f64().unwrap();
        assert!(near(area(&series["cores_offered"]), allocated), "{fixture}");
        let held = area(&series["cores_held"]);
        for parts in ["cores_by_locality", "cores_by_part"] {
            let all: f64 = list(&series, parts).iter().map(|one| area(&one["values"])).sum();
            assert!(near(all, held), "{fixture} {parts}: {all} {held}");
        }
        let of_stages: f64 =
            list(&run.json("stages"), "stages").iter().map(|row| row["task_time_ms"].as_f64().unwrap()).sum();
        assert!(near(held, of_stages), "{fixture}: {held} {of_stages}");
    }
}

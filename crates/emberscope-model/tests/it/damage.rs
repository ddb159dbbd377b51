//! Logs that lie: mixed, thinned out, absurd, or with secrets where nobody looks for them.

use crate::base::{base, lines, run_of, run_of_lines, summary_of, text};
use emberscope_model::summary::summarize;
use serde_json::json;

#[test]
fn two_applications_in_one_log_are_told() {
    let mut other = lines();
    other[1]["App ID"] = json!("app-2");
    other[1]["Timestamp"] = json!(9000);
    let summary = summary_of(text(&[lines(), other].concat()));
    assert_eq!(summary.application.id.as_deref(), Some("app-1"));
    assert!(!summary.trust.is_complete());
    assert_eq!(summary.trust.mixed_applications.iter().collect::<Vec<_>>(), ["app-2"]);
    // The log appended to itself is no mixture.
    assert!(summary_of(text(&[lines(), lines()].concat())).trust.mixed_applications.is_empty());
}

#[test]
fn dropped_events_are_missed() {
    // Neither stage nor task events: the job tells that they must have been.
    let mut log = lines();
    log.drain(4..8);
    let summary = summary_of(text(&log));
    assert_eq!(summary.totals.all_work.run_time_ms, None);
    assert_eq!((summary.totals.stages_skipped, summary.trust.coverage.ratio), (0, Some(0.0)));
    assert!(summary.trust.notes[0].starts_with("1 job succeeded"), "{:?}", summary.trust.notes);
    // Ids that are missing.
    let mut log = lines();
    log[3]["Job ID"] = json!(2);
    log[8]["Job ID"] = json!(2);
    for line in [5, 6] {
        log[line]["Task Info"]["Task ID"] = json!(9);
    }
    let trust = summary_of(text(&log)).trust;
    assert_eq!(trust.notes[0], "2 jobs below job 2 are not in the log");
    assert!(trust.notes[1].starts_with("9 task attempts are not in the log"), "{:?}", trust.notes);
    assert_eq!((trust.coverage.tasks_expected, trust.coverage.tasks_seen), (10, 1));
}

#[test]
fn absurd_values_are_left_out_and_told() {
    let mut log = lines();
    log[6]["Task Metrics"]["Executor CPU Time"] = json!(-5_000_000_000_i64);
    log[6]["Task Metrics"]["Executor Run Time"] = json!(i64::MAX);
    log[6]["Task Info"]["Index"] = json!(-1);
    let summary = summary_of(text(&log));
    let work = summary.totals.all_work;
    assert_eq!((work.run_time_ms, work.cpu_time_ns, work.gc_time_ms), (None, None, Some(10)));
    let clamped: Vec<&str> = summary.trust.clamped.keys().map(String::as_str).collect();
    assert_eq!(clamped, ["executor_cpu_time_ns", "executor_run_time_ms", "index"]);
    for far in [i64::MAX, 300_000_000_000_000, -1] {
        let mut log = lines();
        log[6]["Task Info"]["Finish Time"] = json!(far);
        let summary = summary_of(text(&log));
        assert_eq!(
            (summary.application.duration_ms, summary.totals.executors.occupied_core_ms),
            (Some(3000), None)
        );
    }
    let mut log = lines();
    log[3]["Stage Infos"][0]["Number of Tasks"] = json!(i64::MAX);
    log[4]["Stage Info"]["Number of Tasks"] = json!(i64::MAX);
    log[7]["Stage Info"]["Number of Tasks"] = json!(-5);
    assert_eq!(summary_of(text(&log)).trust.coverage.tasks_expected, 1);
}

#[test]
fn no_secret_leaves_by_any_name() {
    let mut log = lines();
    log[1]["App Name"] = json!("jdbc:mysql://bob:hunter2@host/db password=hunter2 --token=hunter2");
    log[1]["User"] = json!("password=hunter2");
    log.push(json!({"Event": "com.x.password=hunter2"}));
    log.push(json!({"Event": "SparkListenerTaskEnd", "Stage ID": "hunter2"}));
    log.push(json!({"Event": "SparkListenerJobEnd", "Job ID": "hunter2, expected u32"}));
    let run = run_of_lines(&log);
    assert_eq!(run.trust.bad_lines.count, 2);
    assert!(!format!("{run:?}{:?}", summarize(&run)).contains("hunter2"));
}

#[test]
fn damaged_text_does_not_lose_the_event() {
    let bytes = text(&lines()).replace("\"base\"", "\"b@se\"").into_bytes();
    let damaged: Vec<u8> = bytes.into_iter().map(|byte| if byte == b'@' { 0xff } else { byte }).collect();
    let summary = summary_of(damaged);
    assert_eq!(summary.application.name.as_deref(), Some("b\u{fffd}se"));
    assert_eq!(summary.totals, base().totals);
}

#[test]
fn many_unknown_names_are_counted_together() {
    let long = "x".repeat(5000);
    let log: String = (0..3000).map(|n| format!("{{\"Event\":\"com.x.{n}.{long}\"}}\n")).collect();
    let unknown = run_of(log).trust.unknown_events;
    assert!(unknown.len() <= 1001 && unknown.keys().all(|name| name.len() <= 200));
    assert_eq!(unknown.values().sum::<u64>(), 3000);
}

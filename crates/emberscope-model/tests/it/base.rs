//! A small log with known numbers, and ways to read any bytes as a run.

use emberscope_log::block::ParseOptions;
use emberscope_log::input::Memory;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::{Member, Provenance, RunSource, SourceKind};
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_model::summary::{Summary, summarize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The ten lines: application 3000 ms, job 1300, stage 1200, task 1000, scheduler delay 45,
/// allocated 6000 core-ms, busy 900.
pub(crate) fn lines() -> Vec<Value> {
    let stage = json!({"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "count at A.scala:1",
        "Number of Tasks": 1, "RDD Info": [], "Parent IDs": [], "Details": "", "Submission Time": 2000});
    let mut completed = stage.clone();
    completed["Completion Time"] = json!(3200);
    completed["Accumulables"] = json!([]);
    let task = |finish: i64| {
        json!({"Task ID": 0, "Index": 0, "Attempt": 0, "Launch Time": 2100, "Executor ID": "1", "Host": "h1",
            "Locality": "PROCESS_LOCAL", "Speculative": false, "Getting Result Time": 0, "Finish Time": finish,
            "Failed": false, "Killed": false, "Accumulables": []})
    };
    vec![
        json!({"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"}),
        json!({"Event": "SparkListenerApplicationStart", "App Name": "base", "App ID": "app-1",
            "Timestamp": 1000, "User": "u"}),
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": 1000, "Executor ID": "1",
            "Executor Info": {"Host": "h1", "Total Cores": 2, "Log Urls": {}}}),
        json!({"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 2000, "Stage Infos": [stage],
            "Stage IDs": [0], "Properties": {}}),
        json!({"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": {}}),
        json!({"Event": "SparkListenerTaskStart", "Stage ID": 0, "Stage Attempt ID": 0, "Task Info": task(0)}),
        json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0,
            "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"}, "Task Info": task(3100),
            "Task Metrics": {"Executor Deserialize Time": 50, "Executor Run Time": 900,
                "Executor CPU Time": 800_000_000, "Result Serialization Time": 5, "JVM GC Time": 10,
                "Input Metrics": {"Bytes Read": 1000, "Records Read": 10},
                "Shuffle Write Metrics": {"Shuffle Bytes Written": 400, "Shuffle Write Time": 2_500_000,
                    "Shuffle Records Written": 10}}}),
        json!({"Event": "SparkListenerStageCompleted", "Stage Info": completed}),
        json!({"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 3300,
            "Job Result": {"Result": "JobSucceeded"}}),
        json!({"Event": "SparkListenerApplicationEnd", "Timestamp": 4000}),
    ]
}

/// Lines as bytes, each with its end. `Event` comes first, as Spark writes it.
pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{}\n", event_first(line))).collect()
}

/// One line with `Event` first; serde_json sorts keys.
pub(crate) fn event_first(line: &Value) -> String {
    let mut rest = line.clone();
    let event = rest.as_object_mut().and_then(|object| object.remove("Event")).unwrap();
    let rest = rest.to_string();
    let comma = if rest == "{}" { "" } else { "," };
    format!("{{\"Event\":{event}{comma}{}", &rest[1..])
}

pub(crate) fn options() -> ScanOptions {
    ScanOptions { threads: 1, ..ScanOptions::default() }
}

pub(crate) fn source(name: &str, members: Vec<Vec<u8>>) -> RunSource {
    RunSource {
        label: name.to_owned(),
        kind: SourceKind::File,
        members: members
            .into_iter()
            .enumerate()
            .map(|(n, bytes)| Member::from_input(Arc::new(Memory::new(format!("{name}-{n}"), bytes))))
            .collect(),
        missing_members: Vec::new(),
        compacted: false,
        in_progress: None,
        app_id_hint: Some(name.to_owned()),
        attempt_hint: None,
        provenance: Provenance::default(),
    }
}

pub(crate) fn run_with(bytes: &[u8], options: ScanOptions) -> Run {
    let parse = ParseOptions { keep_plan_text: true, without_cursor: false };
    load(&source("app-1", vec![bytes.to_vec()]), options, parse, &|_| {})
}

pub(crate) fn run_of(bytes: impl AsRef<[u8]>) -> Run {
    run_with(bytes.as_ref(), options())
}

pub(crate) fn run_of_lines(lines: &[Value]) -> Run {
    run_of(text(lines))
}

pub(crate) fn summary_of(bytes: impl AsRef<[u8]>) -> Summary {
    summarize(&run_of(bytes))
}

pub(crate) fn base() -> Summary {
    summary_of(text(&lines()))
}

//! One figure, all doors: whatever is asked for a number of a run, it is the same number.
//!
//! Only figures that every door has by the same definition take part: Spark's API counts attempts in its own way, so
//! of it there are run times and bytes, which it sums over all attempts as `all_work` does.

use crate::command::{Dir, show};
use crate::serve::Server;
use crate::sql;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs with joins, lost executors, failures, spill, no SQL, and several streams.
const RUNS: [&str; 6] =
    ["sql-aqe-4.3.0", "executor-loss-3.5.9", "failures-4.3.0", "spill-3.4.4", "rdd-4.3.0", "streaming-3.5.9"];

/// Figures of one door by name.
type Figures = BTreeMap<&'static str, i64>;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn output(dir: &Dir, args: &[&str]) -> String {
    let output = dir.run(args);
    assert!(output.status.success(), "{args:?}: {}", show(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What `summary` says, in whichever door it stands.
fn of_summary(summary: &Value) -> Figures {
    let at =
        |path: &str| summary.pointer(path).and_then(Value::as_i64).unwrap_or_else(|| panic!("no {path}"));
    BTreeMap::from([
        ("duration_ms", at("/application/duration_ms")),
        ("jobs", at("/totals/jobs")),
        ("jobs_failed", at("/totals/jobs_failed")),
        ("stage_attempts", at("/totals/stage_attempts")),
        ("sql_executions", at("/totals/sql_executions")),
        ("attempts", at("/totals/tasks/attempts")),
        ("run_time_ms", at("/totals/all_work/run_time_ms")),
        ("useful_run_time_ms", at("/totals/useful/run_time_ms")),
        ("gc_time_ms", at("/totals/all_work/gc_time_ms")),
        ("input_bytes", at("/totals/all_work/input_bytes")),
        ("output_bytes", at("/totals/all_work/output_bytes")),
        ("shuffle_read_bytes", at("/totals/all_work/shuffle_read_bytes")),
        ("shuffle_write_bytes", at("/totals/all_work/shuffle_write_bytes")),
        ("memory_spilled_bytes", at("/totals/all_work/memory_spilled_bytes")),
        ("disk_spilled_bytes", at("/totals/all_work/disk_spilled_bytes")),
        ("allocated_core_ms", at("/totals/executors/allocated_core_ms")),
    ])
}

fn of_diagnosis(dir: &Dir, log: &str) -> Figures {
    let diagnosis = json(&output(dir, &["diagnose", log, "--format", "json", "--quiet"]));
    let sum = |name: &str| {
        let parts = diagnosis["attribution"][name]["parts"].as_array().unwrap();
        parts.iter().map(|part| part["ms"].as_i64().unwrap()).sum::<i64>()
    };
    BTreeMap::from([
        ("duration_ms", diagnosis["application"]["duration_ms"].as_i64().unwrap()),
        ("duration_ms of the attribution", sum("wall")),
        ("allocated_core_ms", sum("core")),
    ])
}

fn of_reports(dir: &Dir, log: &str) -> Figures {
    let out = dir.path().join("reports");
    let out = out.to_str().unwrap();
    output(dir, &["report", log, "--out", out, "--tasks", "--quiet"]);
    let rows = |table: &str| -> Vec<Value> {
        let mut files = Vec::new();
        find(Path::new(out), &format!("{table}-reports-"), &mut files);
        assert!(!files.is_empty(), "no {table}");
        files.iter().flat_map(|file| file.lines().map(json).collect::<Vec<Value>>()).collect()
    };
    let (tasks, stages) = (rows("task"), rows("stage"));
    let jobs = rows("job");
    let sum = |rows: &[Value], column: &str| rows.iter().filter_map(|row| row[column].as_i64()).sum::<i64>();
    BTreeMap::from([
        ("jobs", jobs.len() as i64),
        ("jobs_failed", jobs.iter().filter(|job| job["status"] == "failed").count() as i64),
        ("sql_executions", rows("sql").len() as i64),
        ("attempts", tasks.len() as i64),
        ("stage_attempts", stages.len() as i64),
        ("run_time_ms", sum(&tasks, "executorRunTime")),
        ("run_time_ms of stages", sum(&stages, "execRunNs") / 1_000_000),
        ("useful_run_time_ms", sum(&stages, "usefulRunNs") / 1_000_000),
        ("gc_time_ms", sum(&tasks, "jvmGCTime")),
        ("input_bytes", sum(&tasks, "bytesRead")),
        ("output_bytes", sum(&tasks, "bytesWritten")),
        ("shuffle_read_bytes", sum(&tasks, "localBytesRead") + sum(&tasks, "remoteBytesRead")),
        ("shuffle_write_bytes", sum(&tasks, "shuffleBytesWritten")),
        ("shuffle_write_bytes of stages", sum(&stages, "shuffleWriteBytes")),
        ("memory_spilled_bytes", sum(&tasks, "memoryBytesSpilled")),
        ("disk_spilled_bytes", sum(&tasks, "diskBytesSpilled")),
    ])
}

/// Texts of files below a directory whose names begin so.
fn find(dir: &Path, start: &str, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, start, texts);
        } else if path.file_name().unwrap().to_str().unwrap().starts_with(start) {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Empty where the program that answers SQL is not there, which its tests say.
fn of_sql(dir: &Dir, log: &str) -> Figures {
    if sql::program().is_none() {
        return Figures::new();
    }
    let statement = "SELECT (SELECT count(*) FROM job) AS jobs, (SELECT count(*) FROM sql) AS sql_executions, \
        (SELECT count(*) FROM stage) AS stage_attempts, count(*) AS attempts, sum(executorRunTime) AS run_time_ms, \
        sum(jvmGCTime) AS gc_time_ms, sum(bytesRead) AS input_bytes, sum(shuffleBytesWritten) AS shuffle_write_bytes, \
        sum(memoryBytesSpilled) AS memory_spilled_bytes, sum(diskBytesSpilled) AS disk_spilled_bytes FROM task";
    let row = &sql::rows(dir, &[log, statement])[0];
    let names = [
        "jobs",
        "sql_executions",
        "stage_attempts",
        "attempts",
        "run_time_ms",
        "gc_time_ms",
        "input_bytes",
        "shuffle_write_bytes",
        "memory_spilled_bytes",
        "disk_spilled_bytes",
    ];
    names.into_iter().map(|name| (name, row[name].as_i64().unwrap_or(0))).collect()
}

fn body(server: &Server, path: &str) -> Value {
    let answer = server.get(path);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    json(body)
}

/// Our API and Spark's, from the same server.
fn of_server(dir: &Dir, log: &str) -> (Figures, Figures) {
    let server = Server::start(dir, &[log]);
    let listed = body(&server, "/api/emberscope/v1/runs");
    let run = &listed["runs"][0];
    let ours = of_summary(&body(
        &server,
        &format!("/api/emberscope/v1/runs/{}/summary", run["id"].as_str().unwrap()),
    ));
    let application = run["application_id"].as_str().unwrap();
    let base = match run["attempt_id"].as_str() {
        Some(attempt) => format!("/api/v1/applications/{application}/{attempt}"),
        None => format!("/api/v1/applications/{application}"),
    };
    let all = |path: &str| body(&server, &format!("{base}/{path}")).as_array().unwrap().clone();
    let (jobs, stages) = (all("jobs"), all("stages"));
    let stages: Vec<Value> = stages.into_iter().filter(|stage| stage["status"] != "SKIPPED").collect();
    let sum = |column: &str| stages.iter().filter_map(|stage| stage[column].as_i64()).sum::<i64>();
    let duration =
        body(&server, &format!("/api/v1/applications/{application}"))["attempts"][0]["duration"].as_i64();
    let spark = BTreeMap::from([
        ("duration_ms", duration.unwrap()),
        ("jobs", jobs.len() as i64),
        ("jobs_failed", jobs.iter().filter(|job| job["status"] == "FAILED").count() as i64),
        ("stage_attempts", stages.len() as i64),
        ("sql_executions", all("sql?length=1000000&details=false").len() as i64),
        ("run_time_ms", sum("executorRunTime")),
        ("gc_time_ms", sum("jvmGcTime")),
        ("input_bytes", sum("inputBytes")),
        ("output_bytes", sum("outputBytes")),
        ("shuffle_read_bytes", sum("shuffleReadBytes")),
        ("shuffle_write_bytes", sum("shuffleWriteBytes")),
        ("memory_spilled_bytes", sum("memoryBytesSpilled")),
        ("disk_spilled_bytes", sum("diskBytesSpilled")),
    ]);
    (ours, spark)
}

/// Task attempts on the lanes of the exported trace.
fn of_trace(dir: &Dir, log: &str) -> Figures {
    let trace = json(&output(dir, &["export", log, "--format", "perfetto", "--quiet"]));
    let events = trace["traceEvents"].as_array().unwrap();
    let tasks = events.iter().filter(|event| event["cat"] == "task" && event["ph"] == "X").count();
    BTreeMap::from([("attempts", tasks as i64)])
}

#[test]
fn all_doors_say_the_same() {
    for name in RUNS {
        let (dir, log) = (Dir::new(&[]), fixture(name));
        let summary = of_summary(&json(&output(&dir, &["summary", &log, "--format", "json", "--quiet"])));
        let (ours, spark) = of_server(&dir, &log);
        let doors = [
            ("diagnose", of_diagnosis(&dir, &log)),
            ("report", of_reports(&dir, &log)),
            ("sql", of_sql(&dir, &log)),
            ("the API", ours),
            ("Spark's API", spark),
            ("the trace", of_trace(&dir, &log)),
        ];
        for (door, figures) in doors {
            for (figure, value) in figures {
                let told = summary[figure.split(" of ").next().unwrap()];
                assert_eq!(value, told, "{name}: {figure} by {door}, and by summary");
            }
        }
        assert!(summary["run_time_ms"] > 0 && summary["attempts"] > 0, "{name}: {summary:?}");
    }
}

//! Values of jobs, stages, tasks and SQL metrics as Spark's History Server gives them for the same logs.

use crate::base::{root, rows, run_of, write};
use emberscope_report::{FileSinkOptions, Report};
use serde_json::Value;

/// Column, path in the server's answer, factor.
const STAGE: &[(&str, &str, i64)] = &[
    ("readBytes", "inputBytes", 1),
    ("writeBytes", "outputBytes", 1),
    ("shuffleReadBytes", "shuffleReadBytes", 1),
    ("shuffleWriteBytes", "shuffleWriteBytes", 1),
    ("execCpuNs", "executorCpuTime", 1),
    ("execRunNs", "executorRunTime", 1_000_000),
    ("execJvmGcNs", "jvmGcTime", 1_000_000),
    ("memoryBytesSpilled", "memoryBytesSpilled", 1),
    ("diskBytesSpilled", "diskBytesSpilled", 1),
];

const TASK: &[(&str, &str)] = &[
    ("executorRunTime", "/executorRunTime"),
    ("executorCpuTime", "/executorCpuTime"),
    ("executorDeserializeTime", "/executorDeserializeTime"),
    ("executorDeserializeCpuTime", "/executorDeserializeCpuTime"),
    ("resultSize", "/resultSize"),
    ("diskBytesSpilled", "/diskBytesSpilled"),
    ("memoryBytesSpilled", "/memoryBytesSpilled"),
    ("bytesRead", "/inputMetrics/bytesRead"),
    ("recordsRead", "/inputMetrics/recordsRead"),
    ("jvmGCTime", "/jvmGcTime"),
    ("bytesWritten", "/outputMetrics/bytesWritten"),
    ("recordsWritten", "/outputMetrics/recordsWritten"),
    ("peakExecutionMemory", "/peakExecutionMemory"),
    ("resultSerializationTime", "/resultSerializationTime"),
    ("fetchWaitTime", "/shuffleReadMetrics/fetchWaitTime"),
    ("localBlocksFetched", "/shuffleReadMetrics/localBlocksFetched"),
    ("localBytesRead", "/shuffleReadMetrics/localBytesRead"),
    ("remoteBlocksFetched", "/shuffleReadMetrics/remoteBlocksFetched"),
    ("remoteBytesRead", "/shuffleReadMetrics/remoteBytesRead"),
    ("remoteBytesReadToDisk", "/shuffleReadMetrics/remoteBytesReadToDisk"),
    ("totalRecordsRead", "/shuffleReadMetrics/recordsRead"),
    ("remoteRequestsDuration", "/shuffleReadMetrics/remoteReqsDuration"),
    ("shuffleBytesWritten", "/shuffleWriteMetrics/bytesWritten"),
    ("shuffleRecordsWritten", "/shuffleWriteMetrics/recordsWritten"),
    ("shuffleWriteTime", "/shuffleWriteMetrics/writeTime"),
];

fn time(value: &Value) -> Value {
    value.as_str().map_or(Value::Null, |text| {
        text.replace("GMT", "Z").parse::<jiff::Timestamp>().unwrap().as_millisecond().into()
    })
}

#[derive(Default)]
struct Tally {
    compared: u64,
    differences: Vec<String>,
}

impl Tally {
    fn check(&mut self, path: &str, ours: &Value, theirs: &Value) {
        self.compared += 1;
        // The server says 0 where nothing was measured.
        let is_unmeasured = ours.is_null() && theirs.as_i64() == Some(0);
        if ours != theirs && !is_unmeasured {
            self.differences.push(format!("{path}: ours {ours}, theirs {theirs}"));
        }
    }
}

#[test]
fn history_server_agrees() {
    let mut tally = Tally::default();
    let mut answers: Vec<_> = std::fs::read_dir(root().join("referee/answers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".json.zst"))
        .collect();
    answers.sort();
    assert!(!answers.is_empty());
    for answer in &answers {
        let bytes = zstd::decode_all(std::fs::File::open(answer).unwrap()).unwrap();
        let theirs: Value = serde_json::from_slice(&bytes).unwrap();
        let log = theirs["log"].as_str().unwrap();
        let run = run_of(&root().join("fixtures").join(log));
        let dir = tempfile::tempdir().unwrap();
        let reports = [Report::Job, Report::Sql, Report::Stage, Report::Task];
        write(&run, &reports, dir.path(), FileSinkOptions::default()).unwrap();
        let table = |report| rows(dir.path(), report);
        jobs(log, &table(Report::Job), &theirs["jobs"], &mut tally);
        stages(log, &table(Report::Stage), &theirs["stages"], &mut tally);
        tasks(log, &table(Report::Task), &theirs["tasks"], &mut tally);
        sql(log, &table(Report::Sql), &theirs["sql"], &mut tally);
    }
    eprintln!("{} values of {} logs compared", tally.compared, answers.len());
    assert!(tally.differences.is_empty(), "{:#?}", &tally.differences[..tally.differences.len().min(30)]);
    assert!(tally.compared > 10_000);
}

fn jobs(log: &str, ours: &[Value], theirs: &Value, tally: &mut Tally) {
    for job in theirs.as_array().unwrap() {
        let Some(row) = ours.iter().find(|row| row["jobId"] == job["jobId"]) else {
            tally.differences.push(format!("{log} job {} is missing", job["jobId"]));
            continue;
        };
        let path = |column: &str| format!("{log} job {} {column}", job["jobId"]);
        tally.check(&path("start"), &row["jobStartTime"], &time(&job["submissionTime"]));
        if row["status"] != "running" {
            tally.check(&path("end"), &row["jobEndTime"], &time(&job["completionTime"]));
        }
        tally.check(&path("groupId"), &row["groupId"], &job["jobGroup"]);
        let mut stages: Vec<i64> =
            job["stageIds"].as_array().unwrap().iter().filter_map(Value::as_i64).collect();
        stages.sort_unstable();
        tally.check(&path("stages"), &row["stages"], &stages.into());
        let name = if job["description"].is_null() { &job["name"] } else { &job["description"] };
        tally.check(&path("jobName"), &row["jobName"], name);
    }
}

fn stages(log: &str, ours: &[Value], theirs: &Value, tally: &mut Tally) {
    for row in ours {
        let is_same =
            |stage: &&Value| stage["stageId"] == row["stageId"] && stage["attemptId"] == row["attempt"];
        let path = |column: &str| format!("{log} stage {}.{} {column}", row["stageId"], row["attempt"]);
        let Some(stage) = theirs.as_array().unwrap().iter().find(is_same) else {
            tally.differences.push(path("exists"));
            continue;
        };
        tally.check(&path("submitted"), &row["stageSubmissionTime"], &time(&stage["submissionTime"]));
        if row["status"] != "active" {
            tally.check(&path("completed"), &row["stageCompletionTime"], &time(&stage["completionTime"]));
        }
        for (column, field, factor) in STAGE {
            let theirs = stage[*field].as_i64().map(|value| value * factor);
            tally.check(&path(column), &row[*column], &theirs.into());
        }
    }
}

fn tasks(log: &str, ours: &[Value], theirs: &Value, tally: &mut Tally) {
    let mut seen = 0;
    for (key, tasks) in theirs.as_object().unwrap() {
        for task in tasks.as_array().unwrap() {
            seen += 1;
            let path = |column: &str| format!("{log} stage {key} task {} {column}", task["taskId"]);
            let (stage, attempt) = key.split_once('/').unwrap();
            let is_same = |row: &&Value| {
                row["taskId"] == task["taskId"]
                    && row["stageId"].as_i64() == stage.parse().ok()
                    && row["stageAttempt"].as_i64() == attempt.parse().ok()
            };
            let Some(row) = ours.iter().find(is_same) else {
                tally.differences.push(path("exists"));
                continue;
            };
            tally.check(&path("launch"), &row["taskLaunchTime"], &time(&task["launchTime"]));
            for column in ["index", "attempt", "executorId", "host", "speculative"] {
                tally.check(&path(column), &row[column], &task[column]);
            }
            if !row["taskFinishTime"].is_null() {
                tally.check(&path("duration"), &row["taskDuration"], &task["duration"]);
            }
            if let Some(metrics) = task.get("taskMetrics").filter(|metrics| !metrics.is_null()) {
                for (column, field) in TASK {
                    if let Some(theirs) = metrics.pointer(field) {
                        tally.check(&path(column), &row[*column], theirs);
                    }
                }
            }
        }
    }
    assert_eq!(ours.len(), seen, "{log}");
}

/// Plain sums are shown as they are; sizes and times are rounded, and compared by the model's own test.
fn sql(log: &str, ours: &[Value], theirs: &Value, tally: &mut Tally) {
    for execution in theirs.as_array().unwrap() {
        let Some(row) = ours.iter().find(|row| row["sqlId"] == execution["id"]) else {
            tally.differences.push(format!("{log} sql {} is missing", execution["id"]));
            continue;
        };
        let path = |what: &str| format!("{log} sql {} {what}", execution["id"]);
        tally.check(&path("description"), &row["description"], &execution["description"]);
        let mut expected = values(execution["nodes"].as_array(), |node| {
            let name = node["nodeName"].as_str().unwrap_or("").trim().to_owned();
            let metrics = node["metrics"].as_array().cloned().unwrap_or_default();
            metrics
                .iter()
                .map(|m| {
                    (
                        name.clone(),
                        m["name"].as_str().unwrap_or("").to_owned(),
                        m["value"].as_str().unwrap_or("").replace(',', ""),
                    )
                })
                .collect()
        });
        let mut found = values(row["nodes"].as_array(), |node| {
            let name = node["nodeName"].as_str().unwrap_or("").trim().to_owned();
            let metrics = node["metrics"].as_object().cloned().unwrap_or_default();
            metrics
                .iter()
                .map(|(key, value)| (name.clone(), key.clone(), value.as_str().unwrap_or("").to_owned()))
                .collect()
        });
        expected.retain(|(_, name, value)| {
            name == "number of output rows" && value.bytes().all(|b| b.is_ascii_digit())
        });
        found.retain(|(_, name, _)| name == "number of output rows");
        for value in &expected {
            tally.compared += 1;
            if let Some(at) = found.iter().position(|other| other == value) {
                found.swap_remove(at);
            } else {
                tally.differences.push(format!("{}: {value:?} is missing", path("metric")));
            }
        }
    }
}

type Metric = (String, String, String);

fn values(nodes: Option<&Vec<Value>>, metrics: impl Fn(&Value) -> Vec<Metric>) -> Vec<Metric> {
    nodes.into_iter().flatten().flat_map(metrics).collect()
}

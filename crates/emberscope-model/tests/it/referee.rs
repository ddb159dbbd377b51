//! Spark's History Server as the referee: its recorded answers about the same logs, field by field.
//!
//! Answers for the fixtures are committed (`referee/answers`, recorded by `referee/history_server.py`);
//! `EMBERSCOPE_ANSWERS` names a directory with fresh ones, which `.ci/run` asks a live server for.
//! Answers for a corpus beside the project are looked for in the cache. Every difference must be
//! listed in [`EXPLAINED`] with the reason why ours is right.

use crate::base::options;
use crate::fixtures::directory;
use crate::spark_format;
use emberscope_log::block::ParseOptions;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_log::source::discover;
use emberscope_model::accounting::scheduler_delays;
use emberscope_model::load::load;
use emberscope_model::run::{JobStatus, Run, StageAttempt, StageStatus};
use emberscope_model::sql::{SqlExecution, SqlStatus};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A difference that is known, and why ours is right: log, path of the value, reason.
struct Explained {
    log: &'static str,
    path: &'static str,
    reason: &'static str,
}

const EXPLAINED: &[Explained] = &[
    Explained {
        log: "tasks_executors_fail_compressed_eventlog",
        path: "sql 27 metric",
        reason: "the server adds successes whose output was lost with an executor; ours are useful work",
    },
    Explained {
        log: "xgboost_eventlog",
        path: "cloud storage re",
        reason: "a kind of metric that only Databricks has; the server prints the same sum as \"[unknown] 127\"",
    },
];

#[derive(Default)]
struct Comparison {
    log: String,
    compared: u64,
    /// Metrics whose smallest and middle value differ because of tasks that never touched them.
    idle_tasks: u64,
    /// Metrics of connectors whose classes the server lacks.
    foreign: u64,
    differences: Vec<String>,
}

impl Comparison {
    fn check(&mut self, path: impl AsRef<str>, ours: impl Into<Value>, theirs: &Value) {
        let path = path.as_ref();
        let ours = ours.into();
        self.compared += 1;
        let known = |known: &&Explained| self.log.contains(known.log) && path.contains(known.path);
        if ours == *theirs {
            return;
        }
        if let Some(known) = EXPLAINED.iter().find(known) {
            assert!(!known.reason.is_empty());
            return;
        }
        self.differences.push(format!("{} {path}: ours {ours}, theirs {theirs}", self.log));
    }
}

/// Epoch milliseconds of `2026-11-30T06:30:34.146GMT`; null stays null.
fn time(value: &Value) -> Value {
    value.as_str().map_or(Value::Null, |text| {
        let timestamp: jiff::Timestamp = text.replace("GMT", "Z").parse().unwrap();
        json!(timestamp.as_millisecond())
    })
}

fn answers(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".json.zst"));
    files.sort();
    files
}

fn compare_answer(answer: &Path, logs: &Path) -> Comparison {
    let bytes = zstd::decode_all(std::fs::File::open(answer).unwrap()).unwrap();
    let theirs: Value = serde_json::from_slice(&bytes).unwrap();
    let log = theirs["log"].as_str().unwrap();
    let found = discover(logs.join(log).to_str().unwrap()).unwrap();
    assert_eq!(found.runs.len(), 1, "{log} {:?}", found.skipped);
    let parse = ParseOptions { keep_plan_text: true, without_cursor: false };
    let run = load(&found.runs[0], options(), parse, &|_| {});
    let mut comparison = Comparison { log: log.to_owned(), ..Comparison::default() };
    compare_application(&run, &theirs["application"], &mut comparison);
    compare_jobs(&run, &theirs["jobs"], &mut comparison);
    compare_stages(&run, &theirs["stages"], &mut comparison);
    compare_tasks(&run, &theirs["tasks"], &mut comparison);
    compare_executors(&run, &theirs["executors"], &mut comparison);
    compare_sql(&run, &theirs["sql"], &mut comparison);
    comparison
}

fn compare_application(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    let attempt = &theirs["attempt"];
    comparison.check("application id", json!(run.application.id), &theirs["id"]);
    comparison.check("application name", json!(run.application.name), &theirs["name"]);
    comparison.check("application user", json!(run.application.user), &attempt["sparkUser"]);
    comparison.check("application start", json!(run.application.start_ms), &time(&attempt["startTime"]));
    comparison.check("application completed", run.application.has_end, &attempt["completed"]);
    if run.application.has_end {
        comparison.check("application end", json!(run.application.end_ms), &time(&attempt["endTime"]));
        comparison.check("application duration", json!(run.application.duration_ms()), &attempt["duration"]);
    }
}

fn compare_jobs(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    let theirs = theirs.as_array().unwrap();
    let known: Vec<Value> = {
        let mut ids: Vec<u64> = theirs.iter().filter_map(|job| job["jobId"].as_u64()).collect();
        ids.sort_unstable();
        ids.into_iter().map(Value::from).collect()
    };
    let ours: Vec<Value> =
        run.jobs.iter().filter(|job| job.start_ms.is_some()).map(|job| json!(job.id)).collect();
    comparison.check("job ids", ours, &json!(known));
    for job in theirs {
        let Some(own) = run.job(job["jobId"].as_u64().unwrap() as u32) else { continue };
        let path = |field: &str| format!("job {} {field}", own.id);
        let status = match own.status {
            JobStatus::Succeeded => "SUCCEEDED",
            JobStatus::Failed => "FAILED",
            JobStatus::Running => "RUNNING",
        };
        comparison.check(path("status"), status, &job["status"]);
        comparison.check(path("submission"), json!(own.start_ms), &time(&job["submissionTime"]));
        if own.status != JobStatus::Running {
            comparison.check(path("completion"), json!(own.end_ms), &time(&job["completionTime"]));
        }
        comparison.check(path("stages"), json!(own.stage_ids), &sorted(&job["stageIds"]));
        comparison.check(path("group"), json!(own.group), &job["jobGroup"]);
        comparison.check(path("description"), json!(own.description), &job["description"]);
        comparison.check(path("tags"), json!(own.tags), &sorted(&job["jobTags"]));
        if own.status != JobStatus::Running {
            let skipped = own
                .stage_ids
                .iter()
                .filter(|id| run.unsubmitted_stages.iter().any(|stage| stage.id == **id))
                .count();
            comparison.check(path("skipped stages"), skipped, &job["numSkippedStages"]);
        }
    }
}

fn sorted(list: &Value) -> Value {
    let mut items = list.as_array().cloned().unwrap_or_default();
    items
        .sort_by_key(|item| item.as_u64().map_or_else(|| item.to_string(), |number| format!("{number:012}")));
    Value::from(items)
}

/// Attempts as the server counts them: an end that takes a success back is a failure more, and the
/// success stays one.
fn server_counts(stage: &StageAttempt) -> (usize, usize, usize) {
    let statuses = stage.tasks.statuses();
    let resubmitted = statuses.iter().filter(|status| **status == TaskStatus::Resubmitted).count();
    let succeeded = statuses.iter().filter(|status| **status == TaskStatus::Success).count();
    let failed = statuses.iter().filter(|status| status.is_failed()).count();
    let killed = statuses.iter().filter(|status| status.is_killed()).count();
    (succeeded + resubmitted, failed + resubmitted, killed)
}

const STAGE_SUMS: &[(&str, &[TaskColumn])] = &[
    ("executorDeserializeTime", &[TaskColumn::ExecutorDeserializeTime]),
    ("executorDeserializeCpuTime", &[TaskColumn::ExecutorDeserializeCpuTime]),
    ("executorRunTime", &[TaskColumn::ExecutorRunTime]),
    ("executorCpuTime", &[TaskColumn::ExecutorCpuTime]),
    ("resultSize", &[TaskColumn::ResultSize]),
    ("jvmGcTime", &[TaskColumn::JvmGcTime]),
    ("resultSerializationTime", &[TaskColumn::ResultSerializationTime]),
    ("memoryBytesSpilled", &[TaskColumn::MemoryBytesSpilled]),
    ("diskBytesSpilled", &[TaskColumn::DiskBytesSpilled]),
    ("peakExecutionMemory", &[TaskColumn::PeakExecutionMemory]),
    ("inputBytes", &[TaskColumn::InputBytes]),
    ("inputRecords", &[TaskColumn::InputRecords]),
    ("outputBytes", &[TaskColumn::OutputBytes]),
    ("outputRecords", &[TaskColumn::OutputRecords]),
    ("shuffleRemoteBlocksFetched", &[TaskColumn::RemoteBlocksFetched]),
    ("shuffleLocalBlocksFetched", &[TaskColumn::LocalBlocksFetched]),
    ("shuffleFetchWaitTime", &[TaskColumn::FetchWaitTime]),
    ("shuffleRemoteBytesRead", &[TaskColumn::RemoteBytesRead]),
    ("shuffleRemoteBytesReadToDisk", &[TaskColumn::RemoteBytesReadToDisk]),
    ("shuffleLocalBytesRead", &[TaskColumn::LocalBytesRead]),
    ("shuffleReadBytes", &[TaskColumn::LocalBytesRead, TaskColumn::RemoteBytesRead]),
    ("shuffleReadRecords", &[TaskColumn::ShuffleRecordsRead]),
    ("shuffleRemoteReqsDuration", &[TaskColumn::RemoteRequestsDuration]),
    ("shuffleWriteBytes", &[TaskColumn::ShuffleBytesWritten]),
    ("shuffleWriteTime", &[TaskColumn::ShuffleWriteTime]),
    ("shuffleWriteRecords", &[TaskColumn::ShuffleRecordsWritten]),
];

fn compare_stages(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    let theirs = theirs.as_array().unwrap();
    for stage in &run.stages {
        let key = |other: &&Value| {
            other["stageId"] == json!(stage.id) && other["attemptId"] == json!(stage.attempt)
        };
        let path = |field: &str| format!("stage {}.{} {field}", stage.id, stage.attempt);
        let Some(other) = theirs.iter().find(key) else {
            comparison.check(path("exists"), true, &Value::Null);
            continue;
        };
        let status = match stage.status {
            StageStatus::Complete => "COMPLETE",
            StageStatus::Failed => "FAILED",
            StageStatus::Active => "ACTIVE",
        };
        comparison.check(path("status"), status, &other["status"]);
        comparison.check(path("tasks"), json!(stage.num_tasks), &other["numTasks"]);
        let (complete, failed, killed) = server_counts(stage);
        comparison.check(path("complete tasks"), complete, &other["numCompleteTasks"]);
        comparison.check(path("failed tasks"), failed, &other["numFailedTasks"]);
        comparison.check(path("killed tasks"), killed, &other["numKilledTasks"]);
        comparison.check(path("submission"), json!(stage.submitted_ms), &time(&other["submissionTime"]));
        comparison.check(
            path("first launch"),
            json!(stage.first_launch_ms),
            &time(&other["firstTaskLaunchedTime"]),
        );
        if stage.status != StageStatus::Active {
            comparison.check(path("completion"), json!(stage.completed_ms), &time(&other["completionTime"]));
        }
        comparison.check(path("name"), json!(&*stage.name), &other["name"]);
        comparison.check(path("failure"), json!(stage.failure_reason), &other["failureReason"]);
        comparison.check(path("rdds"), sorted(&json!(stage.rdd_ids)), &sorted(&other["rddIds"]));
        comparison.check(
            path("pool"),
            json!(stage.pool.as_deref().unwrap_or("default")),
            &other["schedulingPool"],
        );
        let sums = stage.tasks.sums();
        for (field, columns) in STAGE_SUMS {
            let sum: i64 = columns.iter().filter_map(|column| sums[column.slot()]).sum();
            comparison.check(path(field), sum, &other[*field]);
        }
    }
    for other in theirs {
        let id = other["stageId"].as_u64().unwrap() as u32;
        let path = format!("stage {id} not run");
        match other["status"].as_str().unwrap() {
            "SKIPPED" | "PENDING" => {
                let unsubmitted = run.unsubmitted_stages.iter().find(|stage| stage.id == id);
                let status = unsubmitted.map(|stage| if stage.is_skipped { "SKIPPED" } else { "PENDING" });
                comparison.check(path, json!(status), &other["status"]);
            }
            _ => comparison.check(path, run.attempts(id).is_empty(), &json!(false)),
        }
    }
}

const TASK_METRICS: &[(&str, TaskColumn)] = &[
    ("/executorDeserializeTime", TaskColumn::ExecutorDeserializeTime),
    ("/executorDeserializeCpuTime", TaskColumn::ExecutorDeserializeCpuTime),
    ("/executorRunTime", TaskColumn::ExecutorRunTime),
    ("/executorCpuTime", TaskColumn::ExecutorCpuTime),
    ("/resultSize", TaskColumn::ResultSize),
    ("/jvmGcTime", TaskColumn::JvmGcTime),
    ("/resultSerializationTime", TaskColumn::ResultSerializationTime),
    ("/memoryBytesSpilled", TaskColumn::MemoryBytesSpilled),
    ("/diskBytesSpilled", TaskColumn::DiskBytesSpilled),
    ("/peakExecutionMemory", TaskColumn::PeakExecutionMemory),
    ("/inputMetrics/bytesRead", TaskColumn::InputBytes),
    ("/inputMetrics/recordsRead", TaskColumn::InputRecords),
    ("/outputMetrics/bytesWritten", TaskColumn::OutputBytes),
    ("/outputMetrics/recordsWritten", TaskColumn::OutputRecords),
    ("/shuffleReadMetrics/remoteBlocksFetched", TaskColumn::RemoteBlocksFetched),
    ("/shuffleReadMetrics/localBlocksFetched", TaskColumn::LocalBlocksFetched),
    ("/shuffleReadMetrics/fetchWaitTime", TaskColumn::FetchWaitTime),
    ("/shuffleReadMetrics/remoteBytesRead", TaskColumn::RemoteBytesRead),
    ("/shuffleReadMetrics/remoteBytesReadToDisk", TaskColumn::RemoteBytesReadToDisk),
    ("/shuffleReadMetrics/localBytesRead", TaskColumn::LocalBytesRead),
    ("/shuffleReadMetrics/recordsRead", TaskColumn::ShuffleRecordsRead),
    ("/shuffleReadMetrics/remoteReqsDuration", TaskColumn::RemoteRequestsDuration),
    ("/shuffleWriteMetrics/bytesWritten", TaskColumn::ShuffleBytesWritten),
    ("/shuffleWriteMetrics/writeTime", TaskColumn::ShuffleWriteTime),
    ("/shuffleWriteMetrics/recordsWritten", TaskColumn::ShuffleRecordsWritten),
];

fn compare_tasks(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    for (key, tasks) in theirs.as_object().unwrap() {
        let (id, attempt) = key.split_once('/').unwrap();
        let Some(stage) = run.stage(id.parse().unwrap(), attempt.parse().unwrap()) else { continue };
        let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
        let rows: BTreeMap<i64, usize> = ids.iter().enumerate().map(|(row, id)| (*id, row)).collect();
        let tasks = tasks.as_array().unwrap();
        comparison.check(format!("stage {key} task attempts"), stage.tasks.rows(), &json!(tasks.len()));
        let columns: Vec<Vec<Option<i64>>> =
            emberscope_log::columns::TASK_COLUMNS.iter().map(|def| stage.tasks.column(def.column)).collect();
        let delays = scheduler_delays(stage);
        let statuses = stage.tasks.statuses();
        for task in tasks {
            let task_id = task["taskId"].as_i64().unwrap();
            let path = |field: &str| format!("stage {key} task {task_id} {field}");
            let Some(&row) = rows.get(&task_id) else {
                comparison.check(path("exists"), true, &Value::Null);
                continue;
            };
            let get = |column: TaskColumn| columns[column.slot()][row];
            let text = |column| get(column).map(|text| run.strings.text(text as u32));
            comparison.check(path("launch"), json!(get(TaskColumn::LaunchTime)), &time(&task["launchTime"]));
            comparison.check(path("index"), json!(get(TaskColumn::Index)), &task["index"]);
            comparison.check(path("attempt"), json!(get(TaskColumn::Attempt)), &task["attempt"]);
            comparison.check(path("executor"), json!(text(TaskColumn::Executor)), &task["executorId"]);
            comparison.check(path("host"), json!(text(TaskColumn::Host)), &task["host"]);
            comparison.check(path("locality"), json!(text(TaskColumn::Locality)), &task["taskLocality"]);
            comparison.check(
                path("speculative"),
                get(TaskColumn::Speculative) == Some(1),
                &task["speculative"],
            );
            let status = match statuses[row] {
                TaskStatus::Success => "SUCCESS",
                TaskStatus::Running => "RUNNING",
                // The server lets a success that was taken back stand.
                TaskStatus::Resubmitted => "SUCCESS",
                status if status.is_killed() => "KILLED",
                _ => "FAILED",
            };
            comparison.check(path("status"), status, &task["status"]);
            if status == "RUNNING" {
                continue;
            }
            let duration =
                get(TaskColumn::FinishTime).zip(get(TaskColumn::LaunchTime)).map(|(end, start)| end - start);
            comparison.check(path("duration"), json!(duration), &task["duration"]);
            if status == "SUCCESS" {
                comparison.check(
                    path("scheduler delay"),
                    json!(delays[row].map(|ms| ms.max(0))),
                    &task["schedulerDelay"],
                );
            }
            for (pointer, column) in TASK_METRICS {
                // The server shows 0 for what was not measured.
                let ours = get(*column).unwrap_or(0);
                if let Some(other) = task["taskMetrics"].pointer(pointer) {
                    comparison.check(path(pointer), ours, other);
                }
            }
        }
    }
}

fn compare_executors(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    for other in theirs.as_array().unwrap() {
        let id = other["id"].as_str().unwrap();
        let path = |field: &str| format!("executor {id} {field}");
        let Some(own) = run.executors.iter().find(|executor| executor.id == id) else {
            comparison.check(path("exists"), Value::Null, &json!(true));
            continue;
        };
        comparison.check(path("cores"), json!(own.cores.unwrap_or(0)), &other["totalCores"]);
        if own.added_ms.is_some() {
            comparison.check(path("added"), json!(own.added_ms), &time(&other["addTime"]));
        }
        comparison.check(path("removed"), json!(own.removed_ms), &time(&other["removeTime"]));
        comparison.check(path("reason"), json!(own.removed_reason), &other["removeReason"]);
        comparison.check(path("profile"), json!(own.resource_profile_id), &other["resourceProfileId"]);
        if let Some(memory) = own.maximum_memory_bytes {
            comparison.check(path("memory"), memory, &other["maxMemory"]);
        }
        for (name, peak) in other["peakMemoryMetrics"].as_object().into_iter().flatten() {
            comparison.check(path(name), json!(own.peaks.get(name).copied().unwrap_or(0)), peak);
        }
    }
}

fn compare_sql(run: &Run, theirs: &Value, comparison: &mut Comparison) {
    let theirs = theirs.as_array().unwrap();
    comparison.check("sql executions", run.sql_executions.len(), &json!(theirs.len()));
    for other in theirs {
        let id = other["id"].as_u64().unwrap();
        let path = |field: &str| format!("sql {id} {field}");
        let Some(own) = run.sql_execution(id) else {
            comparison.check(path("exists"), Value::Null, &json!(true));
            continue;
        };
        let status = match own.status {
            SqlStatus::Succeeded => "COMPLETED",
            SqlStatus::Failed => "FAILED",
            SqlStatus::Running => "RUNNING",
        };
        comparison.check(path("status"), status, &other["status"]);
        comparison.check(path("description"), json!(own.description), &other["description"]);
        comparison.check(path("submission"), json!(own.start_ms), &time(&other["submissionTime"]));
        if own.status != SqlStatus::Running {
            comparison.check(path("duration"), json!(own.duration_ms()), &other["duration"]);
        }
        let jobs_of = |status: JobStatus| -> Value {
            let jobs = own.job_ids.iter().filter(|id| run.job(**id).is_some_and(|job| job.status == status));
            json!(jobs.collect::<Vec<_>>())
        };
        comparison.check(
            path("succeeded jobs"),
            jobs_of(JobStatus::Succeeded),
            &sorted(&other["successJobIds"]),
        );
        comparison.check(path("failed jobs"), jobs_of(JobStatus::Failed), &sorted(&other["failedJobIds"]));
        let root = json!(own.root_id.unwrap_or(own.id));
        if let Some(other_root) = other.get("rootExecutionId") {
            comparison.check(path("root"), root, other_root);
        }
        compare_metrics(run, own, other, comparison);
    }
}

/// The server's nodes lose their accumulator ids, so metrics are compared as a whole: per node name
/// and metric name, the values that it prints.
fn compare_metrics(run: &Run, own: &SqlExecution, other: &Value, comparison: &mut Comparison) {
    let Some(tree) = run.final_plan(own) else { return };
    let metrics = run.sql_metrics(own);
    let mut theirs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in other["nodes"].as_array().into_iter().flatten() {
        for metric in node["metrics"].as_array().into_iter().flatten() {
            let name = node["nodeName"].as_str().unwrap().trim();
            let key = format!("{name} / {}", metric["name"].as_str().unwrap());
            theirs.entry(key).or_default().push(without_place(metric["value"].as_str().unwrap()));
        }
    }
    let mut ours: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // A reused exchange stands in the tree once per use, with the same accumulators; the server's graph
    // has it once (`SparkPlanGraph`).
    let mut seen = BTreeSet::new();
    for metric in tree.metrics.iter().filter(|metric| seen.insert(metric.accumulator_id)) {
        let Some(shown) = spark_format::sql_metric(metric.kind, &metrics[&metric.accumulator_id]) else {
            continue;
        };
        let node = tree.text(tree.nodes[metric.node as usize].name).trim();
        ours.entry(format!("{node} / {}", tree.text(metric.name))).or_default().push(shown);
    }
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let sorted = |values: Option<&Vec<String>>| {
            let mut values = values.cloned().unwrap_or_default();
            values.sort();
            json!(values)
        };
        let path = format!("sql {} metric {name}", own.id);
        let (ours, theirs) = (sorted(ours.get(name)), sorted(theirs.get(name)));
        // A connector's own metrics are formatted by the connector's class, which a plain server lacks
        // (`CustomMetrics`): it says that the value is not available.
        if theirs
            .as_array()
            .is_some_and(|values| !values.is_empty() && values.iter().all(|value| value == "N/A"))
        {
            comparison.foreign += 1;
            continue;
        }
        // The server counts tasks that never touched a metric as zeros, in its smallest and middle
        // value; its totals and maxima are right.
        if ours != theirs && total_and_max(&ours) == total_and_max(&theirs) {
            comparison.idle_tasks += 1;
            continue;
        }
        comparison.check(path, ours, &theirs);
    }
}

/// Of each printed value the total and the maximum: `9 ms (0 ms, 2 ms, 7 ms)` gives both, a lone value
/// is both.
fn total_and_max(values: &Value) -> Vec<(String, String)> {
    let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut pairs: Vec<(String, String)> = values
        .map(|value| match value.split_once(" (") {
            Some((total, spread)) => {
                let max = spread.trim_end_matches(')').rsplit(", ").next().unwrap_or(spread);
                (total.to_owned(), max.to_owned())
            }
            None => (value.to_owned(), value.to_owned()),
        })
        .collect();
    pairs.sort();
    pairs
}

/// A printed value without the stage and task of its maximum: `12.3 MiB (1 KiB, 2 KiB, 9 MiB)`.
fn without_place(value: &str) -> String {
    let Some((_, numbers)) = value.split_once('\n') else { return value.to_owned() };
    match numbers.find(" (stage ").or_else(|| numbers.find(" (driver)")) {
        Some(place) => format!("{})", &numbers[..place]),
        None => numbers.to_owned(),
    }
}

#[test]
fn agrees_on_every_fixture() {
    let logs = directory();
    let recorded = std::env::var_os("EMBERSCOPE_ANSWERS").map(PathBuf::from);
    let mut answers = answers(&recorded.unwrap_or_else(|| logs.join("../referee/answers")));
    assert!(!answers.is_empty());
    let mut all: Vec<Comparison> = answers.iter().map(|answer| compare_answer(answer, &logs)).collect();
    let corpus = logs.join("../../shared/corpus");
    let cache = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache/emberscope/answers/4.3.0"));
    if let Some(cache) = cache.filter(|cache| cache.exists() && corpus.exists()) {
        answers = crate::referee::answers(&cache);
        all.extend(answers.iter().map(|answer| compare_answer(answer, &corpus)));
    } else {
        eprintln!(
            "no corpus beside the project, or no answers about it in the cache: only fixtures were compared"
        );
    }
    let compared: u64 = all.iter().map(|comparison| comparison.compared).sum();
    let differences: Vec<&String> = all.iter().flat_map(|comparison| &comparison.differences).collect();
    let idle: u64 = all.iter().map(|comparison| comparison.idle_tasks).sum();
    let foreign: u64 = all.iter().map(|comparison| comparison.foreign).sum();
    eprintln!(
        "{} logs, {compared} values compared, {idle} metrics differ by idle tasks only, {foreign} of connectors are unknown to the server",
        all.len()
    );
    assert!(compared > 10_000);
    assert!(
        differences.is_empty(),
        "{} of {compared} values differ:\n{}",
        differences.len(),
        differences.iter().take(80).map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
    );
}

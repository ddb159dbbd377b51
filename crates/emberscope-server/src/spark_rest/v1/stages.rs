//! `/stages`, `/stages/{id}` and `/stages/{id}/{attempt}`.

use super::task_summary::distributions;
use super::{Answer, executors, json};
use crate::opened::Opened;
use crate::spark_rest::figures::StageFigures;
use crate::spark_rest::quantiles::pick;
use crate::spark_rest::task_rows::{STATUSES as TASK_STATUSES, TaskData, status_name, task_rows};
use crate::spark_rest::{Params, Refusal, time};
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_log::event::task::EXECUTOR_METRICS;
use emberscope_model::redact;
use emberscope_model::run::{StageAttempt, StageStatus, UnsubmittedStage};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const STATUSES: &[&str] = &["ACTIVE", "COMPLETE", "FAILED", "PENDING", "SKIPPED"];

/// What of a stage is asked for beside its own numbers.
struct Wanted {
    details: bool,
    task_statuses: Vec<&'static str>,
    /// Shares of distributions; none = no distributions.
    quantiles: Vec<f64>,
}

impl Wanted {
    fn of(params: &Params, details: bool) -> Result<Wanted, Refusal> {
        let quantiles = params.quantiles("0.0,0.25,0.5,0.75,1.0")?;
        let with_summaries = params.is_on("withSummaries", false);
        Ok(Wanted {
            details: params.is_on("details", details),
            task_statuses: params.words("taskStatus", TASK_STATUSES)?,
            quantiles: if with_summaries { quantiles } else { Vec::new() },
        })
    }
}

pub(super) fn list(opened: &Opened, params: &Params) -> Answer {
    let statuses = params.words("status", STATUSES)?;
    let wanted = Wanted::of(params, false)?;
    let run = &opened.run;
    let is_wanted = |status: &str| statuses.is_empty() || statuses.contains(&status);
    let mut found: Vec<((u32, u32), Value)> = Vec::new();
    for (at, stage) in run.stages.iter().enumerate().filter(|(_, stage)| is_wanted(stage_status(stage))) {
        found.push(((stage.id, stage.attempt), stage_data(opened, at, &wanted)?));
    }
    for stage in run.unsubmitted_stages.iter().filter(|stage| is_wanted(unsubmitted_status(stage))) {
        found.push(((stage.id, 0), unsubmitted_data(stage, &wanted)));
    }
    if wanted.details && !wanted.task_statuses.is_empty() {
        // Who asks for tasks in some state gets no stage that has none.
        let has_tasks = |stage: &Value| stage["tasks"].as_object().is_some_and(|tasks| !tasks.is_empty());
        found.retain(|(_, stage)| has_tasks(stage));
    }
    found.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
    json(&found.into_iter().map(|(_, stage)| stage).collect::<Vec<_>>())
}

pub(super) fn attempts(opened: &Opened, id: u32, params: &Params) -> Answer {
    let wanted = Wanted::of(params, true)?;
    let found = all_attempts(opened, id, &wanted)?;
    if found.is_empty() { Err(unknown_stage(id)) } else { json(&found) }
}

pub(super) fn one(opened: &Opened, id: u32, attempt: u32, params: &Params) -> Answer {
    let wanted = Wanted::of(params, true)?;
    let run = &opened.run;
    let first = run.stages.partition_point(|stage| stage.id < id);
    if let Some(offset) = run.attempts(id).iter().position(|stage| stage.attempt == attempt) {
        return json(&stage_data(opened, first + offset, &wanted)?);
    }
    let unsubmitted = run.unsubmitted_stages.iter().find(|stage| stage.id == id);
    match unsubmitted {
        Some(stage) if attempt == 0 => json(&unsubmitted_data(stage, &wanted)),
        None if run.attempts(id).is_empty() => Err(unknown_stage(id)),
        _ => {
            let attempts: Vec<String> =
                run.attempts(id).iter().map(|stage| stage.attempt.to_string()).collect();
            let attempts = if attempts.is_empty() { "0".to_owned() } else { attempts.join(", ") };
            Err(Refusal::not_found(format!("unknown attempt for stage {id}.  Found attempts: [{attempts}]")))
        }
    }
}

fn unknown_stage(id: u32) -> Refusal {
    Refusal::not_found(format!("unknown stage: {id}"))
}

fn all_attempts(opened: &Opened, id: u32, wanted: &Wanted) -> Result<Vec<Value>, Refusal> {
    let run = &opened.run;
    let first = run.stages.partition_point(|stage| stage.id < id);
    let ran = (first..first + run.attempts(id).len()).map(|at| stage_data(opened, at, wanted));
    let mut found = ran.collect::<Result<Vec<_>, _>>()?;
    let unsubmitted = run.unsubmitted_stages.iter().filter(|stage| stage.id == id);
    found.extend(unsubmitted.map(|stage| unsubmitted_data(stage, wanted)));
    Ok(found)
}

fn stage_status(stage: &StageAttempt) -> &'static str {
    match stage.status {
        StageStatus::Complete => "COMPLETE",
        StageStatus::Failed => "FAILED",
        StageStatus::Active => "ACTIVE",
    }
}

fn unsubmitted_status(stage: &UnsubmittedStage) -> &'static str {
    if stage.is_skipped { "SKIPPED" } else { "PENDING" }
}

/// The sums of a stage by their names there.
const SUMS: &[(&str, &[TaskColumn])] = &[
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

/// Push-based shuffle, of which the model keeps nothing.
const PUSH: &[&str] = &[
    "shuffleCorruptMergedBlockChunks",
    "shuffleMergedFetchFallbackCount",
    "shuffleMergedRemoteBlocksFetched",
    "shuffleMergedLocalBlocksFetched",
    "shuffleMergedRemoteChunksFetched",
    "shuffleMergedLocalChunksFetched",
    "shuffleMergedRemoteBytesRead",
    "shuffleMergedLocalBytesRead",
    "shuffleMergedRemoteReqsDuration",
    "shuffleMergersCount",
];

fn stage_data(opened: &Opened, at: usize, wanted: &Wanted) -> Result<Value, Refusal> {
    let stage = &opened.run.stages[at];
    let figures = &opened.figures().stages[at];
    let mut data = own_data(opened, stage, figures);
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            data.insert(key.to_owned(), value);
        }
    };
    let summaries = wanted.details || !wanted.quantiles.is_empty();
    let by_executor = summaries.then(|| executor_summary(opened, stage));
    if wanted.details {
        put("tasks", Some(tasks(opened, stage, &wanted.task_statuses)?));
        let of_executors = by_executor.iter().flatten();
        let shown: Map<String, Value> =
            of_executors.map(|(id, summary)| (id.clone(), summary.shown())).collect();
        put("executorSummary", Some(shown.into()));
        put("speculationSummary", speculation_summary(figures));
    }
    if !wanted.quantiles.is_empty() {
        put("taskMetricsDistributions", distributions(stage, &wanted.quantiles));
        let of_executors = by_executor.as_ref().map(|all| executor_distributions(all, &wanted.quantiles));
        put("executorMetricsDistributions", of_executors);
    }
    Ok(data.into())
}

/// Speculative copies, if there were any.
fn speculation_summary(figures: &StageFigures) -> Option<Value> {
    let counts = figures.speculative;
    (figures.copies > 0).then(|| {
        json!({
            "numTasks": figures.copies,
            "numActiveTasks": counts.active,
            "numCompletedTasks": counts.complete,
            "numFailedTasks": counts.failed,
            "numKilledTasks": counts.killed,
        })
    })
}

/// What a stage says of itself.
fn own_data(opened: &Opened, stage: &StageAttempt, figures: &StageFigures) -> Map<String, Value> {
    let mut data = named(stage.id, stage.attempt, stage_status(stage));
    let run = &opened.run;
    let counts = figures.counts;
    let numbers = [
        ("numTasks", stage.num_tasks.unwrap_or(0) as i64),
        ("numActiveTasks", counts.active),
        ("numCompleteTasks", counts.complete),
        ("numFailedTasks", counts.failed),
        ("numKilledTasks", counts.killed),
        ("numCompletedIndices", figures.completed_indices.len() as i64),
        ("resourceProfileId", i64::from(stage.resource_profile_id)),
    ];
    data.extend(numbers.into_iter().map(|(key, value)| (key.to_owned(), value.into())));
    let completed = stage.completed_ms.filter(|_| stage.status != StageStatus::Active);
    let failure = stage.failure_reason.as_deref().map(|text| redact::text(text).into_owned());
    // Of the jobs that list the stage, the first ran it.
    let job = stage.job_ids.first().and_then(|id| run.job(*id));
    let description =
        job.and_then(|job| job.description.as_deref()).map(|text| redact::text(text).into_owned());
    let texts = [
        ("submissionTime", stage.submitted_ms.map(time::shown)),
        ("firstTaskLaunchedTime", stage.first_launch_ms.map(time::shown)),
        ("completionTime", completed.map(time::shown)),
        ("failureReason", failure),
        ("description", description),
        ("name", Some(stage.name.to_string())),
        ("details", Some(stage.details.to_string())),
        ("schedulingPool", Some(stage.pool.clone().unwrap_or_else(|| "default".to_owned()))),
    ];
    data.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
    for (key, columns) in SUMS {
        let sum: i64 = columns.iter().filter_map(|column| figures.sums[column.slot()]).sum();
        data.insert((*key).to_owned(), sum.into());
    }
    add_push(&mut data);
    data.insert("rddIds".to_owned(), json!(stage.rdd_ids));
    data.insert("killedTasksSummary".to_owned(), json!(figures.killed_summary));
    let accumulators = stage
        .accumulators
        .iter()
        .map(|(id, accumulator)| json!({ "id": id, "name": accumulator.name, "value": accumulator.value }));
    data.insert("accumulatorUpdates".to_owned(), accumulators.collect());
    let mut peaks: BTreeMap<String, i64> = BTreeMap::new();
    for (name, value) in stage.executor_peaks.values().flatten() {
        let peak = peaks.entry(name.clone()).or_default();
        *peak = value.max(peak).to_owned();
    }
    data.insert("peakExecutorMetrics".to_owned(), executors::all_metrics(&peaks));
    data
}

fn named(id: u32, attempt: u32, status: &str) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("stageId".to_owned(), id.into());
    data.insert("attemptId".to_owned(), attempt.into());
    data.insert("status".to_owned(), status.into());
    data
}

fn add_push(data: &mut Map<String, Value>) {
    data.extend(PUSH.iter().map(|key| ((*key).to_owned(), 0.into())));
    data.insert("isShufflePushEnabled".to_owned(), false.into());
}

/// A stage that no attempt was made of: all that is known is what its job says.
fn unsubmitted_data(stage: &UnsubmittedStage, wanted: &Wanted) -> Value {
    let mut data = named(stage.id, 0, unsubmitted_status(stage));
    let zeros = [
        "numActiveTasks",
        "numCompleteTasks",
        "numFailedTasks",
        "numKilledTasks",
        "numCompletedIndices",
        "resourceProfileId",
    ];
    data.extend(zeros.iter().map(|key| ((*key).to_owned(), 0.into())));
    data.extend(SUMS.iter().map(|(key, _)| ((*key).to_owned(), 0.into())));
    add_push(&mut data);
    data.insert("numTasks".to_owned(), stage.num_tasks.into());
    data.insert("name".to_owned(), stage.name.clone().into());
    data.insert("details".to_owned(), "".into());
    // A stage comes into its pool when it is submitted.
    data.insert("schedulingPool".to_owned(), "default".into());
    data.insert("rddIds".to_owned(), json!(stage.first_rdd_id.into_iter().collect::<Vec<_>>()));
    data.insert("killedTasksSummary".to_owned(), json!({}));
    data.insert("accumulatorUpdates".to_owned(), json!([]));
    if wanted.details {
        data.insert("tasks".to_owned(), json!({}));
        data.insert("executorSummary".to_owned(), json!({}));
    }
    data.into()
}

fn tasks(opened: &Opened, stage: &StageAttempt, wanted: &[&str]) -> Result<Value, Refusal> {
    let rows: Vec<usize> = (0..stage.tasks.rows()).collect();
    let tasks = task_rows(&opened.run, stage, &rows);
    let is_wanted = |task: &TaskData| wanted.is_empty() || wanted.contains(&task.status);
    let by_id: BTreeMap<String, TaskData> =
        tasks.into_iter().filter(is_wanted).map(|task| (task.task_id.to_string(), task)).collect();
    serde_json::to_value(by_id).map_err(|error| Refusal::Unreadable(error.to_string()))
}

/// An executor's part in a stage.
#[derive(Clone, Debug, Default)]
struct ExecutorPart {
    /// Values by their names there.
    sums: BTreeMap<&'static str, i64>,
    peaks: BTreeMap<String, i64>,
}

const PART_SUMS: &[(&str, &[TaskColumn])] = &[
    ("inputBytes", &[TaskColumn::InputBytes]),
    ("inputRecords", &[TaskColumn::InputRecords]),
    ("outputBytes", &[TaskColumn::OutputBytes]),
    ("outputRecords", &[TaskColumn::OutputRecords]),
    ("shuffleRead", &[TaskColumn::LocalBytesRead, TaskColumn::RemoteBytesRead]),
    ("shuffleReadRecords", &[TaskColumn::ShuffleRecordsRead]),
    ("shuffleWrite", &[TaskColumn::ShuffleBytesWritten]),
    ("shuffleWriteRecords", &[TaskColumn::ShuffleRecordsWritten]),
    ("memoryBytesSpilled", &[TaskColumn::MemoryBytesSpilled]),
    ("diskBytesSpilled", &[TaskColumn::DiskBytesSpilled]),
];

const PART_COUNTS: &[&str] = &["taskTime", "failedTasks", "succeededTasks", "killedTasks"];

impl ExecutorPart {
    fn shown(&self) -> Value {
        let mut shown: Map<String, Value> = Map::new();
        let names = PART_COUNTS.iter().chain(PART_SUMS.iter().map(|(name, _)| name));
        shown.extend(names.map(|name| ((*name).to_owned(), self.sum(name).into())));
        for key in ["isBlacklistedForStage", "isExcludedForStage"] {
            shown.insert(key.to_owned(), false.into());
        }
        shown.insert("peakMemoryMetrics".to_owned(), executors::all_metrics(&self.peaks));
        shown.into()
    }

    fn sum(&self, name: &str) -> i64 {
        self.sums.get(name).copied().unwrap_or(0)
    }
}

fn executor_summary(opened: &Opened, stage: &StageAttempt) -> BTreeMap<String, ExecutorPart> {
    let column = |column| stage.tasks.column_or(column, 0);
    let of_row = column(TaskColumn::Executor);
    let (launch, finish) = (column(TaskColumn::LaunchTime), column(TaskColumn::FinishTime));
    let mut parts: FxHashMap<i64, ExecutorPart> = FxHashMap::default();
    for (row, status) in stage.tasks.statuses().into_iter().enumerate() {
        let sums = &mut parts.entry(of_row[row]).or_default().sums;
        let mut add = |name, value: i64| *sums.entry(name).or_default() += value;
        let duration = finish[row] - launch[row];
        match status {
            TaskStatus::Running => {}
            // The end that takes a success back is one more, a failure.
            TaskStatus::Resubmitted => {
                add("taskTime", duration);
                add("succeededTasks", 1);
                add("failedTasks", 1);
            }
            status => {
                add("taskTime", duration);
                let counted = match status_name(status) {
                    "SUCCESS" => "succeededTasks",
                    "KILLED" => "killedTasks",
                    _ => "failedTasks",
                };
                add(counted, 1);
            }
        }
    }
    for (name, columns) in PART_SUMS {
        for column in *columns {
            stage.tasks.for_each(*column, |row, value| {
                if let Some(part) = parts.get_mut(&of_row[row]) {
                    *part.sums.entry(name).or_default() += value;
                }
            });
        }
    }
    let mut named: BTreeMap<String, ExecutorPart> =
        parts.into_iter().map(|(id, part)| (opened.run.strings.text(id as u32).to_owned(), part)).collect();
    for (id, peaks) in &stage.executor_peaks {
        named.entry(id.clone()).or_default().peaks.clone_from(peaks);
    }
    named
}

fn executor_distributions(parts: &BTreeMap<String, ExecutorPart>, quantiles: &[f64]) -> Value {
    let mut shown = Map::new();
    shown.insert("quantiles".to_owned(), json!(quantiles));
    for name in PART_COUNTS.iter().chain(PART_SUMS.iter().map(|(name, _)| name)) {
        let values = parts.values().map(|part| part.sum(name)).collect();
        shown.insert((*name).to_owned(), json!(pick(values, quantiles)));
    }
    let peaks: Map<String, Value> = EXECUTOR_METRICS
        .iter()
        .map(|(name, _)| {
            let values = parts.values().map(|part| part.peaks.get(*name).copied().unwrap_or(0)).collect();
            ((*name).to_owned(), json!(pick(values, quantiles)))
        })
        .collect();
    shown.insert("peakMemoryMetrics".to_owned(), peaks.into());
    shown.into()
}

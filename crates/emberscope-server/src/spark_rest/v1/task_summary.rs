//! `/stages/{id}/{attempt}/taskSummary`: quantiles over the attempts that succeeded.

use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::quantiles::{pick, pick_of_first};
use crate::spark_rest::task_rows::status_name;
use crate::spark_rest::{Params, Refusal};
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::run::StageAttempt;
use serde_json::{Value, json};

pub(super) fn get(opened: &Opened, id: u32, attempt: u32, params: &Params) -> Answer {
    let quantiles = params.quantiles("0.05,0.25,0.5,0.75,0.95")?;
    let summary = opened.run.stage(id, attempt).and_then(|stage| distributions(stage, &quantiles));
    match summary {
        Some(summary) => json(&summary),
        None => Err(Refusal::not_found(format!("No tasks reported metrics for {id} / {attempt} yet."))),
    }
}

/// The distributions of a stage attempt; `None` when no attempt that succeeded has metrics.
pub(super) fn distributions(stage: &StageAttempt, quantiles: &[f64]) -> Option<Value> {
    let succeeded = Succeeded::of(stage);
    if succeeded.rows.is_empty() {
        return None;
    }
    let count = succeeded.rows.len();
    let pick_of = |values: Vec<i64>| pick_of_first(values, count, quantiles);
    let of = |column: TaskColumn| pick_of(succeeded.column(column));
    let sum = |one: TaskColumn, other: TaskColumn| {
        let (one, other) = (succeeded.column(one), succeeded.column(other));
        pick_of(one.iter().zip(&other).map(|(one, other)| one + other).collect())
    };
    let none = || pick(Vec::new(), quantiles);
    // In these three, attempts that did not succeed take part, at the positions of those that did.
    let Times { durations, fetches, delays } = Times::of(stage);
    Some(json!({
        "quantiles": quantiles,
        "duration": pick_of(durations),
        "executorDeserializeTime": of(TaskColumn::ExecutorDeserializeTime),
        "executorDeserializeCpuTime": of(TaskColumn::ExecutorDeserializeCpuTime),
        "executorRunTime": of(TaskColumn::ExecutorRunTime),
        "executorCpuTime": of(TaskColumn::ExecutorCpuTime),
        "resultSize": of(TaskColumn::ResultSize),
        "jvmGcTime": of(TaskColumn::JvmGcTime),
        "resultSerializationTime": of(TaskColumn::ResultSerializationTime),
        "gettingResultTime": pick_of(fetches),
        "schedulerDelay": pick_of(delays),
        "peakExecutionMemory": of(TaskColumn::PeakExecutionMemory),
        "memoryBytesSpilled": of(TaskColumn::MemoryBytesSpilled),
        "diskBytesSpilled": of(TaskColumn::DiskBytesSpilled),
        "inputMetrics": {
            "bytesRead": of(TaskColumn::InputBytes),
            "recordsRead": of(TaskColumn::InputRecords),
        },
        "outputMetrics": {
            "bytesWritten": of(TaskColumn::OutputBytes),
            "recordsWritten": of(TaskColumn::OutputRecords),
        },
        "shuffleReadMetrics": {
            "readBytes": sum(TaskColumn::LocalBytesRead, TaskColumn::RemoteBytesRead),
            "readRecords": of(TaskColumn::ShuffleRecordsRead),
            "remoteBlocksFetched": of(TaskColumn::RemoteBlocksFetched),
            "localBlocksFetched": of(TaskColumn::LocalBlocksFetched),
            "fetchWaitTime": of(TaskColumn::FetchWaitTime),
            "remoteBytesRead": of(TaskColumn::RemoteBytesRead),
            "remoteBytesReadToDisk": of(TaskColumn::RemoteBytesReadToDisk),
            "totalBlocksFetched": sum(TaskColumn::RemoteBlocksFetched, TaskColumn::LocalBlocksFetched),
            "remoteReqsDuration": of(TaskColumn::RemoteRequestsDuration),
            // Push-based shuffle, of which the model keeps nothing.
            "shufflePushReadMetricsDist": {
                "corruptMergedBlockChunks": none(),
                "mergedFetchFallbackCount": none(),
                "remoteMergedBlocksFetched": none(),
                "localMergedBlocksFetched": none(),
                "remoteMergedChunksFetched": none(),
                "localMergedChunksFetched": none(),
                "remoteMergedBytesRead": none(),
                "localMergedBytesRead": none(),
                "remoteMergedReqsDuration": none(),
            },
        },
        "shuffleWriteMetrics": {
            "writeBytes": of(TaskColumn::ShuffleBytesWritten),
            "writeRecords": of(TaskColumn::ShuffleRecordsWritten),
            "writeTime": of(TaskColumn::ShuffleWriteTime),
        },
    }))
}

/// The attempts of a stage that succeeded.
struct Succeeded<'r> {
    stage: &'r StageAttempt,
    rows: Vec<usize>,
}

impl Succeeded<'_> {
    fn of(stage: &StageAttempt) -> Succeeded<'_> {
        let statuses = stage.tasks.statuses();
        let is_wanted = |row: &usize| status_name(statuses[*row]) == "SUCCESS";
        Succeeded { stage, rows: (0..statuses.len()).filter(is_wanted).collect() }
    }

    fn column(&self, column: TaskColumn) -> Vec<i64> {
        let values = self.stage.tasks.column_or(column, 0);
        self.rows.iter().map(|row| values[*row]).collect()
    }
}

/// Times of all attempts that ended.
#[derive(Default)]
struct Times {
    durations: Vec<i64>,
    /// Fetching the result.
    fetches: Vec<i64>,
    /// Scheduler delay.
    delays: Vec<i64>,
}

impl Times {
    fn of(stage: &StageAttempt) -> Times {
        let column = |column| stage.tasks.column_or(column, 0);
        let (launch, finish) = (column(TaskColumn::LaunchTime), column(TaskColumn::FinishTime));
        let fetch_start = column(TaskColumn::GettingResultTime);
        let worked = [
            TaskColumn::ExecutorRunTime,
            TaskColumn::ExecutorDeserializeTime,
            TaskColumn::ResultSerializationTime,
        ]
        .map(column);
        let mut times = Times::default();
        let statuses = stage.tasks.statuses();
        for row in (0..statuses.len()).filter(|row| statuses[*row] != TaskStatus::Running) {
            let duration = finish[row] - launch[row];
            let fetch = if fetch_start[row] > 0 { finish[row] - fetch_start[row] } else { 0 };
            let worked: i64 = worked.iter().map(|column| column[row]).sum();
            times.durations.push(duration);
            times.fetches.push(fetch);
            times.delays.push((duration - worked - fetch).max(0));
        }
        times
    }
}

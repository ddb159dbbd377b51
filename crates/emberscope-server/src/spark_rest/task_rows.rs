//! Task attempts as the monitoring API shows them. Only the chunks of the columns that hold wanted rows are
//! unpacked, so that a page of a large stage costs little.

use super::time;
use emberscope_log::columns::{TASK_COLUMNS, TaskColumn, TaskStatus};
use emberscope_model::run::{Run, StageAttempt};
use emberscope_model::tasks::TaskChunk;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// Names of the states of a task.
pub(super) const STATUSES: &[&str] = &["RUNNING", "KILLED", "FAILED", "SUCCESS", "UNKNOWN"];

/// The state of an attempt; a success that was taken back stays one.
pub(super) fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Running => "RUNNING",
        TaskStatus::Success | TaskStatus::Resubmitted => "SUCCESS",
        status if status.is_killed() => "KILLED",
        _ => "FAILED",
    }
}

/// A task attempt (`TaskData`).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskData {
    pub(super) task_id: i64,
    index: i64,
    attempt: i64,
    partition_id: i64,
    launch_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_fetch_start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    executor_id: String,
    host: String,
    pub(super) status: &'static str,
    task_locality: String,
    speculative: bool,
    accumulator_updates: Vec<AccumulatorUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_metrics: Option<TaskMetrics>,
    executor_logs: BTreeMap<String, String>,
    scheduler_delay: i64,
    getting_result_time: i64,
}

/// A named accumulator's update by a task.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AccumulatorUpdate {
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    update: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskMetrics {
    executor_deserialize_time: i64,
    executor_deserialize_cpu_time: i64,
    executor_run_time: i64,
    executor_cpu_time: i64,
    result_size: i64,
    jvm_gc_time: i64,
    result_serialization_time: i64,
    memory_bytes_spilled: i64,
    disk_bytes_spilled: i64,
    peak_execution_memory: i64,
    input_metrics: InputMetrics,
    output_metrics: OutputMetrics,
    shuffle_read_metrics: ShuffleReadMetrics,
    shuffle_write_metrics: ShuffleWriteMetrics,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InputMetrics {
    bytes_read: i64,
    records_read: i64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OutputMetrics {
    bytes_written: i64,
    records_written: i64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShuffleReadMetrics {
    remote_blocks_fetched: i64,
    local_blocks_fetched: i64,
    fetch_wait_time: i64,
    remote_bytes_read: i64,
    remote_bytes_read_to_disk: i64,
    local_bytes_read: i64,
    records_read: i64,
    remote_reqs_duration: i64,
    shuffle_push_read_metrics: ShufflePushReadMetrics,
}

/// Push-based shuffle, of which the model keeps nothing.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShufflePushReadMetrics {
    corrupt_merged_block_chunks: i64,
    merged_fetch_fallback_count: i64,
    remote_merged_blocks_fetched: i64,
    local_merged_blocks_fetched: i64,
    remote_merged_chunks_fetched: i64,
    local_merged_chunks_fetched: i64,
    remote_merged_bytes_read: i64,
    local_merged_bytes_read: i64,
    remote_merged_reqs_duration: i64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShuffleWriteMetrics {
    bytes_written: i64,
    write_time: i64,
    records_written: i64,
}

/// The attempts at `rows`, in their order.
pub(super) fn task_rows(run: &Run, stage: &StageAttempt, rows: &[usize]) -> Vec<TaskData> {
    let statuses = stage.tasks.statuses();
    let mut wanted: Vec<(usize, usize)> =
        rows.iter().copied().enumerate().map(|(at, row)| (row, at)).collect();
    wanted.sort_unstable();
    let mut updates = updates_of(stage, rows);
    let mut found: Vec<(usize, TaskData)> = Vec::with_capacity(rows.len());
    let mut next = 0;
    for chunk in stage.tasks.chunks() {
        let end = chunk.first_row() + chunk.rows();
        let until = next + wanted[next..].partition_point(|(row, _)| *row < end);
        if until > next {
            let columns = Columns::of(chunk);
            for (row, at) in &wanted[next..until] {
                let updates = updates.remove(row).unwrap_or_default();
                let task = columns.task(run, row - chunk.first_row(), statuses[*row], updates);
                found.push((*at, task));
            }
            next = until;
        }
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, task)| task).collect()
}

/// Updates of named accumulators by row; most stages have none.
fn updates_of(stage: &StageAttempt, rows: &[usize]) -> FxHashMap<usize, Vec<AccumulatorUpdate>> {
    let mut updates: FxHashMap<usize, Vec<AccumulatorUpdate>> = FxHashMap::default();
    for (id, accumulator) in &stage.accumulators {
        stage.tasks.for_each_update(*id, |row, update| {
            if rows.len() == stage.tasks.rows() || rows.contains(&row) {
                let update =
                    AccumulatorUpdate { id: *id, name: accumulator.name.clone(), update: update.to_string() };
                updates.entry(row).or_default().push(update);
            }
        });
    }
    updates
}

/// All columns of a chunk.
struct Columns(Vec<Vec<Option<i64>>>);

impl Columns {
    fn of(chunk: TaskChunk<'_>) -> Columns {
        Columns(TASK_COLUMNS.iter().map(|def| chunk.column(def.column)).collect())
    }

    fn task(&self, run: &Run, row: usize, status: TaskStatus, updates: Vec<AccumulatorUpdate>) -> TaskData {
        let get = |column: TaskColumn| self.0[column.slot()][row];
        let number = |column| get(column).unwrap_or(0);
        let text = |column| get(column).map_or("", |text| run.strings.text(text as u32)).to_owned();
        let task_id = number(TaskColumn::TaskId);
        let launch = number(TaskColumn::LaunchTime);
        let fetch = get(TaskColumn::GettingResultTime).filter(|time| *time > 0);
        let finish = get(TaskColumn::FinishTime).filter(|_| status != TaskStatus::Running);
        // What has no end lasts until the last event.
        let until = if status == TaskStatus::Running { run.application.end_ms } else { finish };
        let duration = until.map(|until| (until - launch).max(0));
        // An attempt that ended without metrics has zeros there.
        let metrics = (status != TaskStatus::Running).then(|| metrics(number));
        let getting_result_time = fetch.zip(finish).map_or(0, |(fetch, finish)| finish - fetch);
        let scheduler_delay = match (duration, &metrics) {
            (Some(duration), Some(metrics)) => {
                let worked = metrics.executor_run_time
                    + metrics.executor_deserialize_time
                    + metrics.result_serialization_time;
                (duration - worked - getting_result_time).max(0)
            }
            _ => 0,
        };
        TaskData {
            task_id,
            index: number(TaskColumn::Index),
            attempt: number(TaskColumn::Attempt),
            partition_id: get(TaskColumn::PartitionId).unwrap_or(-1),
            launch_time: time::shown(launch),
            result_fetch_start: fetch.map(time::shown),
            duration,
            executor_id: text(TaskColumn::Executor),
            host: text(TaskColumn::Host),
            status: status_name(status),
            task_locality: text(TaskColumn::Locality),
            speculative: get(TaskColumn::Speculative) == Some(1),
            accumulator_updates: updates,
            error_message: run.task_errors.get(&(task_id as u64)).map(|text| text.to_string()),
            task_metrics: metrics,
            executor_logs: BTreeMap::new(),
            scheduler_delay,
            getting_result_time,
        }
    }
}

fn metrics(number: impl Fn(TaskColumn) -> i64) -> TaskMetrics {
    TaskMetrics {
        executor_deserialize_time: number(TaskColumn::ExecutorDeserializeTime),
        executor_deserialize_cpu_time: number(TaskColumn::ExecutorDeserializeCpuTime),
        executor_run_time: number(TaskColumn::ExecutorRunTime),
        executor_cpu_time: number(TaskColumn::ExecutorCpuTime),
        result_size: number(TaskColumn::ResultSize),
        jvm_gc_time: number(TaskColumn::JvmGcTime),
        result_serialization_time: number(TaskColumn::ResultSerializationTime),
        memory_bytes_spilled: number(TaskColumn::MemoryBytesSpilled),
        disk_bytes_spilled: number(TaskColumn::DiskBytesSpilled),
        peak_execution_memory: number(TaskColumn::PeakExecutionMemory),
        input_metrics: InputMetrics {
            bytes_read: number(TaskColumn::InputBytes),
            records_read: number(TaskColumn::InputRecords),
        },
        output_metrics: OutputMetrics {
            bytes_written: number(TaskColumn::OutputBytes),
            records_written: number(TaskColumn::OutputRecords),
        },
        shuffle_read_metrics: ShuffleReadMetrics {
            remote_blocks_fetched: number(TaskColumn::RemoteBlocksFetched),
            local_blocks_fetched: number(TaskColumn::LocalBlocksFetched),
            fetch_wait_time: number(TaskColumn::FetchWaitTime),
            remote_bytes_read: number(TaskColumn::RemoteBytesRead),
            remote_bytes_read_to_disk: number(TaskColumn::RemoteBytesReadToDisk),
            local_bytes_read: number(TaskColumn::LocalBytesRead),
            records_read: number(TaskColumn::ShuffleRecordsRead),
            remote_reqs_duration: number(TaskColumn::RemoteRequestsDuration),
            shuffle_push_read_metrics: ShufflePushReadMetrics::default(),
        },
        shuffle_write_metrics: ShuffleWriteMetrics {
            bytes_written: number(TaskColumn::ShuffleBytesWritten),
            write_time: number(TaskColumn::ShuffleWriteTime),
            records_written: number(TaskColumn::ShuffleRecordsWritten),
        },
    }
}

//! The task attempts of one stage attempt as detectors look at them.
//!
//! A view is decoded from the packed store for as long as its detectors run, so that memory does not
//! grow with the run.

use crate::context::StageDigest;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::accounting::{partitions, scheduler_delays};
use emberscope_model::distribution::Distribution;
use emberscope_model::run::StageAttempt;

/// One task attempt. Times in milliseconds, sizes in bytes; what was not measured is 0, and
/// [`StageView::measured`] tells whether a column was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Task attempt id.
    pub id: i64,
    /// Partition.
    pub partition: i64,
    /// Attempt number within the stage attempt.
    pub attempt: i64,
    /// How it ended.
    pub status: TaskStatus,
    /// Whether its output counted.
    pub is_useful: bool,
    /// Whether it is a speculative copy.
    pub is_speculative: bool,
    /// Whether it ended and has metrics.
    pub has_metrics: bool,
    /// Executor, a number of the run's string table.
    pub executor: u32,
    /// Host, a number of the run's string table.
    pub host: u32,
    /// Locality level, a number of the run's string table.
    pub locality: u32,
    /// Launch, epoch milliseconds.
    pub launch_ms: i64,
    /// Finish, epoch milliseconds; the run's end for one that still runs.
    pub finish_ms: i64,
    /// Deserialization of the task on the executor.
    pub deserialize_ms: i64,
    /// Run time on the executor.
    pub run_ms: i64,
    /// CPU time of the JVM thread.
    pub cpu_ms: i64,
    /// Collection pauses of the whole executor during the task.
    pub gc_ms: i64,
    /// Serialization of the result.
    pub result_serialization_ms: i64,
    /// Fetch of a large result by the driver.
    pub getting_result_ms: i64,
    /// Scheduler delay, not below 0.
    pub scheduler_delay_ms: i64,
    /// Waiting for shuffle blocks.
    pub fetch_wait_ms: i64,
    /// Writing shuffle data.
    pub shuffle_write_ms: i64,
    /// Bytes read from storage or cache.
    pub input_bytes: i64,
    /// Records read from storage or cache.
    pub input_records: i64,
    /// Bytes written to storage.
    pub output_bytes: i64,
    /// Records written to storage.
    pub output_records: i64,
    /// Shuffle bytes read, local and remote.
    pub shuffle_read_bytes: i64,
    /// Of them from other executors.
    pub shuffle_remote_bytes: i64,
    /// Shuffle records read.
    pub shuffle_read_records: i64,
    /// Shuffle bytes written.
    pub shuffle_write_bytes: i64,
    /// Shuffle records written.
    pub shuffle_write_records: i64,
    /// Spilled data as it was in memory.
    pub memory_spilled_bytes: i64,
    /// Spilled data as written.
    pub disk_spilled_bytes: i64,
    /// Peak execution memory.
    pub peak_execution_bytes: i64,
    /// Peak heap of the executor while it ran.
    pub peak_heap_bytes: i64,
    /// Peak resident memory of Python workers of the executor while it ran.
    pub python_rss_bytes: i64,
    /// Result size.
    pub result_bytes: i64,
}

impl Task {
    /// Launch to finish, not below 0.
    pub fn duration_ms(&self) -> i64 {
        (self.finish_ms - self.launch_ms).max(0)
    }

    /// Bytes read, from wherever.
    pub fn read_bytes(&self) -> i64 {
        self.input_bytes + self.shuffle_read_bytes
    }

    /// Records read, from wherever.
    pub fn read_records(&self) -> i64 {
        self.input_records + self.shuffle_read_records
    }
}

/// Columns that tell what a task's time went to.
const TIMES: &[TaskColumn] = &[
    TaskColumn::TaskId,
    TaskColumn::Executor,
    TaskColumn::Locality,
    TaskColumn::LaunchTime,
    TaskColumn::ExecutorDeserializeTime,
    TaskColumn::ExecutorRunTime,
    TaskColumn::ExecutorCpuTime,
    TaskColumn::JvmGcTime,
    TaskColumn::ResultSerializationTime,
    TaskColumn::FetchWaitTime,
    TaskColumn::ShuffleWriteTime,
];

/// A stage attempt and its task attempts.
#[derive(Debug)]
pub struct StageView<'r> {
    /// The stage attempt.
    pub stage: &'r StageAttempt,
    /// Its totals.
    pub digest: &'r StageDigest,
    /// All task attempts by (launch, task id): the order of [`StageDigest::task_order`].
    pub tasks: Vec<Task>,
    present: u64,
}

impl<'r> StageView<'r> {
    /// Decodes the attempts of a stage attempt of a run that ends at `run_end_ms`.
    pub fn of(stage: &'r StageAttempt, digest: &'r StageDigest, run_end_ms: i64) -> Self {
        Self::decode(stage, digest, run_end_ms, true)
    }

    /// As [`StageView::of`], with times alone: sizes, records and memory are 0.
    pub(crate) fn times_of(stage: &'r StageAttempt, digest: &'r StageDigest, run_end_ms: i64) -> Self {
        Self::decode(stage, digest, run_end_ms, false)
    }

    fn decode(stage: &'r StageAttempt, digest: &'r StageDigest, run_end_ms: i64, is_full: bool) -> Self {
        let mut present = 0u64;
        let mut take = |column: TaskColumn| {
            let mut values = vec![0i64; stage.tasks.rows()];
            if !is_full && !TIMES.contains(&column) {
                return values;
            }
            stage.tasks.for_each(column, |row, value| {
                present |= 1 << column.slot();
                values[row] = value;
            });
            values
        };
        use TaskColumn as C;
        let statuses = stage.tasks.statuses();
        let rows = stage.tasks.rows();
        let partition = if is_full { partitions(stage) } else { vec![-1; rows] };
        let delays = if is_full { scheduler_delays(stage) } else { vec![None; rows] };
        let finish = stage.tasks.column(C::FinishTime);
        let getting = stage.tasks.column(C::GettingResultTime);
        let run_present = stage.tasks.column(C::ExecutorRunTime);
        let useful = stage.tasks.useful();
        let (id, attempt, speculative) = (take(C::TaskId), take(C::Attempt), take(C::Speculative));
        let (executor, host, locality) = (take(C::Executor), take(C::Host), take(C::Locality));
        let (launch, deserialize, run, cpu) = (
            take(C::LaunchTime),
            take(C::ExecutorDeserializeTime),
            take(C::ExecutorRunTime),
            take(C::ExecutorCpuTime),
        );
        let (gc, result_serialization, result) =
            (take(C::JvmGcTime), take(C::ResultSerializationTime), take(C::ResultSize));
        let (fetch_wait, local, remote, read_records) = (
            take(C::FetchWaitTime),
            take(C::LocalBytesRead),
            take(C::RemoteBytesRead),
            take(C::ShuffleRecordsRead),
        );
        let (written, write_time, written_records) =
            (take(C::ShuffleBytesWritten), take(C::ShuffleWriteTime), take(C::ShuffleRecordsWritten));
        let (input, input_records) = (take(C::InputBytes), take(C::InputRecords));
        let (output, output_records) = (take(C::OutputBytes), take(C::OutputRecords));
        let (memory_spilled, disk_spilled) = (take(C::MemoryBytesSpilled), take(C::DiskBytesSpilled));
        let (peak, heap, python) =
            (take(C::PeakExecutionMemory), take(C::JvmHeapMemory), take(C::ProcessTreePythonRss));
        let tasks = digest
            .task_order
            .iter()
            .map(|&row| {
                let row = row as usize;
                let finish_ms = finish[row].unwrap_or(run_end_ms).max(launch[row]);
                Task {
                    id: id[row],
                    partition: partition[row],
                    attempt: attempt[row],
                    status: statuses[row],
                    is_useful: useful.contains(row),
                    is_speculative: speculative[row] != 0,
                    has_metrics: run_present[row].is_some() && finish[row].is_some(),
                    executor: u32::try_from(executor[row]).unwrap_or(0),
                    host: u32::try_from(host[row]).unwrap_or(0),
                    locality: u32::try_from(locality[row]).unwrap_or(0),
                    launch_ms: launch[row],
                    finish_ms,
                    deserialize_ms: deserialize[row],
                    run_ms: run[row],
                    cpu_ms: cpu[row] / 1_000_000,
                    gc_ms: gc[row],
                    result_serialization_ms: result_serialization[row],
                    getting_result_ms: getting[row].map_or(0, |started| (finish_ms - started).max(0)),
                    scheduler_delay_ms: delays[row].unwrap_or(0).max(0),
                    fetch_wait_ms: fetch_wait[row],
                    shuffle_write_ms: write_time[row] / 1_000_000,
                    input_bytes: input[row],
                    input_records: input_records[row],
                    output_bytes: output[row],
                    output_records: output_records[row],
                    shuffle_read_bytes: local[row] + remote[row],
                    shuffle_remote_bytes: remote[row],
                    shuffle_read_records: read_records[row],
                    shuffle_write_bytes: written[row],
                    shuffle_write_records: written_records[row],
                    memory_spilled_bytes: memory_spilled[row],
                    disk_spilled_bytes: disk_spilled[row],
                    peak_execution_bytes: peak[row],
                    peak_heap_bytes: heap[row],
                    python_rss_bytes: python[row],
                    result_bytes: result[row],
                }
            })
            .collect();
        StageView { stage, digest, tasks, present }
    }

    /// Whether any task attempt of the stage has the column.
    pub fn measured(&self, column: TaskColumn) -> bool {
        self.present >> column.slot() & 1 == 1
    }

    /// The attempts whose output counted and that have metrics.
    pub fn useful(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.is_useful && task.has_metrics)
    }

    /// How a value is spread over the attempts that counted.
    pub fn spread(&self, value: impl Fn(&Task) -> i64) -> Distribution {
        Distribution::of(self.useful().map(value))
    }

    /// One factor per task attempt, in the order of [`StageView::tasks`], for [`crate::replay::Edit::Scale`].
    pub fn factors(&self, factor: impl Fn(&Task) -> f64) -> std::sync::Arc<[f32]> {
        self.tasks.iter().map(|task| factor(task).clamp(0.0, 1.0) as f32).collect()
    }

    /// As [`StageView::factors`], from what each attempt would take instead, milliseconds.
    pub fn factors_to(&self, duration_ms: impl Fn(&Task) -> f64) -> std::sync::Arc<[f32]> {
        self.factors(|task| match task.duration_ms() {
            0 => 1.0,
            duration => duration_ms(task) / duration as f64,
        })
    }

    /// `(stage, attempt)`.
    pub fn place(&self) -> (u32, u32) {
        (self.stage.id, self.stage.attempt)
    }
}

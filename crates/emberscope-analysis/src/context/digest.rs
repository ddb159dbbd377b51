//! Totals of a stage attempt, made once for all detectors.

use super::Context;
use emberscope_log::columns::TaskColumn;
use emberscope_model::accounting::scheduler_delays;
use emberscope_model::intervals::overlap;
use emberscope_model::occupancy::task_cpus;
use emberscope_model::run::{Run, StageAttempt, StageStatus};
use std::collections::BTreeMap;

/// Totals of a stage attempt. Times in milliseconds, sizes in bytes.
#[derive(Clone, Debug, Default)]
pub struct StageDigest {
    /// Position in [`Run::stages`].
    pub position: usize,
    /// Stage id.
    pub id: u32,
    /// Stage attempt.
    pub attempt: u32,
    /// Job that ran it.
    pub job_id: Option<u32>,
    /// SQL execution that ran it.
    pub sql_id: Option<u64>,
    /// Task attempts.
    pub attempts: u64,
    /// Attempts whose output counted.
    pub useful: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts that were killed.
    pub killed: u64,
    /// Speculative copies.
    pub speculative: u64,
    /// First launch to last finish: `None` without tasks.
    pub running: Option<(i64, i64)>,
    /// Length of the union of the attempts' intervals.
    pub active_ms: i64,
    /// Most attempts at one time.
    pub peak_concurrency: u32,
    /// Launch to finish of all attempts.
    pub attempt_ms: i64,
    /// Longest attempt that counted.
    pub longest_ms: i64,
    /// Median of the attempts that counted.
    pub median_ms: f64,
    /// Sums over all attempts; 0 where not measured.
    pub all: Sums,
    /// Sums over the attempts that counted.
    pub counted: Sums,
    /// Launch to finish of attempts that did not count.
    pub lost_ms: i64,
    /// Executors that ran attempts: number of the string table, attempts, milliseconds.
    pub executors: Vec<(u32, u32, i64)>,
    /// Cores one task takes.
    pub task_cpus: f64,
    /// Core-milliseconds that executors offered between first launch and last finish.
    pub available_core_ms: Option<i64>,
    /// First launch and first finish on each executor of `executors`.
    pub executor_firsts: Vec<(i64, i64)>,
    /// Rows of the stage attempt by (launch, task id): replay and edits number tasks by it.
    pub task_order: Box<[u32]>,
}

/// Sums over task attempts; 0 where not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sums {
    pub deserialize_ms: i64,
    pub run_ms: i64,
    pub cpu_ms: i64,
    pub gc_ms: i64,
    pub scheduler_delay_ms: i64,
    pub fetch_wait_ms: i64,
    pub shuffle_write_ms: i64,
    pub input_bytes: i64,
    pub input_records: i64,
    pub output_bytes: i64,
    pub output_records: i64,
    pub shuffle_read_bytes: i64,
    pub shuffle_read_records: i64,
    pub shuffle_write_bytes: i64,
    pub shuffle_write_records: i64,
    pub memory_spilled_bytes: i64,
    pub disk_spilled_bytes: i64,
    pub result_bytes: i64,
}
impl Context<'_> {
    pub(super) fn digest(&self, position: usize, stage: &StageAttempt) -> StageDigest {
        let job = stage.job_ids.first().and_then(|id| self.run.job(*id));
        let mut digest = StageDigest {
            position,
            id: stage.id,
            attempt: stage.attempt,
            job_id: job.map(|job| job.id),
            sql_id: job.and_then(|job| job.sql_execution_id),
            attempts: stage.tasks.rows() as u64,
            useful: stage.tasks.useful().len() as u64,
            task_cpus: task_cpus(self.run, stage),
            ..StageDigest::default()
        };
        let launch = stage.tasks.column(TaskColumn::LaunchTime);
        let finish = stage.tasks.column(TaskColumn::FinishTime);
        let executor = stage.tasks.column(TaskColumn::Executor);
        let useful = stage.tasks.useful();
        for status in stage.tasks.statuses() {
            digest.failed += u64::from(status.is_failed());
            digest.killed += u64::from(status.is_killed());
        }
        stage.tasks.for_each(TaskColumn::Speculative, |_, flag| digest.speculative += u64::from(flag != 0));
        digest.task_order = task_order(stage, &launch);
        let (mut starts, mut ends) = (Vec::with_capacity(launch.len()), Vec::with_capacity(launch.len()));
        let mut counted = Vec::with_capacity(launch.len());
        let mut by_executor: BTreeMap<u32, (u32, i64, i64, i64)> = BTreeMap::new();
        for row in 0..launch.len() {
            let Some(start) = launch[row] else { continue };
            let end = finish[row].unwrap_or(self.end_ms).max(start);
            let (first, last) = digest.running.unwrap_or((start, end));
            digest.running = Some((first.min(start), last.max(end)));
            if start < end {
                starts.push(start);
                ends.push(end);
            }
            digest.attempt_ms += end - start;
            if useful.contains(row) {
                counted.push(end - start);
            } else if finish[row].is_some() {
                digest.lost_ms += end - start;
            }
            if let Some(executor) = executor[row].and_then(|id| u32::try_from(id).ok()) {
                let entry = by_executor.entry(executor).or_insert((0, 0, start, end));
                entry.0 += 1;
                entry.1 += end - start;
                entry.2 = entry.2.min(start);
                entry.3 = entry.3.min(end);
            }
        }
        digest.executor_firsts = by_executor.values().map(|entry| (entry.2, entry.3)).collect();
        digest.executors =
            by_executor.into_iter().map(|(id, (attempts, ms, ..))| (id, attempts, ms)).collect();
        let overlap = overlap(starts, ends);
        digest.active_ms = overlap.union_ms;
        // Results that the driver saw late make more tasks seem to run at a time than there were slots.
        let slots = self.peak_cores().map_or(usize::MAX, |cores| {
            (f64::from(cores) / digest.task_cpus.max(f64::MIN_POSITIVE)).floor().max(1.0) as usize
        });
        digest.peak_concurrency = u32::try_from(overlap.peak.min(slots)).unwrap_or(u32::MAX);
        counted.sort_unstable();
        digest.longest_ms = counted.last().copied().unwrap_or(0);
        digest.median_ms =
            emberscope_model::distribution::Distribution::Exact(counted).median().unwrap_or(0.0);
        digest.available_core_ms = digest.running.and_then(|(from, to)| self.available_core_ms(from, to));
        self.sum(stage, &mut digest);
        digest
    }

    fn sum(&self, stage: &StageAttempt, digest: &mut StageDigest) {
        let sums = stage.tasks.sums();
        for (column, unit, field) in SUMMED {
            *field(&mut digest.all) += sums[column.slot()].unwrap_or(0) / unit;
        }
        let delays = scheduler_delays(stage);
        digest.all.scheduler_delay_ms = delays.iter().map(|delay| delay.unwrap_or(0).max(0)).sum();
        digest.counted = digest.all;
        let useful = stage.tasks.useful();
        if useful.len() == stage.tasks.rows() {
            return;
        }
        digest.counted = Sums::default();
        let sums = stage.tasks.useful_sums();
        for (column, unit, field) in SUMMED {
            *field(&mut digest.counted) += sums[column.slot()].unwrap_or(0) / unit;
        }
        let counted = delays.iter().enumerate().filter(|(row, _)| useful.contains(*row));
        digest.counted.scheduler_delay_ms = counted.map(|(_, delay)| delay.unwrap_or(0).max(0)).sum();
    }
}

/// Rows of a stage attempt by (launch, task id); those without a launch last.
fn task_order(stage: &StageAttempt, launch: &[Option<i64>]) -> Box<[u32]> {
    let id = stage.tasks.column_or(TaskColumn::TaskId, 0);
    let keyed =
        launch.iter().zip(id).zip(0u32..).map(|((launch, id), row)| (launch.unwrap_or(i64::MAX), id, row));
    let mut keyed: Vec<(i64, i64, u32)> = keyed.collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, row)| row).collect()
}

type Field = fn(&mut Sums) -> &mut i64;

/// Columns that are summed, what their unit is of the sum's, and where to.
const SUMMED: &[(TaskColumn, i64, Field)] = &[
    (TaskColumn::ExecutorDeserializeTime, 1, |sums| &mut sums.deserialize_ms),
    (TaskColumn::ExecutorRunTime, 1, |sums| &mut sums.run_ms),
    (TaskColumn::ExecutorCpuTime, 1_000_000, |sums| &mut sums.cpu_ms),
    (TaskColumn::JvmGcTime, 1, |sums| &mut sums.gc_ms),
    (TaskColumn::FetchWaitTime, 1, |sums| &mut sums.fetch_wait_ms),
    (TaskColumn::ShuffleWriteTime, 1_000_000, |sums| &mut sums.shuffle_write_ms),
    (TaskColumn::InputBytes, 1, |sums| &mut sums.input_bytes),
    (TaskColumn::InputRecords, 1, |sums| &mut sums.input_records),
    (TaskColumn::OutputBytes, 1, |sums| &mut sums.output_bytes),
    (TaskColumn::OutputRecords, 1, |sums| &mut sums.output_records),
    (TaskColumn::LocalBytesRead, 1, |sums| &mut sums.shuffle_read_bytes),
    (TaskColumn::RemoteBytesRead, 1, |sums| &mut sums.shuffle_read_bytes),
    (TaskColumn::ShuffleRecordsRead, 1, |sums| &mut sums.shuffle_read_records),
    (TaskColumn::ShuffleBytesWritten, 1, |sums| &mut sums.shuffle_write_bytes),
    (TaskColumn::ShuffleRecordsWritten, 1, |sums| &mut sums.shuffle_write_records),
    (TaskColumn::MemoryBytesSpilled, 1, |sums| &mut sums.memory_spilled_bytes),
    (TaskColumn::DiskBytesSpilled, 1, |sums| &mut sums.disk_spilled_bytes),
    (TaskColumn::ResultSize, 1, |sums| &mut sums.result_bytes),
];

impl StageDigest {
    /// First launch to last finish.
    pub fn running_ms(&self) -> i64 {
        self.running.map_or(0, |(from, to)| to - from)
    }

    /// Whether it may be the cause of a stage's failing: its stage says so.
    pub fn has_failed(&self, run: &Run) -> bool {
        run.stages[self.position].status == StageStatus::Failed
    }

    /// Mean number of cores its tasks used while it ran.
    pub fn mean_concurrency(&self) -> f64 {
        match self.running_ms() {
            0 => 0.0,
            running => self.attempt_ms as f64 / running as f64,
        }
    }
}

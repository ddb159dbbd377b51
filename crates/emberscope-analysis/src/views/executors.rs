//! Executors: when they lived, what they did, and how far their memory went.

use super::jobs::AttemptCounts;
use super::{Clock, FindingRef, Subject, findings_about, masked_option};
use emberscope_log::columns::{N_TASK_COLUMNS, TASK_COLUMNS, TaskColumn};
use emberscope_log::event::app::Exclusion;
use emberscope_model::run::{Executor, Run, StageAttempt};
use emberscope_model::summary::Work;
use emberscope_model::tasks::TaskSums;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// An executor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExecutorRow {
    /// Executor id; `driver` in local mode.
    pub id: String,
    /// Host.
    pub host: Option<String>,
    /// Cores; `None` where the log has no addition of it.
    pub cores: Option<u32>,
    /// When it was added.
    pub added_ms: Option<i64>,
    /// When it was removed; `None` when it lived to the end.
    pub removed_ms: Option<i64>,
    /// Why it was removed, as logged.
    pub removed_reason: Option<String>,
    /// Resource profile.
    pub resource_profile_id: u32,
    /// Task attempts that ran on it.
    pub tasks: AttemptCounts,
    /// Launch to finish of its task attempts, added up.
    pub task_time_ms: i64,
    /// Share of its cores' lifetime that tasks held, times the cores of a task; `None` where either is not known.
    pub busy_share: Option<f64>,
    /// Work of all its attempts.
    pub work: Work,
    /// Time by which the driver saw its tasks end too late, fitted.
    pub result_lag_ms: i64,
    /// `Maximum Memory` of its block manager.
    pub maximum_memory_bytes: Option<i64>,
    /// `Maximum Onheap Memory`.
    pub maximum_on_heap_bytes: Option<i64>,
    /// `Maximum Offheap Memory`.
    pub maximum_off_heap_bytes: Option<i64>,
    /// Peaks of executor metrics, by Spark's names; empty where none was logged.
    pub peaks: BTreeMap<String, i64>,
    /// Findings about it.
    pub findings: Vec<FindingRef>,
}

/// An exclusion of an executor or a node, or its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExclusionRow {
    /// When.
    pub at_ms: Option<i64>,
    /// Executor, where it is one.
    pub executor_id: Option<String>,
    /// Host, where it is one.
    pub host: Option<String>,
    /// Stage, where it is for one alone.
    pub stage_id: Option<i64>,
    /// Task failures that led to it.
    pub task_failures: Option<i64>,
    /// Whether the exclusion ends.
    pub is_end: bool,
}

/// What the attempts on one executor add up to.
#[derive(Clone, Debug)]
pub(crate) struct OnExecutor {
    pub(crate) counts: AttemptCounts,
    pub(crate) time_ms: i64,
    pub(crate) sums: TaskSums,
}

impl Default for OnExecutor {
    fn default() -> Self {
        OnExecutor { counts: AttemptCounts::default(), time_ms: 0, sums: [None; N_TASK_COLUMNS] }
    }
}

/// Columns that [`Work`] shows.
const WORK: &[TaskColumn] = &[
    TaskColumn::ExecutorRunTime,
    TaskColumn::ExecutorCpuTime,
    TaskColumn::JvmGcTime,
    TaskColumn::InputBytes,
    TaskColumn::InputRecords,
    TaskColumn::OutputBytes,
    TaskColumn::OutputRecords,
    TaskColumn::LocalBytesRead,
    TaskColumn::RemoteBytesRead,
    TaskColumn::ShuffleRecordsRead,
    TaskColumn::ShuffleBytesWritten,
    TaskColumn::ShuffleRecordsWritten,
    TaskColumn::ShuffleWriteTime,
    TaskColumn::MemoryBytesSpilled,
    TaskColumn::DiskBytesSpilled,
];

/// Adds the attempts of a stage to those of their executors, by the number of the executor's id.
pub(crate) fn add_stage(stage: &StageAttempt, end_ms: i64, all: &mut FxHashMap<i64, OnExecutor>) {
    let executors = stage.tasks.column_or(TaskColumn::Executor, -1);
    let mut numbers: Vec<i64> = executors.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let place: FxHashMap<i64, usize> = numbers.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let of_row: Vec<usize> = executors.iter().map(|id| place[id]).collect();
    let mut found = vec![OnExecutor::default(); numbers.len()];
    let launch = stage.tasks.column(TaskColumn::LaunchTime);
    let finish = stage.tasks.column(TaskColumn::FinishTime);
    let useful = stage.tasks.useful();
    for (row, status) in stage.tasks.statuses().into_iter().enumerate() {
        let one = &mut found[of_row[row]];
        one.counts.attempts += 1;
        one.counts.counted += u64::from(useful.contains(row));
        one.counts.failed += u64::from(status.is_failed());
        one.counts.killed += u64::from(status.is_killed());
        if let Some(launch) = launch[row] {
            let held = (finish[row].unwrap_or(end_ms) - launch).max(0);
            one.time_ms += held;
        }
    }
    stage.tasks.for_each(TaskColumn::Speculative, |row, flag| {
        found[of_row[row]].counts.speculative += u64::from(flag != 0);
    });
    for column in WORK {
        stage.tasks.for_each(*column, |row, value| {
            let sum = &mut found[of_row[row]].sums[column.slot()];
            *sum = Some(sum.unwrap_or(0).wrapping_add(value));
        });
    }
    for (id, one) in numbers.into_iter().zip(found) {
        all.entry(id).or_default().take(&one);
    }
}

impl OnExecutor {
    fn take(&mut self, other: &OnExecutor) {
        self.counts.attempts += other.counts.attempts;
        self.counts.counted += other.counts.counted;
        self.counts.failed += other.counts.failed;
        self.counts.killed += other.counts.killed;
        self.counts.speculative += other.counts.speculative;
        self.time_ms += other.time_ms;
        emberscope_model::summary::add(&mut self.sums, &other.sums);
    }
}

/// All executors, in the order of their ids.
pub fn executors(subject: Subject<'_>) -> Vec<ExecutorRow> {
    debug_assert!(WORK.iter().all(|column| column.slot() < TASK_COLUMNS.len()));
    let run = subject.run;
    let clock = Clock::of(run);
    let mut work: FxHashMap<i64, OnExecutor> = FxHashMap::default();
    for stage in &run.stages {
        add_stage(stage, clock.end_ms, &mut work);
    }
    run.executors.iter().map(|executor| row(subject, clock, executor, &mut work)).collect()
}

fn row(
    subject: Subject<'_>,
    clock: Clock,
    executor: &Executor,
    work: &mut FxHashMap<i64, OnExecutor>,
) -> ExecutorRow {
    let run = subject.run;
    let number = run.strings.find(&executor.id).map(i64::from);
    let own = number.and_then(|number| work.remove(&number)).unwrap_or_default();
    let offered = executor
        .lifetime(clock.end_ms)
        .zip(executor.cores)
        .map(|((added, removed), cores)| (removed - added) as f64 * f64::from(cores))
        .filter(|offered| *offered > 0.0);
    ExecutorRow {
        id: executor.id.clone(),
        host: executor.host.clone(),
        cores: executor.cores,
        added_ms: executor.added_ms.map(|ms| clock.at(ms)),
        removed_ms: executor.removed_ms.map(|ms| clock.at(ms)),
        removed_reason: masked_option(executor.removed_reason.as_deref()),
        resource_profile_id: executor.resource_profile_id,
        tasks: own.counts,
        task_time_ms: own.time_ms,
        // The same slot-held time as the summary's, which leaves out results that were seen late.
        busy_share: offered.map(|offered| {
            subject.digests.occupancy.occupied_by_executor.get(&executor.id).copied().unwrap_or(0) as f64
                / offered
        }),
        work: Work::of(&own.sums),
        result_lag_ms: subject.digests.occupancy.result_lag_ms.get(&executor.id).copied().unwrap_or(0),
        maximum_memory_bytes: executor.maximum_memory_bytes,
        maximum_on_heap_bytes: executor.maximum_on_heap_bytes,
        maximum_off_heap_bytes: executor.maximum_off_heap_bytes,
        peaks: executor.peaks.clone(),
        findings: findings_about(subject.diagnosis, |finding| {
            finding.scope.executor_id.as_deref() == Some(&executor.id)
        }),
    }
}

/// Exclusions, in the order of their times.
pub fn exclusions(run: &Run) -> Vec<ExclusionRow> {
    let clock = Clock::of(run);
    let of = |exclusion: &Exclusion| ExclusionRow {
        at_ms: exclusion.time.time_ms().map(|ms| clock.at(ms)),
        executor_id: exclusion.executor_id.clone(),
        host: exclusion.host_id.clone(),
        stage_id: exclusion.stage_id.0,
        task_failures: exclusion.task_failures.0,
        is_end: exclusion.is_end,
    };
    let mut rows: Vec<ExclusionRow> = run.exclusions.iter().map(of).collect();
    rows.sort_by_key(|row| row.at_ms);
    rows
}

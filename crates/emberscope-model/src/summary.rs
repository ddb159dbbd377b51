//! The summary of a run: what `summary --json` prints, and every total a door may show.
//!
//! Field names are a contract; adding is free, renaming is not.

use crate::accounting;
use crate::intervals::union_ms;
use crate::occupancy::occupancy;
use crate::run::{ApplicationStatus, JobStatus, Run};
use crate::tasks::LostCause;
use crate::trust::Trust;
use emberscope_log::columns::{N_TASK_COLUMNS, TaskColumn, TaskStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What a run was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of this shape.
    pub schema_version: u32,
    /// Where it was read from.
    pub source: String,
    /// Identity, times and outcome.
    pub application: ApplicationSummary,
    /// Totals.
    pub totals: Totals,
    /// What was read and what was not.
    pub trust: Trust,
}

/// Identity, times and outcome.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationSummary {
    /// Application id.
    pub id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// User.
    pub user: Option<String>,
    /// Spark version.
    pub spark_version: Option<String>,
    /// Start, epoch milliseconds.
    pub start_time_ms: Option<i64>,
    /// End, epoch milliseconds.
    pub end_time_ms: Option<i64>,
    /// Duration.
    pub duration_ms: Option<i64>,
    /// How it ended.
    pub status: ApplicationStatus,
}

/// Totals of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// Jobs.
    pub jobs: u64,
    /// Jobs that failed.
    pub jobs_failed: u64,
    /// Stages that ran.
    pub stages: u64,
    /// Stage attempts that ran.
    pub stage_attempts: u64,
    /// Stages that jobs list and that did not have to run.
    pub stages_skipped: u64,
    /// SQL executions.
    pub sql_executions: u64,
    /// Task attempts by outcome.
    pub tasks: TaskCounts,
    /// Work of the attempts that counted.
    pub useful: Work,
    /// Work of all attempts.
    pub all_work: Work,
    /// The difference.
    pub lost: Lost,
    /// Executors and core-time.
    pub executors: ExecutorTotals,
    /// Union of the intervals of root SQL executions.
    pub sql_wall_ms: Option<i64>,
    /// Union of the intervals of jobs.
    pub job_wall_ms: Option<i64>,
    /// Run minus the union of jobs.
    pub driver_only_ms: Option<i64>,
}

/// Task attempts by outcome: attempts = succeeded + failed + killed + resubmitted + running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Distinct partitions of stages.
    pub partitions: u64,
    /// Task attempts.
    pub attempts: u64,
    /// Succeeded, and the output was not lost later.
    pub succeeded: u64,
    /// Failed.
    pub failed: u64,
    /// Killed, commit denials included.
    pub killed: u64,
    /// Succeeded, but the output was lost with its executor.
    pub resubmitted: u64,
    /// Speculative copies, whatever their outcome.
    pub speculative: u64,
    /// Without an end in the log.
    pub running: u64,
}

/// Sums over task attempts; `None` = not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Executor run time.
    pub run_time_ms: Option<i64>,
    /// Executor CPU time.
    pub cpu_time_ns: Option<i64>,
    /// JVM garbage collection time.
    pub gc_time_ms: Option<i64>,
    /// Bytes read from storage or cache.
    pub input_bytes: Option<i64>,
    /// Records read from storage or cache.
    pub input_records: Option<i64>,
    /// Bytes written.
    pub output_bytes: Option<i64>,
    /// Records written.
    pub output_records: Option<i64>,
    /// Shuffle bytes read, local and remote.
    pub shuffle_read_bytes: Option<i64>,
    /// Shuffle records read.
    pub shuffle_read_records: Option<i64>,
    /// Shuffle bytes written.
    pub shuffle_write_bytes: Option<i64>,
    /// Shuffle records written.
    pub shuffle_write_records: Option<i64>,
    /// Time writing shuffle data.
    pub shuffle_write_time_ns: Option<i64>,
    /// Spilled data as it was in memory.
    pub memory_spilled_bytes: Option<i64>,
    /// Spilled data as written to disk.
    pub disk_spilled_bytes: Option<i64>,
}

/// Work that did not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lost {
    /// Run time of attempts that did not count; `None` when none of them measured it.
    pub run_time_ms: Option<i64>,
    /// Launch to finish of attempts that did not count.
    pub attempt_time_ms: i64,
    /// The same by cause; all causes are listed.
    pub by_cause: BTreeMap<&'static str, i64>,
}

/// Executors and core-time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExecutorTotals {
    /// Most executors at one time.
    pub peak: u64,
    /// Mean number over the run.
    pub mean: Option<f64>,
    /// Lifetimes times cores.
    pub allocated_core_ms: Option<i64>,
    /// Slot-held time times task cpus.
    pub occupied_core_ms: Option<i64>,
    /// Run time of all attempts.
    pub busy_core_ms: Option<i64>,
}

type Sums = [Option<i64>; N_TASK_COLUMNS];

fn add(sums: &mut Sums, more: &Sums) {
    for (sum, more) in sums.iter_mut().zip(more) {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0) + more);
        }
    }
}

impl Work {
    fn of(sums: &Sums) -> Self {
        let get = |column: TaskColumn| sums[column.slot()];
        let shuffle_read_bytes = match (get(TaskColumn::LocalBytesRead), get(TaskColumn::RemoteBytesRead)) {
            (None, None) => None,
            (local, remote) => Some(local.unwrap_or(0) + remote.unwrap_or(0)),
        };
        Work {
            run_time_ms: get(TaskColumn::ExecutorRunTime),
            cpu_time_ns: get(TaskColumn::ExecutorCpuTime),
            gc_time_ms: get(TaskColumn::JvmGcTime),
            input_bytes: get(TaskColumn::InputBytes),
            input_records: get(TaskColumn::InputRecords),
            output_bytes: get(TaskColumn::OutputBytes),
            output_records: get(TaskColumn::OutputRecords),
            shuffle_read_bytes,
            shuffle_read_records: get(TaskColumn::ShuffleRecordsRead),
            shuffle_write_bytes: get(TaskColumn::ShuffleBytesWritten),
            shuffle_write_records: get(TaskColumn::ShuffleRecordsWritten),
            shuffle_write_time_ns: get(TaskColumn::ShuffleWriteTime),
            memory_spilled_bytes: get(TaskColumn::MemoryBytesSpilled),
            disk_spilled_bytes: get(TaskColumn::DiskBytesSpilled),
        }
    }
}

impl Work {
    /// A native engine spills and never tells Spark's task metrics: a total of 0 is no measurement.
    fn forget_structural_zeros(&mut self) {
        for spilled in [&mut self.memory_spilled_bytes, &mut self.disk_spilled_bytes] {
            if *spilled == Some(0) {
                *spilled = None;
            }
        }
    }
}

/// Sums of all attempts and of the lost ones.
struct WorkSums {
    all: Sums,
    useful: Sums,
    lost: Lost,
}

fn work_sums(run: &Run) -> WorkSums {
    let mut sums =
        WorkSums { all: [None; N_TASK_COLUMNS], useful: [None; N_TASK_COLUMNS], lost: Lost::default() };
    for cause in LostCause::ALL {
        sums.lost.by_cause.insert(cause.name(), 0);
    }
    for stage in &run.stages {
        let all = stage.tasks.sums();
        add(&mut sums.all, &all);
        if stage.tasks.lost().is_empty() {
            // Every measured attempt counted: no need to look at rows.
            add(&mut sums.useful, &all);
            continue;
        }
        let mut useful = [None; N_TASK_COLUMNS];
        for (slot, sum) in useful.iter_mut().enumerate().filter(|(slot, _)| all[*slot].is_some()) {
            if let Some(column) = TaskColumn::from_slot(slot) {
                *sum = stage.tasks.sum_of(column, stage.tasks.useful());
            }
        }
        add(&mut sums.useful, &useful);
        add_lost(&mut sums.lost, stage);
    }
    sums
}

fn add_lost(lost: &mut Lost, stage: &crate::run::StageAttempt) {
    let launch = stage.tasks.column(TaskColumn::LaunchTime);
    let finish = stage.tasks.column(TaskColumn::FinishTime);
    let run_time = stage.tasks.column(TaskColumn::ExecutorRunTime);
    for (row, cause) in stage.tasks.lost() {
        let row = *row as usize;
        let time = match (launch[row], finish[row]) {
            (Some(launch), Some(finish)) => (finish - launch).max(0),
            _ => 0,
        };
        lost.attempt_time_ms += time;
        *lost.by_cause.entry(cause.name()).or_default() += time;
        if let Some(run_time) = run_time[row] {
            lost.run_time_ms = Some(lost.run_time_ms.unwrap_or(0) + run_time);
        }
    }
}

fn task_counts(run: &Run) -> TaskCounts {
    let mut counts = TaskCounts::default();
    let mut stage_id = None;
    let mut partitions: HashSet<i64> = HashSet::new();
    for stage in &run.stages {
        if stage_id != Some(stage.id) {
            counts.partitions += partitions.len() as u64;
            partitions.clear();
            stage_id = Some(stage.id);
        }
        partitions.extend(accounting::partitions(stage).into_iter().filter(|partition| *partition >= 0));
        stage.tasks.for_each(TaskColumn::Speculative, |_, speculative| {
            counts.speculative += u64::from(speculative != 0);
        });
        for status in stage.tasks.statuses() {
            counts.attempts += 1;
            match status {
                TaskStatus::Success => counts.succeeded += 1,
                TaskStatus::Running => counts.running += 1,
                TaskStatus::Resubmitted => counts.resubmitted += 1,
                status if status.is_killed() => counts.killed += 1,
                _ => counts.failed += 1,
            }
        }
    }
    counts.partitions += partitions.len() as u64;
    counts
}

/// Identity, times and outcome of a run.
pub fn application(run: &Run) -> ApplicationSummary {
    let application = &run.application;
    ApplicationSummary {
        id: application.id.clone(),
        attempt_id: application.attempt_id.clone(),
        name: application.name.clone(),
        user: application.user.clone(),
        spark_version: application.spark_version.clone(),
        start_time_ms: application.start_ms,
        end_time_ms: application.end_ms,
        duration_ms: application.duration_ms(),
        status: application.status,
    }
}

/// Summarises a run.
pub fn summarize(run: &Run) -> Summary {
    let application = &run.application;
    let mut sums = work_sums(run);
    let mut slots = occupancy(run);
    if run.trust.coverage.tasks_expected == 0 {
        // Nothing ran, so every total is known.
        sums.all = [Some(0); N_TASK_COLUMNS];
        sums.useful = sums.all;
        slots.occupied_core_ms = Some(0);
    }
    let mut all_work = Work::of(&sums.all);
    let mut useful = Work::of(&sums.useful);
    if run.trust.engine != "spark" {
        all_work.forget_structural_zeros();
        useful.forget_structural_zeros();
    }
    let mut lost = sums.lost;
    // Where anything was measured, lost is the rest, and 0 means that nothing was lost.
    lost.run_time_ms = all_work.run_time_ms.map(|all| all - useful.run_time_ms.unwrap_or(0));
    let run_end = application.end_ms;
    let within_run = |start: Option<i64>, end: Option<i64>| start.zip(end.or(run_end));
    let job_wall_ms = union_ms(run.jobs.iter().filter_map(|job| within_run(job.start_ms, job.end_ms)));
    let sql_wall_ms = union_ms(
        run.sql_executions
            .iter()
            .filter(|execution| execution.is_root())
            .filter_map(|execution| within_run(execution.start_ms, execution.end_ms)),
    );
    // Jobs outside the run's own bounds (clock skew) do not make the driver's share negative.
    let job_wall_in_run = match (application.start_ms, run_end) {
        (Some(start), Some(end)) => union_ms(
            run.jobs
                .iter()
                .filter_map(|job| within_run(job.start_ms, job.end_ms))
                .map(|(from, to)| (from.max(start), to.min(end))),
        ),
        _ => job_wall_ms,
    };
    Summary {
        schema_version: SCHEMA_VERSION,
        source: run.source.clone(),
        application: self::application(run),
        totals: Totals {
            jobs: run.jobs.len() as u64,
            jobs_failed: run.jobs.iter().filter(|job| job.status == JobStatus::Failed).count() as u64,
            stages: run.stages.iter().map(|stage| stage.id).collect::<BTreeSet<u32>>().len() as u64,
            stage_attempts: run.stages.len() as u64,
            stages_skipped: run.unsubmitted_stages.iter().filter(|stage| stage.is_skipped).count() as u64,
            sql_executions: run.sql_executions.len() as u64,
            tasks: task_counts(run),
            executors: ExecutorTotals {
                peak: slots.peak_executors as u64,
                mean: slots.mean_executors,
                allocated_core_ms: slots.allocated_core_ms,
                occupied_core_ms: slots.occupied_core_ms,
                busy_core_ms: all_work.run_time_ms,
            },
            useful,
            all_work,
            lost,
            sql_wall_ms: Some(sql_wall_ms),
            job_wall_ms: Some(job_wall_ms),
            driver_only_ms: application.duration_ms().map(|duration| (duration - job_wall_in_run).max(0)),
        },
        trust: run.trust.clone(),
    }
}

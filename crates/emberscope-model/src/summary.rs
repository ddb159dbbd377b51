//! The summary of a run: what `summary --json` prints, and every total a door may show.
//!
//! Field names are a contract; adding is free, renaming is not.

use crate::distinct::Distinct;
use crate::intervals::union_ms;
use crate::occupancy::{HeldSlots, occupancy_of};
use crate::parallel;
use crate::run::{ApplicationStatus, JobStatus, Run, StageAttempt};
use crate::tasks::{LostCause, TaskSums as Sums, present};
use crate::trust::Trust;
use emberscope_log::columns::{N_TASK_COLUMNS, TaskColumn, TaskStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What a run was.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    /// Run time of attempts that did not count; `None` when none of them measured it.
    pub run_time_ms: Option<i64>,
    /// Launch to finish of attempts that did not count.
    pub attempt_time_ms: i64,
    /// The same by cause; all causes are listed.
    pub by_cause: BTreeMap<&'static str, i64>,
}

/// Executors and core-time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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

/// Adds sums of task columns; what neither has stays not measured.
pub fn add(sums: &mut Sums, more: &Sums) {
    for (sum, more) in sums.iter_mut().zip(more) {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0) + more);
        }
    }
}

impl Work {
    /// From sums of task columns.
    pub fn of(sums: &Sums) -> Self {
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

/// What the tasks of some stages add up to.
struct Tasks {
    all: Sums,
    useful: Sums,
    lost: Lost,
    counts: TaskCounts,
    held: HeldSlots,
    columns: [Vec<i64>; COUNTED.len()],
}

const COUNTED: [TaskColumn; 4] =
    [TaskColumn::Status, TaskColumn::Index, TaskColumn::PartitionId, TaskColumn::Speculative];

impl Tasks {
    fn new() -> Self {
        let by_cause = LostCause::ALL.into_iter().map(|cause| (cause.name(), 0)).collect();
        Tasks {
            all: [None; N_TASK_COLUMNS],
            useful: [None; N_TASK_COLUMNS],
            lost: Lost { by_cause, ..Lost::default() },
            counts: TaskCounts::default(),
            held: HeldSlots::default(),
            columns: Default::default(),
        }
    }

    /// Adds all attempts of one stage.
    fn add(&mut self, run: &Run, attempts: &[StageAttempt], partitions: &mut Distinct) {
        partitions.clear();
        for stage in attempts {
            let all = stage.tasks.sums();
            add(&mut self.all, &all);
            if stage.tasks.lost().is_empty() {
                add(&mut self.useful, &all);
            } else {
                add(&mut self.useful, &stage.tasks.useful_sums());
                self.add_lost(stage);
            }
            self.count(stage, partitions);
            self.held.add(run, stage);
        }
        self.counts.partitions += partitions.len();
    }

    fn count(&mut self, stage: &StageAttempt, known: &mut Distinct) {
        for chunk in stage.tasks.chunks() {
            chunk.gather(COUNTED, &mut self.columns);
            let [statuses, indexes, partitions, speculative] = &self.columns;
            for row in 0..chunk.rows() {
                // As `accounting::partitions` says.
                let partition = present(partitions[row]).filter(|partition| *partition >= 0);
                if let Some(partition) = partition.or(present(indexes[row])).filter(|found| *found >= 0) {
                    known.insert(partition);
                }
                self.counts.speculative += u64::from(present(speculative[row]).is_some_and(|is| is != 0));
                self.counts.attempts += 1;
                match stage.tasks.status_of(chunk.first_row() + row, statuses[row]) {
                    TaskStatus::Success => self.counts.succeeded += 1,
                    TaskStatus::Running => self.counts.running += 1,
                    TaskStatus::Resubmitted => self.counts.resubmitted += 1,
                    status if status.is_killed() => self.counts.killed += 1,
                    _ => self.counts.failed += 1,
                }
            }
        }
    }

    fn add_lost(&mut self, stage: &StageAttempt) {
        let launch = stage.tasks.column(TaskColumn::LaunchTime);
        let finish = stage.tasks.column(TaskColumn::FinishTime);
        for (row, cause) in stage.tasks.lost() {
            let row = *row as usize;
            let time = match (launch[row], finish[row]) {
                (Some(launch), Some(finish)) => (finish - launch).max(0),
                _ => 0,
            };
            self.lost.attempt_time_ms += time;
            *self.lost.by_cause.entry(cause.name()).or_default() += time;
        }
    }

    /// Takes what other stages add up to; all but the held slots, which keep their order apart.
    fn take(&mut self, other: &Tasks) {
        add(&mut self.all, &other.all);
        add(&mut self.useful, &other.useful);
        self.lost.attempt_time_ms += other.lost.attempt_time_ms;
        for (cause, time) in &other.lost.by_cause {
            *self.lost.by_cause.entry(cause).or_default() += time;
        }
        let (counts, more) = (&mut self.counts, &other.counts);
        counts.partitions += more.partitions;
        counts.attempts += more.attempts;
        counts.succeeded += more.succeeded;
        counts.failed += more.failed;
        counts.killed += more.killed;
        counts.resubmitted += more.resubmitted;
        counts.speculative += more.speculative;
        counts.running += more.running;
    }
}

/// Adds up the tasks of all stages.
fn add_up(run: &Run, threads: usize) -> (Tasks, Vec<HeldSlots>) {
    let stages: Vec<&[StageAttempt]> = run.stages.chunk_by(|one, next| one.id == next.id).collect();
    let weight = |attempts: &&[StageAttempt]| attempts.iter().map(|stage| stage.tasks.rows() + 1).sum();
    let parts = parallel::parts(stages, threads, weight, |part| {
        let (mut tasks, mut partitions) = (Tasks::new(), Distinct::default());
        for attempts in part {
            tasks.add(run, attempts, &mut partitions);
        }
        tasks
    });
    let mut whole = Tasks::new();
    let mut held = Vec::new();
    for part in parts {
        whole.take(&part);
        held.push(part.held);
    }
    (whole, held)
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
    summarize_on(run, 1)
}

/// Summarises a run with so many threads; the summary does not depend on it.
pub fn summarize_on(run: &Run, threads: usize) -> Summary {
    let application = &run.application;
    let (mut sums, held) = add_up(run, threads);
    let mut slots = occupancy_of(run, held);
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
            tasks: sums.counts,
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

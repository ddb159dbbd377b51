//! What the monitoring API counts of stages, jobs and executors, in its own way.
//!
//! A success that was taken back stays a success there and counts as a failure too (`AppStatusListener`),
//! so that these counts are not those of the summary.

use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::run::{Job, JobStatus, Run, StageAttempt, StageStatus};
use emberscope_model::tasks::TaskSums;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of all stage attempts, in the order of the run's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Of each stage attempt.
    pub(super) stages: Vec<StageFigures>,
    /// Of each executor.
    pub(super) executors: FxHashMap<String, ExecutorFigures>,
}

/// Task attempts by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) active: i64,
    pub(super) complete: i64,
    pub(super) failed: i64,
    pub(super) killed: i64,
}

impl Counts {
    fn add(&mut self, status: TaskStatus) {
        match status {
            TaskStatus::Success => self.complete += 1,
            TaskStatus::Running => self.active += 1,
            TaskStatus::Resubmitted => {
                self.complete += 1;
                self.failed += 1;
            }
            status if status.is_killed() => self.killed += 1,
            _ => self.failed += 1,
        }
    }

    fn add_all(&mut self, more: Counts) {
        self.active += more.active;
        self.complete += more.complete;
        self.failed += more.failed;
        self.killed += more.killed;
    }
}

/// A stage attempt.
#[derive(Clone, Debug)]
pub(super) struct StageFigures {
    pub(super) counts: Counts,
    /// Of them, speculative copies.
    pub(super) speculative: Counts,
    /// How many copies.
    pub(super) copies: i64,
    /// Tasks of which any attempt succeeded.
    pub(super) completed_indices: BTreeSet<i64>,
    /// Killed attempts by reason.
    pub(super) killed_summary: BTreeMap<String, i64>,
    /// Sums over all attempts.
    pub(super) sums: TaskSums,
}

/// An executor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExecutorFigures {
    pub(super) counts: Counts,
    pub(super) total_tasks: i64,
    pub(super) duration_ms: i64,
    pub(super) gc_time_ms: i64,
    pub(super) input_bytes: i64,
    pub(super) shuffle_read: i64,
    pub(super) shuffle_write: i64,
}

impl Figures {
    /// Counts all tasks of a run.
    pub(crate) fn of(run: &Run) -> Figures {
        let mut executors = FxHashMap::default();
        let stages = run.stages.iter().map(|stage| of_stage(run, stage, &mut executors)).collect();
        let executors =
            executors.into_iter().map(|(id, figures)| (run.strings.text(id).to_owned(), figures)).collect();
        Figures { stages, executors }
    }
}

fn of_stage(
    run: &Run,
    stage: &StageAttempt,
    executors: &mut FxHashMap<u32, ExecutorFigures>,
) -> StageFigures {
    let tasks = &stage.tasks;
    let statuses = tasks.statuses();
    let (mut counts, mut speculative) = (Counts::default(), Counts::default());
    let mut completed_indices = BTreeSet::new();
    let mut killed_summary = BTreeMap::new();
    let indices = tasks.column_or(TaskColumn::Index, -1);
    for (row, status) in statuses.iter().enumerate() {
        counts.add(*status);
        if matches!(status, TaskStatus::Success | TaskStatus::Resubmitted) {
            completed_indices.insert(indices[row]);
        }
    }
    let mut copies = 0;
    tasks.for_each(TaskColumn::Speculative, |row, is_copy| {
        if is_copy != 0 {
            copies += 1;
            speculative.add(statuses[row]);
        }
    });
    if counts.killed > 0 {
        let ids = tasks.column_or(TaskColumn::TaskId, 0);
        for (row, _) in statuses.iter().enumerate().filter(|(_, status)| status.is_killed()) {
            let reason = run.task_errors.get(&(ids[row] as u64)).map_or("", |text| text);
            *killed_summary.entry(reason.to_owned()).or_default() += 1;
        }
    }
    add_to_executors(stage, &statuses, executors);
    StageFigures { counts, speculative, copies, completed_indices, killed_summary, sums: tasks.sums() }
}

fn add_to_executors(
    stage: &StageAttempt,
    statuses: &[TaskStatus],
    executors: &mut FxHashMap<u32, ExecutorFigures>,
) {
    let column = |column| stage.tasks.column_or(column, 0);
    let executor = column(TaskColumn::Executor);
    let (launch, finish) = (column(TaskColumn::LaunchTime), column(TaskColumn::FinishTime));
    let gc = column(TaskColumn::JvmGcTime);
    let input = column(TaskColumn::InputBytes);
    let (local, remote) = (column(TaskColumn::LocalBytesRead), column(TaskColumn::RemoteBytesRead));
    let written = column(TaskColumn::ShuffleBytesWritten);
    for (row, status) in statuses.iter().enumerate() {
        let of = executors.entry(executor[row] as u32).or_default();
        of.counts.add(*status);
        of.total_tasks += 1;
        if *status != TaskStatus::Running {
            of.duration_ms += finish[row] - launch[row];
        }
        of.gc_time_ms += gc[row];
        of.input_bytes += input[row];
        of.shuffle_read += local[row] + remote[row];
        of.shuffle_write += written[row];
    }
}

/// A job.
#[derive(Clone, Debug, Default)]
pub(super) struct JobFigures {
    pub(super) counts: Counts,
    pub(super) tasks: i64,
    pub(super) skipped_tasks: i64,
    pub(super) completed_indices: i64,
    pub(super) active_stages: i64,
    pub(super) completed_stages: i64,
    pub(super) skipped_stages: i64,
    pub(super) failed_stages: i64,
    pub(super) killed_summary: BTreeMap<String, i64>,
}

impl JobFigures {
    /// Counts the stages that ran while the job did.
    pub(super) fn of(run: &Run, figures: &Figures, job: &Job) -> JobFigures {
        let mut of_job = JobFigures::default();
        let mut completed = BTreeSet::new();
        for id in &job.stage_ids {
            let first = run.stages.partition_point(|stage| stage.id < *id);
            let attempts = run.attempts(*id);
            let mut indices: BTreeSet<i64> = BTreeSet::new();
            for (stage, counted) in attempts.iter().zip(&figures.stages[first..]) {
                if !ran_in(stage, job) {
                    continue;
                }
                of_job.counts.add_all(counted.counts);
                indices.extend(&counted.completed_indices);
                for (reason, times) in &counted.killed_summary {
                    *of_job.killed_summary.entry(reason.clone()).or_default() += times;
                }
                match stage.status {
                    StageStatus::Complete => _ = completed.insert(stage.id),
                    StageStatus::Failed => of_job.failed_stages += 1,
                    StageStatus::Active => of_job.active_stages += 1,
                }
            }
            of_job.completed_indices += indices.len() as i64;
            of_job.tasks += tasks_to_do(attempts, job);
        }
        of_job.completed_stages = completed.len() as i64;
        for stage in run.unsubmitted_stages.iter().filter(|stage| job.stage_ids.contains(&stage.id)) {
            of_job.tasks += stage.num_tasks as i64;
            if job.status != JobStatus::Running {
                of_job.skipped_stages += 1;
                of_job.skipped_tasks += stage.num_tasks as i64;
            }
        }
        of_job
    }
}

/// Whether an attempt was submitted while the job ran.
fn ran_in(stage: &StageAttempt, job: &Job) -> bool {
    match (stage.submitted_ms, job.start_ms) {
        (Some(submitted), Some(start)) => submitted >= start && job.end_ms.is_none_or(|end| submitted <= end),
        _ => stage.job_ids.first() == Some(&job.id),
    }
}

/// Tasks of a stage that had not been done when the job began.
fn tasks_to_do(attempts: &[StageAttempt], job: &Job) -> i64 {
    let was_done = attempts.iter().any(|stage| {
        stage.status == StageStatus::Complete
            && stage.completed_ms.zip(job.start_ms).is_some_and(|(completed, start)| completed <= start)
    });
    if was_done { 0 } else { attempts.first().and_then(|stage| stage.num_tasks).unwrap_or(0) as i64 }
}

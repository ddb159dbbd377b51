//! The run as the replay needs it: slots, tasks, and what waited for what.
//!
//! A *unit* is what the driver ran as one thing: a root SQL execution, or a job outside SQL. Units
//! follow units that had ended when they started; within a unit jobs follow jobs in the same way; a
//! stage follows the stages that computed its input and its own earlier attempts. What is left between
//! a thing and what it waited for is its *lag*, kept as measured.

use super::edit::Place;
use super::slots::{Load, set_gaps};
use super::units::jobs_and_units;
use crate::capacity::left_early;
use crate::context::Context;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::accounting::partitions;
use emberscope_model::run::{Executor, Run, StageAttempt, StageStatus};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// No other task.
pub(super) const NONE: u32 = u32::MAX;

/// One task attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskModel {
    /// How long it holds its slot, milliseconds.
    pub(super) hold_ms: u32,
    /// Launch to finish as the driver sees it, milliseconds.
    pub(super) duration_ms: u32,
    /// The attempt it comes after: one that failed, or of which it is a copy; else [`NONE`].
    pub(super) after: u32,
    /// Milliseconds from the other's finish (a retry) or launch (a copy).
    pub(super) after_ms: u32,
    /// Whether `after_ms` counts from the other's launch.
    pub(super) is_copy: bool,
    /// Whether the stage is done only when it is.
    pub(super) is_awaited: bool,
}

/// One stage attempt.
#[derive(Clone, Debug)]
pub(super) struct StageModel {
    pub(super) place: Place,
    pub(super) job: usize,
    /// Stage attempts it waits for.
    pub(super) parents: Vec<usize>,
    /// From the last parent's completion (or the job's start) to submission.
    pub(super) submit_lag_ms: i64,
    /// From submission to first launch where a slot was free.
    pub(super) launch_lag_ms: i64,
    /// From the last awaited finish to completion.
    pub(super) complete_lag_ms: i64,
    /// From one task's end to the next one's launch in the same slot.
    pub(super) gap_ms: u32,
    pub(super) tasks: Arc<[TaskModel]>,
    /// Launches as observed, from submission.
    pub(super) launches_ms: Arc<[i32]>,
    /// Pool of slots: a resource profile.
    pub(super) pool: usize,
    pub(super) fair_pool: u32,
    pub(super) is_barrier: bool,
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct JobModel {
    pub(super) unit: usize,
    /// Jobs of the same unit it waits for.
    pub(super) parents: Vec<usize>,
    /// From the last parent's end (or the unit's start) to its start.
    pub(super) start_lag_ms: i64,
    /// Stage attempts it ran.
    pub(super) stages: Vec<usize>,
    /// From its last stage's completion (or its start) to its end.
    pub(super) end_lag_ms: i64,
    pub(super) start_ms: i64,
    pub(super) end_ms: i64,
}

/// What the driver ran as one thing.
#[derive(Clone, Debug)]
pub(super) struct UnitModel {
    pub(super) parents: Vec<usize>,
    /// From the last parent's end (or the run's start) to its start.
    pub(super) start_lag_ms: i64,
    pub(super) jobs: Vec<usize>,
    /// From its last job's end (or its start) to its end.
    pub(super) end_lag_ms: i64,
    pub(super) start_ms: i64,
    pub(super) end_ms: i64,
}

/// Slots of one executor.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExecutorModel {
    pub(super) pool: usize,
    pub(super) slots: u32,
    pub(super) added_ms: i64,
    pub(super) removed_ms: i64,
    /// Stage attempt whose submission it answered, and how long it took to come.
    pub(super) trigger: Option<(usize, i64)>,
}

/// The run as the replay needs it.
#[derive(Clone, Debug)]
pub struct ReplayModel {
    pub(super) stages: Vec<StageModel>,
    pub(super) jobs: Vec<JobModel>,
    pub(super) units: Vec<UnitModel>,
    pub(super) executors: Vec<ExecutorModel>,
    pub(super) pools: usize,
    pub(super) is_fair: bool,
    pub(super) start_ms: i64,
    pub(super) end_ms: i64,
    /// Units at which the run's end hangs, by their ends.
    pub(super) end_lag_ms: i64,
    pub(super) by_place: BTreeMap<Place, usize>,
    pub(super) by_job: BTreeMap<u32, usize>,
    /// Stage attempts that outlived their job: they hold slots, and nobody waits for them.
    pub(super) strays: BTreeMap<usize, Vec<usize>>,
    /// Whether driver threads ran side by side, so that the order among them is an assumption.
    pub has_concurrent_units: bool,
}

impl ReplayModel {
    /// Of a run; `None` where start or end of the run, or all tasks, are unknown.
    pub fn of(context: &Context<'_>) -> Option<Self> {
        let run = context.run;
        context.wall_ms?;
        let by_place: BTreeMap<Place, usize> =
            run.stages.iter().enumerate().map(|(n, stage)| ((stage.id, stage.attempt), n)).collect();
        let (jobs, units, by_job) = jobs_and_units(run, context)?;
        let lags = &context.occupancy.result_lag_ms;
        let pools = Pools::of(run);
        let mut fair_pools: Vec<&str> = run.stages.iter().filter_map(|stage| stage.pool.as_deref()).collect();
        fair_pools.sort_unstable();
        fair_pools.dedup();
        let left_early = left_early(context);
        let loads = Load::of_pools(context, &pools, &left_early);
        let mut stages: Vec<StageModel> = crate::parallel::map(&run.stages, |n, stage| {
            let job = stage.job_ids.first().and_then(|id| by_job.get(id)).copied().unwrap_or(0);
            let parents = stage_parents(run, stage, &by_place);
            let fair_pool = stage.pool.as_deref().and_then(|pool| fair_pools.binary_search(&pool).ok());
            let pool = pools.of_stage(stage);
            let mut model = stage_model(context, n, lags, &loads[pool]);
            model.job = job;
            let job_start = jobs.get(job).map_or(context.start_ms, |job| job.start_ms);
            let ready = parents.iter().filter_map(|n| completed(&run.stages[*n])).fold(job_start, i64::max);
            model.submit_lag_ms = submitted(stage, job_start) - ready;
            model.parents = parents;
            model.pool = pool;
            model.fair_pool = fair_pool.map_or(0, |pool| pool as u32 + 1);
            model
        });
        set_gaps(context, &mut stages);
        let mut model = ReplayModel {
            executors: executors(context, &pools, &stages, &left_early),
            stages,
            jobs,
            units,
            pools: pools.count(),
            is_fair: run
                .spark_property("spark.scheduler.mode")
                .is_some_and(|mode| mode.eq_ignore_ascii_case("fair")),
            start_ms: context.start_ms,
            end_ms: context.end_ms,
            end_lag_ms: 0,
            by_place,
            by_job,
            strays: BTreeMap::new(),
            has_concurrent_units: false,
        };
        model.close(run);
        (!model.executors.is_empty()).then_some(model)
    }

    /// Ties stages to jobs and fills in the lags that follow from it.
    fn close(&mut self, run: &Run) {
        for (n, stage) in self.stages.iter().enumerate() {
            if let Some(job) = self.jobs.get_mut(stage.job) {
                job.stages.push(n);
            }
        }
        for (n, job) in self.jobs.iter_mut().enumerate() {
            let is_in_time =
                |stage: &usize| completed(&run.stages[*stage]).is_some_and(|at| at <= job.end_ms);
            let (own, strays): (Vec<usize>, Vec<usize>) =
                job.stages.iter().partition(|stage| is_in_time(stage));
            let last =
                own.iter().filter_map(|stage| completed(&run.stages[*stage])).fold(job.start_ms, i64::max);
            job.end_lag_ms = job.end_ms - last;
            job.stages = own;
            if !strays.is_empty() {
                self.strays.insert(n, strays);
            }
        }
        let last = self.units.iter().map(|unit| unit.end_ms).max().unwrap_or(self.start_ms);
        self.end_lag_ms = self.end_ms - last;
        let mut spans: Vec<(i64, i64)> = self.units.iter().map(|unit| (unit.start_ms, unit.end_ms)).collect();
        spans.sort_unstable();
        self.has_concurrent_units = spans.windows(2).any(|pair| pair[1].0 < pair[0].1);
    }

    /// Number of task attempts.
    pub fn tasks(&self) -> usize {
        self.stages.iter().map(|stage| stage.tasks.len()).sum()
    }

    /// Start of the run, epoch milliseconds.
    pub fn start_of_run_ms(&self) -> i64 {
        self.start_ms
    }

    /// Whether executors came because stages asked for them.
    pub fn has_demand(&self) -> bool {
        self.executors.iter().any(|executor| executor.trigger.is_some())
    }

    /// Start to end of the run as observed.
    pub fn wall_ms(&self) -> i64 {
        self.end_ms - self.start_ms
    }
}

pub(super) fn submitted(stage: &StageAttempt, otherwise: i64) -> i64 {
    stage.submitted_ms.or(stage.first_launch_ms).unwrap_or(otherwise)
}

/// When a stage attempt was over: its completion, else its last finish.
fn completed(stage: &StageAttempt) -> Option<i64> {
    stage.completed_ms.or(stage.last_finish_ms)
}

/// Attempts that were complete when this one was submitted: of the stages that computed its input, and
/// its own earlier ones.
fn stage_parents(run: &Run, stage: &StageAttempt, by_place: &BTreeMap<Place, usize>) -> Vec<usize> {
    let Some(at) = stage.submitted_ms else { return Vec::new() };
    let ids = stage.executed_parents.iter().copied().chain((stage.attempt > 0).then_some(stage.id));
    let mut parents = Vec::new();
    for id in ids {
        for other in run.attempts(id) {
            // A strict order, whatever times a damaged log has, so that nothing waits for itself.
            let is_earlier =
                (other.submitted_ms, other.id, other.attempt) < (Some(at), stage.id, stage.attempt);
            if is_earlier && completed(other).is_some_and(|end| end <= at) {
                parents.extend(by_place.get(&(other.id, other.attempt)));
            }
        }
    }
    parents
}

/// Pools of slots by resource profile.
pub(super) struct Pools {
    profiles: Vec<u32>,
    cpus: Vec<f64>,
}

impl Pools {
    fn of(run: &Run) -> Self {
        let mut profiles: Vec<u32> =
            run.executors.iter().map(|executor| executor.resource_profile_id).collect();
        profiles.sort_unstable();
        profiles.dedup();
        let default = run.spark_property("spark.task.cpus").and_then(|cpus| cpus.parse().ok()).unwrap_or(1.0);
        let cpus = profiles
            .iter()
            .map(|id| {
                let profile = run.resource_profiles.get(id);
                let cpus = profile.and_then(|profile| profile.task.get("cpus")).map(|request| request.amount);
                cpus.filter(|cpus| *cpus > 0.0).unwrap_or(default)
            })
            .collect();
        Pools { profiles, cpus }
    }

    pub(super) fn count(&self) -> usize {
        self.profiles.len().max(1)
    }

    pub(super) fn of_executor(&self, executor: &Executor) -> usize {
        self.profiles.binary_search(&executor.resource_profile_id).unwrap_or(0)
    }

    /// Tasks that an executor can run at a time; `None` where its cores are not known.
    pub(super) fn slots_of(&self, executor: &Executor) -> Option<u32> {
        let cpus = self.cpus.get(self.of_executor(executor)).copied().unwrap_or(1.0);
        executor.cores.map(|cores| (f64::from(cores) / cpus).floor().max(1.0) as u32)
    }

    /// The pool a stage runs in; one whose profile has no executor of its own runs in the first.
    pub(super) fn of_stage(&self, stage: &StageAttempt) -> usize {
        self.profiles.binary_search(&stage.resource_profile_id).unwrap_or(0)
    }
}

fn executors(
    context: &Context<'_>,
    pools: &Pools,
    stages: &[StageModel],
    left_early: &[Option<i64>],
) -> Vec<ExecutorModel> {
    let run = context.run;
    let is_dynamic = context.conf(None).bool("spark.dynamicAllocation.enabled") == Some(true);
    let mut submissions: Vec<(i64, usize)> =
        stages.iter().enumerate().filter_map(|(n, _)| Some((run.stages[n].submitted_ms?, n))).collect();
    submissions.sort_unstable();
    let mut found = Vec::new();
    for (executor, left) in run.executors.iter().zip(left_early) {
        let (Some(slots), Some(added_ms)) = (pools.slots_of(executor), executor.added_ms) else { continue };
        let before = submissions.partition_point(|(at, _)| *at <= added_ms);
        let trigger = before.checked_sub(1).map(|last| (submissions[last].1, added_ms - submissions[last].0));
        found.push(ExecutorModel {
            pool: pools.of_executor(executor),
            slots,
            added_ms,
            removed_ms: left.or(executor.removed_ms).unwrap_or(i64::MAX),
            trigger: trigger.filter(|_| is_dynamic),
        });
    }
    if found.is_empty() {
        // A log without executors: as many slots as tasks ever ran side by side.
        let slots = context.stages.iter().map(|digest| digest.peak_concurrency).max().unwrap_or(0);
        if slots > 0 {
            found.push(ExecutorModel {
                pool: 0,
                slots,
                added_ms: context.start_ms,
                removed_ms: i64::MAX,
                trigger: None,
            });
        }
    }
    found
}

fn stage_model(
    context: &Context<'_>,
    position: usize,
    lags: &BTreeMap<String, i64>,
    load: &Load,
) -> StageModel {
    let (stage, order) = (&context.run.stages[position], &context.stages[position].task_order);
    let at = submitted(stage, context.start_ms);
    let launch = stage.tasks.column(TaskColumn::LaunchTime);
    let finish = stage.tasks.column(TaskColumn::FinishTime);
    let getting = stage.tasks.column(TaskColumn::GettingResultTime);
    let executor = stage.tasks.column(TaskColumn::Executor);
    let speculative = stage.tasks.column_or(TaskColumn::Speculative, 0);
    let mut worked = stage.tasks.column_or(TaskColumn::ExecutorDeserializeTime, 0);
    stage.tasks.for_each(TaskColumn::ExecutorRunTime, |row, run| worked[row] += run);
    let statuses = stage.tasks.statuses();
    let partition = partitions(stage);
    let useful = stage.tasks.useful();
    let has_failed = stage.status == StageStatus::Failed || useful.is_empty();
    let end = completed(stage).unwrap_or(context.end_ms);
    let mut lag_of: FxHashMap<i64, i64> = FxHashMap::default();
    let mut last_of: FxHashMap<i64, u32> = FxHashMap::default();
    let mut tasks: Vec<TaskModel> = Vec::with_capacity(order.len());
    let mut launches = Vec::with_capacity(order.len());
    let mut last_awaited = None;
    let has_retries = !stage.tasks.lost().is_empty();
    for (n, row) in order.iter().enumerate() {
        let row = *row as usize;
        let start = launch[row].unwrap_or(at);
        let stop = finish[row].unwrap_or(context.end_ms).max(start);
        let lag = executor[row].map_or(0, |id| {
            *lag_of.entry(id).or_insert_with(|| {
                u32::try_from(id)
                    .ok()
                    .and_then(|id| lags.get(context.run.strings.text(id)).copied())
                    .unwrap_or(0)
            })
        });
        let free = getting[row].unwrap_or(stop).clamp(start, stop);
        let free = (free - lag).max((start + worked[row]).min(free)).max(start);
        let mut task = TaskModel {
            hold_ms: millis(free - start),
            duration_ms: millis(stop - start),
            after: NONE,
            after_ms: 0,
            is_copy: false,
            is_awaited: stop <= end
                && (useful.contains(row) || has_failed || statuses[row] == TaskStatus::Resubmitted),
        };
        if has_retries && let Some(&other) = last_of.get(&partition[row]) {
            let other_row = order[other as usize] as usize;
            let (other_start, other_stop) =
                (launch[other_row].unwrap_or(at), finish[other_row].unwrap_or(context.end_ms));
            task.is_copy = speculative[row] != 0 || other_stop > start;
            task.after = other;
            task.after_ms = millis(start - if task.is_copy { other_start } else { other_stop });
        }
        if has_retries {
            last_of.insert(partition[row], n as u32);
        }
        if task.is_awaited {
            last_awaited = last_awaited.max(Some(stop));
        }
        launches.push(i32::try_from(start - at).unwrap_or(i32::MAX));
        tasks.push(task);
    }
    let first = order.first().and_then(|row| launch[*row as usize]);
    let launch_lag = first.map_or(0, |first| load.free_ms(at, first));
    StageModel {
        place: (stage.id, stage.attempt),
        job: 0,
        parents: Vec::new(),
        submit_lag_ms: 0,
        launch_lag_ms: launch_lag,
        complete_lag_ms: completed(stage).map_or(0, |end| end - last_awaited.unwrap_or(at)),
        gap_ms: 0,
        tasks: tasks.into(),
        launches_ms: launches.into(),
        pool: 0,
        fair_pool: 0,
        is_barrier: stage.is_barrier,
    }
}

pub(super) fn millis(ms: i64) -> u32 {
    u32::try_from(ms.max(0)).unwrap_or(u32::MAX)
}

//! What executors offered and what tasks took of it: the one definition behind every idle figure.
//!
//! Offered = lifetimes times cores ([`Context::available_core_ms`]); taken = slots held by task attempts
//! ([`occupancy`](emberscope_model::occupancy::occupancy)); idle = the difference.

use crate::context::Context;
use crate::detector::Threshold;
use crate::losses::GIVEN_BACK;
use emberscope_log::columns::TaskColumn;
use emberscope_model::intervals::merged;
use emberscope_model::run::Executor;
use std::collections::HashMap;

/// Core-time of a run, core-milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// What executors offered.
    pub allocated: i64,
    /// What task attempts took of it, lost ones included.
    pub occupied: i64,
    /// The rest.
    pub idle: i64,
    /// The part of the idle time in which no stage ran a task.
    pub idle_between_stages: i64,
    /// The part in which some stage did, on fewer cores than there were.
    pub idle_in_stages: i64,
    /// Most cores at one time.
    pub peak_cores: i64,
}

impl Capacity {
    /// Share of the offered core-time that tasks took.
    pub fn used_share(&self) -> f64 {
        if self.allocated > 0 { self.occupied as f64 / self.allocated as f64 } else { 0.0 }
    }

    /// Share that was idle.
    pub fn idle_share(&self) -> f64 {
        1.0 - self.used_share()
    }
}

/// Core-time of a run; `None` when no executor's cores are known or no task ran.
pub fn capacity(ctx: &Context<'_>) -> Option<Capacity> {
    *ctx.capacity.get_or_init(|| compute(ctx))
}

fn compute(ctx: &Context<'_>) -> Option<Capacity> {
    let allocated = ctx.allocated_core_ms.filter(|allocated| *allocated > 0)?;
    // The end of a task is seen a little after its slot is free, so that the sum may exceed what there was.
    let occupied = ctx.occupancy.occupied_core_ms?.clamp(0, allocated);
    let idle = allocated - occupied;
    let between = stage_gaps(ctx).iter().filter_map(|(from, to)| ctx.available_core_ms(*from, *to)).sum();
    let idle_between_stages = idle.min(between);
    Some(Capacity {
        allocated,
        occupied,
        idle,
        idle_between_stages,
        idle_in_stages: idle - idle_between_stages,
        peak_cores: peak_cores(ctx),
    })
}

/// Spans of the run in which no task ran.
fn stage_gaps(ctx: &Context<'_>) -> Vec<(i64, i64)> {
    gaps(ctx.stages.iter().filter_map(|digest| digest.running), ctx.start_ms, ctx.end_ms)
}

/// What `spans` leave of `from..to`.
pub fn gaps(spans: impl IntoIterator<Item = (i64, i64)>, from: i64, to: i64) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut at = from;
    for (start, end) in merged(spans) {
        if start.min(to) > at {
            gaps.push((at, start.min(to)));
        }
        at = at.max(end);
    }
    if at < to {
        gaps.push((at, to));
    }
    gaps
}

/// Cores of the executors that are there at a time.
pub fn cores_at(ctx: &Context<'_>, time_ms: i64) -> i64 {
    let is_there = |executor: &&Executor| {
        executor.lifetime(ctx.end_ms).is_some_and(|(added, removed)| added <= time_ms && time_ms < removed)
    };
    ctx.run.executors.iter().filter(is_there).map(|executor| i64::from(executor.cores.unwrap_or(0))).sum()
}

fn peak_cores(ctx: &Context<'_>) -> i64 {
    let starts = ctx.run.executors.iter().filter_map(|executor| executor.added_ms);
    starts.map(|time| cores_at(ctx, time)).max().unwrap_or(0)
}

/// Core-milliseconds that task attempts of all stages held between two times.
pub fn held_core_ms(ctx: &Context<'_>, from_ms: i64, to_ms: i64) -> i64 {
    let mut held = 0.0;
    for (stage, digest) in ctx.run.stages.iter().zip(&ctx.stages) {
        if digest.running.is_none_or(|(start, end)| end <= from_ms || start >= to_ms) {
            continue;
        }
        let launch = stage.tasks.column(TaskColumn::LaunchTime);
        let finish = stage.tasks.column(TaskColumn::FinishTime);
        let overlap: i64 = launch
            .iter()
            .zip(&finish)
            .filter_map(|(launch, finish)| {
                let (start, end) = ((*launch)?, finish.unwrap_or(ctx.end_ms));
                Some((end.min(to_ms) - start.max(from_ms)).max(0))
            })
            .sum();
        held += overlap as f64 * digest.task_cpus;
    }
    held.round() as i64
}

/// Whether dynamic allocation gave an executor back, rather than it being lost: the reasons that
/// `ExecutorAllocationManager` leaves. Crashes, preemption and lost nodes have others.
pub fn was_given_back(executor: &Executor) -> bool {
    let reason = executor.removed_reason.as_deref().unwrap_or("").to_ascii_lowercase();
    GIVEN_BACK.iter().any(|text| reason.contains(text))
}

/// From when on executors that were given back took no more tasks, where that is before their removal: a killed
/// executor may take seconds to go. It is so from the first stage on that waited for another executor to come while
/// this one had nothing to do. In the order of the run's executors, epoch milliseconds.
pub fn left_early(ctx: &Context<'_>) -> Vec<Option<i64>> {
    let number_of: HashMap<&str, usize> =
        ctx.run.executors.iter().enumerate().map(|(n, executor)| (executor.id.as_str(), n)).collect();
    let mut last_use: Vec<Option<i64>> = ctx.run.executors.iter().map(|executor| executor.added_ms).collect();
    let mut waits: Vec<i64> = Vec::new();
    for digest in &ctx.stages {
        let Some((_, end)) = digest.running else { continue };
        let mut first: Option<(i64, usize)> = None;
        for ((id, ..), (launch, _)) in digest.executors.iter().zip(&digest.executor_firsts) {
            let Some(&executor) = number_of.get(ctx.text(*id)) else { continue };
            last_use[executor] = last_use[executor].max(Some(end));
            first = first.into_iter().chain([(*launch, executor)]).min();
        }
        let submitted = ctx.run.stages[digest.position].submitted_ms;
        let came = first.and_then(|(_, executor)| ctx.run.executors[executor].added_ms);
        if let (Some(submitted), Some(came)) = (submitted, came)
            && came > submitted
        {
            waits.push(submitted);
        }
    }
    waits.sort_unstable();
    let left = |(executor, idle_from): (&Executor, Option<i64>)| {
        let (idle_from, removed) = (idle_from?, executor.removed_ms.filter(|_| was_given_back(executor))?);
        let next = waits.get(waits.partition_point(|wait| *wait < idle_from))?;
        (*next < removed).then_some(*next)
    };
    ctx.run.executors.iter().zip(last_use).map(left).collect()
}

/// Core-time below which a run is too small for figures about idle machines.
pub const SMALL_RUN_CORE_MS: Threshold = Threshold {
    tag: "UTIL",
    name: "min_allocated_core_ms",
    default: 60_000.0,
    doc: "Core-milliseconds that executors must have offered before idle cores or memory are worth a word: \
          in less, starting and stopping is most of the run.",
};

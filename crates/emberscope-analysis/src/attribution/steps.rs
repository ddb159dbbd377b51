//! What the attempts of each stage attempt spent their time with: decoded once for core-time and the walk.

use super::parts::{TaskParts, task_parts};
use super::waits::Waits;
use super::{Part, Sum};
use crate::context::Context;
use crate::stage_view::StageView;
use emberscope_log::columns::TaskStatus;
use emberscope_model::run::Run;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One task attempt. A log may have millions: kept small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) launch_ms: i64,
    /// As the driver saw it.
    pub(super) finish_ms: i64,
    /// When its slot was free again (decision 29).
    pub(super) free_ms: i64,
    /// Number of the string table.
    pub(super) executor: u32,
    /// What all of it is, where it is not split.
    pub(super) whole: Option<Part>,
    /// Deserialization, fetch wait, GC, CPU, shuffle write, other; the rest to the finish is the result's.
    front_ms: [u32; 6],
}

/// Parts of an attempt as they follow each other.
const FRONT: [Part; 6] =
    [Part::Deserialize, Part::FetchWait, Part::Gc, Part::Cpu, Part::ShuffleWrite, Part::Other];

impl Step {
    /// The parts of the first `ms` milliseconds, which they add up to.
    pub(super) fn first(&self, ms: i64) -> Sum {
        let mut sum = Sum::default();
        let mut left = ms;
        for (part, ms) in FRONT.into_iter().zip(self.front_ms) {
            let taken = i64::from(ms).min(left);
            sum.add(part, taken);
            left -= taken;
        }
        sum.add(Part::ResultHandling, left);
        sum
    }
}

/// The attempts of one stage attempt.
#[derive(Debug, Default)]
pub(super) struct StageSteps {
    /// In the order of [`crate::context::StageDigest::task_order`].
    pub(super) steps: Vec<Step>,
    /// What they held their slots for, in slot time.
    pub(super) held: Sum,
    /// Attempts whose parts were cut.
    pub(super) clamped: u64,
    /// What the waiting of its attempts is known to be.
    pub(super) waits: Waits,
    by_finish: OnceLock<Vec<u32>>,
}

impl StageSteps {
    /// The attempt that finished last, not after `at_ms`; of several the last launched.
    pub(super) fn last_finished(&self, at_ms: i64) -> Option<usize> {
        let order = self.by_finish.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.steps.len() as u32).collect();
            order.sort_unstable_by_key(|n| (self.steps[*n as usize].finish_ms, *n));
            order
        });
        let ended = order.partition_point(|n| self.steps[*n as usize].finish_ms <= at_ms);
        Some(order[ended.checked_sub(1)?] as usize)
    }
}

/// The attempts of all stage attempts, as [`Run::stages`].
pub(super) fn steps(context: &Context<'_>) -> Vec<StageSteps> {
    let run = context.run;
    let slots = Slots::of(run, context);
    crate::parallel::map(&run.stages, |n, stage| {
        let view = StageView::times_of(stage, &context.stages[n], context.end_ms);
        let mut of_stage = StageSteps { steps: Vec::with_capacity(view.tasks.len()), ..Default::default() };
        let mut other_ms = 0;
        for task in &view.tasks {
            let parts = task_parts(task);
            let is_running = task.status == TaskStatus::Running;
            let free_ms = if is_running {
                // It ended with its executor at the latest.
                let removed = slots.removed_ms.get(context.text(task.executor)).copied();
                removed.unwrap_or(task.finish_ms).clamp(task.launch_ms, task.finish_ms)
            } else {
                let lag = slots.lag_ms.get(context.text(task.executor)).copied().unwrap_or(0);
                let worked = (task.deserialize_ms + task.run_ms).min(task.duration_ms());
                task.launch_ms + (task.duration_ms() - task.getting_result_ms - lag).max(worked)
            };
            let step = Step {
                launch_ms: task.launch_ms,
                finish_ms: task.finish_ms,
                free_ms,
                executor: task.executor,
                whole: if is_running {
                    Some(Part::Unfinished)
                } else {
                    (!task.is_useful).then_some(Part::LostWork)
                },
                front_ms: front(&parts),
            };
            let held_ms = free_ms - task.launch_ms;
            match step.whole {
                Some(part) => of_stage.held.add(part, held_ms),
                None => {
                    of_stage.held.add_all(&step.first(held_ms));
                    other_ms += parts.other_ms;
                }
            }
            of_stage.clamped += u64::from(parts.is_clamped && !is_running);
            of_stage.steps.push(step);
        }
        of_stage.waits = Waits::of(context, stage, &context.stages[n], other_ms);
        of_stage.waits.split(&mut of_stage.held);
        of_stage
    })
}

fn front(parts: &TaskParts) -> [u32; 6] {
    // An attempt of more than 49 days has the excess with its result.
    [
        parts.deserialize_ms,
        parts.fetch_wait_ms,
        parts.gc_ms,
        parts.cpu_ms,
        parts.shuffle_write_ms,
        parts.other_ms,
    ]
    .map(|ms| u32::try_from(ms).unwrap_or(u32::MAX))
}

/// What is known of executors.
struct Slots<'c> {
    lag_ms: &'c BTreeMap<String, i64>,
    removed_ms: BTreeMap<&'c str, i64>,
}

impl<'c> Slots<'c> {
    fn of(run: &'c Run, context: &'c Context<'_>) -> Self {
        Slots {
            lag_ms: &context.occupancy.result_lag_ms,
            removed_ms: run
                .executors
                .iter()
                .filter_map(|one| Some((one.id.as_str(), one.removed_ms?)))
                .collect(),
        }
    }
}

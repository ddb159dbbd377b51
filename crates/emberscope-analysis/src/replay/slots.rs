//! Slots as they were used: when some were free, and how long one was between two tasks.

use super::model::{Pools, StageModel, millis, submitted};
use crate::context::Context;
use emberscope_log::columns::TaskColumn;
use std::collections::BTreeMap;

/// Launches after a stage's submission among which the one that took the last free slot is looked for.
const LAUNCHES_LOOKED_AT: usize = 1024;

/// How many tasks ran, and how many slots there were, at any time, in one pool of slots.
#[derive(Default)]
pub(super) struct Load {
    launches: Vec<i64>,
    ends: Vec<i64>,
    added: Vec<(i64, u32)>,
    removed: Vec<(i64, u32)>,
}

impl Load {
    /// Of every pool: executors of one resource profile do not run tasks of another. `left_early` as
    /// [`crate::capacity::left_early`] tells.
    pub(super) fn of_pools(context: &Context<'_>, pools: &Pools, left_early: &[Option<i64>]) -> Vec<Self> {
        let run = context.run;
        let mut loads: Vec<Load> = Vec::new();
        loads.resize_with(pools.count(), Load::default);
        for stage in &run.stages {
            let load = &mut loads[pools.of_stage(stage)];
            stage.tasks.for_each(TaskColumn::LaunchTime, |_, at| load.launches.push(at));
            stage.tasks.for_each(TaskColumn::FinishTime, |_, at| load.ends.push(at));
        }
        for (executor, left) in run.executors.iter().zip(left_early) {
            if let (Some((from, to)), Some(slots)) =
                (executor.lifetime(context.end_ms), pools.slots_of(executor))
            {
                let load = &mut loads[pools.of_executor(executor)];
                load.added.push((from, slots));
                load.removed.push((left.unwrap_or(to), slots));
            }
        }
        for load in &mut loads {
            load.launches.sort_unstable();
            load.ends.sort_unstable();
        }
        loads
    }

    /// For how long from `at` on, until `first`, a task could have been launched: then others took the slots.
    pub(super) fn free_ms(&self, at: i64, first: i64) -> i64 {
        if first <= at || !self.has_free_slot(at) {
            return 0;
        }
        let from = self.launches.partition_point(|launch| *launch < at);
        let until = self.launches.partition_point(|launch| *launch < first);
        let launches = self.launches[from..until].iter().take(LAUNCHES_LOOKED_AT);
        let taken = launches.copied().find(|launch| !self.has_free_slot(launch + 1));
        taken.unwrap_or(first) - at
    }

    /// Whether a task could have been launched at once.
    pub(super) fn has_free_slot(&self, at: i64) -> bool {
        let running = self.launches.partition_point(|launch| *launch < at) as i64
            - self.ends.partition_point(|end| *end <= at) as i64;
        let sum = |changes: &[(i64, u32)]| -> i64 {
            changes.iter().filter(|(time, _)| *time <= at).map(|(_, slots)| i64::from(*slots)).sum()
        };
        running < sum(&self.added) - sum(&self.removed)
    }
}

/// Sets for each stage attempt the median time between the end of a task and the launch of its next one in
/// the same slot. With launches and ends of an executor each in order, the n-th launch took the slot of the
/// end that is as many before it as there are slots; a slot that was free before the stage was ready says
/// nothing.
pub(super) fn set_gaps(context: &Context<'_>, stages: &mut [StageModel]) {
    let run = context.run;
    let mut by_executor: BTreeMap<u32, Vec<(i64, i64, u32)>> = BTreeMap::new();
    for (n, stage) in stages.iter().enumerate() {
        let executor = run.stages[n].tasks.column_or(TaskColumn::Executor, -1);
        let at = submitted(&run.stages[n], context.start_ms);
        let rows = &context.stages[n].task_order;
        for ((task, launch), row) in stage.tasks.iter().zip(stage.launches_ms.iter()).zip(rows.iter()) {
            let start = at + i64::from(*launch);
            if let Ok(executor) = u32::try_from(executor[*row as usize]) {
                let spans = by_executor.entry(executor).or_default();
                spans.push((start, start + i64::from(task.hold_ms), n as u32));
            }
        }
    }
    let mut gaps: Vec<Vec<u32>> = vec![Vec::new(); stages.len()];
    for (executor, mut spans) in by_executor {
        let name = run.strings.text(executor);
        let Some(cores) = run.executors.iter().find(|one| one.id == name).and_then(|one| one.cores) else {
            continue;
        };
        spans.sort_unstable();
        let mut ends: Vec<i64> = spans.iter().map(|span| span.1).collect();
        ends.sort_unstable();
        let cpus = context.stages.get(spans[0].2 as usize).map_or(1.0, |digest| digest.task_cpus);
        let slots = (f64::from(cores) / cpus).floor().max(1.0) as usize;
        for ((start, _, stage), end) in spans.iter().skip(slots).zip(&ends) {
            let stage = *stage as usize;
            if *end >= submitted(&run.stages[stage], i64::MAX) {
                gaps[stage].push(millis(start - end));
            }
        }
    }
    for (stage, mut gaps) in stages.iter_mut().zip(gaps) {
        if !gaps.is_empty() {
            let middle = gaps.len() / 2;
            stage.gap_ms = *gaps.select_nth_unstable(middle).1;
        }
    }
}

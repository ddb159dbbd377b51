//! Whose task is launched next, and in which slot.

use super::{Event, Replay, Timeline};
use crate::replay::model::NONE;
use std::cmp::Reverse;

impl Replay<'_> {
    pub(super) fn stage_active(&mut self, stage: usize) {
        self.skip_followers(stage);
        self.activate(stage as u32);
    }

    /// Moves to the next task that comes after no other.
    fn skip_followers(&mut self, stage: usize) {
        let tasks = self.tasks(stage);
        let next = &mut self.stages[stage].next;
        while tasks.get(*next as usize).is_some_and(|task| task.after != NONE) {
            *next += 1;
        }
    }

    fn has_launchable(&self, stage: usize) -> bool {
        let state = &self.stages[stage];
        !state.again.is_empty() || (state.next as usize) < self.tasks(stage).len()
    }

    pub(super) fn activate(&mut self, stage: u32) {
        let model = &self.model;
        let key = |stage: u32| {
            let stage = &model.stages[stage as usize];
            (stage.job, stage.place)
        };
        let active = &mut self.active[model.stages[stage as usize].pool];
        if let Err(at) = active.binary_search_by(|other| key(*other).cmp(&key(stage))) {
            active.insert(at, stage);
        }
    }

    /// The stage whose turn it is: FIFO by job and stage; FAIR the pool with the fewest tasks (weights
    /// are not in a log).
    fn choose(&self, pool: usize) -> Option<u32> {
        let active = &self.active[pool];
        if !self.model.is_fair {
            return active.first().copied();
        }
        let running = |stage: &u32| {
            let fair = self.model.stages[*stage as usize].fair_pool;
            self.running_by_fair_pool.get(&fair).copied().unwrap_or(0)
        };
        active.iter().copied().min_by_key(|stage| running(stage))
    }

    pub(super) fn launch_in(&mut self, pool: usize) {
        if self.model.is_fair {
            self.count_ended();
        }
        while !self.free[pool].is_empty() {
            let Some(stage) = self.choose(pool) else { return };
            if !self.has_launchable(stage as usize) {
                self.active[pool].retain(|other| *other != stage);
                continue;
            }
            if self.model.stages[stage as usize].is_barrier && !self.gang_fits(stage as usize, pool) {
                return;
            }
            let Some(executor) = self.take_slot(pool) else { return };
            self.launch(stage as usize, executor);
        }
    }

    /// A barrier stage launches all its tasks at once, or waits; one larger than the cluster never could.
    fn gang_fits(&self, stage: usize, pool: usize) -> bool {
        let left = self.stages[stage].left as usize;
        let has_begun = left < self.tasks(stage).len();
        let of_pool = self.model.executors.iter().filter(|executor| executor.pool == pool);
        let all: u32 = of_pool.map(|executor| executor.slots).sum();
        has_begun || self.free[pool].len() >= left || left > all as usize
    }

    fn take_slot(&mut self, pool: usize) -> Option<u32> {
        loop {
            let executor = self.free[pool].pop_front()?;
            let removed = self.model.executors[executor as usize].removed_ms;
            if removed > self.now || self.timeline == Timeline::OnDemand || self.immortal {
                return Some(executor);
            }
        }
    }

    fn launch(&mut self, stage: usize, executor: u32) {
        let tasks = self.tasks(stage);
        let state = &mut self.stages[stage];
        let n = state.again.pop_front().unwrap_or_else(|| {
            let next = state.next;
            state.next += 1;
            next
        });
        let task = tasks[n as usize];
        let finish = self.now + i64::from(task.duration_ms);
        state.left -= 1;
        if task.is_awaited {
            state.awaited_left -= 1;
            state.last_finish_ms = state.last_finish_ms.max(finish);
            if state.awaited_left == 0 {
                let end = state.last_finish_ms + self.model.stages[stage].complete_lag_ms;
                self.at(end, Event::StageDone(stage as u32));
            }
        }
        self.outcome.held_ms += i64::from(task.hold_ms);
        for follower in self.stages[stage].followers.remove(&n).unwrap_or_default() {
            let follower_task = tasks[follower as usize];
            let base = if follower_task.is_copy { self.now } else { finish };
            self.at(base + i64::from(follower_task.after_ms), Event::TaskReady(stage as u32, follower));
        }
        self.skip_followers(stage);
        let free_at = self.now + i64::from(task.hold_ms) + i64::from(self.model.stages[stage].gap_ms);
        if self.model.is_fair {
            let fair = self.model.stages[stage].fair_pool;
            *self.running_by_fair_pool.entry(fair).or_default() += 1;
            self.ends_of_fair.push(Reverse((free_at, fair)));
        }
        self.at(free_at, Event::SlotFree(executor));
    }

    fn count_ended(&mut self) {
        let now = self.now;
        let running = &mut self.running_by_fair_pool;
        self.ends_of_fair.retain(|Reverse((at, fair))| {
            let has_ended = *at <= now;
            if has_ended && let Some(count) = running.get_mut(fair) {
                *count = count.saturating_sub(1);
            }
            !has_ended
        });
    }
}

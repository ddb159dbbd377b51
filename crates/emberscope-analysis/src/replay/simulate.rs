//! The discrete-event replay: slots, FIFO or FAIR, tasks in launch order.

mod launching;

use super::edit::Edit;
use super::model::{NONE, ReplayModel, TaskModel};
use super::overlay::Overlay;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// When the executors are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// At the times they were: pessimistic, since a shorter run would have asked for them sooner.
    Fixed,
    /// As long after the stage that asked for them as they were.
    OnDemand,
}

/// What a replay gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// End of the run, epoch milliseconds.
    pub end_ms: i64,
    /// Time that tasks held slots.
    pub held_ms: i64,
    /// Submission and completion of every stage attempt, in the order of the run's.
    pub stages: Vec<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    // In this order at one time: ends before starts, and slots before those who want them.
    SlotFree(u32),
    StageDone(u32),
    JobEnd(u32),
    UnitEnd(u32),
    UnitStart(u32),
    JobStart(u32),
    StageReady(u32),
    StageActive(u32),
    TaskReady(u32, u32),
}

/// A stage attempt in the replay.
#[derive(Debug, Default)]
struct StageState {
    waits_for: u32,
    ready_ms: i64,
    next: u32,
    again: VecDeque<u32>,
    awaited_left: u32,
    left: u32,
    last_finish_ms: i64,
    followers: FxHashMap<u32, Vec<u32>>,
}

struct Replay<'m> {
    model: &'m ReplayModel,
    overlay: &'m Overlay,
    timeline: Timeline,
    heap: BinaryHeap<Reverse<(i64, Event)>>,
    now: i64,
    stages: Vec<StageState>,
    stage_children: Vec<Vec<u32>>,
    job_waits: Vec<(u32, i64)>,
    job_children: Vec<Vec<u32>>,
    job_open: Vec<(u32, i64)>,
    unit_waits: Vec<(u32, i64)>,
    unit_children: Vec<Vec<u32>>,
    unit_open: Vec<(u32, i64)>,
    unit_start: Vec<i64>,
    free: Vec<VecDeque<u32>>,
    /// Stage attempts with tasks to launch, by pool, in FIFO order.
    active: Vec<Vec<u32>>,
    running_by_fair_pool: FxHashMap<u32, u32>,
    triggered: FxHashMap<usize, Vec<(u32, i64)>>,
    ends_of_fair: Vec<Reverse<(i64, u32)>>,
    immortal: bool,
    outcome: Outcome,
}

impl ReplayModel {
    /// Replays the run with edits. `None` where the model hangs, which only a damaged log brings about.
    pub fn replay<'e>(&self, edits: impl Iterator<Item = &'e Edit>, timeline: Timeline) -> Option<Outcome> {
        let edits: Vec<&Edit> = edits.collect();
        let overlay = Overlay::of(self, &edits);
        Replay::of(self, &overlay, timeline).run()
    }
}

impl<'m> Replay<'m> {
    fn of(model: &'m ReplayModel, overlay: &'m Overlay, timeline: Timeline) -> Self {
        let mut replay = Replay {
            model,
            overlay,
            timeline,
            heap: BinaryHeap::new(),
            now: model.start_ms,
            stages: Vec::with_capacity(model.stages.len()),
            stage_children: vec![Vec::new(); model.stages.len()],
            job_waits: vec![(1, model.start_ms); model.jobs.len()],
            job_children: vec![Vec::new(); model.jobs.len()],
            job_open: vec![(0, i64::MIN); model.jobs.len()],
            unit_waits: vec![(0, model.start_ms); model.units.len()],
            unit_children: vec![Vec::new(); model.units.len()],
            unit_open: vec![(0, i64::MIN); model.units.len()],
            unit_start: vec![model.start_ms; model.units.len()],
            free: vec![VecDeque::new(); model.pools],
            active: vec![Vec::new(); model.pools],
            running_by_fair_pool: FxHashMap::default(),
            triggered: FxHashMap::default(),
            ends_of_fair: Vec::new(),
            immortal: false,
            outcome: Outcome { stages: vec![(0, 0); model.stages.len()], ..Outcome::default() },
        };
        for (n, stage) in model.stages.iter().enumerate() {
            // One more for the job itself.
            let waits_for = stage.parents.len() as u32 + 1;
            replay.stages.push(StageState { waits_for, ready_ms: i64::MIN, ..StageState::default() });
            stage.parents.iter().for_each(|parent| replay.stage_children[*parent].push(n as u32));
        }
        for (n, job) in model.jobs.iter().enumerate() {
            replay.job_waits[n].0 += job.parents.len() as u32;
            replay.job_open[n].0 = job.stages.len() as u32;
            job.parents.iter().for_each(|parent| replay.job_children[*parent].push(n as u32));
        }
        for (n, unit) in model.units.iter().enumerate() {
            replay.unit_waits[n].0 = unit.parents.len() as u32;
            replay.unit_open[n].0 = unit.jobs.len() as u32;
            unit.parents.iter().for_each(|parent| replay.unit_children[*parent].push(n as u32));
            if unit.parents.is_empty() {
                replay.at(model.start_ms + replay.unit_lag(n), Event::UnitStart(n as u32));
            }
        }
        replay.executors();
        replay
    }

    fn at(&mut self, time: i64, event: Event) {
        self.heap.push(Reverse((time.max(self.now), event)));
    }

    fn executors(&mut self) {
        // Slots beside whole ones are carried from executor to executor.
        let mut carried = 0.0;
        for (n, executor) in self.model.executors.iter().enumerate() {
            let wanted = f64::from(executor.slots) * self.overlay.slots + carried;
            let slots = wanted.floor().max(0.0);
            carried = wanted - slots;
            if self.timeline == Timeline::OnDemand
                && let Some((stage, lag)) = executor.trigger
            {
                self.triggered.entry(stage).or_default().extend((0..slots as u32).map(|_| (n as u32, lag)));
                continue;
            }
            let sooner = self.overlay.executors_by.iter().find(|(until, _)| executor.added_ms <= *until);
            let added = sooner.map_or(executor.added_ms, |(_, at)| executor.added_ms.min(*at));
            for _ in 0..slots as u32 {
                self.at(added, Event::SlotFree(n as u32));
            }
        }
    }

    fn run(mut self) -> Option<Outcome> {
        let mut units_left = self.model.units.len();
        let mut end = self.model.start_ms;
        loop {
            let Some(Reverse((time, event))) = self.heap.pop() else {
                if units_left == 0 {
                    break;
                }
                if self.immortal || !self.revive() {
                    return None;
                }
                continue;
            };
            self.now = time;
            match event {
                Event::SlotFree(executor) => self.slot_free(executor),
                Event::StageDone(stage) => self.stage_done(stage as usize),
                Event::JobEnd(job) => self.job_end(job as usize),
                Event::UnitEnd(unit) => {
                    units_left -= 1;
                    end = end.max(time);
                    self.unit_end(unit as usize);
                    if units_left == 0 {
                        break;
                    }
                }
                Event::UnitStart(unit) => self.unit_start(unit as usize),
                Event::JobStart(job) => self.job_start(job as usize),
                Event::StageReady(stage) => self.stage_ready(stage as usize),
                Event::StageActive(stage) => self.stage_active(stage as usize),
                Event::TaskReady(stage, task) => {
                    self.stages[stage as usize].again.push_back(task);
                    self.activate(stage);
                }
            }
            // Launches are decided once all that happens at a time has happened.
            if self.heap.peek().is_none_or(|Reverse((next, _))| *next > time) {
                for pool in 0..self.free.len() {
                    self.launch_in(pool);
                }
            }
        }
        self.outcome.end_ms = (end + self.model.end_lag_ms - self.overlay.end_sooner_ms).max(end);
        Some(self.outcome)
    }

    /// All executors are gone and tasks still wait, which in truth did not happen: they come back.
    fn revive(&mut self) -> bool {
        self.immortal = true;
        let mut has_any = false;
        for (n, executor) in self.model.executors.iter().enumerate() {
            for _ in 0..executor.slots {
                self.heap.push(Reverse((self.now, Event::SlotFree(n as u32))));
                has_any = true;
            }
        }
        has_any
    }

    fn slot_free(&mut self, executor: u32) {
        let model = &self.model.executors[executor as usize];
        // On demand, executors stay: when they would have gone in a run of other length is not known.
        let is_gone = model.removed_ms <= self.now && self.timeline == Timeline::Fixed && !self.immortal;
        if !is_gone {
            self.free[model.pool].push_back(executor);
        }
    }

    fn unit_lag(&self, unit: usize) -> i64 {
        let sooner = self.overlay.unit_sooner_ms.get(&unit).copied().unwrap_or(0);
        self.model.units[unit].start_lag_ms - sooner
    }

    fn unit_start(&mut self, unit: usize) {
        self.unit_start[unit] = self.now;
        let model = &self.model.units[unit];
        if model.jobs.is_empty() {
            self.at(self.now + model.end_lag_ms, Event::UnitEnd(unit as u32));
            return;
        }
        for &job in &model.jobs {
            let ready = if self.model.jobs[job].parents.is_empty() { self.now } else { i64::MIN };
            self.job_may_start(job, ready);
        }
    }

    fn unit_end(&mut self, unit: usize) {
        for child in std::mem::take(&mut self.unit_children[unit]) {
            let (waits, ready) = &mut self.unit_waits[child as usize];
            *waits -= 1;
            *ready = (*ready).max(self.now);
            if *waits == 0 {
                let start = *ready + self.unit_lag(child as usize);
                self.at(start, Event::UnitStart(child));
            }
        }
    }

    fn job_may_start(&mut self, job: usize, ready_ms: i64) {
        let (waits, ready) = &mut self.job_waits[job];
        *waits -= 1;
        *ready = (*ready).max(ready_ms);
        if *waits == 0 {
            let sooner = self.overlay.job_sooner_ms.get(&job).copied().unwrap_or(0);
            let start = *ready + self.model.jobs[job].start_lag_ms - sooner;
            self.at(start, Event::JobStart(job as u32));
        }
    }

    fn job_start(&mut self, job: usize) {
        self.job_open[job].1 = self.now;
        let model = &self.model.jobs[job];
        if model.stages.is_empty() {
            self.at(self.now + self.job_end_lag(job), Event::JobEnd(job as u32));
        }
        let own: Vec<usize> = self.own_stages(job);
        for stage in own {
            self.stage_may_start(stage, self.now);
        }
    }

    fn job_end_lag(&self, job: usize) -> i64 {
        let sooner = self.overlay.job_end_sooner_ms.get(&job).copied().unwrap_or(0);
        self.model.jobs[job].end_lag_ms - sooner
    }

    /// Stage attempts that wait for the job, also those it does not wait for.
    fn own_stages(&self, job: usize) -> Vec<usize> {
        let awaited = &self.model.jobs[job].stages;
        let mut own = awaited.clone();
        own.extend(self.model.strays.get(&job).into_iter().flatten());
        own
    }

    fn job_end(&mut self, job: usize) {
        for child in std::mem::take(&mut self.job_children[job]) {
            self.job_may_start(child as usize, self.now);
        }
        let unit = self.model.jobs[job].unit;
        let (open, last) = &mut self.unit_open[unit];
        *open -= 1;
        *last = (*last).max(self.now);
        if *open == 0 {
            let sooner = self.overlay.unit_end_sooner_ms.get(&unit).copied().unwrap_or(0);
            let end = *last + self.model.units[unit].end_lag_ms - sooner;
            self.at(end, Event::UnitEnd(unit as u32));
        }
    }

    fn stage_may_start(&mut self, stage: usize, ready_ms: i64) {
        let state = &mut self.stages[stage];
        state.waits_for -= 1;
        state.ready_ms = state.ready_ms.max(ready_ms);
        if state.waits_for == 0 {
            let ready = state.ready_ms;
            let is_dropped = self.overlay.stages.get(&stage).is_some_and(|overlay| overlay.is_dropped);
            let lag = if is_dropped { 0 } else { self.model.stages[stage].submit_lag_ms };
            self.at(ready + lag, Event::StageReady(stage as u32));
        }
    }

    fn tasks(&self, stage: usize) -> &'m [TaskModel] {
        let overlaid = self.overlay.stages.get(&stage).and_then(|overlay| overlay.tasks.as_ref());
        overlaid.map_or(&self.model.stages[stage].tasks, |tasks| tasks)
    }

    fn stage_ready(&mut self, stage: usize) {
        self.outcome.stages[stage].0 = self.now;
        for (executor, lag) in self.triggered.remove(&stage).unwrap_or_default() {
            self.at(self.now + lag, Event::SlotFree(executor));
        }
        let overlay = self.overlay.stages.get(&stage);
        let sooner = overlay.map_or(0, |overlay| overlay.sooner_ms);
        let tasks = self.tasks(stage);
        if overlay.is_some_and(|overlay| overlay.is_dropped) {
            self.at(self.now, Event::StageDone(stage as u32));
            return;
        }
        let state = &mut self.stages[stage];
        state.awaited_left = tasks.iter().filter(|task| task.is_awaited).count() as u32;
        state.left = tasks.len() as u32;
        state.last_finish_ms = self.now;
        for (n, task) in tasks.iter().enumerate().filter(|(_, task)| task.after != NONE) {
            state.followers.entry(task.after).or_default().push(n as u32);
        }
        let lag = self.model.stages[stage].launch_lag_ms;
        if state.awaited_left == 0 {
            let end = self.now + self.model.stages[stage].complete_lag_ms;
            self.at(end, Event::StageDone(stage as u32));
        }
        if !tasks.is_empty() {
            self.at(self.now + (lag - sooner).max(0), Event::StageActive(stage as u32));
        }
    }

    fn stage_done(&mut self, stage: usize) {
        self.outcome.stages[stage].1 = self.now;
        for child in std::mem::take(&mut self.stage_children[stage]) {
            self.stage_may_start(child as usize, self.now);
        }
        let job = self.model.stages[stage].job;
        if !self.model.jobs[job].stages.contains(&stage) {
            return;
        }
        let (open, last) = &mut self.job_open[job];
        *open -= 1;
        *last = (*last).max(self.now);
        let (open, last) = (*open, *last);
        if open == 0 {
            let end = last + self.job_end_lag(job);
            self.at(end, Event::JobEnd(job as u32));
        }
    }
}

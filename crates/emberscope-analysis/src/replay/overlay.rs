//! Edits laid over the model.

use super::edit::Edit;
use super::model::{NONE, ReplayModel, TaskModel};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What the edits make of one stage attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct StageOverlay {
    pub(super) tasks: Option<Arc<[TaskModel]>>,
    pub(super) is_dropped: bool,
    pub(super) sooner_ms: i64,
}

/// What the edits make of the model.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    pub(super) stages: FxHashMap<usize, StageOverlay>,
    pub(super) job_sooner_ms: FxHashMap<usize, i64>,
    pub(super) job_end_sooner_ms: FxHashMap<usize, i64>,
    pub(super) unit_sooner_ms: FxHashMap<usize, i64>,
    pub(super) unit_end_sooner_ms: FxHashMap<usize, i64>,
    pub(super) end_sooner_ms: i64,
    /// Executors added until the first, and after the first of the pair before, are there at the second.
    pub(super) executors_by: Vec<(i64, i64)>,
    pub(super) slots: f64,
}

impl Overlay {
    pub(super) fn of(model: &ReplayModel, edits: &[&Edit]) -> Self {
        let mut overlay = Overlay {
            stages: FxHashMap::default(),
            job_sooner_ms: FxHashMap::default(),
            job_end_sooner_ms: FxHashMap::default(),
            unit_sooner_ms: FxHashMap::default(),
            unit_end_sooner_ms: FxHashMap::default(),
            end_sooner_ms: 0,
            executors_by: Vec::new(),
            slots: 1.0,
        };
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut dropped: FxHashSet<usize> = FxHashSet::default();
        for edit in edits.iter().copied() {
            match edit {
                Edit::JobSooner { job, by_ms } => {
                    if let Some(job) = model.by_job.get(job) {
                        overlay.start_sooner(model, *job, *by_ms);
                    }
                }
                Edit::DropJob { job } => dropped.extend(model.by_job.get(job)),
                Edit::EndSooner { by_ms } => overlay.end_sooner(model, *by_ms),
                Edit::ExecutorsBy { until_ms, at_ms } => overlay.executors_by.push((*until_ms, *at_ms)),
                Edit::ScaleSlots { factor } => overlay.slots *= factor.max(0.0),
                Edit::Scale { place, .. }
                | Edit::ScaleAll { place, .. }
                | Edit::Resize { place, .. }
                | Edit::Remove { place, .. }
                | Edit::Drop { place }
                | Edit::StartSooner { place, .. } => {
                    if let Some(&stage) = model.by_place.get(place)
                        && seen.insert(stage)
                    {
                        let own: Vec<&Edit> =
                            edits.iter().copied().filter(|edit| edit.place() == Some(*place)).collect();
                        overlay.stages.insert(stage, stage_overlay(&model.stages[stage].tasks, &own));
                    }
                }
            }
        }
        overlay.executors_by.sort_unstable();
        overlay.drop_jobs(model, &dropped);
        overlay
    }
}

impl Overlay {
    fn drop_jobs(&mut self, model: &ReplayModel, dropped: &FxHashSet<usize>) {
        for job in dropped {
            let model_job = &model.jobs[*job];
            self.job_sooner_ms.insert(*job, model_job.start_lag_ms);
            self.job_end_sooner_ms.insert(*job, model_job.end_lag_ms);
            let strays = model.strays.get(job).into_iter().flatten();
            for stage in model_job.stages.iter().chain(strays) {
                self.stages.entry(*stage).or_default().is_dropped = true;
            }
            let unit = &model.units[model_job.unit];
            if unit.jobs.iter().all(|job| dropped.contains(job)) {
                self.unit_end_sooner_ms.insert(model_job.unit, unit.end_lag_ms);
            }
        }
    }

    /// Takes time from the gap before a job: first from its own lag, then, if it opens its unit, from the
    /// unit's, then from what the units before it did after their last jobs. Two claims about one gap are
    /// about the same time, so that the larger one counts.
    fn start_sooner(&mut self, model: &ReplayModel, job: usize, by_ms: i64) {
        let take = |map: &mut FxHashMap<usize, i64>, key: usize, lag_ms: i64, left: i64| {
            let taken = left.clamp(0, lag_ms.max(0));
            let sooner = map.entry(key).or_default();
            *sooner = (*sooner).max(taken);
            left - taken
        };
        let model_job = &model.jobs[job];
        let mut left = take(&mut self.job_sooner_ms, job, model_job.start_lag_ms, by_ms);
        if !model_job.parents.is_empty() {
            return;
        }
        let unit = &model.units[model_job.unit];
        left = take(&mut self.unit_sooner_ms, model_job.unit, unit.start_lag_ms, left);
        for parent in &unit.parents {
            take(&mut self.unit_end_sooner_ms, *parent, model.units[*parent].end_lag_ms, left);
        }
    }
}

impl Overlay {
    /// Takes time from the end of the run: first from what came after the last unit, then from what that unit
    /// did after its last job.
    fn end_sooner(&mut self, model: &ReplayModel, by_ms: i64) {
        self.end_sooner_ms = self.end_sooner_ms.max(by_ms);
        let left = by_ms - model.end_lag_ms.max(0);
        let last = (0..model.units.len()).max_by_key(|n| model.units[*n].end_ms);
        if let Some(last) = last.filter(|_| left > 0) {
            let sooner = self.unit_end_sooner_ms.entry(last).or_default();
            *sooner = (*sooner).max(left.min(model.units[last].end_lag_ms.max(0)));
        }
    }
}

/// Factors multiply first, attempts go next, and what is left is cut into another number of tasks last.
fn stage_overlay(tasks: &Arc<[TaskModel]>, edits: &[&Edit]) -> StageOverlay {
    let mut overlay = StageOverlay::default();
    let mut factors: Option<Vec<f32>> = None;
    let mut removed: FxHashSet<u32> = FxHashSet::default();
    let mut resize = None;
    for edit in edits {
        match edit {
            Edit::Scale { factors: more, .. } if more.len() == tasks.len() => {
                let factors = factors.get_or_insert_with(|| vec![1.0; tasks.len()]);
                factors.iter_mut().zip(more.iter()).for_each(|(factor, more)| *factor *= more);
            }
            Edit::ScaleAll { factor, .. } => {
                let factors = factors.get_or_insert_with(|| vec![1.0; tasks.len()]);
                factors.iter_mut().for_each(|one| *one *= factor.clamp(0.0, 1.0) as f32);
            }
            Edit::Remove { tasks, .. } => removed.extend(tasks.iter()),
            Edit::Resize { tasks, overhead_ms, .. } => resize = Some((*tasks, *overhead_ms)),
            Edit::Drop { .. } => overlay.is_dropped = true,
            Edit::StartSooner { by_ms, .. } => overlay.sooner_ms = overlay.sooner_ms.max(*by_ms),
            _ => {}
        }
    }
    if factors.is_none() && removed.is_empty() && resize.is_none() {
        return overlay;
    }
    let mut left = scaled(tasks, factors.as_deref(), &removed);
    if let Some((n, overhead_ms)) = resize {
        left = resized(&left, n.max(1), overhead_ms.max(0.0));
    }
    overlay.tasks = Some(left.into());
    overlay
}

fn scaled(tasks: &[TaskModel], factors: Option<&[f32]>, removed: &FxHashSet<u32>) -> Vec<TaskModel> {
    let mut place_of = vec![NONE; tasks.len()];
    let mut left = Vec::with_capacity(tasks.len());
    for (n, task) in tasks.iter().enumerate() {
        if removed.contains(&(n as u32)) {
            continue;
        }
        place_of[n] = left.len() as u32;
        let factor = factors.map_or(1.0, |factors| factors[n]);
        let mut task = *task;
        task.hold_ms = (task.hold_ms as f32 * factor) as u32;
        task.duration_ms = (task.duration_ms as f32 * factor) as u32;
        if task.after != NONE {
            task.after = place_of[task.after as usize];
        }
        left.push(task);
    }
    left
}

/// The work of all awaited attempts in `n` equal tasks.
fn resized(tasks: &[TaskModel], n: u32, overhead_ms: f64) -> Vec<TaskModel> {
    let awaited = || tasks.iter().filter(|task| task.is_awaited);
    let work: f64 = awaited().map(|task| (f64::from(task.hold_ms) - overhead_ms).max(0.0)).sum();
    let lag: f64 =
        awaited().map(|task| f64::from(task.duration_ms - task.hold_ms.min(task.duration_ms))).sum::<f64>()
            / awaited().count().max(1) as f64;
    let hold = work / f64::from(n) + overhead_ms;
    let task = TaskModel {
        hold_ms: hold.round() as u32,
        duration_ms: (hold + lag).round() as u32,
        after: NONE,
        after_ms: 0,
        is_copy: false,
        is_awaited: true,
    };
    vec![task; n as usize]
}

impl Edit {
    /// The stage attempt it is about.
    pub fn place(&self) -> Option<super::edit::Place> {
        match self {
            Edit::Scale { place, .. }
            | Edit::ScaleAll { place, .. }
            | Edit::Resize { place, .. }
            | Edit::Remove { place, .. }
            | Edit::Drop { place }
            | Edit::StartSooner { place, .. } => Some(*place),
            Edit::DropJob { .. }
            | Edit::JobSooner { .. }
            | Edit::EndSooner { .. }
            | Edit::ExecutorsBy { .. }
            | Edit::ScaleSlots { .. } => None,
        }
    }
}

//! Core-time: what slots were held for, and why they were idle (decision 34).

use super::steps::{StageSteps, Step};
use super::{Part, Sum};
use crate::context::Context;
use rustc_hash::FxHashMap;

/// How much more than was offered tasks may seem to hold because clocks differ.
const CLOCKS_DIFFER: f64 = 1.05;

/// A change at a time.
#[derive(Clone, Copy, Debug)]
struct Change {
    at_ms: i64,
    /// Cores that executors offer, or thousandths of a core that tasks hold, or stage attempts.
    by: i32,
    what: Counted,
}

/// What a change counts.
#[derive(Clone, Copy, Debug)]
enum Counted {
    /// Cores offered.
    Offered,
    /// Thousandths of a core held.
    Held,
    /// Stage attempts that run.
    Running,
    /// Of them those with tasks to launch.
    Pending,
    /// Of them those that never had enough tasks.
    Small,
}

/// Everything from the first change to a time, so that any span is a difference of two. Core-milliseconds
/// are in thousandths.
#[derive(Clone, Copy, Debug, Default)]
struct Until {
    at_ms: i64,
    offered: i64,
    held: i64,
    idle_slot: usize,
    offered_ms: i64,
    held_millis: i64,
    idle_millis: [i64; 5],
}

impl Until {
    /// As it is at a later time before the next change.
    fn at(&self, at_ms: i64) -> Until {
        // A damaged log may hold times of any size.
        let span = at_ms.saturating_sub(self.at_ms);
        let add = |sum: &mut i64, cores: i64| *sum = sum.saturating_add(cores.saturating_mul(span));
        let mut then = *self;
        then.at_ms = at_ms;
        add(&mut then.offered_ms, self.offered);
        add(&mut then.held_millis, self.held);
        add(&mut then.idle_millis[self.idle_slot], (self.offered * 1000 - self.held).max(0));
        then
    }
}

/// Parts in the order of [`Until::idle_millis`].
const IDLE: [Part; 5] =
    [Part::IdleStarting, Part::IdleNoStage, Part::IdlePending, Part::IdleTooFewTasks, Part::IdleTail];

/// Core-time of a run, and of each stage attempt.
pub(super) struct CoreTime<'s> {
    /// What tasks of each stage attempt held their slots for.
    pub(super) by_stage: Vec<Sum>,
    steps: &'s [StageSteps],
    millicores: Vec<i64>,
    /// One entry for every time at which anything changed.
    until: Vec<Until>,
    stages_of_job: FxHashMap<u32, Vec<usize>>,
    has_executors: bool,
}

impl<'s> CoreTime<'s> {
    pub(super) fn of(context: &Context<'_>, steps: &'s [StageSteps]) -> Self {
        let millicores: Vec<i64> =
            context.stages.iter().map(|digest| (digest.task_cpus * 1000.0).round() as i64).collect();
        let mut stages_of_job: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for digest in &context.stages {
            if let Some(job) = digest.job_id {
                stages_of_job.entry(job).or_default().push(digest.position);
            }
        }
        CoreTime {
            by_stage: steps.iter().zip(&millicores).map(|(one, cores)| scaled(&one.held, *cores)).collect(),
            until: until(context, &changes(context, steps, &millicores)),
            steps,
            millicores,
            stages_of_job,
            has_executors: context.allocated_core_ms.is_some(),
        }
    }

    /// Of the run: what tasks held, and why the rest was idle. Adds up to what executors offered; where
    /// that is not known, to what tasks held.
    pub(super) fn run(&self, start_ms: i64, end_ms: i64) -> Sum {
        let mut sum = Sum::default();
        self.by_stage.iter().for_each(|stage| sum.add_all(stage));
        if self.has_executors {
            let held = sum.total_ms();
            self.close(&mut sum, held, start_ms, end_ms);
        }
        sum
    }

    /// Of what some jobs did between two times: their own tasks, those of others, and idle slots.
    pub(super) fn scope(&self, start_ms: i64, end_ms: i64, jobs: &[u32]) -> Sum {
        let mut sum = Sum::default();
        let mut own_millis = 0i64;
        for n in jobs.iter().filter_map(|job| self.stages_of_job.get(job)).flatten() {
            sum.add_all(&self.by_stage[*n]);
            let inside = |step: &Step| (step.free_ms.min(end_ms) - step.launch_ms.max(start_ms)).max(0);
            own_millis += self.steps[*n].steps.iter().map(inside).sum::<i64>() * self.millicores[*n];
        }
        let (from, to) = (self.until_ms(start_ms), self.until_ms(end_ms));
        sum.add(Part::OtherWork, (to.held_millis - from.held_millis - own_millis).max(0) / 1000);
        if self.has_executors {
            let held = sum.total_ms();
            self.close(&mut sum, held, start_ms, end_ms);
        }
        sum
    }

    /// Adds idle time, and makes the whole add up to what was offered: clocks of driver and executors
    /// differ, so that slots may seem to be held for a little longer than they were there. Where tasks held
    /// far more than the log says was offered, it is the log that is wrong, and what was held stands.
    fn close(&self, sum: &mut Sum, held_ms: i64, start_ms: i64, end_ms: i64) {
        let (from, to) = (self.until_ms(start_ms), self.until_ms(end_ms));
        let offered_ms = to.offered_ms - from.offered_ms;
        let mut excess = held_ms - offered_ms;
        for (n, part) in IDLE.into_iter().enumerate() {
            let idle = (to.idle_millis[n] - from.idle_millis[n]) / 1000;
            sum.add(part, idle);
            excess += idle;
        }
        let idle_parts =
            [Part::IdleNoStage, Part::IdlePending, Part::IdleTail, Part::IdleTooFewTasks, Part::IdleStarting];
        let may_cut_work = held_ms as f64 <= offered_ms as f64 * CLOCKS_DIFFER;
        let work_parts = Part::ALL.iter().rev().copied().filter(|_| may_cut_work);
        for part in idle_parts.into_iter().chain(work_parts) {
            let cut = excess.clamp(0, sum.get(part));
            sum.add(part, -cut);
            excess -= cut;
        }
        if excess < 0 {
            // Held for less than it seemed: rounding of parts of cores.
            sum.add(Part::IdlePending, -excess);
        }
    }

    fn until_ms(&self, at_ms: i64) -> Until {
        let n = self.until.partition_point(|until| until.at_ms <= at_ms);
        n.checked_sub(1).map_or_else(Until::default, |last| self.until[last].at(at_ms))
    }
}

fn changes(context: &Context<'_>, steps: &[StageSteps], millicores: &[i64]) -> Vec<Change> {
    use Counted as C;
    let tasks: usize = steps.iter().map(|one| one.steps.len()).sum();
    let mut changes = Vec::with_capacity(2 * tasks + 5 * steps.len() + 2 * context.run.executors.len());
    let mut span = |from: i64, to: i64, by: i64, what: Counted| {
        let by = i32::try_from(by).unwrap_or(i32::MAX);
        changes.push(Change { at_ms: from, by, what });
        changes.push(Change { at_ms: to, by: -by, what });
    };
    for executor in &context.run.executors {
        if let (Some((from, to)), Some(cores)) = (executor.lifetime(context.end_ms), executor.cores) {
            span(from, to, i64::from(cores), C::Offered);
        }
    }
    for ((digest, of_stage), millicores) in context.stages.iter().zip(steps).zip(millicores) {
        of_stage.steps.iter().for_each(|step| span(step.launch_ms, step.free_ms, *millicores, C::Held));
        let Some((from, to)) = digest.running else { continue };
        let last_launch = of_stage.steps.iter().map(|step| step.launch_ms).max().unwrap_or(from);
        let cores = context.available_core_ms(from, to).unwrap_or(0) as f64 / (to - from).max(1) as f64;
        let is_small = (digest.attempts as f64) * digest.task_cpus < cores;
        span(from, to, 1, C::Running);
        span(from, last_launch, 1, C::Pending);
        span(from, to, i64::from(is_small), C::Small);
    }
    changes.sort_unstable_by_key(|change| change.at_ms);
    changes
}

/// Adds changes up, one entry for each time.
fn until(context: &Context<'_>, changes: &[Change]) -> Vec<Until> {
    let first_launch_ms =
        context.stages.iter().filter_map(|digest| Some(digest.running?.0)).min().unwrap_or(i64::MAX);
    let (mut running, mut pending, mut small) = (0i32, 0i32, 0i32);
    let mut all: Vec<Until> = Vec::new();
    let mut now = Until::default();
    for together in changes.chunk_by(|a, b| a.at_ms == b.at_ms) {
        now = now.at(together[0].at_ms);
        for change in together {
            match change.what {
                Counted::Offered => now.offered += i64::from(change.by),
                Counted::Held => now.held += i64::from(change.by),
                Counted::Running => running += change.by,
                Counted::Pending => pending += change.by,
                Counted::Small => small += change.by,
            }
        }
        now.idle_slot = if running == 0 {
            usize::from(now.at_ms >= first_launch_ms)
        } else if pending > 0 {
            2
        } else if small == running {
            3
        } else {
            4
        };
        all.push(now);
    }
    all
}

/// Slot time times cores.
fn scaled(sum: &Sum, millicores: i64) -> Sum {
    if millicores == 1000 {
        return *sum;
    }
    let mut out = Sum::default();
    for (part, ms) in sum.parts() {
        out.add(part, ms * millicores / 1000);
    }
    out
}

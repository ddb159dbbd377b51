//! Wall time: one backward walk from the end, each step naming what the run waited for (decision 32).

use super::steps::{StageSteps, Step};
use super::{Part, Sum};
use crate::context::Context;
use emberscope_model::intervals::merged;
use rustc_hash::FxHashMap;

/// A finished attempt on an executor: when its slot was free, stage attempt, number in task order.
type Freed = (i64, u32, u32);

/// A job's span.
#[derive(Clone, Copy, Debug)]
struct Span {
    start_ms: i64,
    end_ms: i64,
    job: u32,
}

/// Where the cursor came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing known of: between jobs, at the end.
    Driver,
    /// The end of a stage attempt.
    StageEnd(usize),
    /// Within an attempt of a stage attempt.
    Task(usize, usize),
}

/// Walks back through a run.
pub(super) struct Walker<'c, 'r> {
    context: &'c Context<'r>,
    /// Jobs by end.
    jobs: Vec<Span>,
    /// Freed slots by executor, by time.
    freed: FxHashMap<u32, Vec<Freed>>,
    added_ms: FxHashMap<u32, i64>,
    stages_of_job: FxHashMap<u32, Vec<usize>>,
    steps: &'c [StageSteps],
    first_job_ms: i64,
    last_job_ms: i64,
    /// When any query ran.
    queries: Vec<(i64, i64)>,
}

/// Which stage attempts and jobs a walk may enter.
struct Limits<'l> {
    start_ms: i64,
    is_own: &'l dyn Fn(u32) -> bool,
    stage: Option<usize>,
}

impl<'c, 'r> Walker<'c, 'r> {
    pub(super) fn of(context: &'c Context<'r>, steps: &'c [StageSteps]) -> Self {
        let run = context.run;
        let mut jobs: Vec<Span> = run
            .jobs
            .iter()
            .filter_map(|job| {
                let start_ms = job.start_ms?;
                Some(Span {
                    start_ms,
                    end_ms: job.end_ms.unwrap_or(context.end_ms).max(start_ms),
                    job: job.id,
                })
            })
            .collect();
        jobs.sort_unstable_by_key(|span| (span.end_ms, span.start_ms, span.job));
        let mut stages_of_job: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for digest in &context.stages {
            if let Some(job) = digest.job_id {
                stages_of_job.entry(job).or_default().push(digest.position);
            }
        }
        let added = run
            .executors
            .iter()
            .filter_map(|executor| Some((run.strings.find(&executor.id)?, executor.added_ms?)));
        Walker {
            context,
            first_job_ms: jobs.iter().map(|span| span.start_ms).min().unwrap_or(i64::MAX),
            last_job_ms: jobs.iter().map(|span| span.end_ms).max().unwrap_or(i64::MIN),
            jobs,
            freed: freed(context, steps),
            added_ms: added.collect(),
            stages_of_job,
            steps,
            queries: merged(run.sql_executions.iter().filter_map(|execution| {
                Some((execution.start_ms?, execution.end_ms.unwrap_or(context.end_ms)))
            })),
        }
    }

    /// Of the run.
    pub(super) fn run(&self) -> Sum {
        self.scope(self.context.start_ms, self.context.end_ms, &|_| true)
    }

    /// Of what some jobs did between two times.
    pub(super) fn scope(&self, start_ms: i64, end_ms: i64, is_own: &dyn Fn(u32) -> bool) -> Sum {
        self.walk(end_ms, Place::Driver, &Limits { start_ms, is_own, stage: None })
    }

    /// Of a stage attempt, from its submission to its completion.
    pub(super) fn stage(&self, position: usize) -> Sum {
        let stage = &self.context.run.stages[position];
        let (Some(first), Some(last)) = (stage.first_launch_ms, stage.last_finish_ms) else {
            return Sum::default();
        };
        let start_ms = stage.submitted_ms.unwrap_or(first).min(first);
        let end_ms = stage.completed_ms.unwrap_or(last).max(last);
        let limits = Limits { start_ms, is_own: &|_| true, stage: Some(position) };
        self.walk(end_ms, Place::StageEnd(position), &limits)
    }

    fn walk(&self, end_ms: i64, from: Place, limits: &Limits<'_>) -> Sum {
        let mut sum = Sum::default();
        let mut cursor = end_ms;
        let mut place = from;
        // Steps that do not move the cursor are few; more of them than this are a circle.
        let mut still = 0;
        while cursor > limits.start_ms && still < 100_000 {
            let before = cursor;
            place = match place {
                Place::Driver => self.before_driver(&mut cursor, limits, &mut sum),
                Place::StageEnd(stage) => self.before_stage_end(stage, &mut cursor, limits, &mut sum),
                Place::Task(stage, task) => self.before_task(stage, task, &mut cursor, limits, &mut sum),
            };
            still = if cursor < before { 0 } else { still + 1 };
        }
        self.spend(&mut sum, &mut cursor, limits.start_ms, Part::DriverBetween, limits);
        sum
    }

    /// Moves the cursor left to `to` and names the piece.
    fn spend(&self, sum: &mut Sum, cursor: &mut i64, to: i64, part: Part, limits: &Limits<'_>) {
        let to = to.max(limits.start_ms).min(*cursor);
        sum.add(part, *cursor - to);
        *cursor = to;
    }

    fn before_driver(&self, cursor: &mut i64, limits: &Limits<'_>, sum: &mut Sum) -> Place {
        // The job that ended last, at the cursor or before it.
        let n = self.jobs.partition_point(|span| span.end_ms <= *cursor);
        let within = self.jobs[..n].iter().rev().take_while(|span| span.end_ms > limits.start_ms);
        let own = within.into_iter().find(|span| (limits.is_own)(span.job));
        let to = own.map_or(limits.start_ms, |span| span.end_ms);
        self.spend_driver(sum, cursor, to, limits);
        let Some(span) = own else { return Place::Driver };
        let stages = self.stages_of_job.get(&span.job).into_iter().flatten();
        let ended = stages.filter_map(|n| Some((self.end_of(*n)?, *n))).filter(|(end, _)| *end <= *cursor);
        match ended.max() {
            Some((_, stage)) => Place::StageEnd(stage),
            None => {
                // A job without a task: all of it is the driver's.
                self.spend_driver(sum, cursor, span.start_ms.min(*cursor - 1), limits);
                Place::Driver
            }
        }
    }

    /// A piece in which the driver was at work, named by its neighbours.
    fn spend_driver(&self, sum: &mut Sum, cursor: &mut i64, to: i64, limits: &Limits<'_>) {
        let to = to.max(limits.start_ms);
        if *cursor > self.last_job_ms {
            let from = self.last_job_ms.max(to);
            let part =
                if self.is_in_query(from, *cursor) { Part::DriverPlanning } else { Part::DriverShutdown };
            self.spend(sum, cursor, from, part, limits);
        }
        // Several first jobs start at about the same time: what was before all of them is the start-up.
        if *cursor > self.first_job_ms && to < self.first_job_ms {
            let part = if self.is_in_query(self.first_job_ms, *cursor) {
                Part::DriverPlanning
            } else {
                Part::DriverBetween
            };
            self.spend(sum, cursor, self.first_job_ms, part, limits);
        }
        if *cursor > to {
            let part = if *cursor <= self.first_job_ms && !self.is_in_query(to, *cursor) {
                Part::DriverStartup
            } else if self.is_in_query(to, *cursor) {
                Part::DriverPlanning
            } else {
                Part::DriverBetween
            };
            self.spend(sum, cursor, to, part, limits);
        }
    }

    /// Whether a query ran during most of a piece.
    fn is_in_query(&self, from: i64, to: i64) -> bool {
        let first = self.queries.partition_point(|(_, end)| *end <= from);
        let overlapping = self.queries[first..].iter().take_while(|(start, _)| *start < to);
        overlapping.map(|(start, end)| end.min(&to) - start.max(&from)).sum::<i64>() * 2 > to - from
    }

    fn end_of(&self, stage: usize) -> Option<i64> {
        let stage = &self.context.run.stages[stage];
        stage.completed_ms.or(stage.last_finish_ms)
    }

    fn before_stage_end(&self, stage: usize, cursor: &mut i64, limits: &Limits<'_>, sum: &mut Sum) -> Place {
        let steps = &self.steps[stage];
        match steps.last_finished(*cursor) {
            Some(n) => {
                self.spend(sum, cursor, steps.steps[n].finish_ms, Part::ResultHandling, limits);
                Place::Task(stage, n)
            }
            None => {
                let to = self.submitted(stage).unwrap_or(*cursor);
                self.spend(sum, cursor, to, Part::Scheduling, limits);
                self.before_stage(stage, cursor, limits, sum)
            }
        }
    }

    fn submitted(&self, stage: usize) -> Option<i64> {
        self.context.run.stages[stage].submitted_ms
    }

    fn before_task(
        &self,
        stage: usize,
        task: usize,
        cursor: &mut i64,
        limits: &Limits<'_>,
        sum: &mut Sum,
    ) -> Place {
        let step = self.steps[stage].steps[task];
        let to = step.launch_ms.max(limits.start_ms).min(*cursor);
        let piece = *cursor - to;
        if let Some(part) = step.whole {
            sum.add(part, piece);
        } else {
            let mut parts = step.first(*cursor - step.launch_ms.min(*cursor));
            // Cut off at the front where the scope begins within the attempt.
            let before = step.first(to - step.launch_ms.min(to));
            for (part, ms) in before.parts() {
                parts.add(part, -ms);
            }
            self.steps[stage].waits.split(&mut parts);
            sum.add_all(&parts);
        }
        *cursor = to;
        if *cursor <= limits.start_ms {
            return Place::Driver;
        }
        self.why_then(stage, step, cursor, limits, sum)
    }

    /// Why a task was launched when it was, and not before.
    fn why_then(
        &self,
        stage: usize,
        step: Step,
        cursor: &mut i64,
        limits: &Limits<'_>,
        sum: &mut Sum,
    ) -> Place {
        let submitted = self.submitted(stage).unwrap_or(step.launch_ms).min(*cursor);
        let freed = self.freed.get(&step.executor).map_or(&[][..], Vec::as_slice);
        let n = freed.partition_point(|(at, _, _)| *at <= *cursor);
        // The slot that was freed last, if the stage already waited for it.
        if let Some((at, other, task)) = freed[..n].last().filter(|(at, _, _)| *at > submitted)
            && limits.stage.is_none_or(|only| only == *other as usize)
            && self.is_own_stage(*other as usize, limits)
        {
            self.spend(sum, cursor, *at, Part::Scheduling, limits);
            return Place::Task(*other as usize, *task as usize);
        }
        if let Some(added) = self.added_ms.get(&step.executor).filter(|added| **added > submitted) {
            self.spend(sum, cursor, *added, Part::Scheduling, limits);
            self.spend(sum, cursor, submitted, Part::WaitingForExecutors, limits);
        } else {
            self.spend(sum, cursor, submitted, Part::Scheduling, limits);
        }
        self.before_stage(stage, cursor, limits, sum)
    }

    fn is_own_stage(&self, stage: usize, limits: &Limits<'_>) -> bool {
        self.context.stages[stage].job_id.is_some_and(limits.is_own)
    }

    /// From a stage's submission to what it waited for: the stage that computed its input, else its job.
    fn before_stage(&self, stage: usize, cursor: &mut i64, limits: &Limits<'_>, sum: &mut Sum) -> Place {
        let run = self.context.run;
        let this = &run.stages[stage];
        let ids = this.executed_parents.iter().copied().chain((this.attempt > 0).then_some(this.id));
        let parents = ids.flat_map(|id| {
            let first = run.stages.partition_point(|stage| stage.id < id);
            first..first + run.attempts(id).len()
        });
        let is_earlier = |n: usize| (run.stages[n].submitted_ms, n) < (this.submitted_ms, stage);
        let ended = parents
            .filter(|n| *n != stage && is_earlier(*n) && self.is_own_stage(*n, limits))
            .filter_map(|n| Some((self.end_of(n)?, n)))
            .filter(|(end, _)| *end <= *cursor);
        let parent = ended.max();
        let job = self.context.stages[stage].job_id.and_then(|id| run.job(id)).and_then(|job| job.start_ms);
        let job = job.filter(|start| *start <= *cursor);
        match (parent, job) {
            // A job of its own that started after its parent's end waited for the driver in between.
            (Some((end, parent)), job) if job.is_none_or(|start| start <= end) => {
                // Within its job a stage waits for the scheduler: also for its next attempt.
                self.spend(sum, cursor, end, Part::Scheduling, limits);
                Place::StageEnd(parent)
            }
            (_, Some(start)) => {
                self.spend_driver(sum, cursor, start, limits);
                Place::Driver
            }
            (Some((end, parent)), None) => {
                self.spend_driver(sum, cursor, end, limits);
                Place::StageEnd(parent)
            }
            (None, None) => Place::Driver,
        }
    }
}

/// When slots became free, by executor.
fn freed(context: &Context<'_>, steps: &[StageSteps]) -> FxHashMap<u32, Vec<Freed>> {
    let has_end =
        |step: &Step| step.whole != Some(Part::Unfinished) && !context.text(step.executor).is_empty();
    let mut freed: FxHashMap<u32, Vec<Freed>> = FxHashMap::default();
    for (position, stage) in steps.iter().enumerate() {
        for (n, step) in stage.steps.iter().enumerate().filter(|(_, step)| has_end(step)) {
            let at = step.free_ms.max(step.launch_ms + 1);
            freed.entry(step.executor).or_default().push((at, position as u32, n as u32));
        }
    }
    freed.values_mut().for_each(|slots| slots.sort_unstable());
    freed
}

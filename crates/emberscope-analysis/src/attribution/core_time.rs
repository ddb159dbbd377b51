//! Core-time: what slots were held for, and why they were idle (decision 34).

use super::parts::task_parts;
use super::{Part, Sum};
use crate::context::Context;
use crate::stage_view::StageView;
use emberscope_log::columns::TaskStatus;
use std::collections::BTreeMap;

/// How much more than was offered tasks may seem to hold because clocks differ.
const CLOCKS_DIFFER: f64 = 1.05;

/// A change of the number of cores at a time.
#[derive(Clone, Copy, Debug)]
struct Change {
    at_ms: i64,
    offered: i64,
    /// Thousandths of a core that tasks hold.
    held: i64,
    /// Stage attempts that run, and those of them with tasks to launch, and those that never had enough.
    running: i32,
    pending: i32,
    small: i32,
}

/// Slot-held spans of one stage attempt: from, to, thousandths of a core.
type Spans = Vec<(i64, i64, i64)>;

/// Core-time of a run, and of each stage attempt.
pub(super) struct CoreTime {
    /// What tasks of each stage attempt held their slots for.
    pub(super) by_stage: Vec<Sum>,
    /// Attempts whose parts were cut.
    pub(super) clamped: u64,
    changes: Vec<Change>,
    spans: Vec<Spans>,
    job_of_stage: Vec<Option<u32>>,
    first_launch_ms: i64,
    has_executors: bool,
}

impl CoreTime {
    pub(super) fn of(context: &Context<'_>) -> Self {
        let run = context.run;
        let lags = &context.occupancy.result_lag_ms;
        let removed: BTreeMap<&str, i64> =
            run.executors.iter().filter_map(|one| Some((one.id.as_str(), one.removed_ms?))).collect();
        let decoded = crate::parallel::map(&run.stages, |n, stage| {
            let digest = &context.stages[n];
            let view = StageView::times_of(stage, digest, context.end_ms);
            let millicores = (digest.task_cpus * 1000.0).round() as i64;
            let mut sum = Sum::default();
            let mut spans: Spans = Vec::with_capacity(view.tasks.len());
            let mut clamped = 0;
            for task in &view.tasks {
                if task.status == TaskStatus::Running {
                    // It ended with its executor at the latest.
                    let end = removed.get(context.text(task.executor)).copied().unwrap_or(task.finish_ms);
                    let end = end.clamp(task.launch_ms, task.finish_ms);
                    spans.push((task.launch_ms, end, millicores));
                    sum.add(Part::Unfinished, end - task.launch_ms);
                    continue;
                }
                let parts = task_parts(task);
                clamped += u64::from(parts.is_clamped);
                let lag = lags.get(context.text(task.executor)).copied().unwrap_or(0);
                let worked = (task.deserialize_ms + task.run_ms).min(task.duration_ms());
                let held = (task.duration_ms() - task.getting_result_ms - lag).max(worked);
                spans.push((task.launch_ms, task.launch_ms + held, millicores));
                if task.is_useful {
                    sum.add_all(&parts.first(held));
                } else {
                    sum.add(Part::LostWork, held);
                }
            }
            (scaled(&sum, millicores), spans, clamped)
        });
        let mut totals = CoreTime {
            by_stage: Vec::with_capacity(decoded.len()),
            clamped: 0,
            changes: Vec::new(),
            spans: Vec::with_capacity(decoded.len()),
            job_of_stage: context.stages.iter().map(|digest| digest.job_id).collect(),
            first_launch_ms: context
                .stages
                .iter()
                .filter_map(|digest| Some(digest.running?.0))
                .min()
                .unwrap_or(i64::MAX),
            has_executors: context.allocated_core_ms.is_some(),
        };
        for (sum, spans, clamped) in decoded {
            totals.by_stage.push(sum);
            totals.spans.push(spans);
            totals.clamped += clamped;
        }
        totals.note_changes(context);
        totals
    }

    fn note_changes(&mut self, context: &Context<'_>) {
        let none = Change { at_ms: 0, offered: 0, held: 0, running: 0, pending: 0, small: 0 };
        let mut changes = Vec::new();
        for executor in &context.run.executors {
            if let (Some((from, to)), Some(cores)) = (executor.lifetime(context.end_ms), executor.cores) {
                changes.push(Change { at_ms: from, offered: i64::from(cores), ..none });
                changes.push(Change { at_ms: to, offered: -i64::from(cores), ..none });
            }
        }
        for (n, digest) in context.stages.iter().enumerate() {
            for (from, to, millicores) in &self.spans[n] {
                changes.push(Change { at_ms: *from, held: *millicores, ..none });
                changes.push(Change { at_ms: *to, held: -*millicores, ..none });
            }
            let Some((from, to)) = digest.running else { continue };
            let last_launch = self.spans[n].iter().map(|span| span.0).max().unwrap_or(from);
            let cores = context.available_core_ms(from, to).unwrap_or(0) as f64 / (to - from).max(1) as f64;
            let small = i32::from((digest.attempts as f64) * digest.task_cpus < cores);
            changes.push(Change { at_ms: from, running: 1, pending: 1, small, ..none });
            changes.push(Change { at_ms: last_launch, pending: -1, ..none });
            changes.push(Change { at_ms: to, running: -1, small: -small, ..none });
        }
        changes.sort_unstable_by_key(|change| change.at_ms);
        self.changes = changes;
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
    pub(super) fn scope(&self, start_ms: i64, end_ms: i64, is_own: &dyn Fn(u32) -> bool) -> Sum {
        let mut sum = Sum::default();
        let mut others = 0i64;
        for (n, spans) in self.spans.iter().enumerate() {
            let inside = |span: &(i64, i64, i64)| (span.1.min(end_ms) - span.0.max(start_ms)).max(0) * span.2;
            if self.job_of_stage[n].is_some_and(is_own) {
                sum.add_all(&self.by_stage[n]);
            } else {
                others += spans.iter().map(inside).sum::<i64>();
            }
        }
        sum.add(Part::OtherWork, others / 1000);
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
        let (idle, offered_ms) = self.idle(start_ms, end_ms);
        sum.add_all(&idle);
        let mut excess = held_ms + idle.total_ms() - offered_ms;
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

    fn idle(&self, start_ms: i64, end_ms: i64) -> (Sum, i64) {
        let mut sum = Sum::default();
        let (mut offered, mut held) = (0i64, 0i64);
        let (mut running, mut pending, mut small) = (0i32, 0i32, 0i32);
        let mut offered_ms = 0;
        let mut idle_millis = [0i64; 5];
        let mut last = i64::MIN;
        for change in self.changes.iter().chain(std::iter::once(&Change {
            at_ms: end_ms,
            offered: 0,
            held: 0,
            running: 0,
            pending: 0,
            small: 0,
        })) {
            let (from, to) = (last.max(start_ms), change.at_ms.min(end_ms));
            if to > from {
                offered_ms += offered * (to - from);
                let free = (offered * 1000 - held).max(0) * (to - from);
                let slot = if running == 0 && to <= self.first_launch_ms {
                    0
                } else if running == 0 {
                    1
                } else if pending > 0 {
                    2
                } else if small == running {
                    3
                } else {
                    4
                };
                idle_millis[slot] += free;
            }
            last = change.at_ms;
            offered += change.offered;
            held += change.held;
            running += change.running;
            pending += change.pending;
            small += change.small;
        }
        let parts =
            [Part::IdleStarting, Part::IdleNoStage, Part::IdlePending, Part::IdleTooFewTasks, Part::IdleTail];
        for (part, millis) in parts.into_iter().zip(idle_millis) {
            sum.add(part, millis / 1000);
        }
        (sum, offered_ms)
    }
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

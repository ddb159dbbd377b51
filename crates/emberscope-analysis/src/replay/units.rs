//! Jobs and units of a run, and what each of them waited for.

use super::model::{JobModel, UnitModel};
use crate::context::Context;
use emberscope_model::run::Run;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Positions in `ends` (sorted by end) of the things that had ended at `at` and that no other of them
/// came after: what a thing that started at `at` waited for.
struct Frontier {
    /// (end, start, number), by end.
    ended: Vec<(i64, i64, usize)>,
    /// Latest start among the first n.
    latest_start: Vec<i64>,
}

impl Frontier {
    fn of(spans: impl IntoIterator<Item = (i64, i64, usize)>) -> Self {
        let mut ended: Vec<(i64, i64, usize)> =
            spans.into_iter().map(|(start, end, n)| (end, start, n)).collect();
        ended.sort_unstable();
        let mut latest = i64::MIN;
        let latest_start = ended
            .iter()
            .map(|(_, start, _)| {
                latest = latest.max(*start);
                latest
            })
            .collect();
        Frontier { ended, latest_start }
    }

    fn before(&self, at: i64, own: usize) -> Vec<usize> {
        let n = self.ended.partition_point(|(end, _, _)| *end <= at);
        let Some(latest) = n.checked_sub(1).map(|last| self.latest_start[last]) else { return Vec::new() };
        let recent = self.ended[..n].iter().rev().take_while(|(end, _, _)| *end > latest);
        // A thing of no length may end when it starts; it does not wait for itself, nor for a later one.
        let mut found: Vec<usize> = recent
            .filter(|(_, start, other)| *other != own && (*start, *other) < (at, own))
            .map(|entry| entry.2)
            .collect();
        // Bounded: more than that at one time only says that all of them were there.
        found.truncate(64);
        found
    }
}

type JobsAndUnits = (Vec<JobModel>, Vec<UnitModel>, BTreeMap<u32, usize>);

pub(super) fn jobs_and_units(run: &Run, context: &Context<'_>) -> Option<JobsAndUnits> {
    let mut units: Vec<UnitModel> = Vec::new();
    let mut unit_of_execution: FxHashMap<u64, usize> = FxHashMap::default();
    let mut chain: Vec<Option<&str>> = Vec::new();
    let root = |id: u64| run.sql_execution(id).and_then(|execution| execution.root_id).unwrap_or(id);
    for execution in run.sql_executions.iter().filter(|execution| execution.is_root()) {
        let Some(start) = execution.start_ms else { continue };
        unit_of_execution.insert(execution.id, units.len());
        units.push(unit(start, execution.end_ms.unwrap_or(start).clamp(start, context.end_ms.max(start))));
        chain.push(execution.job_group_id.as_deref());
    }
    let mut jobs: Vec<JobModel> = Vec::new();
    let mut by_job = BTreeMap::new();
    for job in &run.jobs {
        let Some(start) = job.start_ms else { continue };
        let end = job.end_ms.unwrap_or(context.end_ms).max(start);
        let known = job.sql_execution_id.and_then(|id| unit_of_execution.get(&root(id)).copied());
        let unit_number = known.unwrap_or_else(|| {
            units.push(unit(start, end));
            chain.push(job.group.as_deref());
            if let Some(id) = job.sql_execution_id {
                unit_of_execution.insert(root(id), units.len() - 1);
            }
            units.len() - 1
        });
        let unit = &mut units[unit_number];
        unit.start_ms = unit.start_ms.min(start);
        unit.end_ms = unit.end_ms.max(end);
        unit.jobs.push(jobs.len());
        by_job.insert(job.id, jobs.len());
        jobs.push(JobModel {
            unit: unit_number,
            parents: Vec::new(),
            start_lag_ms: 0,
            stages: Vec::new(),
            end_lag_ms: 0,
            start_ms: start,
            end_ms: end,
        });
    }
    if jobs.is_empty() {
        return None;
    }
    order_units(&mut units, &chain, context.start_ms);
    for unit in &mut units {
        let frontier = Frontier::of(unit.jobs.iter().map(|n| (jobs[*n].start_ms, jobs[*n].end_ms, *n)));
        for &n in &unit.jobs {
            let parents = frontier.before(jobs[n].start_ms, n);
            let ready = parents.iter().map(|parent| jobs[*parent].end_ms).max().unwrap_or(unit.start_ms);
            jobs[n].start_lag_ms = jobs[n].start_ms - ready;
            jobs[n].parents = parents;
        }
        let last = unit.jobs.iter().map(|n| jobs[*n].end_ms).max().unwrap_or(unit.start_ms);
        unit.end_lag_ms = unit.end_ms - last;
    }
    Some((jobs, units, by_job))
}

fn unit(start_ms: i64, end_ms: i64) -> UnitModel {
    UnitModel { parents: Vec::new(), start_lag_ms: 0, jobs: Vec::new(), end_lag_ms: 0, start_ms, end_ms }
}

/// What each unit waited for. Job groups that ran side by side are driver threads of their own.
fn order_units(units: &mut [UnitModel], chain: &[Option<&str>], start_ms: i64) {
    let mut hulls: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (unit, chain) in units.iter().zip(chain) {
        if let Some(chain) = chain {
            let hull = hulls.entry(chain).or_insert((unit.start_ms, unit.end_ms));
            *hull = (hull.0.min(unit.start_ms), hull.1.max(unit.end_ms));
        }
    }
    let mut spans: Vec<(i64, i64)> = hulls.values().copied().collect();
    spans.sort_unstable();
    let are_threads = spans.windows(2).any(|pair| pair[1].0 < pair[0].1);
    let thread = |n: usize| if are_threads { chain[n] } else { None };
    let mut members: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for n in 0..units.len() {
        members.entry(thread(n)).or_default().push(n);
    }
    for numbers in members.values() {
        let frontier = Frontier::of(numbers.iter().map(|n| (units[*n].start_ms, units[*n].end_ms, *n)));
        for &n in numbers {
            let parents = frontier.before(units[n].start_ms, n);
            let ready = parents.iter().map(|parent| units[*parent].end_ms).max().unwrap_or(start_ms);
            units[n].start_lag_ms = units[n].start_ms - ready;
            units[n].parents = parents;
        }
    }
}

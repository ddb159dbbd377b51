//! From what was collected of stages to stage attempts: everything that one look at their rows tells.
//!
//! All attempts of a stage are finished together, and stages beside each other on several threads.

use super::RunBuilder;
use super::stages::StageEntry;
use crate::accounting::{self, RowFacts, Scratch};
use crate::parallel;
use crate::run::{StageAttempt, StageStatus};
use crate::tasks::{TaskSegment, present};
use crate::trust::Trust;
use emberscope_log::columns::TaskColumn;
use emberscope_log::event::task::EXECUTOR_METRICS;
use emberscope_log::strings::StringTable;
use std::collections::BTreeMap;

/// Some finished stages.
#[derive(Default)]
struct Finished {
    stages: Vec<StageAttempt>,
    facts: Vec<RowFacts>,
    /// Partitions without an attempt that counted.
    uncovered: u64,
    implausible: BTreeMap<&'static str, u64>,
    /// Peaks of executors, by number and metric.
    peaks: BTreeMap<(i64, &'static str), i64>,
}

impl RunBuilder {
    /// Stage attempts by id, each with the facts of its rows.
    pub(super) fn finish_stages(&mut self, trust: &mut Trust) -> (Vec<StageAttempt>, Vec<RowFacts>) {
        let mut entries: BTreeMap<u32, Vec<StageEntry>> = BTreeMap::new();
        for entry in std::mem::take(&mut self.stages) {
            // Executor metrics alone do not make a stage that ran.
            if entry.is_submitted || entry.is_completed || entry.tasks.rows() > 0 {
                entries.entry(entry.id).or_default().push(entry);
            }
        }
        let weight = |attempts: &Vec<StageEntry>| attempts.iter().map(|entry| entry.tasks.rows() + 1).sum();
        let groups: Vec<Vec<StageEntry>> = entries.into_values().collect();
        let parts = parallel::parts(groups, self.threads, weight, |part| {
            let (mut finished, mut scratch) = (Finished::default(), Scratch::default());
            for attempts in part {
                finished.add(attempts, &mut scratch, &self.strings);
            }
            finished
        });
        let (mut stages, mut facts, mut uncovered) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            stages.extend(part.stages);
            facts.extend(part.facts);
            uncovered += part.uncovered;
            for (name, times) in part.implausible {
                trust.clamp(name, times);
            }
            for ((executor, name), peak) in part.peaks {
                let id = self.strings.text(executor as u32).to_owned();
                let of_run = self.executor(&id).peaks.entry(name.to_owned()).or_default();
                *of_run = peak.max(*of_run);
            }
        }
        if uncovered > 0 {
            let partitions = if uncovered == 1 { "partition has" } else { "partitions have" };
            trust.notes.push(format!("{uncovered} {partitions} no attempt whose output counted"));
        }
        // Values that cannot be as the log has them are clamped where they are used.
        trust.clamp("task duration_ms", facts.iter().map(|facts: &RowFacts| facts.reversed).sum());
        trust.clamp("scheduler_delay_ms", facts.iter().map(|facts| facts.negative_delays).sum());
        (stages, facts)
    }
}

impl Finished {
    /// Takes all attempts of one stage.
    fn add(&mut self, mut attempts: Vec<StageEntry>, scratch: &mut Scratch, strings: &StringTable) {
        attempts.sort_by_key(|entry| entry.attempt);
        let first = self.stages.len();
        for entry in attempts {
            let mut stage = finish_stage(entry, &mut self.implausible);
            self.facts.push(RowFacts::of(&mut stage, scratch));
            self.raise_peaks(&mut stage, strings);
            self.stages.push(stage);
        }
        self.uncovered += accounting::assign_useful(&mut self.stages[first..], &self.facts[first..]);
    }

    /// Task ends carry the peaks of their executor while they ran; often nothing else does
    /// (`AppStatusListener.onTaskEnd` does the same).
    fn raise_peaks(&mut self, stage: &mut StageAttempt, strings: &StringTable) {
        let polled = stage.tasks.chunks().fold(0, |mask, chunk| mask | chunk.nonzero());
        for (name, column) in EXECUTOR_METRICS.iter().filter(|(_, column)| polled >> column.slot() & 1 == 1) {
            for (executor, peak) in peaks(&stage.tasks, *column) {
                let of_stage = stage.executor_peaks.entry(strings.text(executor as u32).to_owned());
                let of_stage = of_stage.or_default().entry((*name).to_owned()).or_default();
                *of_stage = peak.max(*of_stage);
                let of_run = self.peaks.entry((executor, name)).or_default();
                *of_run = peak.max(*of_run);
            }
        }
    }
}

/// The largest value of a column by executor, at least 0.
fn peaks(tasks: &TaskSegment, column: TaskColumn) -> BTreeMap<i64, i64> {
    let mut peaks: BTreeMap<i64, i64> = BTreeMap::new();
    let mut columns = [Vec::new(), Vec::new()];
    for chunk in tasks.chunks() {
        chunk.gather([TaskColumn::Executor, column], &mut columns);
        let [executors, values] = &columns;
        let rows = executors.iter().zip(values);
        for (executor, value) in rows.filter_map(|(executor, value)| present(*executor).zip(present(*value)))
        {
            let peak = peaks.entry(executor).or_default();
            *peak = value.max(*peak);
        }
    }
    peaks
}

fn finish_stage(entry: StageEntry, implausible: &mut BTreeMap<&'static str, u64>) -> StageAttempt {
    let tasks = entry.tasks.finish(implausible);
    let status = match (entry.is_completed, &entry.failure_reason) {
        (true, None) => StageStatus::Complete,
        (true, Some(_)) => StageStatus::Failed,
        (false, _) => StageStatus::Active,
    };
    StageAttempt {
        id: entry.id,
        attempt: entry.attempt,
        name: entry.name,
        details: entry.details,
        num_tasks: entry.num_tasks,
        submitted_ms: entry.submitted_ms,
        completed_ms: entry.completed_ms,
        status,
        failure_reason: entry.failure_reason,
        parent_ids: entry.parent_ids,
        executed_parents: Vec::new(),
        rdd_ids: entry.rdd_ids,
        is_barrier: entry.is_barrier,
        resource_profile_id: entry.resource_profile_id,
        pool: entry.pool,
        job_ids: Vec::new(),
        is_result: entry.is_result,
        first_launch_ms: None,
        last_finish_ms: None,
        accumulators: entry.accumulators,
        sql_metric_values: entry.sql_metric_values,
        executor_peaks: entry.executor_peaks,
        tasks,
    }
}

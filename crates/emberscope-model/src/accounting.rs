//! Useful work and all work: which task attempt of each partition counted, and why the others did not.

use crate::run::StageAttempt;
use crate::tasks::{LostCause, RowSet, TaskChunk};
use crate::trust::Trust;
use emberscope_log::columns::{TaskColumn, TaskStatus};
use std::collections::{HashMap, HashSet};

/// An attempt that may count for its partition.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Position of the stage attempt.
    stage: usize,
    row: usize,
    finish_ms: i64,
    task_id: i64,
}

/// The partition of every row: `Partition ID` where the version logs it, else `Index`. They differ when
/// a later stage attempt runs only the missing tasks and numbers them from 0 again
/// (`DAGScheduler.submitMissingTasks`). Rows with neither get -1.
pub fn partitions(stage: &StageAttempt) -> Vec<i64> {
    let mut partitions = stage.tasks.column_or(TaskColumn::Index, -1);
    stage.tasks.for_each(TaskColumn::PartitionId, |row, partition| {
        if partition >= 0 {
            partitions[row] = partition;
        }
    });
    partitions
}

/// The facts of one stage attempt's rows that the rule needs.
struct Rows {
    status: Vec<TaskStatus>,
    index: Vec<i64>,
    finish_ms: Vec<i64>,
    task_id: Vec<i64>,
    /// Indexes with a speculative copy and a success.
    raced: HashSet<i64>,
}

impl Rows {
    fn of(stage: &StageAttempt) -> Self {
        let status = stage.tasks.statuses();
        let index = partitions(stage);
        let mut raced = HashSet::new();
        stage.tasks.for_each(TaskColumn::Speculative, |row, speculative| {
            if speculative != 0 {
                raced.insert(index[row]);
            }
        });
        if !raced.is_empty() {
            let done = |status: &TaskStatus| matches!(status, TaskStatus::Success | TaskStatus::Resubmitted);
            let succeeded: HashSet<i64> = status
                .iter()
                .zip(&index)
                .filter(|(status, _)| done(status))
                .map(|(_, index)| *index)
                .collect();
            raced.retain(|index| succeeded.contains(index));
        }
        Rows {
            status,
            index,
            raced,
            finish_ms: stage.tasks.column_or(TaskColumn::FinishTime, i64::MAX),
            task_id: stage.tasks.column_or(TaskColumn::TaskId, 0),
        }
    }
}

/// Marks in every stage attempt the attempts that counted and the causes of the others.
///
/// For each partition of a stage the candidates are the successes that were not resubmitted.
/// Within a stage attempt the first by (finish, task id) counts; across attempts the newest.
pub(crate) fn assign_useful(stages: &mut [StageAttempt], trust: &mut Trust) {
    let mut uncovered = 0u64;
    let mut start = 0;
    while start < stages.len() {
        let id = stages[start].id;
        let end = start + stages[start..].partition_point(|stage| stage.id == id);
        uncovered += assign_stage(&mut stages[start..end]);
        start = end;
    }
    if uncovered > 0 {
        let partitions = if uncovered == 1 { "partition has" } else { "partitions have" };
        trust.notes.push(format!("{uncovered} {partitions} no attempt whose output counted"));
    }
    count_clamped(stages, trust);
}

/// Handles all attempts of one stage, oldest first; gives the number of partitions without a winner.
fn assign_stage(attempts: &mut [StageAttempt]) -> u64 {
    let rows: Vec<Rows> = attempts.iter().map(Rows::of).collect();
    let mut winners: HashMap<i64, Candidate> = HashMap::new();
    // The newest attempt in which each partition was tried at all.
    let mut last_try: HashMap<i64, usize> = HashMap::new();
    for (stage, facts) in rows.iter().enumerate() {
        for (row, status) in facts.status.iter().enumerate() {
            let index = partition_of(facts, row);
            last_try.insert(index, stage);
            if *status != TaskStatus::Success {
                continue;
            }
            let candidate =
                Candidate { stage, row, finish_ms: facts.finish_ms[row], task_id: facts.task_id[row] };
            let winner = winners.entry(index).or_insert(candidate);
            let is_newer = candidate.stage > winner.stage;
            let is_earlier_in_same = candidate.stage == winner.stage
                && (candidate.finish_ms, candidate.task_id) < (winner.finish_ms, winner.task_id);
            if is_newer || is_earlier_in_same {
                *winner = candidate;
            }
        }
    }
    for (stage, facts) in rows.iter().enumerate() {
        let mut useful = RowSet::default();
        let mut lost = Vec::new();
        for (row, status) in facts.status.iter().enumerate() {
            let winner = winners.get(&partition_of(facts, row));
            if winner.is_some_and(|winner| winner.stage == stage && winner.row == row) {
                useful.insert(row);
            } else if *status != TaskStatus::Running {
                let redone_later = last_try.get(&partition_of(facts, row)).is_some_and(|last| *last > stage);
                lost.push((row as u32, cause(facts, row, winner, stage, redone_later)));
            }
        }
        attempts[stage].tasks.useful = useful;
        attempts[stage].tasks.lost = lost;
    }
    // A partition whose attempts still run is not lost, only not done.
    let still_running: HashSet<i64> = rows
        .iter()
        .flat_map(|facts| {
            facts
                .status
                .iter()
                .enumerate()
                .filter(|(_, status)| **status == TaskStatus::Running)
                .map(|(row, _)| partition_of(facts, row))
        })
        .collect();
    last_try.keys().filter(|index| !winners.contains_key(index) && !still_running.contains(index)).count()
        as u64
}

/// The partition of a row. Without an index each attempt stands for itself.
fn partition_of(facts: &Rows, row: usize) -> i64 {
    if facts.index[row] >= 0 { facts.index[row] } else { -2 - facts.task_id[row] }
}

fn cause(
    facts: &Rows,
    row: usize,
    winner: Option<&Candidate>,
    stage: usize,
    redone_later: bool,
) -> LostCause {
    match facts.status[row] {
        TaskStatus::FetchFailed => LostCause::FetchFailed,
        TaskStatus::ExecutorLost => LostCause::ExecutorLoss,
        TaskStatus::Resubmitted if redone_later => LostCause::StageRetry,
        TaskStatus::Resubmitted => LostCause::Resubmitted,
        TaskStatus::Success if winner.is_some_and(|winner| winner.stage != stage) => LostCause::StageRetry,
        // Both copies of a task succeeded; the later one lost.
        TaskStatus::Success => LostCause::Speculation,
        TaskStatus::Killed | TaskStatus::CommitDenied => {
            // A killed attempt lost a race when one copy of its task was speculative and another
            // succeeded.
            if facts.raced.contains(&facts.index[row]) { LostCause::Speculation } else { LostCause::Killed }
        }
        _ => LostCause::Failed,
    }
}

/// Counts values that cannot be as the log has them, so that the clamping is told.
fn count_clamped(stages: &[StageAttempt], trust: &mut Trust) {
    let (mut reversed, mut negative_delays) = (0, 0);
    for stage in stages {
        let delays = scheduler_delays(stage);
        negative_delays += delays.iter().flatten().filter(|delay| **delay < 0).count() as u64;
        let launch = stage.tasks.column_or(TaskColumn::LaunchTime, i64::MIN);
        stage.tasks.for_each(TaskColumn::FinishTime, |row, finish| {
            reversed += u64::from(finish < launch[row]);
        });
    }
    trust.clamp("task duration_ms", reversed);
    trust.clamp("scheduler_delay_ms", negative_delays);
}

/// Scheduler delay of every attempt of a stage, before clamping; see [`chunk_scheduler_delays`].
pub fn scheduler_delays(stage: &StageAttempt) -> Vec<Option<i64>> {
    stage.tasks.chunks().flat_map(chunk_scheduler_delays).collect()
}

/// Scheduler delay of every attempt of a chunk, before clamping: finish - launch - deserialize - run -
/// result serialization - result fetch. `None` for attempts that did not finish or have no metrics.
pub fn chunk_scheduler_delays(chunk: TaskChunk<'_>) -> Vec<Option<i64>> {
    let launch = chunk.column(TaskColumn::LaunchTime);
    let run = chunk.column(TaskColumn::ExecutorRunTime);
    let finish = chunk.column(TaskColumn::FinishTime);
    let mut delays: Vec<Option<i64>> =
        (0..chunk.rows()).map(|row| Some(finish[row]? - launch[row]? - run[row]?)).collect();
    for column in [TaskColumn::ExecutorDeserializeTime, TaskColumn::ResultSerializationTime] {
        chunk.for_each(column, |row, value| {
            if let Some(delay) = &mut delays[row] {
                *delay -= value;
            }
        });
    }
    chunk.for_each(TaskColumn::GettingResultTime, |row, started| {
        if let (Some(delay), Some(finish)) = (&mut delays[row], finish[row]) {
            *delay -= (finish - started).max(0);
        }
    });
    delays
}

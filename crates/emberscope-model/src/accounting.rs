//! Useful work and all work: which task attempt of each partition counted, and why the others did not.

use crate::distinct::Distinct;
use crate::run::StageAttempt;
use crate::tasks::{LostCause, RowSet, TaskChunk, present};
use emberscope_log::columns::{TaskColumn, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

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
    raced: FxHashSet<i64>,
}

impl Rows {
    fn of(stage: &StageAttempt) -> Self {
        let status = stage.tasks.statuses();
        let index = partitions(stage);
        let mut raced = FxHashSet::default();
        stage.tasks.for_each(TaskColumn::Speculative, |row, speculative| {
            if speculative != 0 {
                raced.insert(index[row]);
            }
        });
        if !raced.is_empty() {
            let done = |status: &TaskStatus| matches!(status, TaskStatus::Success | TaskStatus::Resubmitted);
            let succeeded: FxHashSet<i64> = status
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

/// What one look at the rows of a stage attempt tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowFacts {
    /// Distinct indexes.
    pub(crate) known: u64,
    /// Distinct indexes with an end.
    pub(crate) ended: u64,
    /// The largest task id.
    pub(crate) last_task_id: Option<i64>,
    /// Attempts that finish before their launch.
    pub(crate) reversed: u64,
    /// Attempts whose parts are longer than the whole.
    pub(crate) negative_delays: u64,
    /// Every attempt succeeded, and each is the only one of its partition.
    is_simple: bool,
}

/// Buffers for looking at rows, kept from stage to stage.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    columns: [Vec<i64>; LOOKED_AT.len()],
    indexes: Distinct,
    partitions: Distinct,
}

const LOOKED_AT: [TaskColumn; 9] = [
    TaskColumn::Status,
    TaskColumn::Index,
    TaskColumn::PartitionId,
    TaskColumn::LaunchTime,
    TaskColumn::FinishTime,
    TaskColumn::ExecutorRunTime,
    TaskColumn::ExecutorDeserializeTime,
    TaskColumn::ResultSerializationTime,
    TaskColumn::GettingResultTime,
];

impl RowFacts {
    /// Looks at all rows once, a chunk at a time; also fills the stage's first launch and last finish.
    pub(crate) fn of(stage: &mut StageAttempt, scratch: &mut Scratch) -> Self {
        let mut facts = RowFacts { is_simple: true, ..RowFacts::default() };
        scratch.indexes.clear();
        scratch.partitions.clear();
        let mut running = Vec::new();
        let (mut first_launch, mut last_finish) = (None, None);
        for chunk in stage.tasks.chunks() {
            chunk.gather(LOOKED_AT, &mut scratch.columns);
            chunk.for_each(TaskColumn::TaskId, |_, id| facts.last_task_id = facts.last_task_id.max(Some(id)));
            let [
                statuses,
                indexes,
                partitions,
                launches,
                finishes,
                runs,
                deserializations,
                serializations,
                results,
            ] = &scratch.columns;
            for row in 0..chunk.rows() {
                let status = stage.tasks.status_of(chunk.first_row() + row, statuses[row]);
                // Without an index a task counts for itself.
                let index = present(indexes[row]).unwrap_or(-1 - (chunk.first_row() + row) as i64);
                if status == TaskStatus::Running {
                    running.push(index);
                } else {
                    scratch.indexes.insert(index);
                }
                let partition = present(partitions[row]).filter(|partition| *partition >= 0);
                let partition = partition.or(present(indexes[row])).unwrap_or(-1);
                facts.is_simple &=
                    status == TaskStatus::Success && partition >= 0 && scratch.partitions.insert(partition);
                let (launch, finish) = (present(launches[row]), present(finishes[row]));
                first_launch = match (first_launch, launch) {
                    (Some(first), Some(launch)) => Some(launch.min(first)),
                    (first, launch) => first.or(launch),
                };
                last_finish = last_finish.max(finish);
                let Some(finish) = finish else { continue };
                facts.reversed += u64::from(launch.is_some_and(|launch| finish < launch));
                let delay = Parts {
                    launch,
                    finish: Some(finish),
                    run: present(runs[row]),
                    deserialization: present(deserializations[row]),
                    serialization: present(serializations[row]),
                    result: present(results[row]),
                }
                .scheduler_delay();
                facts.negative_delays += u64::from(delay.is_some_and(|delay| delay < 0));
            }
        }
        facts.ended = scratch.indexes.len();
        running.into_iter().for_each(|index| {
            scratch.indexes.insert(index);
        });
        facts.known = scratch.indexes.len();
        (stage.first_launch_ms, stage.last_finish_ms) = (first_launch, last_finish);
        facts
    }
}

/// Marks in all attempts of one stage, oldest first, the task attempts that counted and the causes of the
/// others; gives the number of partitions of which none counted.
///
/// For each partition the candidates are the successes that were not resubmitted. Within a stage attempt
/// the first by (finish, task id) counts; across attempts the newest.
pub(crate) fn assign_useful(attempts: &mut [StageAttempt], facts: &[RowFacts]) -> u64 {
    match (attempts, facts) {
        ([only], [facts]) if facts.is_simple => {
            only.tasks.useful = RowSet::first(only.tasks.rows());
            0
        }
        (attempts, _) => assign_stage(attempts),
    }
}

/// Handles all attempts of one stage, oldest first; gives the number of partitions without a winner.
fn assign_stage(attempts: &mut [StageAttempt]) -> u64 {
    let rows: Vec<Rows> = attempts.iter().map(Rows::of).collect();
    let mut winners: FxHashMap<i64, Candidate> = FxHashMap::default();
    // The newest attempt in which each partition was tried at all.
    let mut last_try: FxHashMap<i64, usize> = FxHashMap::default();
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
    let still_running: FxHashSet<i64> = rows
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

/// Scheduler delay of every attempt of a stage, before clamping; see [`chunk_scheduler_delays`].
pub fn scheduler_delays(stage: &StageAttempt) -> Vec<Option<i64>> {
    stage.tasks.chunks().flat_map(chunk_scheduler_delays).collect()
}

/// Scheduler delay of every attempt of a chunk, before clamping; `None` for attempts that did not finish or have no metrics.
pub fn chunk_scheduler_delays(chunk: TaskChunk<'_>) -> Vec<Option<i64>> {
    let launch = chunk.column(TaskColumn::LaunchTime);
    let finish = chunk.column(TaskColumn::FinishTime);
    let run = chunk.column(TaskColumn::ExecutorRunTime);
    let deserialization = chunk.column(TaskColumn::ExecutorDeserializeTime);
    let serialization = chunk.column(TaskColumn::ResultSerializationTime);
    let result = chunk.column(TaskColumn::GettingResultTime);
    let parts = |row: usize| Parts {
        launch: launch[row],
        finish: finish[row],
        run: run[row],
        deserialization: deserialization[row],
        serialization: serialization[row],
        result: result[row],
    };
    (0..chunk.rows()).map(|row| parts(row).scheduler_delay()).collect()
}

/// What the log has of a task attempt's time, milliseconds; `result` is when its fetch began.
#[derive(Clone, Copy, Debug)]
struct Parts {
    launch: Option<i64>,
    finish: Option<i64>,
    run: Option<i64>,
    deserialization: Option<i64>,
    serialization: Option<i64>,
    result: Option<i64>,
}

impl Parts {
    /// Finish - launch - deserialize - run - result serialization - result fetch (`AppStatusUtils`), before
    /// clamping. `None` for an attempt that did not finish or has no metrics.
    #[inline]
    fn scheduler_delay(self) -> Option<i64> {
        let finish = self.finish?;
        let fetch = self.result.map_or(0, |started| (finish - started).max(0));
        let worked = self.run? + self.deserialization.unwrap_or(0) + self.serialization.unwrap_or(0);
        Some(finish - self.launch? - worked - fetch)
    }
}

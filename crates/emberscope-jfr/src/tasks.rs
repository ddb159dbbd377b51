//! Which thread of which JVM ran which task, and when.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// One attempt of a task on its thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskInterval {
    /// Id of the executor, `driver` in local mode.
    pub executor: String,
    /// `javaThreadId` in that JVM.
    pub thread: u64,
    /// Start, epoch milliseconds.
    pub start_ms: i64,
    /// End, epoch milliseconds; the interval does not hold it, but lasts a millisecond at least.
    pub end_ms: i64,
    /// Id of the attempt, unique in the application.
    pub task: u64,
    /// Stage.
    pub stage: Option<u32>,
    /// Attempt of the stage.
    pub stage_attempt: Option<u32>,
    /// Partition.
    pub partition: Option<u32>,
}

/// Intervals of task attempts, from an event log or from the recordings themselves.
#[derive(Clone, Debug, Default)]
pub struct TaskTable {
    rows: Vec<TaskInterval>,
}

/// The tasks that are asked for; what is `None` does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Stage, and attempt of it.
    pub stage: Option<(u32, Option<u32>)>,
    /// Partition.
    pub partition: Option<u32>,
    /// Id of the attempt.
    pub task: Option<u64>,
}

impl TaskQuery {
    /// Whether anything is asked for.
    pub fn is_any(&self) -> bool {
        *self != TaskQuery::default()
    }

    fn matches(&self, row: &TaskInterval) -> bool {
        self.stage.is_none_or(|(stage, attempt)| {
            // A source that does not tell attempts has one.
            row.stage == Some(stage)
                && attempt.is_none_or(|attempt| row.stage_attempt.unwrap_or(0) == attempt)
        }) && self.partition.is_none_or(|partition| row.partition == Some(partition))
            && self.task.is_none_or(|task| row.task == task)
    }
}

/// Half-open intervals in epoch nanoseconds, sorted and apart from each other, by thread.
pub(crate) type Windows = FxHashMap<u64, Vec<(i64, i64)>>;

const NS_PER_MS: i64 = 1_000_000;

impl TaskTable {
    /// A table of these rows.
    pub fn new(rows: Vec<TaskInterval>) -> TaskTable {
        TaskTable { rows }
    }

    /// The rows.
    pub fn rows(&self) -> &[TaskInterval] {
        &self.rows
    }

    /// Whether any row is asked for.
    pub fn has(&self, query: TaskQuery) -> bool {
        self.rows.iter().any(|row| query.matches(row))
    }

    /// Executors that ran what is asked for.
    pub fn executors(&self, query: TaskQuery) -> BTreeSet<&str> {
        self.rows.iter().filter(|row| query.matches(row)).map(|row| row.executor.as_str()).collect()
    }

    /// When the threads of an executor ran what is asked for.
    pub(crate) fn windows(&self, executor: &str, query: TaskQuery) -> Windows {
        let mut windows = Windows::default();
        for row in self.rows.iter().filter(|row| row.executor == executor && query.matches(row)) {
            let end_ms = row.end_ms.max(row.start_ms.saturating_add(1));
            let window = (row.start_ms.saturating_mul(NS_PER_MS), end_ms.saturating_mul(NS_PER_MS));
            windows.entry(row.thread).or_default().push(window);
        }
        for windows in windows.values_mut() {
            windows.sort_unstable();
            let mut apart: Vec<(i64, i64)> = Vec::with_capacity(windows.len());
            for window in windows.drain(..) {
                match apart.last_mut() {
                    Some(last) if window.0 <= last.1 => last.1 = last.1.max(window.1),
                    _ => apart.push(window),
                }
            }
            *windows = apart;
        }
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_half_open_and_never_empty() {
        let row = |start_ms, end_ms, task| TaskInterval {
            executor: "1".to_owned(),
            thread: 38,
            start_ms,
            end_ms,
            task,
            stage: Some(2),
            ..TaskInterval::default()
        };
        let table = TaskTable::new(vec![row(10, 10, 1), row(20, 30, 2), row(30, 40, 3), row(50, 45, 4)]);
        let all = table.windows("1", TaskQuery { stage: Some((2, Some(0))), ..TaskQuery::default() });
        assert_eq!(all[&38], [(10_000_000, 11_000_000), (20_000_000, 40_000_000), (50_000_000, 51_000_000)]);
        let one = TaskQuery { task: Some(3), ..TaskQuery::default() };
        assert_eq!(table.windows("1", one)[&38], [(30_000_000, 40_000_000)]);
        assert!(table.windows("2", one).is_empty());
        assert!(!table.has(TaskQuery { stage: Some((2, Some(1))), ..TaskQuery::default() }));
    }
}

//! All that a run has over time, for who shows it without levels of detail.

use super::Span;
use super::index::TimelineIndex;

/// Kinds of spans beside task attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SQL executions.
    Sql,
    /// Jobs.
    Jobs,
    /// Stage attempts.
    Stages,
}

impl Kind {
    /// What one of them is called.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Sql => "sql",
            Kind::Jobs => "job",
            Kind::Stages => "stage",
        }
    }
}

/// An executor over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorSpan<'i> {
    /// Its id.
    pub id: &'i str,
    /// Host.
    pub host: Option<&'i str>,
    /// When it was added.
    pub from_ms: Option<i64>,
    /// When it was removed; `None` where it stayed.
    pub to_ms: Option<i64>,
    /// Rows that its task attempts take: slots.
    pub rows: u32,
}

/// A task attempt on its executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSlice {
    /// Task attempt id.
    pub task_id: i64,
    /// Stage.
    pub stage_id: u32,
    /// Attempt of the stage.
    pub stage_attempt: u32,
    /// Launch.
    pub from_ms: i64,
    /// Finish; the run's end for one without.
    pub to_ms: i64,
    /// Row on the executor, below its `rows`.
    pub row: u32,
    /// Number of the outcome in [`super::STATUSES`].
    pub status: u8,
    /// Whether its output counted.
    pub is_counted: bool,
    /// Milliseconds of each part of its time, in the order of [`super::TASK_PARTS`].
    pub parts: [u32; 7],
}

impl TimelineIndex {
    /// The run's start, epoch milliseconds, from which times count.
    pub fn start_time_ms(&self) -> i64 {
        self.clock.start_ms
    }

    /// Length of the run.
    pub fn duration_ms(&self) -> i64 {
        self.clock.duration_ms()
    }

    /// All spans of a kind by start, and the rows that they take.
    pub fn spans(&self, kind: Kind) -> (u32, &[Span]) {
        match kind {
            Kind::Sql => self.sql.all(),
            Kind::Jobs => self.jobs.all(),
            Kind::Stages => self.stage_band.all(),
        }
    }

    /// Executors there are.
    pub fn executors(&self) -> usize {
        self.executors.len()
    }

    /// An executor, by its place below [`TimelineIndex::executors`].
    pub fn executor(&self, place: usize) -> ExecutorSpan<'_> {
        let lane = &self.executors[place];
        ExecutorSpan {
            id: &lane.id,
            host: lane.host.as_deref(),
            from_ms: lane.from_ms,
            to_ms: lane.to_ms,
            rows: lane.rows,
        }
    }

    /// The task attempts of an executor, by launch.
    pub fn tasks(&self, place: usize) -> impl Iterator<Item = TaskSlice> {
        self.items[self.executors[place].items.clone()].iter().map(|item| {
            let stage = self.stages[item.stage as usize];
            TaskSlice {
                task_id: item.task_id,
                stage_id: stage.id,
                stage_attempt: stage.attempt,
                from_ms: item.from_ms,
                to_ms: item.to_ms,
                row: u32::from(item.row),
                status: item.status,
                is_counted: item.is_counted,
                parts: item.parts,
            }
        })
    }
}

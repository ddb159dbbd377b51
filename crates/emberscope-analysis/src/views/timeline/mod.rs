//! The run over time at any level of detail: spans where there is room for them, and densities where there
//! is not, so that an answer is small whatever the run.

mod bands;
mod index;
mod levels;
mod rows;
pub mod series;
mod slices;

pub use index::TimelineIndex;
pub use levels::{LaneKind, Query, timeline};
pub use slices::{ExecutorSpan, Kind, TaskSlice};

use schemars::JsonSchema;
use serde::Serialize;

/// Task attempts that have spans of their own in an answer.
const WHOLE: usize = 1600;
/// Pieces of density in an answer.
const DENSITY: usize = 1200;
/// Spans of a band in an answer.
const BAND: usize = 400;
/// Most lanes in an answer.
const LANES: usize = 400;

/// Keys of the parts of task time, in the order in which answers have them: those of the attribution.
pub const TASK_PARTS: [&str; 7] =
    ["cpu", "other", "fetch_wait", "shuffle_write", "gc", "deserialize", "result_handling"];

/// Outcomes of task attempts, by the number that answers have.
pub const STATUSES: [&str; 5] = ["success", "failed", "killed", "running", "resubmitted"];

/// The run, or a part of it, over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// The run's start, epoch milliseconds, from which times count.
    pub start_time_ms: i64,
    /// Length of the run.
    pub duration_ms: i64,
    /// Begin of the part that is shown.
    pub from_ms: i64,
    /// Its end.
    pub to_ms: i64,
    /// Milliseconds that a pixel stands for.
    pub ms_per_px: f64,
    /// Task attempts shorter than this are in densities, the others have spans of their own.
    pub whole_from_ms: f64,
    /// SQL executions.
    pub sql: Band,
    /// Jobs.
    pub jobs: Band,
    /// Stage attempts.
    pub stages: Band,
    /// What lanes are: executors, hosts or stage attempts.
    pub lane_kind: LaneKind,
    /// Lanes there are; of stage attempts those in the part that is shown.
    pub lanes_total: usize,
    /// Lanes left out before the first one.
    pub lanes_offset: usize,
    /// Lanes.
    pub lanes: Vec<Lane>,
    /// Task attempts of these lanes in the part that is shown.
    pub attempts: usize,
    /// Keys of parts of task time, in the order of `parts` below.
    pub part_keys: [&'static str; 7],
    /// Outcomes, by the numbers of `status` below.
    pub statuses: [&'static str; 5],
}

/// Spans of one kind, in rows in which none overlaps another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Band {
    /// Rows, over the whole run.
    pub rows: u32,
    /// Spans in the part that is shown.
    pub total: usize,
    /// Those with room for them, by start.
    pub spans: Vec<Span>,
    /// Those without: neighbours of one row together.
    pub merged: Vec<MergedSpans>,
}

/// A SQL execution, job or stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    /// Its id.
    pub id: u64,
    /// Attempt of a stage.
    pub attempt: Option<u32>,
    /// Description or name.
    pub label: String,
    /// Begin: start or submission.
    pub from_ms: i64,
    /// First launch of a stage's tasks.
    pub running_ms: Option<i64>,
    /// End; the run's end for what has none.
    pub to_ms: i64,
    /// Row, from 0.
    pub row: u32,
    /// `succeeded`, `failed`, `running`; of stages `complete`, `failed`, `active`.
    pub status: &'static str,
    /// SQL execution that a job or stage belongs to; of a SQL execution the one that contains it.
    pub sql_id: Option<u64>,
    /// Job that ran a stage.
    pub job_id: Option<u32>,
}

/// Spans too short to be seen alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergedSpans {
    /// Row.
    pub row: u32,
    /// Begin of the first.
    pub from_ms: i64,
    /// End of the last.
    pub to_ms: i64,
    /// How many.
    pub spans: usize,
    /// Of them those that failed.
    pub failed: usize,
}

/// An executor, a host or a stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lane {
    /// Name for people.
    pub name: String,
    /// Executor.
    pub executor_id: Option<String>,
    /// Host.
    pub host: Option<String>,
    /// Stage.
    pub stage_id: Option<u32>,
    /// Attempt of the stage.
    pub stage_attempt: Option<u32>,
    /// Cores of an executor, or of the executors of a host.
    pub cores: Option<u32>,
    /// When it came.
    pub from_ms: Option<i64>,
    /// When it went; `None` where it stayed.
    pub to_ms: Option<i64>,
    /// Rows that its task attempts take, over the whole run: slots.
    pub rows: u32,
    /// Task attempts with room for them; all columns are of one length.
    pub tasks: TaskSpans,
    /// Task attempts without room for them; all columns are of one length.
    pub density: Density,
}

/// Task attempts, by columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TaskSpans {
    /// Task attempt id.
    pub task_id: Vec<i64>,
    /// Stage.
    pub stage_id: Vec<u32>,
    /// Attempt of the stage.
    pub stage_attempt: Vec<u32>,
    /// Launch.
    pub from_ms: Vec<i64>,
    /// Finish; the run's end for those without.
    pub to_ms: Vec<i64>,
    /// Row in the lane, from 0.
    pub row: Vec<u32>,
    /// Number of the outcome in `statuses`.
    pub status: Vec<u8>,
    /// Whether its output counted.
    pub is_counted: Vec<bool>,
    /// Milliseconds of each part of its time, in the order of `part_keys`.
    pub parts: Vec<[u32; 7]>,
}

/// What task attempts add up to in pieces of time, by columns. Pieces without any are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Density {
    /// Length of a piece.
    pub piece_ms: f64,
    /// Begin of the piece.
    pub from_ms: Vec<i64>,
    /// Attempts that began in it.
    pub attempts: Vec<u32>,
    /// Of them those that did not succeed.
    pub unsuccessful: Vec<u32>,
    /// Mean number of attempts that ran in it.
    pub busy: Vec<f64>,
    /// Milliseconds of each part of the attempts' time in it, in the order of `part_keys`.
    pub parts: Vec<[u32; 7]>,
}

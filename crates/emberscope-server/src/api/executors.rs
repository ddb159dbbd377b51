//! `/runs/{run}/executors`.

use crate::opened::Opened;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::executors::{ExclusionRow, ExecutorRow, exclusions, executors};
use schemars::JsonSchema;
use serde::Serialize;

/// Executors of a run, by id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ExecutorsPage {
    /// The run's start, epoch milliseconds, from which times count.
    start_time_ms: i64,
    /// Length of the run.
    duration_ms: i64,
    /// All executors.
    executors: Vec<ExecutorRow>,
    /// Exclusions of executors and nodes, and their ends.
    exclusions: Vec<ExclusionRow>,
}

pub(super) fn get(opened: &Opened) -> ExecutorsPage {
    let clock = Clock::of(&opened.run);
    ExecutorsPage {
        start_time_ms: clock.start_ms,
        duration_ms: clock.duration_ms(),
        executors: executors(opened.subject()),
        exclusions: exclusions(&opened.run),
    }
}

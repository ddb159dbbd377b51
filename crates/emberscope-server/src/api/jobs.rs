//! `/runs/{run}/jobs`.

use super::Param;
use super::failure::Failure;
use super::window::{LIMIT, OFFSET, cut, holds, names, only};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::jobs::{JobRow, jobs};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) const PARAMS: &[Param] = &[
    Param { name: "q", kind: "string", doc: "Words that name, description or group must hold, in any case." },
    Param { name: "status", kind: "string", doc: "Only these: succeeded, failed, running; by comma." },
    Param { name: "sql", kind: "integer", doc: "Only jobs of this SQL execution." },
    OFFSET,
    LIMIT,
];

/// Jobs of a run, by id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct JobsPage {
    /// The run's start, epoch milliseconds, from which times count.
    start_time_ms: i64,
    /// Jobs there are.
    total: usize,
    /// Jobs that match.
    matched: usize,
    /// The part that was asked for.
    jobs: Vec<JobRow>,
}

pub(super) fn get(opened: &Opened, params: &Params) -> Result<JobsPage, Failure> {
    let all = jobs(opened.subject());
    let total = all.len();
    let statuses = names(params, "status", &["succeeded", "failed", "running"])?;
    let sql: Option<u64> = only(params, "sql")?;
    let query = params.first("q").unwrap_or_default();
    let wanted = all.into_iter().filter(|job| {
        statuses.as_ref().is_none_or(|names| names.contains(&job.status.name()))
            && (sql.is_none() || job.sql_id == sql)
            && holds(query, &[job.name.as_deref(), job.description.as_deref(), job.group.as_deref()])
    });
    let (matched, jobs) = cut(wanted.collect(), params)?;
    Ok(JobsPage { start_time_ms: Clock::of(&opened.run).start_ms, total, matched, jobs })
}

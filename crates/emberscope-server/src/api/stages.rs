//! `/runs/{run}/stages`.

use super::Param;
use super::failure::Failure;
use super::window::{LIMIT, OFFSET, cut, holds, names, only};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::stages::{SkippedStage, StageRow, skipped, stages};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) const PARAMS: &[Param] = &[
    Param { name: "q", kind: "string", doc: "Words that name or failure must hold, in any case." },
    Param { name: "status", kind: "string", doc: "Only these: complete, failed, active; by comma." },
    Param { name: "job", kind: "integer", doc: "Only stages that ran for this job." },
    Param { name: "sql", kind: "integer", doc: "Only stages that ran for this SQL execution." },
    OFFSET,
    LIMIT,
];

/// Stage attempts of a run, by (id, attempt).
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct StagesPage {
    /// The run's start, epoch milliseconds, from which times count.
    start_time_ms: i64,
    /// Stage attempts there are.
    total: usize,
    /// Stage attempts that match.
    matched: usize,
    /// The part that was asked for.
    stages: Vec<StageRow>,
    /// Stages that jobs list and that did not run.
    skipped: Vec<SkippedStage>,
}

pub(super) fn get(opened: &Opened, params: &Params) -> Result<StagesPage, Failure> {
    let all = stages(opened.subject());
    let total = all.len();
    let statuses = names(params, "status", &["complete", "failed", "active"])?;
    let (job, sql): (Option<u32>, Option<u64>) = (only(params, "job")?, only(params, "sql")?);
    let query = params.first("q").unwrap_or_default();
    let wanted = all.into_iter().filter(|stage| {
        statuses.as_ref().is_none_or(|names| names.contains(&stage.status.name()))
            && (job.is_none() || stage.job_id == job)
            && (sql.is_none() || stage.sql_id == sql)
            && holds(query, &[Some(&stage.name), stage.failure_reason.as_deref()])
    });
    let (matched, stages) = cut(wanted.collect(), params)?;
    let start_time_ms = Clock::of(&opened.run).start_ms;
    Ok(StagesPage { start_time_ms, total, matched, stages, skipped: skipped(opened.subject()) })
}

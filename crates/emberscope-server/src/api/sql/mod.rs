//! `/runs/{run}/sql` and what is below it.

pub(super) mod mapping;
pub(super) mod plans;

use super::Param;
use super::failure::{Failure, number};
use super::window::{LIMIT, OFFSET, cut, holds, names};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::sql::{SqlRow, SqlView, execution, executions};
use emberscope_model::sql::SqlExecution;
use schemars::JsonSchema;
use serde::Serialize;

pub(super) const PARAMS: &[Param] = &[
    Param { name: "q", kind: "string", doc: "Words that description or error must hold, in any case." },
    Param { name: "status", kind: "string", doc: "Only these: succeeded, failed, running; by comma." },
    Param { name: "roots", kind: "boolean", doc: "Only executions that no other contains. [default: false]" },
    OFFSET,
    LIMIT,
];

/// SQL executions of a run, by id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SqlPage {
    /// The run's start, epoch milliseconds, from which times count.
    start_time_ms: i64,
    /// Executions there are.
    total: usize,
    /// Executions that match.
    matched: usize,
    /// The part that was asked for.
    executions: Vec<SqlRow>,
}

pub(super) fn list(opened: &Opened, params: &Params) -> Result<SqlPage, Failure> {
    let all = executions(opened.subject());
    let total = all.len();
    let statuses = names(params, "status", &["succeeded", "failed", "running"])?;
    let query = params.first("q").unwrap_or_default();
    let only_roots = params.is_on("roots", false);
    let wanted = all.into_iter().filter(|row| {
        statuses.as_ref().is_none_or(|names| names.contains(&row.status.name()))
            && (!only_roots || row.root_id == row.id)
            && holds(query, &[row.description.as_deref(), row.error.as_deref()])
    });
    let (matched, executions) = cut(wanted.collect(), params)?;
    Ok(SqlPage { start_time_ms: Clock::of(&opened.run).start_ms, total, matched, executions })
}

pub(super) fn one(opened: &Opened, at: &[&str]) -> Result<SqlView, Failure> {
    Ok(execution(opened.subject(), find(opened, at)?))
}

/// The execution that a path names.
fn find<'o>(opened: &'o Opened, at: &[&str]) -> Result<&'o SqlExecution, Failure> {
    let id: u64 = number(at[1])?;
    opened
        .run
        .sql_execution(id)
        .ok_or_else(|| Failure::not_found(format!("no SQL execution {id}"), "a path is sql/EXECUTION"))
}

//! `/runs/{run}/stages/{stage}/{attempt}/tasks`: a window of task attempts, by columns.

mod columns;
mod filter;

use super::super::Param;
use super::super::failure::{Failure, number};
use super::find;
use crate::opened::Opened;
use crate::spark_rest::Params;
use columns::{Column, Field, columns, field_named};
use filter::Filter;
use schemars::JsonSchema;
use serde::Serialize;

/// Most rows in an answer.
const MOST: usize = 10_000;

pub(in super::super) const PARAMS: &[Param] = &[
    Param {
        name: "columns",
        kind: "string",
        doc: "Names of columns, by comma; stored ones, values of distributions such as duration_ms, `is_counted` and `error`. [default: those with any value in the window]",
    },
    Param {
        name: "sort",
        kind: "string",
        doc: "A column; with `-` in front the largest first. [default: task_id]",
    },
    Param {
        name: "status",
        kind: "string",
        doc: "Only these: success, failed, killed, running, resubmitted; by comma.",
    },
    Param { name: "executor", kind: "string", doc: "Only attempts on this executor." },
    Param { name: "host", kind: "string", doc: "Only attempts on this host." },
    Param { name: "locality", kind: "string", doc: "Only attempts with this locality." },
    Param { name: "counted", kind: "boolean", doc: "Only attempts whose output counted, or did not." },
    Param { name: "min_duration_ms", kind: "integer", doc: "Only attempts that took at least this long." },
    Param { name: "max_duration_ms", kind: "integer", doc: "Only attempts that took at most this long." },
    Param { name: "from_ms", kind: "integer", doc: "Only attempts that ended after this time of the run." },
    Param { name: "to_ms", kind: "integer", doc: "Only attempts that began before this time of the run." },
    Param {
        name: "q",
        kind: "string",
        doc: "Words that task id, index, executor, host or error must hold, in any case.",
    },
    Param { name: "offset", kind: "integer", doc: "Attempts to leave out. [default: 0]" },
    Param { name: "limit", kind: "integer", doc: "Most attempts, up to 10000. [default: 200]" },
];

/// A window of the task attempts of a stage attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in super::super) struct TaskWindow {
    /// Attempts there are.
    total: usize,
    /// Attempts that match.
    matched: usize,
    /// Attempts left out before the first of the window.
    offset: usize,
    /// Columns, all of the same length.
    columns: Vec<Column>,
}

pub(in super::super) fn get(opened: &Opened, at: &[&str], params: &Params) -> Result<TaskWindow, Failure> {
    let run = &opened.run;
    let stage = find(opened, at)?;
    let offset: usize = params.first("offset").map_or(Ok(0), number)?;
    let limit = params.first("limit").map_or(Ok(200), number::<usize>)?.min(MOST);
    let mut rows = stage.tasks.canonical_rows();
    Filter::of(params)?.keep(run, stage, &mut rows);
    let (name, is_reversed) = sort_of(params);
    field_named(name)?.sort(run, stage, is_reversed, &mut rows);
    let matched = rows.len();
    let window: Vec<usize> = rows.into_iter().skip(offset).take(limit).collect();
    let fields: Option<Vec<Field>> = match params.first("columns").filter(|names| !names.is_empty()) {
        Some(names) => Some(names.split(',').map(|name| field_named(name.trim())).collect::<Result<_, _>>()?),
        None => None,
    };
    let columns = columns(run, stage, fields, &window);
    Ok(TaskWindow { total: stage.tasks.rows(), matched, offset, columns })
}

fn sort_of(params: &Params) -> (&str, bool) {
    let sort = params.first("sort").unwrap_or("task_id");
    sort.strip_prefix('-').map_or((sort, false), |name| (name, true))
}

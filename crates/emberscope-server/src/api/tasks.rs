//! `/runs/{run}/stages/{stage}/{attempt}/tasks`: a window of task attempts, by columns.

use super::Param;
use super::failure::{Failure, number};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_log::columns::{ColumnDef, TASK_COLUMNS, TaskColumn, TaskStatus, Unit};
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;

/// Most rows in an answer.
const MOST: usize = 10_000;

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "columns",
        kind: "string",
        doc: "Names of columns, by comma. [default: those with any value in the window]",
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
    Param { name: "offset", kind: "integer", doc: "Attempts to leave out. [default: 0]" },
    Param { name: "limit", kind: "integer", doc: "Most attempts, up to 10000. [default: 200]" },
];

/// A window of the task attempts of a stage attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct TaskWindow {
    /// Attempts there are.
    total: usize,
    /// Attempts that match.
    matched: usize,
    /// Attempts left out before the first of the window.
    offset: usize,
    /// Columns, all of the same length.
    columns: Vec<Column>,
}

/// One value of each attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Column {
    /// Name, with its unit at the end.
    name: &'static str,
    /// What it says.
    doc: &'static str,
    /// Values in the order of the window; `null` = not measured.
    values: Vec<Cell>,
}

/// A value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Cell {
    /// A number.
    Number(Option<i64>),
    /// A text.
    Text(String),
}

pub(super) fn get(opened: &Opened, id: u32, attempt: u32, params: &Params) -> Result<TaskWindow, Failure> {
    let run = &opened.run;
    let stage = run.stage(id, attempt).ok_or_else(|| {
        Failure::not_found(format!("no stage {id}.{attempt}"), "the path is stages/STAGE/ATTEMPT/tasks")
    })?;
    let offset: usize = params.first("offset").map_or(Ok(0), number)?;
    let limit = params.first("limit").map_or(Ok(200), number::<usize>)?.min(MOST);
    let mut rows = stage.tasks.canonical_rows();
    keep_wanted(run, stage, params, &mut rows)?;
    sort(stage, params.first("sort").unwrap_or("task_id"), &mut rows)?;
    let matched = rows.len();
    let window: Vec<usize> = rows.into_iter().skip(offset).take(limit).collect();
    let columns = columns(run, stage, params.first("columns"), &window)?;
    Ok(TaskWindow { total: stage.tasks.rows(), matched, offset, columns })
}

/// Leaves the rows that all filters let through.
fn keep_wanted(
    run: &Run,
    stage: &StageAttempt,
    params: &Params,
    rows: &mut Vec<usize>,
) -> Result<(), Failure> {
    if let Some(wanted) = params.first("status") {
        let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
        if let Some(unknown) = wanted.iter().find(|name| !STATUSES.contains(name)) {
            let hint = "known are success, failed, killed, running, resubmitted";
            return Err(Failure::bad(format!("no status `{unknown}`"), hint));
        }
        let statuses = stage.tasks.statuses();
        rows.retain(|row| wanted.contains(&status_name(statuses[*row])));
    }
    for (name, column) in [("executor", TaskColumn::Executor), ("host", TaskColumn::Host)] {
        if let Some(wanted) = params.first(name) {
            let wanted = run.strings.find(wanted).map(i64::from);
            let values = stage.tasks.column(column);
            rows.retain(|row| wanted.is_some() && values[*row] == wanted);
        }
    }
    Ok(())
}

fn sort(stage: &StageAttempt, sort: &str, rows: &mut [usize]) -> Result<(), Failure> {
    let (name, is_reversed) = sort.strip_prefix('-').map_or((sort, false), |name| (name, true));
    let values = stage.tasks.column(column_named(name)?.column);
    // Attempts without a value come last either way, and equal ones stay in the order of their ids.
    rows.sort_by(|a, b| match (values[*a], values[*b]) {
        (Some(a), Some(b)) if is_reversed => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    Ok(())
}

fn column_named(name: &str) -> Result<&'static ColumnDef, Failure> {
    let hint = "names are those of the task table, such as executor_run_time_ms";
    TASK_COLUMNS
        .iter()
        .find(|def| def.name == name)
        .ok_or_else(|| Failure::bad(format!("no column `{name}`"), hint))
}

fn columns(
    run: &Run,
    stage: &StageAttempt,
    names: Option<&str>,
    window: &[usize],
) -> Result<Vec<Column>, Failure> {
    if let Some(names) = names {
        let defs = names.split(',').map(|name| column_named(name.trim()));
        return defs.map(|def| Ok(column(run, stage, def?, window).1)).collect();
    }
    let all = TASK_COLUMNS.iter().map(|def| column(run, stage, def, window));
    Ok(all.filter(|(is_measured, _)| *is_measured).map(|(_, column)| column).collect())
}

/// A column of the window, and whether any row of it has a value.
fn column(run: &Run, stage: &StageAttempt, def: &'static ColumnDef, window: &[usize]) -> (bool, Column) {
    if def.column == TaskColumn::Status {
        let statuses = stage.tasks.statuses();
        let values = window.iter().map(|row| Cell::Text(status_name(statuses[*row]).to_owned())).collect();
        return (true, Column { name: def.name, doc: def.doc, values });
    }
    let values = stage.tasks.column(def.column);
    let is_measured = window.iter().any(|row| values[*row].is_some());
    let cell = |row: &usize| match (def.unit, values[*row]) {
        (Unit::Text, Some(text)) => Cell::Text(run.strings.text(text as u32).to_owned()),
        (_, value) => Cell::Number(value),
    };
    (is_measured, Column { name: def.name, doc: def.doc, values: window.iter().map(cell).collect() })
}

const STATUSES: &[&str] = &["success", "failed", "killed", "running", "resubmitted"];

fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Success => "success",
        TaskStatus::Running => "running",
        TaskStatus::Resubmitted => "resubmitted",
        status if status.is_killed() => "killed",
        _ => "failed",
    }
}

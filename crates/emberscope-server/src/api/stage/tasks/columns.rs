//! What can be shown of a task attempt, and sorted by.

use super::super::super::failure::Failure;
use emberscope_analysis::plots::Unit as MetricUnit;
use emberscope_analysis::views::metric::{METRICS, TaskMetric};
use emberscope_analysis::views::scatter::status_name;
use emberscope_log::columns::{ColumnDef, TASK_COLUMNS, TaskColumn, Unit};
use emberscope_model::redact;
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

/// One value of each attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Column {
    /// Name, with its unit at the end.
    name: &'static str,
    /// What it counts.
    unit: ColumnUnit,
    /// What it says.
    doc: &'static str,
    /// Values in the order of the window; `null` = not measured.
    values: Vec<Cell>,
}

/// What the values of a column count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ColumnUnit {
    /// Ids and indexes.
    Id,
    /// Things.
    Count,
    /// Milliseconds since 1970-01-01 UTC.
    EpochMilliseconds,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// 0 or 1.
    Flag,
    /// Texts.
    Text,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Cell {
    /// A number.
    Number(Option<i64>),
    /// A text.
    Text(String),
}

/// What can be shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// A column of the task store.
    Stored(&'static ColumnDef),
    /// A value that is made of columns.
    Made(&'static TaskMetric),
    /// Whether the attempt's output counted.
    IsCounted,
    /// Why it failed or was killed.
    Error,
}

/// A field by its name.
pub(super) fn field_named(name: &str) -> Result<Field, Failure> {
    let hint =
        "names are those of the task table, such as executor_run_time_ms, or of values, such as duration_ms";
    let stored = || TASK_COLUMNS.iter().find(|def| def.name == name).map(Field::Stored);
    let made = || METRICS.iter().find(|metric| metric.name == name).map(Field::Made);
    match name {
        "is_counted" => Ok(Field::IsCounted),
        "error" => Ok(Field::Error),
        _ => stored().or_else(made).ok_or_else(|| Failure::bad(format!("no column `{name}`"), hint)),
    }
}

/// The columns of a window: those asked for, or those with any value.
pub(super) fn columns(
    run: &Run,
    stage: &StageAttempt,
    fields: Option<Vec<Field>>,
    window: &[usize],
) -> Vec<Column> {
    if let Some(fields) = fields {
        return fields.iter().map(|field| field.column(run, stage, window)).collect();
    }
    let stored = TASK_COLUMNS.iter().map(Field::Stored);
    let duration = METRICS.iter().filter(|metric| metric.name == "duration_ms").map(Field::Made);
    let all = stored.chain(duration).chain([Field::IsCounted, Field::Error]);
    let is_measured = |column: &Column| column.values.iter().any(|cell| *cell != Cell::Number(None));
    all.map(|field| field.column(run, stage, window)).filter(is_measured).collect()
}

impl Field {
    fn column(self, run: &Run, stage: &StageAttempt, window: &[usize]) -> Column {
        let (name, unit, doc) = self.words();
        Column { name, unit, doc, values: self.cells(run, stage, window) }
    }

    fn words(self) -> (&'static str, ColumnUnit, &'static str) {
        match self {
            Field::Stored(def) => {
                let unit = match def.unit {
                    Unit::Id => ColumnUnit::Id,
                    Unit::Count => ColumnUnit::Count,
                    Unit::EpochMillis => ColumnUnit::EpochMilliseconds,
                    Unit::Millis => ColumnUnit::Milliseconds,
                    Unit::Nanos => ColumnUnit::Nanoseconds,
                    Unit::Bytes => ColumnUnit::Bytes,
                    Unit::Flag => ColumnUnit::Flag,
                    Unit::Code | Unit::Text => ColumnUnit::Text,
                };
                (def.name, unit, def.doc)
            }
            Field::Made(metric) => {
                let unit = match metric.unit {
                    MetricUnit::Milliseconds => ColumnUnit::Milliseconds,
                    MetricUnit::Records => ColumnUnit::Count,
                    MetricUnit::Bytes => ColumnUnit::Bytes,
                };
                (metric.name, unit, metric.label)
            }
            Field::IsCounted => ("is_counted", ColumnUnit::Flag, "Whether the attempt's output counted."),
            Field::Error => ("error", ColumnUnit::Text, "Why the attempt failed or was killed."),
        }
    }

    /// Values of the rows of a window.
    fn cells(self, run: &Run, stage: &StageAttempt, window: &[usize]) -> Vec<Cell> {
        match self {
            Field::Stored(def) if def.column == TaskColumn::Status => {
                let statuses = stage.tasks.statuses();
                let name = |row: &usize| Cell::Text(status_name(statuses[*row]).to_owned());
                window.iter().map(name).collect()
            }
            Field::Stored(def) if def.unit == Unit::Text => {
                let values = stage.tasks.column(def.column);
                let text = |row: &usize| match values[*row] {
                    Some(text) => Cell::Text(run.strings.text(text as u32).to_owned()),
                    None => Cell::Number(None),
                };
                window.iter().map(text).collect()
            }
            Field::Error => {
                let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
                let text = |row: &usize| match run.task_errors.get(&(ids[*row] as u64)) {
                    Some(error) => Cell::Text(redact::text(error).into_owned()),
                    None => Cell::Number(None),
                };
                window.iter().map(text).collect()
            }
            Field::Stored(_) | Field::Made(_) | Field::IsCounted => {
                let values = self.numbers(stage);
                window.iter().map(|row| Cell::Number(values[*row])).collect()
            }
        }
    }

    /// A number for each row; of texts, their number in the table of texts.
    fn numbers(self, stage: &StageAttempt) -> Vec<Option<i64>> {
        match self {
            Field::Stored(def) => stage.tasks.column(def.column),
            Field::Made(metric) => metric.values(stage),
            Field::IsCounted => {
                let useful = stage.tasks.useful();
                (0..stage.tasks.rows()).map(|row| Some(i64::from(useful.contains(row)))).collect()
            }
            Field::Error => vec![None; stage.tasks.rows()],
        }
    }

    /// Sorts rows. Attempts without a value come last either way, and equal ones stay in their order.
    pub(super) fn sort(self, run: &Run, stage: &StageAttempt, is_reversed: bool, rows: &mut [usize]) {
        let turned = |order: Ordering| if is_reversed { order.reverse() } else { order };
        let is_text = match self {
            Field::Stored(def) => matches!(def.unit, Unit::Text | Unit::Code),
            Field::Error => true,
            Field::Made(_) | Field::IsCounted => false,
        };
        if is_text {
            let all: Vec<usize> = (0..stage.tasks.rows()).collect();
            let cells = self.cells(run, stage, &all);
            let text = |row: usize| match &cells[row] {
                Cell::Text(text) => Some(text),
                Cell::Number(_) => None,
            };
            rows.sort_by(|a, b| compared(text(*a), text(*b), turned));
        } else {
            let values = self.numbers(stage);
            rows.sort_by(|a, b| compared(values[*a], values[*b], turned));
        }
    }
}

fn compared<T: Ord>(a: Option<T>, b: Option<T>, turned: impl Fn(Ordering) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => turned(a.cmp(&b)),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

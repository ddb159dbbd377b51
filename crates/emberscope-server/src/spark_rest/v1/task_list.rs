//! `/stages/{id}/{attempt}/taskList`.

use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::task_rows::{STATUSES, status_name, task_rows};
use crate::spark_rest::{Params, Refusal};
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::StageAttempt;

/// An order of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sorting {
    Id,
    IncreasingRuntime,
    DecreasingRuntime,
}

impl Sorting {
    fn of(params: &Params) -> Result<Sorting, Refusal> {
        match params.first("sortBy").unwrap_or("ID").to_ascii_lowercase().as_str() {
            "id" => Ok(Sorting::Id),
            "increasing_runtime" | "runtime" | "+runtime" => Ok(Sorting::IncreasingRuntime),
            "decreasing_runtime" | "-runtime" => Ok(Sorting::DecreasingRuntime),
            _ => Err(Refusal::NoSuchAddress),
        }
    }
}

pub(super) fn get(opened: &Opened, id: u32, attempt: u32, params: &Params) -> Answer {
    let offset = params.number("offset", 0)?.max(0) as usize;
    let length = params.number("length", 20)?.max(0) as usize;
    let sorting = Sorting::of(params)?;
    let statuses = params.words("status", STATUSES)?;
    let Some(stage) = opened.run.stage(id, attempt) else { return json(&[(); 0]) };
    let mut rows = sorted_rows(stage, sorting);
    if !statuses.is_empty() {
        let of_rows = stage.tasks.statuses();
        rows.retain(|row| statuses.contains(&status_name(of_rows[*row])));
    }
    let window: Vec<usize> = rows.into_iter().skip(offset).take(length).collect();
    json(&task_rows(&opened.run, stage, &window))
}

fn sorted_rows(stage: &StageAttempt, sorting: Sorting) -> Vec<usize> {
    let mut rows = stage.tasks.canonical_rows();
    if sorting == Sorting::Id {
        return rows;
    }
    let times = stage.tasks.column(TaskColumn::ExecutorRunTime);
    let statuses = stage.tasks.statuses();
    // Spark keeps the metrics of attempts that did not succeed as negative numbers, apart from the others.
    let key = |row: usize| match (times[row], status_name(statuses[row])) {
        (Some(time), "SUCCESS") => time,
        (Some(time), _) => -time - 1,
        (None, _) => -1,
    };
    rows.sort_by_key(|row| key(*row));
    if sorting == Sorting::DecreasingRuntime {
        rows.reverse();
    }
    rows
}

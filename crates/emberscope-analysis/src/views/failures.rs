//! Task attempts of a stage that did not succeed, grouped by what was wrong.

use super::scatter::status_name;
use super::{Clock, masked};
use emberscope_log::columns::TaskColumn;
use emberscope_model::failures::pattern_of;
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Attempts that are named in a group.
const NAMED: usize = 50;

/// Attempts that ended alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailureRow {
    /// `failed`, `killed` or `resubmitted`.
    pub status: &'static str,
    /// First line of the error, with numbers replaced by `#`; empty where none was logged.
    pub pattern: String,
    /// Number of attempts.
    pub attempts: u64,
    /// The first of them, by task id.
    pub task_ids: Vec<i64>,
    /// Attempts by executor.
    pub executors: BTreeMap<String, u64>,
    /// Attempts by host.
    pub hosts: BTreeMap<String, u64>,
    /// First end.
    pub first_ms: Option<i64>,
    /// Last end.
    pub last_ms: Option<i64>,
    /// Launch to finish of all of them, added up.
    pub task_time_ms: i64,
    /// The whole error of the first attempt; `None` where none was logged.
    pub example: Option<String>,
}

/// Failures of a stage attempt, the largest group first.
pub fn failures(run: &Run, stage: &StageAttempt) -> Vec<FailureRow> {
    let clock = Clock::of(run);
    let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
    let launch = stage.tasks.column(TaskColumn::LaunchTime);
    let finish = stage.tasks.column(TaskColumn::FinishTime);
    let executors = stage.tasks.column_or(TaskColumn::Executor, -1);
    let hosts = stage.tasks.column_or(TaskColumn::Host, -1);
    let statuses = stage.tasks.statuses();
    let text = |id: i64| u32::try_from(id).map_or("", |id| run.strings.text(id)).to_owned();
    let mut groups: BTreeMap<(&'static str, String), FailureRow> = BTreeMap::new();
    for row in stage.tasks.canonical_rows() {
        let status = status_name(statuses[row]);
        if matches!(status, "success" | "running") {
            continue;
        }
        let error = run.task_errors.get(&(ids[row] as u64)).map(|error| masked(error));
        // A class of errors by its number says nothing once numbers are left out.
        let plain = error.as_deref().map(|error| error.split(" SQLSTATE: ").next().unwrap_or(error));
        let pattern = plain.map(pattern_of).unwrap_or_default();
        let group = groups.entry((status, pattern.clone())).or_insert_with(|| FailureRow {
            status,
            pattern,
            attempts: 0,
            task_ids: Vec::new(),
            executors: BTreeMap::new(),
            hosts: BTreeMap::new(),
            first_ms: None,
            last_ms: None,
            task_time_ms: 0,
            example: error,
        });
        group.attempts += 1;
        if group.task_ids.len() < NAMED {
            group.task_ids.push(ids[row]);
        }
        *group.executors.entry(text(executors[row])).or_default() += 1;
        *group.hosts.entry(text(hosts[row])).or_default() += 1;
        let end = finish[row].map(|ms| clock.at(ms));
        group.first_ms = group.first_ms.into_iter().chain(end).min();
        group.last_ms = group.last_ms.max(end);
        group.task_time_ms += finish[row].zip(launch[row]).map_or(0, |(end, start)| (end - start).max(0));
    }
    let mut rows: Vec<FailureRow> = groups.into_values().collect();
    rows.sort_by(|a, b| b.attempts.cmp(&a.attempts).then_with(|| a.task_ids.cmp(&b.task_ids)));
    rows
}

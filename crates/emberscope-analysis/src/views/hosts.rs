//! Hosts or executors of a stage beside each other.

use super::distributions::{Which, rows};
use super::jobs::AttemptCounts;
use super::metric::{TaskMetric, metric};
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::distribution::Distribution;
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What attempts are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Hosts.
    #[default]
    Host,
    /// Executors.
    Executor,
}

/// The task attempts of a stage on one host or executor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlaceRow {
    /// Host or executor id.
    pub name: String,
    /// Host of an executor.
    pub host: Option<String>,
    /// Executors on a host that ran attempts.
    pub executors: usize,
    /// Attempts by what became of them.
    pub tasks: AttemptCounts,
    /// Launch to finish of all attempts that ended, added up.
    pub task_time_ms: i64,
    /// Median duration of the attempts that counted; `None` where none did.
    pub median_ms: Option<f64>,
    /// 95 % of the attempts that counted took no longer.
    pub p95_ms: Option<f64>,
    /// The longest attempt that counted.
    pub max_ms: Option<f64>,
    /// Records read by the attempts that counted.
    pub records_read: Option<i64>,
    /// Bytes read by the attempts that counted.
    pub bytes_read: Option<i64>,
    /// Run time of the attempts that counted.
    pub run_time_ms: Option<i64>,
    /// CPU time of the attempts that counted.
    pub cpu_time_ms: Option<i64>,
    /// GC time of the attempts that counted.
    pub gc_time_ms: Option<i64>,
    /// Fetch wait of the attempts that counted.
    pub fetch_wait_time_ms: Option<i64>,
}

/// All places, the one with the largest median first.
pub fn places(run: &Run, stage: &StageAttempt, by: Place) -> Vec<PlaceRow> {
    let column = match by {
        Place::Host => TaskColumn::Host,
        Place::Executor => TaskColumn::Executor,
    };
    let keys = stage.tasks.column_or(column, -1);
    let mut groups: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (row, key) in keys.into_iter().enumerate() {
        groups.entry(key).or_default().push(row);
    }
    let values = Values::of(stage);
    let mut found: Vec<PlaceRow> =
        groups.into_iter().map(|(key, rows)| place(run, by, key, &rows, &values)).collect();
    found.sort_by(|a, b| {
        b.median_ms.partial_cmp(&a.median_ms).unwrap_or(std::cmp::Ordering::Equal).then(a.name.cmp(&b.name))
    });
    found
}

/// Columns that are compared.
struct Values {
    is_counted: Vec<bool>,
    duration: Vec<Option<i64>>,
    statuses: Vec<TaskStatus>,
    speculative: Vec<i64>,
    executors: Vec<i64>,
    hosts: Vec<i64>,
    by_name: BTreeMap<&'static str, Vec<Option<i64>>>,
}

const COMPARED: &[&str] =
    &["records_read", "bytes_read", "run_time_ms", "cpu_time_ms", "gc_time_ms", "fetch_wait_time_ms"];

impl Values {
    fn of(stage: &StageAttempt) -> Self {
        let of = |name: &str| {
            let values = |metric: &TaskMetric| metric.values(stage);
            metric(name).map(values).unwrap_or_else(|| vec![None; stage.tasks.rows()])
        };
        let mut is_counted = vec![false; stage.tasks.rows()];
        rows(stage, Which::Counted).into_iter().for_each(|row| is_counted[row] = true);
        Values {
            is_counted,
            duration: of("duration_ms"),
            statuses: stage.tasks.statuses(),
            speculative: stage.tasks.column_or(TaskColumn::Speculative, 0),
            executors: stage.tasks.column_or(TaskColumn::Executor, -1),
            hosts: stage.tasks.column_or(TaskColumn::Host, -1),
            by_name: COMPARED.iter().map(|name| (*name, of(name))).collect(),
        }
    }

    fn sum(&self, name: &str, rows: &[usize]) -> Option<i64> {
        let values = self.by_name.get(name)?;
        let counted = rows.iter().filter(|row| self.is_counted[**row]).filter_map(|row| values[*row]);
        counted.fold(None, |sum: Option<i64>, value| Some(sum.unwrap_or(0).saturating_add(value)))
    }
}

fn place(run: &Run, by: Place, key: i64, rows: &[usize], values: &Values) -> PlaceRow {
    let text = |id: i64| u32::try_from(id).map_or("", |id| run.strings.text(id)).to_owned();
    let mut tasks = AttemptCounts { attempts: rows.len() as u64, ..AttemptCounts::default() };
    for row in rows {
        tasks.counted += u64::from(values.is_counted[*row]);
        tasks.failed += u64::from(values.statuses[*row].is_failed());
        tasks.killed += u64::from(values.statuses[*row].is_killed());
    }
    tasks.speculative = rows.iter().filter(|row| values.speculative[**row] != 0).count() as u64;
    let counted = rows.iter().filter(|row| values.is_counted[**row]);
    let spread = Distribution::of(counted.filter_map(|row| values.duration[*row]));
    let executors: BTreeSet<i64> = rows.iter().map(|row| values.executors[*row]).collect();
    PlaceRow {
        name: text(key),
        host: rows.first().filter(|_| by == Place::Executor).map(|row| text(values.hosts[*row])),
        executors: executors.len(),
        tasks,
        task_time_ms: rows.iter().filter_map(|row| values.duration[*row]).sum(),
        median_ms: spread.median(),
        p95_ms: spread.quantile(0.95),
        max_ms: spread.max(),
        records_read: values.sum("records_read", rows),
        bytes_read: values.sum("bytes_read", rows),
        run_time_ms: values.sum("run_time_ms", rows),
        cpu_time_ms: values.sum("cpu_time_ms", rows),
        gc_time_ms: values.sum("gc_time_ms", rows),
        fetch_wait_time_ms: values.sum("fetch_wait_time_ms", rows),
    }
}

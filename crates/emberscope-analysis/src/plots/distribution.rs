//! How the tasks of a stage are spread.

use crate::diagnosis::Diagnosis;
use emberscope_log::columns::TaskColumn;
use emberscope_model::distribution::Distribution;
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;

/// Stages that are shown.
const STAGES: usize = 12;
/// Tasks below which there is no distribution to speak of.
const FEWEST: usize = 4;
/// Bars of a histogram.
const BARS: usize = 48;

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Records.
    Records,
    /// Bytes.
    Bytes,
}

/// One value over the task attempts of a stage whose output counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// What it is.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Least.
    pub min: f64,
    /// Lower quartile.
    pub p25: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub p75: f64,
    /// 95 % are no more.
    pub p95: f64,
    /// Most.
    pub max: f64,
    /// Attempts in pieces of equal width from 0 to the most.
    pub bars: Vec<u32>,
}

/// A task attempt that stands out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskMark {
    /// Task attempt id.
    pub task_id: i64,
    /// Its index in the stage.
    pub index: i64,
    /// Executor.
    pub executor_id: String,
    /// Host.
    pub host: String,
    /// Launch to finish.
    pub duration_ms: i64,
}

/// The tasks of a stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageDistribution {
    /// Stage id.
    pub stage_id: u32,
    /// Stage attempt.
    pub stage_attempt: u32,
    /// Name as logged.
    pub name: String,
    /// Attempts whose output counted.
    pub tasks: usize,
    /// Values that were measured and are not all 0.
    pub measures: Vec<Measure>,
    /// The longest attempt that counted.
    pub slowest: Option<TaskMark>,
}

/// The stages that findings name, in their order.
pub(super) fn distributions(run: &Run, diagnosis: &Diagnosis) -> Vec<StageDistribution> {
    let mut places: Vec<(u32, u32)> = Vec::new();
    for finding in &diagnosis.findings {
        if let Some(id) = finding.scope.stage_id {
            let place = (id, finding.scope.stage_attempt.unwrap_or(0));
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
        .into_iter()
        .filter_map(|(id, attempt)| run.stage(id, attempt))
        .filter_map(|stage| distribution(run, stage))
        .take(STAGES)
        .collect()
}

/// `None` where too few tasks counted to compare them.
fn distribution(run: &Run, stage: &StageAttempt) -> Option<StageDistribution> {
    let useful = stage.tasks.useful();
    let launch = stage.tasks.column(TaskColumn::LaunchTime);
    let finish = stage.tasks.column(TaskColumn::FinishTime);
    let durations: Vec<(usize, i64)> = (0..launch.len())
        .filter(|row| useful.contains(*row))
        .filter_map(|row| Some((row, (finish[row]? - launch[row]?).max(0))))
        .collect();
    if durations.len() < FEWEST {
        return None;
    }
    let sum = |columns: &[TaskColumn]| {
        let mut sums: Vec<Option<i64>> = vec![None; stage.tasks.rows()];
        for column in columns {
            stage.tasks.for_each(*column, |row, value| {
                if useful.contains(row) {
                    sums[row] = Some(sums[row].unwrap_or(0) + value);
                }
            });
        }
        sums.into_iter().flatten().collect::<Vec<i64>>()
    };
    use TaskColumn as C;
    let measures = [
        ("duration", Unit::Milliseconds, durations.iter().map(|(_, ms)| *ms).collect()),
        ("records read", Unit::Records, sum(&[C::InputRecords, C::ShuffleRecordsRead])),
        ("bytes read", Unit::Bytes, sum(&[C::InputBytes, C::LocalBytesRead, C::RemoteBytesRead])),
    ];
    let slowest = durations.iter().max_by_key(|(row, ms)| (*ms, std::cmp::Reverse(*row)));
    Some(StageDistribution {
        stage_id: stage.id,
        stage_attempt: stage.attempt,
        name: stage.name.to_string(),
        tasks: durations.len(),
        measures: measures
            .into_iter()
            .filter_map(|(label, unit, values): (_, _, Vec<i64>)| measure(label, unit, &values))
            .collect(),
        slowest: slowest.map(|(row, ms)| mark(run, stage, *row, *ms)),
    })
}

fn measure(label: &'static str, unit: Unit, values: &[i64]) -> Option<Measure> {
    let most = values.iter().copied().max().filter(|most| *most > 0)?;
    let mut bars = vec![0u32; BARS];
    for value in values {
        let at = ((*value).max(0) as f64 / most as f64 * BARS as f64) as usize;
        bars[at.min(BARS - 1)] += 1;
    }
    let spread = Distribution::of(values.iter().copied());
    let quantile = |q: f64| spread.quantile(q).unwrap_or(0.0);
    Some(Measure {
        label,
        unit,
        min: spread.min()?,
        p25: quantile(0.25),
        median: spread.median()?,
        p75: quantile(0.75),
        p95: quantile(0.95),
        max: spread.max()?,
        bars,
    })
}

fn mark(run: &Run, stage: &StageAttempt, row: usize, duration_ms: i64) -> TaskMark {
    let number = |column: TaskColumn| stage.tasks.column(column)[row];
    let text = |column: TaskColumn| {
        let id = number(column).and_then(|id| u32::try_from(id).ok());
        id.map_or_else(String::new, |id| run.strings.text(id).to_owned())
    };
    TaskMark {
        task_id: number(TaskColumn::TaskId).unwrap_or(0),
        index: number(TaskColumn::Index).unwrap_or(0),
        executor_id: text(TaskColumn::Executor),
        host: text(TaskColumn::Host),
        duration_ms,
    }
}

//! One value against another, a point for each task attempt.

use super::distributions::{Which, rows};
use super::metric::{MetricName, TaskMetric};
use emberscope_log::columns::{TaskColumn, TaskStatus};
use emberscope_model::run::{Run, StageAttempt};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Points that are kept at either end of both values whatever the sample.
const EXTREMES: usize = 25;

/// One value against another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scatter {
    /// The value across.
    pub x: MetricName,
    /// The value upward.
    pub y: MetricName,
    /// Attempts that have both values.
    pub attempts: usize,
    /// Attempts that were looked at and lack one.
    pub not_measured: usize,
    /// Whether the points are a sample: every n-th attempt by id, and the largest and smallest of both values.
    pub is_sample: bool,
    /// Points, by task id.
    pub points: Vec<Point>,
}

/// A task attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// Task attempt id.
    pub task_id: i64,
    /// Index in the stage.
    pub index: i64,
    /// The value across.
    pub x: i64,
    /// The value upward.
    pub y: i64,
    /// Executor.
    pub executor_id: String,
    /// Host.
    pub host: String,
    /// How it ended: `success`, `failed`, `killed`, `running`, `resubmitted`.
    pub status: &'static str,
}

/// How an attempt ended, in a word.
pub fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Success => "success",
        TaskStatus::Running => "running",
        TaskStatus::Resubmitted => "resubmitted",
        status if status.is_killed() => "killed",
        _ => "failed",
    }
}

/// One value against another, in about `most` points at most.
pub fn scatter(
    run: &Run,
    stage: &StageAttempt,
    (x, y): (&TaskMetric, &TaskMetric),
    which: Which,
    most: usize,
) -> Scatter {
    let (xs, ys) = (x.values(stage), y.values(stage));
    let looked_at = rows(stage, which);
    let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
    let mut measured: Vec<(i64, usize, i64, i64)> =
        looked_at.iter().filter_map(|row| Some((ids[*row], *row, xs[*row]?, ys[*row]?))).collect();
    measured.sort_unstable();
    let kept = sample(&measured, most);
    let statuses = stage.tasks.statuses();
    let indexes = stage.tasks.column_or(TaskColumn::Index, -1);
    let executors = stage.tasks.column(TaskColumn::Executor);
    let hosts = stage.tasks.column(TaskColumn::Host);
    let text = |id: Option<i64>| {
        id.and_then(|id| u32::try_from(id).ok()).map_or("", |id| run.strings.text(id)).to_owned()
    };
    let point = |at: usize| {
        let (task_id, row, x, y) = measured[at];
        Point {
            task_id,
            index: indexes[row],
            x,
            y,
            executor_id: text(executors[row]),
            host: text(hosts[row]),
            status: status_name(statuses[row]),
        }
    };
    Scatter {
        x: x.named(),
        y: y.named(),
        attempts: measured.len(),
        not_measured: looked_at.len() - measured.len(),
        is_sample: kept.len() < measured.len(),
        points: kept.into_iter().map(point).collect(),
    }
}

/// Places of the points that are shown.
fn sample(points: &[(i64, usize, i64, i64)], most: usize) -> Vec<usize> {
    if points.len() <= most {
        return (0..points.len()).collect();
    }
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let extremes = EXTREMES.min(most / 8);
    let mut order: Vec<usize> = (0..points.len()).collect();
    for value in [|point: &(i64, usize, i64, i64)| point.2, |point: &(i64, usize, i64, i64)| point.3] {
        order.sort_unstable_by_key(|at| (value(&points[*at]), *at));
        kept.extend(order.iter().take(extremes).chain(order.iter().rev().take(extremes)));
    }
    let rest = most.saturating_sub(kept.len()).max(1);
    kept.extend((0..rest).map(|n| n * points.len() / rest));
    kept.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_bounded_and_keeps_the_ends() {
        let points: Vec<(i64, usize, i64, i64)> =
            (0..10_000).map(|n| (n, n as usize, (n * 7919) % 10_007, n % 13)).collect();
        let kept = sample(&points, 2000);
        assert!(kept.len() <= 2000 && kept.len() > 1900, "{}", kept.len());
        let largest = points.iter().max_by_key(|point| point.2).unwrap().1;
        assert!(kept.contains(&largest));
        assert_eq!(sample(&points[..5], 2000).len(), 5);
    }
}

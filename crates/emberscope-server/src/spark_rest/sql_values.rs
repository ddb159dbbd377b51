//! SQL metrics as Spark prints them (`SQLAppStatusListener.aggregateMetrics`, `SQLMetrics.stringValue`).
//!
//! Spark takes a task that never touched a metric of its stage for one that measured 0, and looks only at
//! the newest attempt of each stage; so its smallest and middle values are not those of the model.

use emberscope_log::columns::TaskColumn;
use emberscope_log::event::plan::MetricKind;
use emberscope_model::run::{Run, StageAttempt};
use emberscope_model::sql::SqlExecution;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Where the largest value was measured.
#[derive(Clone, Copy, Debug)]
struct Largest {
    value: i64,
    stage: (u32, u32),
    task_id: i64,
}

/// What was collected of a metric.
#[derive(Clone, Debug, Default)]
struct Values {
    values: Vec<i64>,
    largest: Option<Largest>,
}

/// The printed values of all metrics of an execution, by accumulator.
pub(super) fn printed(run: &Run, execution: &SqlExecution) -> FxHashMap<u64, String> {
    let kinds = run.metric_kinds(execution);
    let mut values: FxHashMap<u64, Values> = FxHashMap::default();
    for stage in newest_attempts(run, execution) {
        add_stage(stage, &kinds, &mut values);
    }
    for (id, value) in &execution.driver_updates {
        if kinds.contains_key(id) {
            values.entry(*id).or_default().values.push(*value);
        }
    }
    values.into_iter().filter_map(|(id, values)| Some((id, print(*kinds.get(&id)?, values)))).collect()
}

/// The newest attempt of every stage that a job of the execution lists and that ran while it did.
fn newest_attempts<'r>(run: &'r Run, execution: &SqlExecution) -> Vec<&'r StageAttempt> {
    let mut newest: BTreeMap<u32, &StageAttempt> = BTreeMap::new();
    for stage in run.stages_of_sql(execution) {
        newest.insert(stage.id, stage);
    }
    newest.into_values().collect()
}

fn add_stage(stage: &StageAttempt, kinds: &BTreeMap<u64, MetricKind>, values: &mut FxHashMap<u64, Values>) {
    let indices = stage.tasks.column_or(TaskColumn::Index, -1);
    let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
    let useful = first_successes(stage, &indices);
    // A log's numbers are not to be trusted with memory; there is no task without a row.
    let tasks = indices.iter().max().map_or(0, |last| (*last + 1).max(0) as usize);
    let tasks = (stage.num_tasks.unwrap_or(0) as usize).max(tasks).min(tasks.max(1 << 20));
    for id in stage.tasks.accumulator_ids() {
        let Some(kind) = kinds.get(id) else { continue };
        let mut of_stage = vec![0; tasks];
        let mut largest: Option<Largest> = None;
        stage.tasks.for_each_update(*id, |row, value| {
            let Some(slot) = usize::try_from(indices[row]).ok().and_then(|index| of_stage.get_mut(index))
            else {
                return;
            };
            // What an attempt adds after another succeeded does not count.
            if useful.get(&indices[row]).is_some_and(|first| row > *first) {
                return;
            }
            *slot = value;
            if largest.is_none_or(|largest| value > largest.value) {
                largest = Some(Largest { value, stage: (stage.id, stage.attempt), task_id: ids[row] });
            }
        });
        let all = values.entry(*id).or_default();
        all.values.extend(of_stage);
        if !matches!(kind, MetricKind::Sum | MetricKind::Other)
            && let Some(largest) = largest
            && all.largest.is_none_or(|known| largest.value > known.value)
        {
            all.largest = Some(largest);
        }
    }
}

/// Of each task the row of the attempt that succeeded first.
fn first_successes(stage: &StageAttempt, indices: &[i64]) -> FxHashMap<i64, usize> {
    let mut first = FxHashMap::default();
    for (row, status) in stage.tasks.statuses().iter().enumerate() {
        if super::task_rows::status_name(*status) == "SUCCESS" {
            first.entry(indices[row]).or_insert(row);
        }
    }
    first
}

fn print(kind: MetricKind, collected: Values) -> String {
    let Values { mut values, largest } = collected;
    match kind {
        MetricKind::Sum | MetricKind::Other => {
            return grouped(values.iter().fold(0i64, |sum, value| sum.saturating_add(*value)));
        }
        MetricKind::Average => values.retain(|value| *value > 0),
        MetricKind::Size | MetricKind::Timing | MetricKind::NsTiming => values.retain(|value| *value >= 0),
    }
    values.sort_unstable();
    if values.len() <= 1 {
        return one(kind, values.first().copied().unwrap_or(0));
    }
    let place = largest.map_or_else(
        || "(driver)".to_owned(),
        |at| format!("(stage {}.{}: task {})", at.stage.0, at.stage.1, at.task_id),
    );
    let [min, middle, max] = [0, values.len() / 2, values.len() - 1].map(|at| one(kind, values[at]));
    if kind == MetricKind::Average {
        return format!("(min, med, max (stageId: taskId)):\n({min}, {middle}, {max} {place})");
    }
    let total = one(kind, values.iter().fold(0i64, |sum, value| sum.saturating_add(*value)));
    format!("total (min, med, max (stageId: taskId))\n{total} ({min}, {middle}, {max} {place})")
}

/// One value.
fn one(kind: MetricKind, value: i64) -> String {
    match kind {
        MetricKind::Sum | MetricKind::Other => grouped(value),
        MetricKind::Size => bytes(value),
        MetricKind::Timing => duration(value),
        MetricKind::NsTiming => duration(value / 1_000_000),
        MetricKind::Average if value % 10 == 0 => grouped(value / 10),
        MetricKind::Average => format!("{}.{}", grouped(value / 10), value % 10),
    }
}

/// `Utils.bytesToString`.
fn bytes(size: i64) -> String {
    const UNITS: [(&str, u32); 6] =
        [("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, shift)| i128::from(size) >= 2i128 << shift);
    let (name, shift) = unit.copied().unwrap_or(("B", 0));
    format!("{} {name}", half_up(size as f64 / (1i64 << shift) as f64, 1))
}

/// `Utils.msDurationToString`.
fn duration(ms: i64) -> String {
    let value = ms as f64;
    match ms {
        ..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{} s", half_up(value / 1000.0, 1)),
        60_000..3_600_000 => format!("{} m", half_up(value / 60_000.0, 1)),
        _ => format!("{} h", half_up(value / 3_600_000.0, 2)),
    }
}

/// Java rounds halves up where Rust rounds them to even.
fn half_up(value: f64, digits: usize) -> String {
    let scale = 10f64.powi(digits as i32);
    format!("{:.digits$}", (value * scale + 0.5).floor() / scale)
}

/// An integer with commas.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = if value < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value() {
        let cases: &[(MetricKind, i64, &str)] = &[
            (MetricKind::Sum, -1_234_567, "-1,234,567"),
            (MetricKind::Size, 1500, "1500.0 B"),
            (MetricKind::Size, 12_900_000, "12.3 MiB"),
            (MetricKind::Timing, 999, "999 ms"),
            (MetricKind::Timing, 90_000, "1.5 m"),
            (MetricKind::NsTiming, 1_500_000_000, "1.5 s"),
            (MetricKind::Average, 12_345, "1,234.5"),
            (MetricKind::Average, 20, "2"),
        ];
        for (kind, value, expected) in cases {
            assert_eq!(one(*kind, *value), *expected);
        }
    }

    #[test]
    fn several_values() {
        let values = |values: &[i64]| Values { values: values.to_vec(), largest: None };
        assert_eq!(print(MetricKind::Timing, values(&[-1, 5])), "5 ms");
        assert_eq!(
            print(MetricKind::Timing, values(&[3, 0, 5])),
            "total (min, med, max (stageId: taskId))\n8 ms (0 ms, 3 ms, 5 ms (driver))"
        );
        assert_eq!(print(MetricKind::Sum, values(&[])), "0");
    }
}

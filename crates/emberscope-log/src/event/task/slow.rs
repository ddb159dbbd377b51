//! The slow road: task events read by serde, whatever their shape.

use super::{
    C, Columns, EXECUTOR_METRICS, INPUT, METRICS, OUTPUT, Refusal, SHUFFLE_READ, SHUFFLE_WRITE, Sink,
    TaskRow, TaskStart, Update, keep_update,
};
use crate::columns::TaskStatus;
use crate::event::lenient::{self, Int};
use crate::event::reason::TaskEndReason;
use crate::event::reason_of;
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
struct TaskEndEvent<'a> {
    #[serde(rename = "Stage ID")]
    stage_id: Option<u32>,
    #[serde(rename = "Stage Attempt ID", default)]
    stage_attempt: Int,
    #[serde(rename = "Task Type", borrow, default)]
    task_type: Option<Cow<'a, str>>,
    #[serde(rename = "Task End Reason", default)]
    reason: Option<TaskEndReason>,
    #[serde(rename = "Task Info", borrow, default)]
    info: Option<TaskInfo<'a>>,
    #[serde(rename = "Task Executor Metrics", default)]
    executor_metrics: Option<Ints>,
    #[serde(rename = "Task Metrics", default)]
    metrics: Option<TaskMetrics>,
}

#[derive(Deserialize)]
struct TaskStartEvent<'a> {
    #[serde(rename = "Stage ID")]
    stage_id: Option<u32>,
    #[serde(rename = "Stage Attempt ID", default)]
    stage_attempt: Int,
    #[serde(rename = "Task Info", borrow, default)]
    info: Option<TaskInfo<'a>>,
}

#[derive(Deserialize)]
struct TaskInfo<'a> {
    #[serde(rename = "Task ID", default)]
    task_id: Int,
    #[serde(rename = "Index", default)]
    index: Int,
    #[serde(rename = "Attempt", default)]
    attempt: Int,
    #[serde(rename = "Partition ID", default)]
    partition_id: Int,
    #[serde(rename = "Launch Time", default)]
    launch_time: Int,
    #[serde(rename = "Executor ID", borrow, default)]
    executor: Option<Cow<'a, str>>,
    #[serde(rename = "Host", borrow, default)]
    host: Option<Cow<'a, str>>,
    #[serde(rename = "Locality", borrow, default)]
    locality: Option<Cow<'a, str>>,
    #[serde(rename = "Speculative", default)]
    speculative: Option<bool>,
    #[serde(rename = "Getting Result Time", default)]
    getting_result_time: Int,
    #[serde(rename = "Finish Time", default)]
    finish_time: Int,
    #[serde(rename = "Accumulables", borrow, default)]
    accumulables: Option<Vec<Accumulable<'a>>>,
}

#[derive(Deserialize)]
struct Accumulable<'a> {
    #[serde(rename = "ID", default)]
    id: Int,
    #[serde(rename = "Name", borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(rename = "Update", default)]
    update: lenient::IntOrOther,
}

/// An object of integers with its keys; other values count as absent.
type Ints = lenient::IntFields;

#[derive(Deserialize)]
struct TaskMetrics {
    #[serde(rename = "Shuffle Read Metrics", default)]
    shuffle_read: Option<Ints>,
    #[serde(rename = "Shuffle Write Metrics", default)]
    shuffle_write: Option<Ints>,
    #[serde(rename = "Input Metrics", default)]
    input: Option<Ints>,
    #[serde(rename = "Output Metrics", default)]
    output: Option<Ints>,
    #[serde(flatten)]
    scalars: Ints,
}

/// Reads a `SparkListenerTaskEnd` with serde; for ends that are no success the reason comes along.
pub fn task_end_with_serde(
    line: &[u8],
    sink: &mut Sink,
) -> Result<(TaskRow, Option<TaskEndReason>), Refusal> {
    let event: TaskEndEvent<'_> = serde_json::from_slice(line).map_err(|error| reason_of(&error))?;
    let mut row = TaskRow::new(sink.accumulators.len() as u32);
    row.stage_id = event.stage_id.ok_or("no \"Stage ID\"")?;
    row.stage_attempt = event.stage_attempt.0.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    row.is_result_task = event.task_type.as_deref() == Some("ResultTask");
    let info = event.info.ok_or("no \"Task Info\"")?;
    fill_task_info(&mut row, &info, sink)?;
    let reason = event.reason.unwrap_or_default();
    let status = TaskStatus::from_reason(&reason.reason);
    row.set(C::Status, status as i64);
    if let Some(metrics) = &event.executor_metrics {
        fill_columns(&mut row, EXECUTOR_METRICS, metrics);
    }
    if let Some(metrics) = &event.metrics {
        fill_columns(&mut row, METRICS, &metrics.scalars);
        for (fields, table) in [
            (&metrics.shuffle_read, SHUFFLE_READ),
            (&metrics.shuffle_write, SHUFFLE_WRITE),
            (&metrics.input, INPUT),
            (&metrics.output, OUTPUT),
        ] {
            if let Some(fields) = fields {
                fill_columns(&mut row, table, fields);
            }
        }
    }
    for accumulable in info.accumulables.iter().flatten() {
        let update = match accumulable.update {
            lenient::IntOrOther::Int(value) => Update::Integer(value),
            lenient::IntOrOther::Other => Update::Other,
            lenient::IntOrOther::Absent => Update::Absent,
        };
        let is_internal = accumulable.name.as_deref().is_some_and(|name| name.starts_with("internal."));
        keep_update(accumulable.id.0, update, is_internal, sink);
    }
    row.accumulators.end = sink.accumulators.len() as u32;
    Ok((row, (status != TaskStatus::Success).then_some(reason)))
}

fn fill_columns(row: &mut TaskRow, table: &[(&str, C)], fields: &Ints) {
    for (key, value) in &fields.0 {
        if let Some((_, column)) = table.iter().find(|(name, _)| name == key) {
            row.set(*column, *value);
        }
    }
}

fn fill_task_info<R: Columns>(row: &mut R, info: &TaskInfo<'_>, sink: &mut Sink) -> Result<(), Refusal> {
    let task_id = info.task_id.0.filter(|id| *id >= 0).ok_or("no \"Task ID\"")?;
    row.set(C::TaskId, task_id);
    for (column, value) in
        [(C::Index, info.index), (C::Attempt, info.attempt), (C::PartitionId, info.partition_id)]
    {
        if let Some(value) = value.0 {
            row.set(column, value);
        }
    }
    for (column, time) in [
        (C::LaunchTime, info.launch_time),
        (C::GettingResultTime, info.getting_result_time),
        (C::FinishTime, info.finish_time),
    ] {
        row.set_time(column, time.0.unwrap_or(0));
    }
    for (column, text) in
        [(C::Executor, &info.executor), (C::Host, &info.host), (C::Locality, &info.locality)]
    {
        if let Some(text) = text {
            row.set(column, i64::from(sink.strings.intern(text)));
        }
    }
    if let Some(speculative) = info.speculative {
        row.set(C::Speculative, i64::from(speculative));
    }
    Ok(())
}

/// Reads a `SparkListenerTaskStart` with serde.
pub fn task_start_with_serde(line: &[u8], sink: &mut Sink) -> Result<TaskStart, Refusal> {
    let event: TaskStartEvent<'_> = serde_json::from_slice(line).map_err(|error| reason_of(&error))?;
    let mut row = TaskStart::new();
    row.stage_id = event.stage_id.ok_or("no \"Stage ID\"")?;
    row.stage_attempt = event.stage_attempt.0.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    fill_task_info(&mut row, &event.info.ok_or("no \"Task Info\"")?, sink)?;
    Ok(row)
}

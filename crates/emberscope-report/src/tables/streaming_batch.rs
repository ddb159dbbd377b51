//! The `streaming_batch` table.

use super::{Columns, Emit, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_log::event::stream::Progress;
use emberscope_model::run::Run;
use emberscope_model::streaming::StreamRun;

pub(crate) struct Row<'r> {
    run: &'r Run,
    stream: &'r StreamRun,
    batch: &'r Progress,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "query_id" Text [""] "Streaming query, the same over restarts", "`id`" => |r| r.stream.query_id.as_ref().into();
    "run_id" Text [""] "Start of the query", "`runId`" => |r| r.stream.run_id.as_str().into();
    "name" Text [""] "Name of the query", "`name`" => |r| r.stream.name.as_ref().into();
    "batch_id" Long [""] "Micro-batch", "`batchId`" => |r| r.batch.batch_id.0.into();
    "trigger_time" Text ["ISO 8601"] "When it was triggered", "`timestamp`" => |r| r.batch.timestamp.as_ref().into();
    "batch_duration_ms" Long ["ms"] "Duration of the batch", "`batchDuration` (Spark 3.1)" => |r| r.batch.batch_duration.0.into();
    "input_rows" Long [""] "Rows read: logged, else the sum over its sources", "`numInputRows`" => |r| input_rows(r.batch).into();
    "phases_ms" LongMap ["ms"] "Duration by phase", "`durationMs`" => |r| Cell::Counts(r.batch.duration_ms.iter().map(|(name, ms)| (name.as_str().into(), *ms)).collect());
    "event_time" TextMap ["ISO 8601"] "Watermark and bounds of the event time", "`eventTime`" => |r| Cell::Map(r.batch.event_time.iter().map(|(name, time)| (name.as_str().into(), time.as_str().into())).collect());
    "state_rows" Long [""] "Rows in the state of all operators; null without stateful operators", "sum of `numRowsTotal`" => |r| state(r.batch, |operator| operator.num_rows_total.0).into();
    "state_rows_updated" Long [""] "State rows updated by the batch", "sum of `numRowsUpdated`" => |r| state(r.batch, |operator| operator.num_rows_updated.0).into();
    "state_rows_dropped_by_watermark" Long [""] "Rows too late", "sum of `numRowsDroppedByWatermark` (Spark 3.1)" => |r| state(r.batch, |operator| operator.num_rows_dropped_by_watermark.0).into();
    "state_memory_bytes" Long ["bytes"] "Memory of the state", "sum of `memoryUsedBytes`" => |r| state(r.batch, |operator| operator.memory_used_bytes.0).into();
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn input_rows(batch: &Progress) -> Option<i64> {
    batch.num_input_rows.0.or_else(|| sum(batch.sources.iter().map(|source| source.num_input_rows.0)))
}

fn state(
    batch: &Progress,
    value: fn(&emberscope_log::event::stream::StateOperator) -> Option<i64>,
) -> Option<i64> {
    sum(batch.state_operators.iter().map(value))
}

/// Sum of what is there; `None` when nothing is.
fn sum(values: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    values.flatten().fold(None, |sum, value| Some(sum.unwrap_or(0i64).saturating_add(value)))
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run
        .streams
        .iter()
        .flat_map(|stream| stream.batches.iter().map(move |batch| Row { run, stream, batch }));
    produce_rows(Report::StreamingBatch, rows, |row, column| (COLUMNS[column].read)(row), emit)
}

//! The `executor` table.

use super::{Columns, Emit, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::run::{Executor, Run};

pub(crate) struct Row<'r> {
    run: &'r Run,
    executor: &'r Executor,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "executor_id" Text [""] "Executor id; driver in local mode", "`Executor ID`" => |r| r.executor.id.as_str().into();
    "host" Text [""] "Host", "`Executor Info.Host`" => |r| r.executor.host.as_ref().into();
    "cores" Int [""] "Cores", "`Executor Info.Total Cores`; null when the log has no addition" => |r| r.executor.cores.into();
    "added_time_ms" Long ["ms"] "Epoch timestamp when it was added", "executor added" => |r| r.executor.added_ms.into();
    "removed_time_ms" Long ["ms"] "Epoch timestamp when it was removed; null when it lived to the end", "executor removed" => |r| r.executor.removed_ms.into();
    "removed_reason" Text [""] "Why it was removed", "`Removed Reason`" => |r| r.executor.removed_reason.as_ref().into();
    "lifetime_ms" Long ["ms"] "How long it lived, to the end of the run at most", "removed or end of the run, minus added" => |r| lifetime(r).into();
    "resource_profile_id" Int [""] "Resource profile", "`Resource Profile Id`" => |r| r.executor.resource_profile_id.into();
    "maximum_memory_bytes" Long ["bytes"] "Memory of its block manager", "`Maximum Memory`" => |r| r.executor.maximum_memory_bytes.into();
    "maximum_on_heap_bytes" Long ["bytes"] "On the heap", "`Maximum Onheap Memory`" => |r| r.executor.maximum_on_heap_bytes.into();
    "maximum_off_heap_bytes" Long ["bytes"] "Off the heap", "`Maximum Offheap Memory`" => |r| r.executor.maximum_off_heap_bytes.into();
    "container_memory_bytes" Long ["bytes"] "Memory that the cluster gives it, which is what it costs: heap, off-heap and Python's memory and, in containers, the overhead", "resource profile, else `spark.executor.memory` and its like; `spark.driver.memory` in local mode" => |r| r.run.executor_memory(r.executor).bytes().into();
    "container_memory_basis" Text [""] "What that rests on: resource profile, configuration, Spark's default, or the driver's configuration in local mode", "where the heap is told" => |r| r.run.executor_memory(r.executor).basis.text().into();
    "peaks" LongMap [""] "Peaks of executor metrics by Spark's names: bytes, or milliseconds and counts for garbage collection", "stage executor metrics and heartbeats; empty when the log has none" => |r| Cell::Counts(r.executor.peaks.iter().map(|(name, peak)| (name.as_str().into(), *peak)).collect());
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn lifetime(row: &Row<'_>) -> Option<i64> {
    let (from, to) = row.executor.lifetime(row.run.application.end_ms?)?;
    Some(to - from)
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run.executors.iter().map(|executor| Row { run, executor });
    produce_rows(Report::Executor, rows, |row, column| (COLUMNS[column].read)(row), emit)
}

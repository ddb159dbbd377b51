//! The fast road: task events read by the cursor.

use super::{
    C, Columns, Sink, TaskRow, TaskStart, Update, keep_update, read_executor_metrics, read_input,
    read_metrics, read_output, read_shuffle_read, read_shuffle_write,
};
use crate::columns::{TaskColumn, TaskStatus};
use crate::cursor::Cursor;
use crate::strings::StringTable;

/// Reads a `SparkListenerTaskEnd` into a fresh `row`. Only successful tasks take this road: other ends
/// are few and carry texts that serde reads better. On `None` nothing has been added to `sink` but
/// perhaps strings, and the row is of no use.
pub fn read_task_end(line: &[u8], row: &mut TaskRow, sink: &mut Sink) -> Option<()> {
    let accumulators_before = sink.accumulators.len();
    let others_before = sink.non_integer_updates;
    row.accumulators.start = accumulators_before as u32;
    if read_end_fields(line, row, sink).is_none() {
        sink.accumulators.truncate(accumulators_before);
        sink.non_integer_updates = others_before;
        return None;
    }
    row.accumulators.end = sink.accumulators.len() as u32;
    Some(())
}

fn read_end_fields(line: &[u8], row: &mut TaskRow, sink: &mut Sink) -> Option<()> {
    let mut cursor = Cursor::new(line);
    let (mut has_stage, mut has_reason, mut has_info) = (false, false, false);
    cursor.object(|cursor, key| {
        match key {
            b"Stage ID" => {
                row.stage_id = u32::try_from(cursor.int()?).ok()?;
                has_stage = true;
            }
            b"Stage Attempt ID" => row.stage_attempt = u32::try_from(cursor.int()?).ok()?,
            b"Task Type" => row.is_result_task = cursor.string()?.bytes == b"ResultTask",
            b"Task End Reason" => {
                if !cursor.take(br#"{"Reason":"Success"}"#) {
                    return None;
                }
                row.set(C::Status, TaskStatus::Success as i64);
                has_reason = true;
            }
            b"Task Info" => {
                read_task_info(cursor, row, sink)?;
                has_info = true;
            }
            b"Task Executor Metrics" => {
                if !cursor.take(b"null") {
                    read_executor_metrics(cursor, row, |cursor, _, _| cursor.skip())?;
                }
            }
            b"Task Metrics" => {
                if !cursor.take(b"null") {
                    read_metrics(cursor, row, read_metrics_part)?;
                }
            }
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    (cursor.is_at_end() && has_stage && has_reason && has_info).then_some(())
}

/// The objects inside `Task Metrics`.
fn read_metrics_part(cursor: &mut Cursor<'_>, key: &[u8], row: &mut TaskRow) -> Option<()> {
    match key {
        b"Shuffle Read Metrics" => read_shuffle_read(cursor, row, |cursor, _, _| cursor.skip()),
        b"Shuffle Write Metrics" => read_shuffle_write(cursor, row, |cursor, _, _| cursor.skip()),
        b"Input Metrics" => read_input(cursor, row, |cursor, _, _| cursor.skip()),
        b"Output Metrics" => read_output(cursor, row, |cursor, _, _| cursor.skip()),
        _ => cursor.skip(),
    }
}

/// Reads a `SparkListenerTaskStart`. Its accumulables repeat what the end event will say (the writer
/// races with the scheduler) and are not counted.
pub fn read_task_start(line: &[u8], sink: &mut Sink) -> Option<TaskStart> {
    let mut cursor = Cursor::new(line);
    let mut row = TaskStart::new();
    let (mut has_stage, mut has_info) = (false, false);
    let accumulators_before = sink.accumulators.len();
    let others_before = sink.non_integer_updates;
    let read = cursor.object(|cursor, key| {
        match key {
            b"Stage ID" => {
                row.stage_id = u32::try_from(cursor.int()?).ok()?;
                has_stage = true;
            }
            b"Stage Attempt ID" => row.stage_attempt = u32::try_from(cursor.int()?).ok()?,
            b"Task Info" => {
                read_task_info(cursor, &mut row, sink)?;
                has_info = true;
            }
            _ => cursor.skip()?,
        }
        Some(())
    });
    sink.accumulators.truncate(accumulators_before);
    sink.non_integer_updates = others_before;
    read?;
    (cursor.is_at_end() && has_stage && has_info).then_some(row)
}

/// Reads `Task Info`: first in the order in which Spark writes it, then whatever is left.
#[inline(always)]
fn read_task_info<R: Columns>(cursor: &mut Cursor<'_>, row: &mut R, sink: &mut Sink) -> Option<()> {
    macro_rules! expect_fields {
        ($($name:literal => $column:ident,)*) => {
            $(
                if cursor.take(concat!("\"", $name, "\":").as_bytes()) {
                    info_value(cursor, C::$column, row, &mut sink.strings)?;
                    if cursor.object_ends()? {
                        return Some(());
                    }
                }
            )*
        };
    }
    cursor.expect(b'{')?;
    // An object without a task id is refused anyway.
    if !cursor.take(br#""Task ID":"#) {
        return read_info_of_any_order(cursor, row, sink, false);
    }
    row.set(C::TaskId, cursor.int().filter(|id| *id >= 0)?);
    if cursor.object_ends()? {
        return Some(());
    }
    expect_fields! {
        "Index" => Index,
        "Attempt" => Attempt,
        "Partition ID" => PartitionId,
        "Launch Time" => LaunchTime,
        "Executor ID" => Executor,
        "Host" => Host,
        "Locality" => Locality,
        "Speculative" => Speculative,
        "Getting Result Time" => GettingResultTime,
        "Finish Time" => FinishTime,
    }
    read_info_of_any_order(cursor, row, sink, true)
}

/// The value of a field of `Task Info` that becomes a column.
#[inline(always)]
fn info_value<R: Columns>(
    cursor: &mut Cursor<'_>,
    column: TaskColumn,
    row: &mut R,
    strings: &mut StringTable,
) -> Option<()> {
    match column {
        C::Executor | C::Host | C::Locality => {
            let text = cursor.string()?;
            if text.escaped {
                return None;
            }
            row.set(column, i64::from(strings.intern_bytes(text.bytes)?));
        }
        C::LaunchTime | C::GettingResultTime | C::FinishTime => row.set_time(column, cursor.int()?),
        C::Speculative => row.set(column, i64::from(cursor.bool()?)),
        _ => row.set(column, cursor.int()?),
    }
    Some(())
}

/// Reads fields of `Task Info` from a key on.
fn read_info_of_any_order<R: Columns>(
    cursor: &mut Cursor<'_>,
    row: &mut R,
    sink: &mut Sink,
    mut has_id: bool,
) -> Option<()> {
    loop {
        let key = cursor.key()?;
        let column = match key {
            b"Task ID" => {
                row.set(C::TaskId, cursor.int().filter(|id| *id >= 0)?);
                has_id = true;
                None
            }
            b"Accumulables" => {
                cursor.array(|cursor| read_accumulable(cursor, sink))?;
                None
            }
            b"Index" => Some(C::Index),
            b"Attempt" => Some(C::Attempt),
            b"Partition ID" => Some(C::PartitionId),
            b"Launch Time" => Some(C::LaunchTime),
            b"Executor ID" => Some(C::Executor),
            b"Host" => Some(C::Host),
            b"Locality" => Some(C::Locality),
            b"Speculative" => Some(C::Speculative),
            b"Getting Result Time" => Some(C::GettingResultTime),
            b"Finish Time" => Some(C::FinishTime),
            _ => {
                cursor.skip()?;
                None
            }
        };
        if let Some(column) = column {
            info_value(cursor, column, row, &mut sink.strings)?;
        }
        if cursor.object_ends()? {
            return has_id.then_some(());
        }
    }
}

/// Reads one element of `Accumulables` (`JsonProtocol.accumulableInfoToJson`).
#[inline(always)]
fn read_accumulable(cursor: &mut Cursor<'_>, sink: &mut Sink) -> Option<()> {
    let mut id = None;
    let mut update = Update::Absent;
    let mut is_internal = false;
    if cursor.take(br#"{"ID":"#) {
        id = Some(cursor.int()?);
        if cursor.take(br#","Name":"#) {
            if cursor.take(br#""internal."#) {
                // The rest repeats a task metric: it is enough to find its end.
                if cursor.take_through(b'}', INTERNAL_END) {
                    return Some(());
                }
                is_internal = true;
                cursor.rest_of_string()?;
            } else if hides_prefix(cursor.string()?.bytes) {
                return None;
            }
        }
        if cursor.take(br#","Update":"#) {
            update = read_update(cursor)?;
        }
        if cursor.take(br#","Value":"#) && cursor.quoted_int().is_none() {
            cursor.skip()?;
        }
        let usual_end = cursor.take(br#","Internal":true,"Count Failed Values":true,"Metadata":"sql"}"#)
            || cursor.take(br#","Internal":true,"Count Failed Values":true}"#)
            || cursor.take(br#","Internal":false,"Count Failed Values":false}"#);
        if !usual_end {
            cursor.rest_of_object(|cursor, key| {
                accumulable_field(cursor, key, &mut id, &mut update, &mut is_internal)
            })?;
        }
    } else {
        cursor
            .object(|cursor, key| accumulable_field(cursor, key, &mut id, &mut update, &mut is_internal))?;
    }
    keep_update(id, update, is_internal, sink);
    Some(())
}

/// How an internal accumulable ends.
const INTERNAL_END: &[u8] = br#""Internal":true,"Count Failed Values":true}"#;

/// Whether escapes could hide the prefix of internal names.
fn hides_prefix(name: &[u8]) -> bool {
    name[..name.len().min(b"internal.".len())].contains(&b'\\')
}

fn accumulable_field(
    cursor: &mut Cursor<'_>,
    key: &[u8],
    id: &mut Option<i64>,
    update: &mut Update,
    is_internal: &mut bool,
) -> Option<()> {
    match key {
        b"ID" => *id = Some(cursor.int()?),
        b"Name" => {
            let name = cursor.string()?.bytes;
            if hides_prefix(name) {
                return None;
            }
            *is_internal = name.starts_with(b"internal.");
        }
        b"Update" => *update = read_update(cursor)?,
        _ => cursor.skip()?,
    }
    Some(())
}

/// SQL metrics are numbers written as strings by some versions, other values are of any kind.
#[inline(always)]
fn read_update(cursor: &mut Cursor<'_>) -> Option<Update> {
    match cursor.peek()? {
        // Too long or fractional: the slow road knows what it is.
        b'-' | b'0'..=b'9' => cursor.int().map(Update::Integer),
        b'"' => {
            if let Some(value) = cursor.quoted_int() {
                return Some(Update::Integer(value));
            }
            let text = cursor.string()?;
            Some(integer_text(text.bytes).map_or(Update::Other, Update::Integer))
        }
        b'n' => {
            cursor.skip()?;
            Some(Update::Absent)
        }
        _ => {
            cursor.skip()?;
            Some(Update::Other)
        }
    }
}

/// An integer written as text, as `str::parse` takes it.
fn integer_text(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

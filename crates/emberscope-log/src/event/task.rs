//! Task starts and task ends: the bulk of every log, read by the cursor.
//!
//! Both roads fill the same [`TaskRow`]: [`read_task_end`] with the cursor, [`task_end_with_serde`]
//! for lines that it refuses. Field names are those of `JsonProtocol.taskEndToJson`,
//! `taskInfoToJson`, `taskMetricsToJson` and `executorMetricsToJson`.

use super::lenient::{self, Int};
use super::reason::TaskEndReason;
use crate::columns::{N_TASK_COLUMNS, TaskColumn, TaskStatus};
use crate::cursor::Cursor;
use crate::strings::StringTable;
use TaskColumn as C;
use serde::Deserialize;
use std::borrow::Cow;

/// One task attempt as its end event tells it. Text columns hold numbers of the block's string table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// `Stage ID`.
    pub stage_id: u32,
    /// `Stage Attempt ID`.
    pub stage_attempt: u32,
    /// Whether `Task Type` is `ResultTask`.
    pub is_result_task: bool,
    /// Bit n is set when column n was in the event.
    pub present: u64,
    /// One value per column; 0 where absent.
    pub values: [i64; N_TASK_COLUMNS],
    /// Accumulator updates of this task: a range of the block's `accumulators`.
    pub accumulators: std::ops::Range<u32>,
}

impl TaskRow {
    /// A row without values.
    pub fn new(first_accumulator: u32) -> Self {
        TaskRow {
            stage_id: 0,
            stage_attempt: 0,
            is_result_task: false,
            present: 0,
            values: [0; N_TASK_COLUMNS],
            accumulators: first_accumulator..first_accumulator,
        }
    }

    /// Sets a column.
    #[inline(always)]
    pub fn set(&mut self, column: TaskColumn, value: i64) {
        self.values[column.slot()] = value;
        self.present |= 1 << column.slot();
    }

    /// The value of a column, `None` when the event had none.
    #[inline]
    pub fn get(&self, column: TaskColumn) -> Option<i64> {
        (self.present >> column.slot() & 1 == 1).then(|| self.values[column.slot()])
    }

    /// Task attempt id.
    pub fn task_id(&self) -> u64 {
        self.values[C::TaskId.slot()] as u64
    }

    /// How it ended.
    pub fn status(&self) -> TaskStatus {
        TaskStatus::from_code(self.values[C::Status.slot()])
    }
}

/// One accumulator update of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccumulatorUpdate {
    /// Accumulator id.
    pub id: u64,
    /// The update, an integer; others are counted in [`Sink::non_integer_updates`].
    pub value: i64,
}

/// Where the readers put what does not fit into a row.
#[derive(Debug, Default)]
pub struct Sink {
    /// Strings of the block.
    pub strings: StringTable,
    /// Accumulator updates of all tasks of the block.
    pub accumulators: Vec<AccumulatorUpdate>,
    /// Updates that are no integers (collections, doubles): kept out of sums.
    pub non_integer_updates: u64,
}

/// Why a line was not understood.
pub type Refusal = String;

const METRICS: &[(&[u8], C)] = &[
    (b"Executor Deserialize Time", C::ExecutorDeserializeTime),
    (b"Executor Deserialize CPU Time", C::ExecutorDeserializeCpuTime),
    (b"Executor Run Time", C::ExecutorRunTime),
    (b"Executor CPU Time", C::ExecutorCpuTime),
    (b"Peak Execution Memory", C::PeakExecutionMemory),
    (b"Peak On Heap Execution Memory", C::PeakOnHeapExecutionMemory),
    (b"Peak Off Heap Execution Memory", C::PeakOffHeapExecutionMemory),
    (b"Result Size", C::ResultSize),
    (b"JVM GC Time", C::JvmGcTime),
    (b"Result Serialization Time", C::ResultSerializationTime),
    (b"Memory Bytes Spilled", C::MemoryBytesSpilled),
    (b"Disk Bytes Spilled", C::DiskBytesSpilled),
];
const SHUFFLE_READ: &[(&[u8], C)] = &[
    (b"Remote Blocks Fetched", C::RemoteBlocksFetched),
    (b"Local Blocks Fetched", C::LocalBlocksFetched),
    (b"Fetch Wait Time", C::FetchWaitTime),
    (b"Remote Bytes Read", C::RemoteBytesRead),
    (b"Remote Bytes Read To Disk", C::RemoteBytesReadToDisk),
    (b"Local Bytes Read", C::LocalBytesRead),
    (b"Total Records Read", C::ShuffleRecordsRead),
    (b"Remote Requests Duration", C::RemoteRequestsDuration),
];
const SHUFFLE_WRITE: &[(&[u8], C)] = &[
    (b"Shuffle Bytes Written", C::ShuffleBytesWritten),
    (b"Shuffle Write Time", C::ShuffleWriteTime),
    (b"Shuffle Records Written", C::ShuffleRecordsWritten),
];
const INPUT: &[(&[u8], C)] = &[(b"Bytes Read", C::InputBytes), (b"Records Read", C::InputRecords)];
const OUTPUT: &[(&[u8], C)] = &[(b"Bytes Written", C::OutputBytes), (b"Records Written", C::OutputRecords)];
/// Executor metrics by the name Spark gives them (`ExecutorMetricType`).
pub const EXECUTOR_METRICS: &[(&[u8], C)] = &[
    (b"JVMHeapMemory", C::JvmHeapMemory),
    (b"JVMOffHeapMemory", C::JvmOffHeapMemory),
    (b"OnHeapExecutionMemory", C::OnHeapExecutionMemory),
    (b"OffHeapExecutionMemory", C::OffHeapExecutionMemory),
    (b"OnHeapStorageMemory", C::OnHeapStorageMemory),
    (b"OffHeapStorageMemory", C::OffHeapStorageMemory),
    (b"OnHeapUnifiedMemory", C::OnHeapUnifiedMemory),
    (b"OffHeapUnifiedMemory", C::OffHeapUnifiedMemory),
    (b"DirectPoolMemory", C::DirectPoolMemory),
    (b"MappedPoolMemory", C::MappedPoolMemory),
    (b"ProcessTreeJVMVMemory", C::ProcessTreeJvmVirtual),
    (b"ProcessTreeJVMRSSMemory", C::ProcessTreeJvmRss),
    (b"ProcessTreePythonVMemory", C::ProcessTreePythonVirtual),
    (b"ProcessTreePythonRSSMemory", C::ProcessTreePythonRss),
    (b"ProcessTreeOtherVMemory", C::ProcessTreeOtherVirtual),
    (b"ProcessTreeOtherRSSMemory", C::ProcessTreeOtherRss),
    (b"MinorGCCount", C::MinorGcCount),
    (b"MinorGCTime", C::MinorGcTime),
    (b"MajorGCCount", C::MajorGcCount),
    (b"MajorGCTime", C::MajorGcTime),
    (b"ConcurrentGCCount", C::ConcurrentGcCount),
    (b"ConcurrentGCTime", C::ConcurrentGcTime),
    (b"TotalGCTime", C::TotalGcTime),
];

/// Finds `key` in `table`, looking first where Spark's own key order puts it.
#[inline(always)]
fn predicted(table: &[(&[u8], C)], next: &mut usize, key: &[u8]) -> Option<C> {
    if let Some((name, column)) = table.get(*next)
        && *name == key
    {
        *next += 1;
        return Some(*column);
    }
    let found = table.iter().position(|(name, _)| *name == key)?;
    *next = found + 1;
    Some(table[found].1)
}

/// Reads an object of integers into columns; what the table lacks is skipped.
#[inline(always)]
fn read_columns(cursor: &mut Cursor<'_>, table: &[(&[u8], C)], row: &mut TaskRow) -> Option<()> {
    let mut next = 0;
    cursor.object(|cursor, key| {
        match predicted(table, &mut next, key) {
            Some(column) => row.set(column, cursor.int()?),
            None => cursor.skip()?,
        }
        Some(())
    })
}

/// Reads a `SparkListenerTaskEnd` with the cursor. Only successful tasks take this road: other ends
/// are few and carry texts that serde reads better.
pub fn read_task_end(line: &[u8], sink: &mut Sink) -> Option<TaskRow> {
    let mut cursor = Cursor::new(line);
    let mut row = TaskRow::new(sink.accumulators.len() as u32);
    let (mut has_stage, mut has_reason, mut has_info) = (false, false, false);
    let accumulators_before = sink.accumulators.len();
    let others_before = sink.non_integer_updates;
    let done = cursor.object(|cursor, key| {
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
                read_task_info(cursor, &mut row, sink)?;
                has_info = true;
            }
            b"Task Executor Metrics" => {
                read_object_or_null(cursor, |cursor| read_columns(cursor, EXECUTOR_METRICS, &mut row))?;
            }
            b"Task Metrics" => {
                read_object_or_null(cursor, |cursor| read_task_metrics(cursor, &mut row))?;
            }
            _ => cursor.skip()?,
        }
        Some(())
    });
    if done.is_none() || !cursor.is_at_end() || !has_stage || !has_reason || !has_info {
        sink.accumulators.truncate(accumulators_before);
        sink.non_integer_updates = others_before;
        return None;
    }
    row.accumulators.end = sink.accumulators.len() as u32;
    Some(row)
}

#[inline(always)]
fn read_object_or_null<'a>(
    cursor: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Option<()>,
) -> Option<()> {
    if cursor.take(b"null") { Some(()) } else { read(cursor) }
}

fn read_task_metrics(cursor: &mut Cursor<'_>, row: &mut TaskRow) -> Option<()> {
    let mut next = 0;
    cursor.object(|cursor, key| {
        if let Some(column) = predicted(METRICS, &mut next, key) {
            row.set(column, cursor.int()?);
            return Some(());
        }
        match key {
            b"Shuffle Read Metrics" => read_columns(cursor, SHUFFLE_READ, row),
            b"Shuffle Write Metrics" => read_columns(cursor, SHUFFLE_WRITE, row),
            b"Input Metrics" => read_columns(cursor, INPUT, row),
            b"Output Metrics" => read_columns(cursor, OUTPUT, row),
            _ => cursor.skip(),
        }
    })
}

fn read_task_info(cursor: &mut Cursor<'_>, row: &mut TaskRow, sink: &mut Sink) -> Option<()> {
    let mut has_id = false;
    cursor.object(|cursor, key| {
        match key {
            b"Task ID" => {
                row.set(C::TaskId, cursor.int().filter(|id| *id >= 0)?);
                has_id = true;
            }
            b"Index" => row.set(C::Index, cursor.int()?),
            b"Attempt" => row.set(C::Attempt, cursor.int()?),
            b"Partition ID" => row.set(C::PartitionId, cursor.int()?),
            b"Launch Time" => set_time(row, C::LaunchTime, cursor.int()?),
            b"Executor ID" => set_text(row, C::Executor, cursor.string()?.plain()?, &mut sink.strings),
            b"Host" => set_text(row, C::Host, cursor.string()?.plain()?, &mut sink.strings),
            b"Locality" => set_text(row, C::Locality, cursor.string()?.plain()?, &mut sink.strings),
            b"Speculative" => row.set(C::Speculative, i64::from(cursor.bool()?)),
            b"Getting Result Time" => set_time(row, C::GettingResultTime, cursor.int()?),
            b"Finish Time" => set_time(row, C::FinishTime, cursor.int()?),
            b"Accumulables" => cursor.array(|cursor| read_accumulable(cursor, sink))?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    has_id.then_some(())
}

/// Spark writes 0 for a time that has not come; that is "none", not 1970.
#[inline(always)]
fn set_time(row: &mut TaskRow, column: C, epoch_ms: i64) {
    if epoch_ms > 0 {
        row.set(column, epoch_ms);
    }
}

#[inline(always)]
fn set_text(row: &mut TaskRow, column: C, text: &str, strings: &mut StringTable) {
    row.set(column, i64::from(strings.intern(text)));
}

/// What an `Update` holds.
#[derive(Clone, Copy)]
enum Update {
    Integer(i64),
    Other,
    Absent,
}

/// Reads one element of `Accumulables` (`JsonProtocol.accumulableInfoToJson`). Internal ones repeat
/// the task metrics and are dropped here.
#[inline(always)]
fn read_accumulable(cursor: &mut Cursor<'_>, sink: &mut Sink) -> Option<()> {
    let mut id = None;
    let mut update = Update::Absent;
    let mut is_internal = false;
    if cursor.take(br#"{"ID":"#) {
        id = Some(cursor.int()?);
        if cursor.take(br#","Name":"#) {
            is_internal = cursor.string()?.bytes.starts_with(b"internal.");
        }
        if cursor.take(br#","Update":"#) {
            update = read_update(cursor)?;
        }
        if cursor.take(br#","Value":"#) {
            cursor.skip()?;
        }
        let usual_end = cursor.take(br#","Internal":true,"Count Failed Values":true}"#)
            || cursor.take(br#","Internal":true,"Count Failed Values":true,"Metadata":"sql"}"#)
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

fn accumulable_field(
    cursor: &mut Cursor<'_>,
    key: &[u8],
    id: &mut Option<i64>,
    update: &mut Update,
    is_internal: &mut bool,
) -> Option<()> {
    match key {
        b"ID" => *id = Some(cursor.int()?),
        // An escaped name could hide the prefix; serde decides then.
        b"Name" => *is_internal = cursor.string()?.plain()?.starts_with("internal."),
        b"Update" => *update = read_update(cursor)?,
        _ => cursor.skip()?,
    }
    Some(())
}

#[inline(always)]
fn keep_update(id: Option<i64>, update: Update, is_internal: bool, sink: &mut Sink) {
    let Some(id) = id.and_then(|id| u64::try_from(id).ok()) else { return };
    if is_internal {
        return;
    }
    match update {
        Update::Integer(value) => sink.accumulators.push(AccumulatorUpdate { id, value }),
        Update::Other => sink.non_integer_updates += 1,
        Update::Absent => {}
    }
}

/// SQL metrics are numbers written as strings by some versions, other values are of any kind.
#[inline(always)]
fn read_update(cursor: &mut Cursor<'_>) -> Option<Update> {
    match cursor.peek()? {
        b'"' => {
            let text = cursor.string()?;
            Some(integer_text(text.bytes).map_or(Update::Other, Update::Integer))
        }
        b'-' | b'0'..=b'9' => {
            let mut ahead = *cursor;
            if let Some(value) = ahead.int() {
                *cursor = ahead;
                return Some(Update::Integer(value));
            }
            // Too long or fractional: the slow road knows what it is.
            None
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

// ------------------------------------------------------------------ the slow road

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
    let event: TaskEndEvent<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
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

fn fill_columns(row: &mut TaskRow, table: &[(&[u8], C)], fields: &Ints) {
    for (key, value) in &fields.0 {
        if let Some((_, column)) = table.iter().find(|(name, _)| *name == key.as_bytes()) {
            row.set(*column, *value);
        }
    }
}

fn fill_task_info(row: &mut TaskRow, info: &TaskInfo<'_>, sink: &mut Sink) -> Result<(), Refusal> {
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
        set_time(row, column, time.0.unwrap_or(0));
    }
    for (column, text) in
        [(C::Executor, &info.executor), (C::Host, &info.host), (C::Locality, &info.locality)]
    {
        if let Some(text) = text {
            set_text(row, column, text, &mut sink.strings);
        }
    }
    if let Some(speculative) = info.speculative {
        row.set(C::Speculative, i64::from(speculative));
    }
    Ok(())
}

// ------------------------------------------------------------------ task start

/// Reads a `SparkListenerTaskStart` with the cursor. Its accumulables repeat what the end event
/// will say (the writer races with the scheduler) and are not counted.
pub fn read_task_start(line: &[u8], sink: &mut Sink) -> Option<TaskRow> {
    let mut cursor = Cursor::new(line);
    let mut row = TaskRow::new(0);
    let (mut has_stage, mut has_info) = (false, false);
    cursor.object(|cursor, key| {
        match key {
            b"Stage ID" => {
                row.stage_id = u32::try_from(cursor.int()?).ok()?;
                has_stage = true;
            }
            b"Stage Attempt ID" => row.stage_attempt = u32::try_from(cursor.int()?).ok()?,
            b"Task Info" => {
                let accumulators = sink.accumulators.len();
                let others = sink.non_integer_updates;
                let read = read_task_info(cursor, &mut row, sink);
                sink.accumulators.truncate(accumulators);
                sink.non_integer_updates = others;
                read?;
                has_info = true;
            }
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    if !cursor.is_at_end() || !has_stage || !has_info {
        return None;
    }
    row.set(C::Status, TaskStatus::Running as i64);
    Some(row)
}

/// Reads a `SparkListenerTaskStart` (or `SparkListenerTaskGettingResult`) with serde.
pub fn task_start_with_serde(line: &[u8], sink: &mut Sink) -> Result<TaskRow, Refusal> {
    let event: TaskStartEvent<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let mut row = TaskRow::new(0);
    row.stage_id = event.stage_id.ok_or("no \"Stage ID\"")?;
    row.stage_attempt = event.stage_attempt.0.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    fill_task_info(&mut row, &event.info.ok_or("no \"Task Info\"")?, sink)?;
    row.set(C::Status, TaskStatus::Running as i64);
    Ok(row)
}

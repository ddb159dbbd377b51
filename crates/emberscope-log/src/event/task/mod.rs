//! Task starts and task ends: the bulk of every log.
//!
//! Two roads fill the same rows: the cursor ([`read_task_end`], [`read_task_start`]) and, for lines
//! that it refuses, serde ([`task_end_with_serde`], [`task_start_with_serde`]). Field names are those of
//! `JsonProtocol.taskEndToJson`, `taskInfoToJson`, `taskMetricsToJson` and `executorMetricsToJson`.

mod fast;
mod slow;

pub use fast::{read_task_end, read_task_start};
pub use slow::{task_end_with_serde, task_start_with_serde};

use crate::columns::{N_TASK_COLUMNS, TaskColumn, TaskStatus};
use crate::event::lenient::is_time;
use crate::strings::StringTable;
use TaskColumn as C;

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

/// Columns that a start knows: the first of the list.
pub const N_START_COLUMNS: usize = TaskColumn::Speculative as usize + 1;

/// One task attempt as its start event tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStart {
    /// `Stage ID`.
    pub stage_id: u32,
    /// `Stage Attempt ID`.
    pub stage_attempt: u32,
    /// Bit n is set when column n was in the event.
    pub present: u64,
    /// The first columns; 0 where absent.
    pub values: [i64; N_START_COLUMNS],
}

/// What both kinds of rows have: columns to set.
pub(crate) trait Columns {
    /// Sets a column; one that this kind of row does not have is dropped.
    fn set(&mut self, column: TaskColumn, value: i64);

    /// Sets a time; what cannot be one is left out.
    #[inline(always)]
    fn set_time(&mut self, column: TaskColumn, epoch_ms: i64) {
        if is_time(epoch_ms) {
            self.set(column, epoch_ms);
        }
    }
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

    /// A row of an attempt that has not ended in the log, or ended without more than its start tells.
    pub fn of_start(start: &TaskStart, status: TaskStatus) -> Self {
        let mut row = TaskRow::new(0);
        row.stage_id = start.stage_id;
        row.stage_attempt = start.stage_attempt;
        row.present = start.present;
        row.values[..N_START_COLUMNS].copy_from_slice(&start.values);
        row.set(C::Status, status as i64);
        row
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

    /// What a start event would have told.
    pub fn start(&self) -> TaskStart {
        let mut values = [0; N_START_COLUMNS];
        values.copy_from_slice(&self.values[..N_START_COLUMNS]);
        let present = self.present & ((1 << N_START_COLUMNS) - 1);
        TaskStart { stage_id: self.stage_id, stage_attempt: self.stage_attempt, present, values }
    }
}

impl Columns for TaskRow {
    #[inline(always)]
    fn set(&mut self, column: TaskColumn, value: i64) {
        TaskRow::set(self, column, value);
    }
}

impl TaskStart {
    pub(crate) fn new() -> Self {
        TaskStart { stage_id: 0, stage_attempt: 0, present: 0, values: [0; N_START_COLUMNS] }
    }

    /// The value of a column, `None` when the event had none.
    pub fn get(&self, column: TaskColumn) -> Option<i64> {
        let slot = column.slot();
        (slot < N_START_COLUMNS && self.present >> slot & 1 == 1).then(|| self.values[slot])
    }

    /// Task attempt id.
    pub fn task_id(&self) -> u64 {
        self.values[C::TaskId.slot()] as u64
    }
}

impl Columns for TaskStart {
    #[inline(always)]
    fn set(&mut self, column: TaskColumn, value: i64) {
        if let Some(slot) = self.values.get_mut(column.slot()) {
            *slot = value;
            self.present |= 1 << column.slot();
        }
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

/// What an `Update` holds.
#[derive(Clone, Copy)]
enum Update {
    Integer(i64),
    Other,
    Absent,
}

/// Keeps an update. Internal accumulators repeat the task metrics and are dropped.
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

/// Declares the integer fields of one JSON object in the order Spark writes them: as a table, and as a
/// reader that expects just that order and falls back to the table.
macro_rules! column_group {
    ($(#[$doc:meta])* $visibility:vis $table:ident, $read:ident: $($name:literal => $column:ident,)*) => {
        $(#[$doc])*
        $visibility const $table: &[(&str, C)] = &[$(($name, C::$column),)*];

        /// Reads the object; `other` gets the keys that are not in the table.
        #[inline(always)]
        fn $read<'a>(
            cursor: &mut crate::cursor::Cursor<'a>,
            row: &mut TaskRow,
            mut other: impl FnMut(&mut crate::cursor::Cursor<'a>, &[u8], &mut TaskRow) -> Option<()>,
        ) -> Option<()> {
            cursor.expect(b'{')?;
            if cursor.take(b"}") {
                return Some(());
            }
            $(
                if cursor.take(concat!("\"", $name, "\":").as_bytes()) {
                    row.set(C::$column, cursor.int()?);
                    if cursor.object_ends()? {
                        return Some(());
                    }
                }
            )*
            loop {
                let key = cursor.key()?;
                match $table.iter().find(|(name, _)| name.as_bytes() == key) {
                    Some((_, column)) => row.set(*column, cursor.int()?),
                    None => other(cursor, key, row)?,
                }
                if cursor.object_ends()? {
                    return Some(());
                }
            }
        }
    };
}

column_group! {
    METRICS, read_metrics:
    "Executor Deserialize Time" => ExecutorDeserializeTime,
    "Executor Deserialize CPU Time" => ExecutorDeserializeCpuTime,
    "Executor Run Time" => ExecutorRunTime,
    "Executor CPU Time" => ExecutorCpuTime,
    "Peak Execution Memory" => PeakExecutionMemory,
    "Peak On Heap Execution Memory" => PeakOnHeapExecutionMemory,
    "Peak Off Heap Execution Memory" => PeakOffHeapExecutionMemory,
    "Result Size" => ResultSize,
    "JVM GC Time" => JvmGcTime,
    "Result Serialization Time" => ResultSerializationTime,
    "Memory Bytes Spilled" => MemoryBytesSpilled,
    "Disk Bytes Spilled" => DiskBytesSpilled,
}

column_group! {
    SHUFFLE_READ, read_shuffle_read:
    "Remote Blocks Fetched" => RemoteBlocksFetched,
    "Local Blocks Fetched" => LocalBlocksFetched,
    "Fetch Wait Time" => FetchWaitTime,
    "Remote Bytes Read" => RemoteBytesRead,
    "Remote Bytes Read To Disk" => RemoteBytesReadToDisk,
    "Local Bytes Read" => LocalBytesRead,
    "Total Records Read" => ShuffleRecordsRead,
    "Remote Requests Duration" => RemoteRequestsDuration,
}

column_group! {
    SHUFFLE_WRITE, read_shuffle_write:
    "Shuffle Bytes Written" => ShuffleBytesWritten,
    "Shuffle Write Time" => ShuffleWriteTime,
    "Shuffle Records Written" => ShuffleRecordsWritten,
}

column_group! {
    INPUT, read_input:
    "Bytes Read" => InputBytes,
    "Records Read" => InputRecords,
}

column_group! {
    OUTPUT, read_output:
    "Bytes Written" => OutputBytes,
    "Records Written" => OutputRecords,
}

column_group! {
    /// Executor metrics by the name Spark gives them (`ExecutorMetricType`).
    pub EXECUTOR_METRICS, read_executor_metrics:
    "JVMHeapMemory" => JvmHeapMemory,
    "JVMOffHeapMemory" => JvmOffHeapMemory,
    "OnHeapExecutionMemory" => OnHeapExecutionMemory,
    "OffHeapExecutionMemory" => OffHeapExecutionMemory,
    "OnHeapStorageMemory" => OnHeapStorageMemory,
    "OffHeapStorageMemory" => OffHeapStorageMemory,
    "OnHeapUnifiedMemory" => OnHeapUnifiedMemory,
    "OffHeapUnifiedMemory" => OffHeapUnifiedMemory,
    "DirectPoolMemory" => DirectPoolMemory,
    "MappedPoolMemory" => MappedPoolMemory,
    "ProcessTreeJVMVMemory" => ProcessTreeJvmVirtual,
    "ProcessTreeJVMRSSMemory" => ProcessTreeJvmRss,
    "ProcessTreePythonVMemory" => ProcessTreePythonVirtual,
    "ProcessTreePythonRSSMemory" => ProcessTreePythonRss,
    "ProcessTreeOtherVMemory" => ProcessTreeOtherVirtual,
    "ProcessTreeOtherRSSMemory" => ProcessTreeOtherRss,
    "MinorGCCount" => MinorGcCount,
    "MinorGCTime" => MinorGcTime,
    "MajorGCCount" => MajorGcCount,
    "MajorGCTime" => MajorGcTime,
    "TotalGCTime" => TotalGcTime,
    "ConcurrentGCCount" => ConcurrentGcCount,
    "ConcurrentGCTime" => ConcurrentGcTime,
}

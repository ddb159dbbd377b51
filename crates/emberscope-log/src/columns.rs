//! The columns of a task attempt, declared once: name, unit and meaning.
//!
//! Everything that shows or stores task values (the packed store, reports, documentation) reads this
//! table, so a column is added in one line.

use borsh::{BorshDeserialize, BorshSerialize};

/// What a column's integers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// An identifier or ordinal.
    Id,
    /// A number of things.
    Count,
    /// Milliseconds since 1970-01-01 UTC.
    EpochMillis,
    /// A duration in milliseconds.
    Millis,
    /// A duration in nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
    /// 0 or 1.
    Flag,
    /// A small code; the column's own enum gives the meaning.
    Code,
    /// A reference into a string table.
    Text,
}

/// One task column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef {
    /// The column itself.
    pub column: TaskColumn,
    /// Name with its unit as suffix, as in reports.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// What it says and where Spark writes it.
    pub doc: &'static str,
}

macro_rules! task_columns {
    ($($variant:ident, $name:literal, $unit:ident, $doc:literal;)*) => {
        /// A column of the task store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum TaskColumn {
            $(#[doc = $doc] $variant,)*
        }

        /// All task columns, in storage order.
        pub const TASK_COLUMNS: &[ColumnDef] = &[
            $(ColumnDef { column: TaskColumn::$variant, name: $name, unit: Unit::$unit, doc: $doc },)*
        ];
    };
}

task_columns! {
    TaskId, "task_id", Id, "Task attempt id, unique in the application (`Task Info.Task ID`).";
    Index, "index", Id, "Index of the task within its stage (`Task Info.Index`).";
    Attempt, "attempt", Id, "Attempt number of this index within the stage attempt (`Task Info.Attempt`).";
    PartitionId, "partition_id", Id, "RDD partition (`Task Info.Partition ID`, Spark 3.3 and later).";
    LaunchTime, "launch_time_ms", EpochMillis, "When the driver launched the task (`Task Info.Launch Time`).";
    FinishTime, "finish_time_ms", EpochMillis, "When the driver saw it end (`Task Info.Finish Time`).";
    GettingResultTime, "getting_result_time_ms", EpochMillis, "When the driver began to fetch a large result (`Task Info.Getting Result Time`); absent when it did not.";
    Executor, "executor", Text, "Executor id (`Task Info.Executor ID`).";
    Host, "host", Text, "Host (`Task Info.Host`).";
    Locality, "locality", Text, "Locality level (`Task Info.Locality`).";
    Speculative, "speculative", Flag, "Whether this is a speculative copy (`Task Info.Speculative`).";
    Status, "status", Code, "How the attempt ended: see `TaskStatus`.";
    ExecutorDeserializeTime, "executor_deserialize_time_ms", Millis, "Time to deserialize the task (`Executor Deserialize Time`).";
    ExecutorDeserializeCpuTime, "executor_deserialize_cpu_time_ns", Nanos, "CPU time to deserialize the task (`Executor Deserialize CPU Time`).";
    ExecutorRunTime, "executor_run_time_ms", Millis, "Time the executor ran the task (`Executor Run Time`).";
    ExecutorCpuTime, "executor_cpu_time_ns", Nanos, "CPU time of the JVM thread (`Executor CPU Time`); Python workers are not in it.";
    PeakExecutionMemory, "peak_execution_memory_bytes", Bytes, "Peak execution memory (`Peak Execution Memory`).";
    PeakOnHeapExecutionMemory, "peak_on_heap_execution_memory_bytes", Bytes, "Peak on-heap execution memory (Spark 4).";
    PeakOffHeapExecutionMemory, "peak_off_heap_execution_memory_bytes", Bytes, "Peak off-heap execution memory (Spark 4).";
    ResultSize, "result_size_bytes", Bytes, "Size of the serialized result (`Result Size`).";
    JvmGcTime, "jvm_gc_time_ms", Millis, "Garbage collection of the whole executor during the task (`JVM GC Time`).";
    ResultSerializationTime, "result_serialization_time_ms", Millis, "Time to serialize the result (`Result Serialization Time`).";
    MemoryBytesSpilled, "memory_spilled_bytes", Bytes, "In-memory size of spilled data (`Memory Bytes Spilled`).";
    DiskBytesSpilled, "disk_spilled_bytes", Bytes, "On-disk size of spilled data (`Disk Bytes Spilled`).";
    RemoteBlocksFetched, "shuffle_remote_blocks", Count, "Shuffle blocks fetched from other executors.";
    LocalBlocksFetched, "shuffle_local_blocks", Count, "Shuffle blocks read locally.";
    FetchWaitTime, "shuffle_fetch_wait_time_ms", Millis, "Time the task waited for shuffle blocks (`Fetch Wait Time`).";
    RemoteBytesRead, "shuffle_remote_read_bytes", Bytes, "Shuffle bytes from other executors.";
    RemoteBytesReadToDisk, "shuffle_remote_read_to_disk_bytes", Bytes, "Remote shuffle bytes that went to disk first.";
    LocalBytesRead, "shuffle_local_read_bytes", Bytes, "Shuffle bytes read locally.";
    ShuffleRecordsRead, "shuffle_read_records", Count, "Shuffle records read (`Total Records Read`).";
    RemoteRequestsDuration, "shuffle_remote_requests_duration_ms", Millis, "Sum of remote request durations (Spark 3.4 and later).";
    ShuffleBytesWritten, "shuffle_write_bytes", Bytes, "Shuffle bytes written.";
    ShuffleWriteTime, "shuffle_write_time_ns", Nanos, "Time writing shuffle data (`Shuffle Write Time`, nanoseconds).";
    ShuffleRecordsWritten, "shuffle_write_records", Count, "Shuffle records written.";
    InputBytes, "input_bytes", Bytes, "Bytes read from storage or cache (`Input Metrics.Bytes Read`).";
    InputRecords, "input_records", Count, "Records read (`Input Metrics.Records Read`); column batches for cached tables.";
    OutputBytes, "output_bytes", Bytes, "Bytes written (`Output Metrics.Bytes Written`).";
    OutputRecords, "output_records", Count, "Records written (`Output Metrics.Records Written`).";
    JvmHeapMemory, "peak_jvm_heap_bytes", Bytes, "Peak JVM heap of the executor while the task ran (`JVMHeapMemory`).";
    JvmOffHeapMemory, "peak_jvm_off_heap_bytes", Bytes, "Peak JVM off-heap memory (`JVMOffHeapMemory`).";
    OnHeapExecutionMemory, "peak_on_heap_execution_bytes", Bytes, "Peak on-heap execution memory of the executor.";
    OffHeapExecutionMemory, "peak_off_heap_execution_bytes", Bytes, "Peak off-heap execution memory of the executor.";
    OnHeapStorageMemory, "peak_on_heap_storage_bytes", Bytes, "Peak on-heap storage memory of the executor.";
    OffHeapStorageMemory, "peak_off_heap_storage_bytes", Bytes, "Peak off-heap storage memory of the executor.";
    OnHeapUnifiedMemory, "peak_on_heap_unified_bytes", Bytes, "Peak on-heap execution and storage memory.";
    OffHeapUnifiedMemory, "peak_off_heap_unified_bytes", Bytes, "Peak off-heap execution and storage memory.";
    DirectPoolMemory, "peak_direct_pool_bytes", Bytes, "Peak of the JVM's direct buffer pool.";
    MappedPoolMemory, "peak_mapped_pool_bytes", Bytes, "Peak of the JVM's mapped buffer pool.";
    ProcessTreeJvmVirtual, "peak_process_tree_jvm_virtual_bytes", Bytes, "Peak virtual memory of the JVM process.";
    ProcessTreePythonVirtual, "peak_process_tree_python_virtual_bytes", Bytes, "Peak virtual memory of Python workers.";
    ProcessTreeOtherVirtual, "peak_process_tree_other_virtual_bytes", Bytes, "Peak virtual memory of other child processes.";
    ProcessTreeJvmRss, "peak_process_tree_jvm_rss_bytes", Bytes, "Peak resident memory of the JVM process.";
    ProcessTreePythonRss, "peak_process_tree_python_rss_bytes", Bytes, "Peak resident memory of Python workers.";
    ProcessTreeOtherRss, "peak_process_tree_other_rss_bytes", Bytes, "Peak resident memory of other child processes.";
    MinorGcCount, "minor_gc_count", Count, "Minor collections of the executor so far.";
    MinorGcTime, "minor_gc_time_ms", Millis, "Time in minor collections of the executor so far.";
    MajorGcCount, "major_gc_count", Count, "Major collections of the executor so far.";
    MajorGcTime, "major_gc_time_ms", Millis, "Time in major collections of the executor so far.";
    ConcurrentGcCount, "concurrent_gc_count", Count, "Concurrent collections of the executor so far (Spark 4).";
    ConcurrentGcTime, "concurrent_gc_time_ms", Millis, "Time in concurrent collections of the executor so far (Spark 4).";
    TotalGcTime, "total_gc_time_ms", Millis, "Time in all collections of the executor so far.";
}

/// Number of task columns.
pub const N_TASK_COLUMNS: usize = TASK_COLUMNS.len();

// The presence mask of a row is one `u64`.
const _: () = assert!(N_TASK_COLUMNS <= 64);

impl Unit {
    /// The values that a column of this unit can hold: no duration, size or count is negative, and none
    /// is beyond all reason (ten years, an exbibyte).
    pub fn plausible(self) -> std::ops::RangeInclusive<i64> {
        const TEN_YEARS_MS: i64 = 10 * 366 * 86_400_000;
        match self {
            Unit::Millis => 0..=TEN_YEARS_MS,
            Unit::Nanos => 0..=TEN_YEARS_MS * 1_000_000,
            Unit::Bytes | Unit::Count => 0..=1 << 60,
            Unit::Id => 0..=i64::MAX,
            Unit::EpochMillis | Unit::Flag | Unit::Code | Unit::Text => i64::MIN..=i64::MAX,
        }
    }
}

impl TaskColumn {
    /// Position in storage order.
    #[inline]
    pub const fn slot(self) -> usize {
        self as usize
    }

    /// The column of a slot.
    pub fn from_slot(slot: usize) -> Option<Self> {
        TASK_COLUMNS.get(slot).map(|def| def.column)
    }

    /// Name, unit and meaning.
    pub fn def(self) -> &'static ColumnDef {
        &TASK_COLUMNS[self.slot()]
    }
}

/// How a task attempt ended. The numbers are stored, so they do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
#[repr(u8)]
#[borsh(use_discriminant = false)]
pub enum TaskStatus {
    /// `Success`.
    Success = 0,
    /// `ExceptionFailure`: user or engine code threw.
    ExceptionFailure = 1,
    /// `FetchFailed`: a shuffle block could not be fetched.
    FetchFailed = 2,
    /// `ExecutorLostFailure`.
    ExecutorLost = 3,
    /// `TaskKilled`.
    Killed = 4,
    /// `TaskCommitDenied`: the output committer refused this attempt; Spark counts it as killed.
    CommitDenied = 5,
    /// `Resubmitted`: an earlier success whose output was lost.
    Resubmitted = 6,
    /// `TaskResultLost`: finished, but the result could not be fetched.
    ResultLost = 7,
    /// Any other or unreadable reason; a failure as far as Spark is concerned.
    Unknown = 8,
    /// The log has no end of this attempt.
    Running = 9,
}

impl TaskStatus {
    /// From the `Reason` of a `Task End Reason` (`JsonProtocol.taskEndReasonFromJson`).
    pub fn from_reason(reason: &str) -> Self {
        match reason {
            "Success" => Self::Success,
            "ExceptionFailure" => Self::ExceptionFailure,
            "FetchFailed" => Self::FetchFailed,
            "ExecutorLostFailure" => Self::ExecutorLost,
            "TaskKilled" => Self::Killed,
            "TaskCommitDenied" => Self::CommitDenied,
            "Resubmitted" => Self::Resubmitted,
            "TaskResultLost" => Self::ResultLost,
            _ => Self::Unknown,
        }
    }

    /// From the stored number.
    pub fn from_code(code: i64) -> Self {
        match code {
            0 => Self::Success,
            1 => Self::ExceptionFailure,
            2 => Self::FetchFailed,
            3 => Self::ExecutorLost,
            4 => Self::Killed,
            5 => Self::CommitDenied,
            6 => Self::Resubmitted,
            7 => Self::ResultLost,
            9 => Self::Running,
            _ => Self::Unknown,
        }
    }

    /// Whether Spark counts the attempt as killed rather than failed (`AppStatusListener.onTaskEnd`).
    pub fn is_killed(self) -> bool {
        matches!(self, Self::Killed | Self::CommitDenied)
    }

    /// Whether Spark counts the attempt as failed.
    pub fn is_failed(self) -> bool {
        matches!(
            self,
            Self::ExceptionFailure
                | Self::FetchFailed
                | Self::ExecutorLost
                | Self::ResultLost
                | Self::Unknown
        )
    }
}

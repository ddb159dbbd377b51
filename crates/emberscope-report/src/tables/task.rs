//! The `task` table, a chunk of packed rows at a time.

use super::Emit;
use crate::ReportError;
use crate::cells::{BATCH_ROWS, Batch, Cells, Text};
use crate::schema::{Column, ColumnDef, Report, Type};
use emberscope_log::columns::{TASK_COLUMNS, TaskColumn, TaskStatus};
use emberscope_model::accounting::chunk_scheduler_delays;
use emberscope_model::run::{Run, StageAttempt};
use emberscope_model::tasks::{LostCause, TaskChunk};

/// Rows of one chunk and what belongs to them.
pub(crate) struct Rows<'r, 's> {
    run: &'r Run,
    stage: &'r StageAttempt,
    chunk: TaskChunk<'r>,
    /// Of the chunk.
    statuses: &'s [TaskStatus],
    /// Of the whole stage attempt; empty where nothing was lost.
    lost: &'s [Option<LostCause>],
}

/// How a column gets its values.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// A task column as it is.
    Metric(TaskColumn),
    /// A task column of numbers into the string table.
    Text(TaskColumn),
    /// A task column of 0 and 1.
    Flag(TaskColumn),
    /// Anything else.
    Of(for<'r, 's> fn(&Rows<'r, 's>) -> Cells<'r>),
}

macro_rules! task_columns {
    ($($name:literal $ty:ident [$unit:literal] $doc:literal, $source:expr => $read:expr;)*) => {
        &[$(Column {
            def: ColumnDef { name: $name, ty: Type::$ty, unit: $unit, doc: $doc, source: $source },
            read: $read,
        },)*]
    };
}

/// How the task store documents a column.
const fn logged(column: TaskColumn) -> &'static str {
    TASK_COLUMNS[column.slot()].doc
}

use Read::{Flag, Metric, Of};
use TaskColumn as T;

pub(crate) const COLUMNS: &[Column<Read>] = task_columns! {
    "stageId" Int [""] "Stage this task belongs to", "`Stage ID`" => Of(|r| r.same(Some(i64::from(r.stage.id))));
    "taskId" Long [""] "Unique task identifier", logged(T::TaskId) => Metric(T::TaskId);
    "taskDuration" Long ["ms"] "Wall-clock duration of the task", "taskFinishTime - taskLaunchTime, never negative" => Of(|r| r.duration());
    "taskLaunchTime" Long ["ms"] "Epoch timestamp when the task was launched", logged(T::LaunchTime) => Metric(T::LaunchTime);
    "taskFinishTime" Long ["ms"] "Epoch timestamp when the task finished", logged(T::FinishTime) => Metric(T::FinishTime);
    "executorRunTime" Long ["ms"] "Time spent running the task on the executor", logged(T::ExecutorRunTime) => Metric(T::ExecutorRunTime);
    "executorCpuTime" Long ["ns"] "CPU time consumed by the executor", logged(T::ExecutorCpuTime) => Metric(T::ExecutorCpuTime);
    "executorDeserializeTime" Long ["ms"] "Time to deserialize the task on the executor", logged(T::ExecutorDeserializeTime) => Metric(T::ExecutorDeserializeTime);
    "executorDeserializeCpuTime" Long ["ns"] "CPU time spent deserializing the task", logged(T::ExecutorDeserializeCpuTime) => Metric(T::ExecutorDeserializeCpuTime);
    "resultSize" Long ["bytes"] "Size of the serialized task result", logged(T::ResultSize) => Metric(T::ResultSize);
    "diskBytesSpilled" Long ["bytes"] "Bytes spilled to disk", logged(T::DiskBytesSpilled) => Metric(T::DiskBytesSpilled);
    "memoryBytesSpilled" Long ["bytes"] "Bytes spilled to memory", logged(T::MemoryBytesSpilled) => Metric(T::MemoryBytesSpilled);
    "bytesRead" Long ["bytes"] "Input bytes read", logged(T::InputBytes) => Metric(T::InputBytes);
    "recordsRead" Long [""] "Input records read", logged(T::InputRecords) => Metric(T::InputRecords);
    "jvmGCTime" Long ["ms"] "Time spent in JVM garbage collection", logged(T::JvmGcTime) => Metric(T::JvmGcTime);
    "bytesWritten" Long ["bytes"] "Output bytes written", logged(T::OutputBytes) => Metric(T::OutputBytes);
    "recordsWritten" Long [""] "Output records written", logged(T::OutputRecords) => Metric(T::OutputRecords);
    "peakExecutionMemory" Long ["bytes"] "Peak execution memory used", logged(T::PeakExecutionMemory) => Metric(T::PeakExecutionMemory);
    "resultSerializationTime" Long ["ms"] "Time spent serializing the result", logged(T::ResultSerializationTime) => Metric(T::ResultSerializationTime);
    "fetchWaitTime" Long ["ms"] "Time spent waiting for shuffle fetch", logged(T::FetchWaitTime) => Metric(T::FetchWaitTime);
    "localBlocksFetched" Long [""] "Number of local blocks fetched during shuffle", logged(T::LocalBlocksFetched) => Metric(T::LocalBlocksFetched);
    "localBytesRead" Long ["bytes"] "Bytes read from local shuffle blocks", logged(T::LocalBytesRead) => Metric(T::LocalBytesRead);
    "remoteBlocksFetched" Long [""] "Number of remote blocks fetched during shuffle", logged(T::RemoteBlocksFetched) => Metric(T::RemoteBlocksFetched);
    "remoteBytesRead" Long ["bytes"] "Bytes read from remote shuffle blocks", logged(T::RemoteBytesRead) => Metric(T::RemoteBytesRead);
    "remoteBytesReadToDisk" Long ["bytes"] "Remote shuffle bytes read to disk", logged(T::RemoteBytesReadToDisk) => Metric(T::RemoteBytesReadToDisk);
    "totalRecordsRead" Long [""] "Total records read including shuffle", "shuffle records read: `Shuffle Read Metrics.Total Records Read` (PerfGazer writes the input records)" => Metric(T::ShuffleRecordsRead);
    "remoteRequestsDuration" Long ["ms"] "Time spent on remote shuffle requests", logged(T::RemoteRequestsDuration) => Metric(T::RemoteRequestsDuration);
    "shuffleBytesWritten" Long ["bytes"] "Shuffle bytes written", "`Shuffle Write Metrics.Shuffle Bytes Written` (PerfGazer writes the output bytes)" => Metric(T::ShuffleBytesWritten);
    "shuffleRecordsWritten" Long [""] "Shuffle records written", "`Shuffle Write Metrics.Shuffle Records Written` (PerfGazer writes the output records)" => Metric(T::ShuffleRecordsWritten);
    "shuffleWriteTime" Long ["ns"] "Time spent writing shuffle data", logged(T::ShuffleWriteTime) => Metric(T::ShuffleWriteTime);
    "status" Text [""] "succeeded, failed, killed, resubmitted (a success whose output was lost) or running (no end in the log)", "`Task End Reason`" => Of(|r| r.texts(|r, row| Some(outcome(r.statuses[row]))));
    "endReason" Text [""] "How the attempt ended, by Spark's name; null while it runs", "`Task End Reason.Reason`" => Of(|r| r.texts(|r, row| reason(r.statuses[row])));
    "stageAttempt" Int [""] "Attempt of the stage", "`Stage Attempt ID`" => Of(|r| r.same(Some(i64::from(r.stage.attempt))));
    "index" Int [""] "Index of the task within its stage attempt", logged(T::Index) => Metric(T::Index);
    "partition" Int [""] "Partition it computes", logged(T::PartitionId) => Metric(T::PartitionId);
    "attempt" Int [""] "Attempt of this index within the stage attempt", logged(T::Attempt) => Metric(T::Attempt);
    "executorId" Text [""] "Executor that ran it", logged(T::Executor) => Read::Text(T::Executor);
    "host" Text [""] "Host that ran it", logged(T::Host) => Read::Text(T::Host);
    "locality" Text [""] "Locality level", logged(T::Locality) => Read::Text(T::Locality);
    "speculative" Boolean [""] "Whether this is a speculative copy", logged(T::Speculative) => Flag(T::Speculative);
    "useful" Boolean [""] "Whether this attempt's output counted: exactly one attempt of a finished partition", "of the successes that were not resubmitted the newest stage attempt's first" => Of(|r| r.useful());
    "lostCause" Text [""] "Why the work was lost: failed, killed, speculation, stage_retry, resubmitted, executor_loss or fetch_failed; null when it was not", "outcomes of all attempts of the partition" => Of(|r| r.texts(|r, row| r.lost.get(r.chunk.first_row() + row).copied().flatten().map(LostCause::name)));
    "gettingResultTime" Long ["ms"] "Epoch timestamp when the driver began to fetch a large result", logged(T::GettingResultTime) => Metric(T::GettingResultTime);
    "schedulerDelay" Long ["ms"] "Time between launch and finish that nothing else accounts for, never negative", "duration - deserialization - run - result serialization - result fetch; null without an end or metrics" => Of(|r| r.scheduler_delay());
    "applicationId" Text [""] "Application of the run", "`App ID`" => Of(|r| r.texts(|r, _| r.run.application.id.as_deref()));
    "applicationAttempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => Of(|r| r.texts(|r, _| r.run.application.attempt_id.as_deref()));
};

fn outcome(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Success => "succeeded",
        TaskStatus::Resubmitted => "resubmitted",
        TaskStatus::Running => "running",
        status if status.is_killed() => "killed",
        _ => "failed",
    }
}

pub(super) fn reason(status: TaskStatus) -> Option<&'static str> {
    Some(match status {
        // The attempt itself ended so; that its output was lost came later.
        TaskStatus::Success | TaskStatus::Resubmitted => "Success",
        TaskStatus::ExceptionFailure => "ExceptionFailure",
        TaskStatus::FetchFailed => "FetchFailed",
        TaskStatus::ExecutorLost => "ExecutorLostFailure",
        TaskStatus::Killed => "TaskKilled",
        TaskStatus::CommitDenied => "TaskCommitDenied",
        TaskStatus::ResultLost => "TaskResultLost",
        TaskStatus::Unknown => "UnknownReason",
        TaskStatus::Running => return None,
    })
}

impl<'r> Rows<'r, '_> {
    /// Adds the values of a column to those of earlier rows.
    fn read(&self, read: Read, cells: &mut Cells<'r>) {
        match (read, cells) {
            (Metric(column), Cells::Ints(values)) => self.fill(column, values, |value| value),
            (Flag(column), Cells::Bools(values)) => self.fill(column, values, |value| value != 0),
            (Read::Text(column), Cells::Texts(values)) => {
                let strings = &self.run.strings;
                self.fill(column, values, |value| Text::Borrowed(strings.text(value as u32)));
            }
            (Of(compute), cells) => cells.append(compute(self)),
            (Metric(_) | Flag(_) | Read::Text(_), cells) => {
                debug_assert!(false, "a column of another type than its definition's: {cells:?}");
            }
        }
    }

    fn fill<T: Clone>(&self, column: TaskColumn, values: &mut Vec<Option<T>>, value: impl Fn(i64) -> T) {
        let first = values.len();
        values.resize(first + self.chunk.rows(), None);
        let values = &mut values[first..];
        self.chunk.for_each(column, |row, logged| values[row] = Some(value(logged)));
    }

    fn metric(&self, column: TaskColumn) -> Vec<Option<i64>> {
        self.chunk.column(column)
    }

    fn same(&self, value: Option<i64>) -> Cells<'r> {
        Cells::Ints(vec![value; self.chunk.rows()])
    }

    fn texts(&self, text: impl Fn(&Self, usize) -> Option<&'r str>) -> Cells<'r> {
        Cells::Texts((0..self.chunk.rows()).map(|row| text(self, row).map(Text::Borrowed)).collect())
    }

    fn useful(&self) -> Cells<'r> {
        let useful = self.stage.tasks.useful();
        let first = self.chunk.first_row();
        Cells::Bools((0..self.chunk.rows()).map(|row| Some(useful.contains(first + row))).collect())
    }

    fn duration(&self) -> Cells<'r> {
        let mut values = self.metric(T::FinishTime);
        for (value, launch) in values.iter_mut().zip(self.metric(T::LaunchTime)) {
            *value = value.zip(launch).map(|(finish, launch)| (finish - launch).max(0));
        }
        Cells::Ints(values)
    }

    fn scheduler_delay(&self) -> Cells<'r> {
        let delays = chunk_scheduler_delays(self.chunk).into_iter();
        Cells::Ints(delays.map(|delay| delay.map(|delay| delay.max(0))).collect())
    }
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let mut pending = Batch::empty(Report::Task);
    for stage in &run.stages {
        let statuses = stage.tasks.statuses();
        let mut lost = Vec::new();
        if !stage.tasks.lost().is_empty() {
            lost.resize(stage.tasks.rows(), None);
            for (row, cause) in stage.tasks.lost() {
                lost[*row as usize] = Some(*cause);
            }
        }
        for chunk in stage.tasks.chunks() {
            let of_chunk = &statuses[chunk.first_row()..chunk.first_row() + chunk.rows()];
            let rows = Rows { run, stage, chunk, statuses: of_chunk, lost: &lost };
            // A log may have many thousand stages of few tasks.
            pending.rows += chunk.rows();
            for (cells, column) in pending.columns.iter_mut().zip(COLUMNS) {
                rows.read(column.read, cells);
            }
            if pending.rows >= BATCH_ROWS {
                emit(&pending)?;
                pending.clear();
            }
        }
    }
    if pending.rows > 0 { emit(&pending) } else { Ok(()) }
}

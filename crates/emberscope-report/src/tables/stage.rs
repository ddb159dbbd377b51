//! The `stage` table.

use super::{Columns, Emit, ids, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::{Run, StageAttempt, StageStatus};
use emberscope_model::tasks::TaskSums;

pub(crate) struct Row<'r> {
    pub(super) run: &'r Run,
    pub(super) stage: &'r StageAttempt,
    sums: TaskSums,
    useful: TaskSums,
}

impl<'r> Row<'r> {
    pub(super) fn new(run: &'r Run, stage: &'r StageAttempt) -> Self {
        let sums = stage.tasks.sums();
        // Without lost attempts the useful ones are all, and need no second look.
        let useful = if stage.tasks.lost().is_empty() { sums } else { stage.tasks.useful_sums() };
        Row { run, stage, sums, useful }
    }

    /// Sum over all attempts; `None` when none measured it.
    pub(super) fn all(&self, column: TaskColumn) -> Option<i64> {
        self.sums[column.slot()]
    }

    /// Sum over all attempts in nanoseconds, of a column in milliseconds.
    fn all_ns(&self, column: TaskColumn) -> Option<i64> {
        self.all(column).map(|ms| ms.saturating_mul(1_000_000))
    }

    /// Sum over attempts that counted.
    pub(super) fn useful(&self, column: TaskColumn) -> Option<i64> {
        self.useful[column.slot()]
    }

    pub(super) fn shuffle_read(&self, sum: impl Fn(&Self, TaskColumn) -> Option<i64>) -> Option<i64> {
        match (sum(self, TaskColumn::LocalBytesRead), sum(self, TaskColumn::RemoteBytesRead)) {
            (None, None) => None,
            (local, remote) => Some(local.unwrap_or(0) + remote.unwrap_or(0)),
        }
    }
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "stageId" Int [""] "Unique stage identifier", "`Stage ID`" => |r| r.stage.id.into();
    "stageSubmissionTime" Long ["ms"] "Epoch timestamp when the stage was submitted", "`Submission Time`" => |r| r.stage.submitted_ms.into();
    "stageCompletionTime" Long ["ms"] "Epoch timestamp when the stage completed", "`Completion Time`; null without one" => |r| r.stage.completed_ms.into();
    "readBytes" Long ["bytes"] "Total input bytes read", "sum of `Input Metrics.Bytes Read` over all task attempts" => |r| r.all(TaskColumn::InputBytes).into();
    "writeBytes" Long ["bytes"] "Total output bytes written", "sum of `Output Metrics.Bytes Written` over all task attempts" => |r| r.all(TaskColumn::OutputBytes).into();
    "shuffleReadBytes" Long ["bytes"] "Total shuffle bytes read", "sum of `Remote Bytes Read` and `Local Bytes Read` over all task attempts" => |r| r.shuffle_read(Row::all).into();
    "shuffleWriteBytes" Long ["bytes"] "Total shuffle bytes written", "sum of `Shuffle Bytes Written` over all task attempts" => |r| r.all(TaskColumn::ShuffleBytesWritten).into();
    "execCpuNs" Long ["ns"] "Executor CPU time", "sum of `Executor CPU Time` over all task attempts" => |r| r.all(TaskColumn::ExecutorCpuTime).into();
    "execRunNs" Long ["ns"] "Executor run time", "sum of `Executor Run Time` over all task attempts, in nanoseconds (PerfGazer writes milliseconds under this name)" => |r| r.all_ns(TaskColumn::ExecutorRunTime).into();
    "execJvmGcNs" Long ["ns"] "Executor JVM garbage collection time", "sum of `JVM GC Time` over all task attempts, in nanoseconds (PerfGazer writes milliseconds under this name)" => |r| r.all_ns(TaskColumn::JvmGcTime).into();
    "attempt" Int [""] "Stage attempt number", "`Stage Attempt ID`" => |r| r.stage.attempt.into();
    "memoryBytesSpilled" Long ["bytes"] "Bytes spilled to memory", "sum of `Memory Bytes Spilled` over all task attempts: the size in memory of what was spilled" => |r| r.all(TaskColumn::MemoryBytesSpilled).into();
    "diskBytesSpilled" Long ["bytes"] "Bytes spilled to disk", "sum of `Disk Bytes Spilled` over all task attempts" => |r| r.all(TaskColumn::DiskBytesSpilled).into();
    "status" Text [""] "complete, failed or active (no completion in the log)", "completion and `Failure Reason`" => |r| status(r.stage).into();
    "name" Text [""] "Short call site", "`Stage Name`" => |r| (&*r.stage.name).into();
    "failureReason" Text [""] "Why the attempt failed", "`Failure Reason`" => |r| r.stage.failure_reason.as_ref().into();
    "numTasks" Long [""] "Tasks of this attempt", "`Number of Tasks`" => |r| r.stage.num_tasks.into();
    "taskAttempts" Long [""] "Task attempts in the log, of whatever outcome", "task starts and ends" => |r| r.stage.tasks.rows().into();
    "usefulRunNs" Long ["ns"] "Executor run time of the task attempts that counted", "sum of `Executor Run Time` over them" => |r| r.useful(TaskColumn::ExecutorRunTime).map(|ms| ms.saturating_mul(1_000_000)).into();
    "jobIds" IntList [""] "Jobs that list the stage, sorted; the first one ran it", "`Stage IDs` of the jobs" => |r| ids(r.stage.job_ids.iter().copied());
    "applicationId" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "applicationAttempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

pub(super) fn status(stage: &StageAttempt) -> &'static str {
    match stage.status {
        StageStatus::Complete => "complete",
        StageStatus::Failed => "failed",
        StageStatus::Active => "active",
    }
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run.stages.iter().map(|stage| Row::new(run, stage));
    produce_rows(Report::Stage, rows, |row, column| (COLUMNS[column].read)(row), emit)
}

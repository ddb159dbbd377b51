//! The `stage_attempt` table.

use super::stage::{Row, status};
use super::{Columns, Emit, ids, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_log::columns::{TaskColumn as T, TaskStatus};
use emberscope_model::run::Run;

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "stage_id" Int [""] "Stage id", "`Stage ID`" => |r| r.stage.id.into();
    "stage_attempt" Int [""] "Stage attempt", "`Stage Attempt ID`" => |r| r.stage.attempt.into();
    "name" Text [""] "Short call site", "`Stage Name`" => |r| (&*r.stage.name).into();
    "call_site" Text [""] "Long call site", "`Details`" => |r| (&*r.stage.details).into();
    "status" Text [""] "complete, failed or active (no completion in the log)", "completion and `Failure Reason`" => |r| status(r.stage).into();
    "failure_reason" Text [""] "Why the attempt failed", "`Failure Reason`" => |r| r.stage.failure_reason.as_ref().into();
    "submitted_time_ms" Long ["ms"] "Epoch timestamp of the submission", "`Submission Time`" => |r| r.stage.submitted_ms.into();
    "first_launch_time_ms" Long ["ms"] "Epoch timestamp of the first task's launch", "`Launch Time` of its tasks" => |r| r.stage.first_launch_ms.into();
    "last_finish_time_ms" Long ["ms"] "Epoch timestamp of the last task's finish", "`Finish Time` of its tasks" => |r| r.stage.last_finish_ms.into();
    "completed_time_ms" Long ["ms"] "Epoch timestamp of the completion", "`Completion Time`" => |r| r.stage.completed_ms.into();
    "waiting_ms" Long ["ms"] "Submission to first launch", "times above, never negative" => |r| r.stage.waiting_ms().into();
    "running_ms" Long ["ms"] "First launch to last finish", "times above, never negative" => |r| r.stage.running_ms().into();
    "num_tasks" Long [""] "Tasks of this attempt", "`Number of Tasks`" => |r| r.stage.num_tasks.into();
    "task_attempts" Long [""] "Task attempts in the log", "task starts and ends" => |r| r.stage.tasks.rows().into();
    "task_attempts_failed" Long [""] "Of them, failed", "`Task End Reason`" => |r| count(r, TaskStatus::is_failed).into();
    "task_attempts_killed" Long [""] "Of them, killed", "`Task End Reason`" => |r| count(r, TaskStatus::is_killed).into();
    "task_attempts_useful" Long [""] "Of them, whose output counted", "outcomes of all attempts of each partition" => |r| r.stage.tasks.useful().len().into();
    "is_result" Boolean [""] "Whether its tasks are result tasks, which end a job", "`Task Type`" => |r| r.stage.is_result.into();
    "is_barrier" Boolean [""] "Whether it runs in barrier mode", "`RDD Info.Barrier`" => |r| r.stage.is_barrier.into();
    "resource_profile_id" Int [""] "Resource profile", "`Resource Profile Id`" => |r| r.stage.resource_profile_id.into();
    "pool" Text [""] "Scheduler pool", "property `spark.scheduler.pool`" => |r| r.stage.pool.as_ref().into();
    "job_ids" IntList [""] "Jobs that list the stage, sorted; the first one ran it", "`Stage IDs` of the jobs" => |r| ids(r.stage.job_ids.iter().copied());
    "parent_ids" IntList [""] "Parents as logged", "`Parent IDs`" => |r| ids(r.stage.parent_ids.iter().copied());
    "executed_parent_ids" IntList [""] "Parents that ran: a skipped one is replaced by the stage that computed the same data", "`Parent IDs` and first RDDs" => |r| ids(r.stage.executed_parents.iter().copied());
    "rdd_ids" IntList [""] "RDDs of the stage", "`RDD Info.RDD ID`" => |r| ids(r.stage.rdd_ids.iter().copied());
    "run_time_ms" Long ["ms"] "Executor run time of all attempts", "sum of `Executor Run Time`" => |r| r.all(T::ExecutorRunTime).into();
    "useful_run_time_ms" Long ["ms"] "The same of attempts that counted", "sum of `Executor Run Time`" => |r| r.useful(T::ExecutorRunTime).into();
    "cpu_time_ns" Long ["ns"] "Executor CPU time of all attempts", "sum of `Executor CPU Time`" => |r| r.all(T::ExecutorCpuTime).into();
    "useful_cpu_time_ns" Long ["ns"] "The same of attempts that counted", "sum of `Executor CPU Time`" => |r| r.useful(T::ExecutorCpuTime).into();
    "gc_time_ms" Long ["ms"] "Garbage collection time seen by all attempts", "sum of `JVM GC Time`" => |r| r.all(T::JvmGcTime).into();
    "useful_gc_time_ms" Long ["ms"] "The same of attempts that counted", "sum of `JVM GC Time`" => |r| r.useful(T::JvmGcTime).into();
    "deserialize_time_ms" Long ["ms"] "Time to deserialize the tasks of all attempts", "sum of `Executor Deserialize Time`" => |r| r.all(T::ExecutorDeserializeTime).into();
    "result_serialization_time_ms" Long ["ms"] "Time to serialize results of all attempts", "sum of `Result Serialization Time`" => |r| r.all(T::ResultSerializationTime).into();
    "result_size_bytes" Long ["bytes"] "Results of all attempts", "sum of `Result Size`" => |r| r.all(T::ResultSize).into();
    "input_bytes" Long ["bytes"] "Bytes read from storage or cache, all attempts", "sum of `Input Metrics.Bytes Read`" => |r| r.all(T::InputBytes).into();
    "useful_input_bytes" Long ["bytes"] "The same of attempts that counted", "sum of `Input Metrics.Bytes Read`" => |r| r.useful(T::InputBytes).into();
    "input_records" Long [""] "Records read from storage or cache, all attempts", "sum of `Input Metrics.Records Read`" => |r| r.all(T::InputRecords).into();
    "useful_input_records" Long [""] "The same of attempts that counted", "sum of `Input Metrics.Records Read`" => |r| r.useful(T::InputRecords).into();
    "output_bytes" Long ["bytes"] "Bytes written, all attempts", "sum of `Output Metrics.Bytes Written`" => |r| r.all(T::OutputBytes).into();
    "useful_output_bytes" Long ["bytes"] "The same of attempts that counted", "sum of `Output Metrics.Bytes Written`" => |r| r.useful(T::OutputBytes).into();
    "output_records" Long [""] "Records written, all attempts", "sum of `Output Metrics.Records Written`" => |r| r.all(T::OutputRecords).into();
    "useful_output_records" Long [""] "The same of attempts that counted", "sum of `Output Metrics.Records Written`" => |r| r.useful(T::OutputRecords).into();
    "shuffle_read_bytes" Long ["bytes"] "Shuffle bytes read, local and remote, all attempts", "sum of `Remote Bytes Read` and `Local Bytes Read`" => |r| r.shuffle_read(Row::all).into();
    "useful_shuffle_read_bytes" Long ["bytes"] "The same of attempts that counted", "sum of `Remote Bytes Read` and `Local Bytes Read`" => |r| r.shuffle_read(Row::useful).into();
    "shuffle_read_records" Long [""] "Shuffle records read, all attempts", "sum of `Total Records Read`" => |r| r.all(T::ShuffleRecordsRead).into();
    "useful_shuffle_read_records" Long [""] "The same of attempts that counted", "sum of `Total Records Read`" => |r| r.useful(T::ShuffleRecordsRead).into();
    "shuffle_fetch_wait_time_ms" Long ["ms"] "Time waited for shuffle blocks, all attempts", "sum of `Fetch Wait Time`" => |r| r.all(T::FetchWaitTime).into();
    "shuffle_write_bytes" Long ["bytes"] "Shuffle bytes written, all attempts", "sum of `Shuffle Bytes Written`" => |r| r.all(T::ShuffleBytesWritten).into();
    "useful_shuffle_write_bytes" Long ["bytes"] "The same of attempts that counted", "sum of `Shuffle Bytes Written`" => |r| r.useful(T::ShuffleBytesWritten).into();
    "shuffle_write_records" Long [""] "Shuffle records written, all attempts", "sum of `Shuffle Records Written`" => |r| r.all(T::ShuffleRecordsWritten).into();
    "useful_shuffle_write_records" Long [""] "The same of attempts that counted", "sum of `Shuffle Records Written`" => |r| r.useful(T::ShuffleRecordsWritten).into();
    "shuffle_write_time_ns" Long ["ns"] "Time writing shuffle data, all attempts", "sum of `Shuffle Write Time`" => |r| r.all(T::ShuffleWriteTime).into();
    "memory_spilled_bytes" Long ["bytes"] "Spilled data as it was in memory, all attempts", "sum of `Memory Bytes Spilled`" => |r| r.all(T::MemoryBytesSpilled).into();
    "disk_spilled_bytes" Long ["bytes"] "Spilled data as written to disk, all attempts", "sum of `Disk Bytes Spilled`" => |r| r.all(T::DiskBytesSpilled).into();
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn count(row: &Row<'_>, is: fn(TaskStatus) -> bool) -> usize {
    row.stage.tasks.statuses().into_iter().filter(|status| is(*status)).count()
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run.stages.iter().map(|stage| Row::new(run, stage));
    produce_rows(Report::StageAttempt, rows, |row, column| (COLUMNS[column].read)(row), emit)
}

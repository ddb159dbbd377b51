//! The `application` table.

use super::{Columns, Emit, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::run::{ApplicationStatus, Run};
use emberscope_model::summary::{Summary, summarize};

pub(crate) struct Row<'r> {
    run: &'r Run,
    summary: Summary,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "application_id" Text [""] "Application id", "`App ID`; from the file's name where the log has none" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
    "name" Text [""] "Application name", "`App Name`" => |r| r.run.application.name.as_ref().into();
    "user" Text [""] "User", "`User`" => |r| r.run.application.user.as_ref().into();
    "spark_version" Text [""] "Spark's version", "log start" => |r| r.run.application.spark_version.as_ref().into();
    "engine" Text [""] "Engine that ran the plans: spark, photon, rapids, gluten, comet or auron", "properties and plan nodes" => |r| r.run.trust.engine.as_str().into();
    "status" Text [""] "succeeded, failed, incomplete (no end in the log) or unknown", "application end, exit code, last job" => |r| status(r.run).into();
    "exit_code" Long [""] "Exit code the driver reported", "`ExitCode` of the application's end (Spark 4)" => |r| r.run.application.exit_code.into();
    "start_time_ms" Long ["ms"] "Epoch timestamp of the start", "application start; the earliest event where the log has none" => |r| r.run.application.start_ms.into();
    "end_time_ms" Long ["ms"] "Epoch timestamp of the end", "application end; the latest event where the log has none" => |r| r.run.application.end_ms.into();
    "duration_ms" Long ["ms"] "Duration", "end - start" => |r| r.run.application.duration_ms().into();
    "jobs" Long [""] "Jobs", "count of the `job` table" => |r| r.summary.totals.jobs.into();
    "jobs_failed" Long [""] "Jobs that failed", "`Job Result`" => |r| r.summary.totals.jobs_failed.into();
    "stages" Long [""] "Stages that ran", "submissions" => |r| r.summary.totals.stages.into();
    "stage_attempts" Long [""] "Stage attempts that ran", "submissions" => |r| r.summary.totals.stage_attempts.into();
    "stages_skipped" Long [""] "Stages that jobs list and that did not have to run", "jobs' stages without a submission" => |r| r.summary.totals.stages_skipped.into();
    "sql_executions" Long [""] "SQL executions", "count of the `sql` table" => |r| r.summary.totals.sql_executions.into();
    "partitions" Long [""] "Distinct partitions of stages", "task starts and ends" => |r| r.summary.totals.tasks.partitions.into();
    "task_attempts" Long [""] "Task attempts", "count of the `task` table" => |r| r.summary.totals.tasks.attempts.into();
    "task_attempts_succeeded" Long [""] "Attempts that succeeded and whose output was not lost", "`Task End Reason`" => |r| r.summary.totals.tasks.succeeded.into();
    "task_attempts_failed" Long [""] "Attempts that failed", "`Task End Reason`" => |r| r.summary.totals.tasks.failed.into();
    "task_attempts_killed" Long [""] "Attempts that were killed", "`Task End Reason`" => |r| r.summary.totals.tasks.killed.into();
    "task_attempts_resubmitted" Long [""] "Successes whose output was lost", "`Task End Reason`" => |r| r.summary.totals.tasks.resubmitted.into();
    "task_attempts_speculative" Long [""] "Speculative copies", "`Speculative`" => |r| r.summary.totals.tasks.speculative.into();
    "useful_run_time_ms" Long ["ms"] "Executor run time of attempts that counted", "sum of `Executor Run Time`" => |r| r.summary.totals.useful.run_time_ms.into();
    "all_run_time_ms" Long ["ms"] "Executor run time of all attempts", "sum of `Executor Run Time`" => |r| r.summary.totals.all_work.run_time_ms.into();
    "lost_run_time_ms" Long ["ms"] "The difference", "all - useful" => |r| r.summary.totals.lost.run_time_ms.into();
    "lost_attempt_time_ms" LongMap ["ms"] "Launch to finish of attempts that did not count, by cause", "outcomes of all attempts of each partition" => |r| Cell::Counts(r.summary.totals.lost.by_cause.iter().map(|(cause, ms)| ((*cause).into(), *ms)).collect());
    "executors_peak" Long [""] "Most executors at one time", "additions and removals" => |r| r.summary.totals.executors.peak.into();
    "executors_mean" Double [""] "Mean number of executors over the run", "lifetimes over the duration" => |r| r.summary.totals.executors.mean.into();
    "allocated_core_ms" Long ["core-ms"] "Executor lifetimes times cores", "additions, removals, `Total Cores`" => |r| r.summary.totals.executors.allocated_core_ms.into();
    "occupied_core_ms" Long ["core-ms"] "Time that task slots were held, times the task's cpus", "launch to finish minus the result lag" => |r| r.summary.totals.executors.occupied_core_ms.into();
    "busy_core_ms" Long ["core-ms"] "Executor run time of all attempts", "sum of `Executor Run Time`" => |r| r.summary.totals.executors.busy_core_ms.into();
    "sql_wall_ms" Long ["ms"] "Time during which a root SQL execution ran", "union of their intervals" => |r| r.summary.totals.sql_wall_ms.into();
    "job_wall_ms" Long ["ms"] "Time during which a job ran", "union of their intervals" => |r| r.summary.totals.job_wall_ms.into();
    "driver_only_ms" Long ["ms"] "Time during which no job ran", "duration minus the union of jobs" => |r| r.summary.totals.driver_only_ms.into();
};

fn status(run: &Run) -> &'static str {
    match run.application.status {
        ApplicationStatus::Succeeded => "succeeded",
        ApplicationStatus::Failed => "failed",
        ApplicationStatus::Incomplete => "incomplete",
        ApplicationStatus::Unknown => "unknown",
    }
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let row = Row { run, summary: summarize(run) };
    produce_rows(Report::Application, std::iter::once(row), |row, column| (COLUMNS[column].read)(row), emit)
}

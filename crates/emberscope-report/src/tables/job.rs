//! The `job` table.

use super::{Columns, Emit, ids, produce_rows, texts};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::run::{Job, JobStatus, Run};

pub(crate) struct Row<'r> {
    run: &'r Run,
    job: &'r Job,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "jobId" Long [""] "Unique job identifier", "`Job ID`" => |r| r.job.id.into();
    "groupId" Text [""] "Job group identifier", "property `spark.jobGroup.id`; null when unset (PerfGazer writes the word \"null\")" => |r| r.job.group.as_ref().into();
    "jobName" Text [""] "Name of the job", "property `spark.job.description`, else the call site: the name of the job's last stage" => |r| r.job.description.as_ref().or(r.job.call_site.as_ref()).into();
    "jobStartTime" Long ["ms"] "Epoch timestamp when the job started", "`Submission Time` of the job's start" => |r| r.job.start_ms.into();
    "jobEndTime" Long ["ms"] "Epoch timestamp when the job ended", "`Completion Time` of the job's end; null without one" => |r| r.job.end_ms.into();
    "sqlId" Text [""] "Associated SQL execution identifier", "property `spark.sql.execution.id`" => |r| r.job.sql_execution_id.map(|id| id.to_string()).into();
    "stages" IntList [""] "List of stage IDs in this job", "`Stage IDs`, sorted: skipped stages included" => |r| ids(r.job.stage_ids.iter().copied());
    "status" Text [""] "succeeded, failed or running (no end in the log)", "`Job Result`" => |r| status(r.job).into();
    "error" Text [""] "Message of the exception of a failed job", "`Job Result.Exception.Message`" => |r| r.job.error.as_ref().into();
    "duration" Long ["ms"] "Wall-clock duration of the job", "jobEndTime - jobStartTime, never negative" => |r| r.job.start_ms.zip(r.job.end_ms).map(|(start, end)| (end - start).max(0)).into();
    "callSite" Text [""] "Call site of the action", "name of the job's last stage" => |r| r.job.call_site.as_ref().into();
    "tags" TextList [""] "Job tags, sorted", "property `spark.job.tags`" => |r| texts(&r.job.tags);
    "pool" Text [""] "Scheduler pool", "property `spark.scheduler.pool`" => |r| r.job.pool.as_ref().into();
    "streamingQueryId" Text [""] "Streaming query the job belongs to", "property `sql.streaming.queryId`" => |r| r.job.streaming_query_id.as_ref().into();
    "streamingBatchId" Long [""] "Micro-batch the job belongs to", "property `streaming.sql.batchId`" => |r| r.job.streaming_batch_id.into();
    "applicationId" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "applicationAttempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

fn status(job: &Job) -> &'static str {
    match job.status {
        JobStatus::Succeeded => "succeeded",
        JobStatus::Failed => "failed",
        JobStatus::Running => "running",
    }
}

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run.jobs.iter().map(|job| Row { run, job });
    produce_rows(Report::Job, rows, |row, column| (COLUMNS[column].read)(row), emit)
}

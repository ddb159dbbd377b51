//! Jobs.

use super::{Clock, FindingRef, Subject, findings_about, masked, masked_option};
use crate::context::StageDigest;
use emberscope_model::run::{Job, JobStatus, StageStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// How a job or a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// The log has no end of it.
    Running,
}

impl Outcome {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Running => "running",
        }
    }
}

impl From<JobStatus> for Outcome {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Succeeded => Outcome::Succeeded,
            JobStatus::Failed => Outcome::Failed,
            JobStatus::Running => Outcome::Running,
        }
    }
}

/// Task attempts by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttemptCounts {
    /// All.
    pub attempts: u64,
    /// Those whose output counted.
    pub counted: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were killed.
    pub killed: u64,
    /// Speculative copies among all.
    pub speculative: u64,
}

impl AttemptCounts {
    /// Adds those of a stage attempt.
    pub(crate) fn add(&mut self, digest: &StageDigest) {
        self.attempts += digest.attempts;
        self.counted += digest.useful;
        self.failed += digest.failed;
        self.killed += digest.killed;
        self.speculative += digest.speculative;
    }
}

/// Stages by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StageCounts {
    /// Stages that are listed.
    pub listed: u64,
    /// Of them those that ran here.
    pub ran: u64,
    /// Of them those that did not have to run, or had run for another job.
    pub skipped: u64,
    /// Stage attempts that failed.
    pub failed_attempts: u64,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobRow {
    /// Job id.
    pub id: u32,
    /// How it ended.
    pub status: Outcome,
    /// Submission.
    pub from_ms: Option<i64>,
    /// Completion.
    pub to_ms: Option<i64>,
    /// Its length; until the run's end for one that has none.
    pub duration_ms: Option<i64>,
    /// Call site: the name of its last stage.
    pub name: Option<String>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// `spark.jobGroup.id`.
    pub group: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// `spark.scheduler.pool`.
    pub pool: Option<String>,
    /// SQL execution it belongs to.
    pub sql_id: Option<u64>,
    /// Streaming batch it belongs to.
    pub streaming_batch_id: Option<u64>,
    /// Message of the exception of a failed job.
    pub error: Option<String>,
    /// Stages it lists, by number.
    pub stage_ids: Vec<u32>,
    /// What became of them.
    pub stages: StageCounts,
    /// Task attempts of the stages that ran for it.
    pub tasks: AttemptCounts,
    /// Launch to finish of its task attempts, added up.
    pub task_time_ms: i64,
    /// Findings about it and its stages.
    pub findings: Vec<FindingRef>,
}

/// All jobs, by id.
pub fn jobs(subject: Subject<'_>) -> Vec<JobRow> {
    let clock = Clock::of(subject.run);
    subject.run.jobs.iter().map(|one| job(subject, clock, one)).collect()
}

/// One job.
pub fn job(subject: Subject<'_>, clock: Clock, job: &Job) -> JobRow {
    let run = subject.run;
    let mut stages = StageCounts { listed: job.stage_ids.len() as u64, ..StageCounts::default() };
    let mut tasks = AttemptCounts::default();
    let mut task_time_ms = 0;
    for id in &job.stage_ids {
        let own: Vec<_> =
            run.attempts(*id).iter().filter(|stage| stage.job_ids.first() == Some(&job.id)).collect();
        stages.ran += u64::from(!own.is_empty());
        stages.skipped += u64::from(own.is_empty());
        stages.failed_attempts +=
            own.iter().filter(|stage| stage.status == StageStatus::Failed).count() as u64;
        for digest in own.iter().filter_map(|stage| subject.digest(stage.id, stage.attempt)) {
            tasks.add(digest);
            task_time_ms += digest.attempt_ms;
        }
    }
    JobRow {
        id: job.id,
        status: job.status.into(),
        from_ms: job.start_ms.map(|ms| clock.at(ms)),
        to_ms: job.end_ms.map(|ms| clock.at(ms)),
        duration_ms: job.start_ms.map(|start| (job.end_ms.unwrap_or(clock.end_ms) - start).max(0)),
        name: masked_option(job.call_site.as_deref()),
        description: masked_option(job.description.as_deref()),
        group: masked_option(job.group.as_deref()),
        tags: job.tags.iter().map(|tag| masked(tag)).collect(),
        pool: job.pool.clone(),
        sql_id: job.sql_execution_id,
        streaming_batch_id: job.streaming_batch_id,
        error: masked_option(job.error.as_deref()),
        stage_ids: job.stage_ids.clone(),
        stages,
        tasks,
        task_time_ms,
        findings: findings_about(subject.diagnosis, |finding| {
            finding.scope.job_id == Some(job.id)
                || finding.scope.stage_id.is_some_and(|id| {
                    run.attempts(id).iter().any(|stage| stage.job_ids.first() == Some(&job.id))
                })
        }),
    }
}

impl<'r> Subject<'r> {
    /// The digest of a stage attempt.
    pub(crate) fn digest(&self, id: u32, attempt: u32) -> Option<&'r StageDigest> {
        let stages = &self.digests.stages;
        let at = stages.binary_search_by_key(&(id, attempt), |digest| (digest.id, digest.attempt)).ok()?;
        stages.get(at)
    }
}

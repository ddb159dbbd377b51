//! Stage attempts.

use super::jobs::AttemptCounts;
use super::{Clock, FindingRef, Subject, findings_about, masked, masked_option};
use emberscope_model::run::{StageAttempt, StageStatus};
use emberscope_model::summary::Work;
use schemars::JsonSchema;
use serde::Serialize;

/// How a stage attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// It completed.
    Complete,
    /// It failed.
    Failed,
    /// The log has no end of it.
    Active,
}

impl StageState {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            StageState::Complete => "complete",
            StageState::Failed => "failed",
            StageState::Active => "active",
        }
    }
}

impl From<StageStatus> for StageState {
    fn from(status: StageStatus) -> Self {
        match status {
            StageStatus::Complete => StageState::Complete,
            StageStatus::Failed => StageState::Failed,
            StageStatus::Active => StageState::Active,
        }
    }
}

/// A stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageRow {
    /// Stage id.
    pub id: u32,
    /// Attempt.
    pub attempt: u32,
    /// Name: the short call site.
    pub name: String,
    /// How it ended.
    pub status: StageState,
    /// Why it failed.
    pub failure_reason: Option<String>,
    /// Job that ran it.
    pub job_id: Option<u32>,
    /// SQL execution that ran it.
    pub sql_id: Option<u64>,
    /// Number of tasks of this attempt.
    pub num_tasks: Option<u64>,
    /// Submission.
    pub submitted_ms: Option<i64>,
    /// First launch.
    pub from_ms: Option<i64>,
    /// Last finish, or completion where that is later.
    pub to_ms: Option<i64>,
    /// Submission, or first launch where the log has none, to the end; of an active one to the run's end.
    pub duration_ms: Option<i64>,
    /// Submission to first launch.
    pub waiting_ms: Option<i64>,
    /// Task attempts.
    pub tasks: AttemptCounts,
    /// Launch to finish of its task attempts, added up.
    pub task_time_ms: i64,
    /// Of that, attempts whose output did not count.
    pub lost_time_ms: i64,
    /// Median duration of the attempts that counted; `None` where none did.
    pub median_task_ms: Option<f64>,
    /// Longest attempt that counted; `None` where none did.
    pub longest_task_ms: Option<i64>,
    /// Most attempts at one time.
    pub peak_concurrency: u32,
    /// Work of the attempts that counted.
    pub work: Work,
    /// Findings about it.
    pub findings: Vec<FindingRef>,
}

/// A stage that jobs list and that did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedStage {
    /// Stage id.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Number of tasks it would have had.
    pub num_tasks: u64,
    /// Whether it did not have to run; else its jobs had not ended.
    pub is_skipped: bool,
}

/// All stage attempts, by (id, attempt).
pub fn stages(subject: Subject<'_>) -> Vec<StageRow> {
    let clock = Clock::of(subject.run);
    subject.run.stages.iter().map(|one| stage(subject, clock, one)).collect()
}

/// Stages that did not run, by id.
pub fn skipped(subject: Subject<'_>) -> Vec<SkippedStage> {
    let of = |stage: &emberscope_model::run::UnsubmittedStage| SkippedStage {
        id: stage.id,
        name: masked(&stage.name),
        num_tasks: stage.num_tasks,
        is_skipped: stage.is_skipped,
    };
    subject.run.unsubmitted_stages.iter().map(of).collect()
}

/// One stage attempt.
pub fn stage(subject: Subject<'_>, clock: Clock, stage: &StageAttempt) -> StageRow {
    let digest = subject.digest(stage.id, stage.attempt);
    let mut tasks = AttemptCounts::default();
    digest.into_iter().for_each(|digest| tasks.add(digest));
    let ended = stage.completed_ms.max(stage.last_finish_ms);
    let began = stage.submitted_ms.or(stage.first_launch_ms);
    let until = if stage.status == StageStatus::Active { Some(clock.end_ms) } else { ended };
    let has_counted = tasks.counted > 0;
    StageRow {
        id: stage.id,
        attempt: stage.attempt,
        name: masked(&stage.name),
        status: stage.status.into(),
        failure_reason: masked_option(stage.failure_reason.as_deref()),
        job_id: digest.and_then(|digest| digest.job_id),
        sql_id: digest.and_then(|digest| digest.sql_id),
        num_tasks: stage.num_tasks,
        submitted_ms: stage.submitted_ms.map(|ms| clock.at(ms)),
        from_ms: stage.first_launch_ms.map(|ms| clock.at(ms)),
        to_ms: ended.map(|ms| clock.at(ms)),
        duration_ms: until.zip(began).map(|(until, began)| (until - began).max(0)),
        waiting_ms: stage.waiting_ms(),
        tasks,
        task_time_ms: digest.map_or(0, |digest| digest.attempt_ms),
        lost_time_ms: digest.map_or(0, |digest| digest.lost_ms),
        median_task_ms: digest.filter(|_| has_counted).map(|digest| digest.median_ms),
        longest_task_ms: digest.filter(|_| has_counted).map(|digest| digest.longest_ms),
        peak_concurrency: digest.map_or(0, |digest| digest.peak_concurrency),
        work: Work::of(&stage.tasks.useful_sums()),
        findings: findings_about(subject.diagnosis, |finding| {
            finding.scope.stage_id == Some(stage.id)
                && finding.scope.stage_attempt.is_none_or(|attempt| attempt == stage.attempt)
        }),
    }
}

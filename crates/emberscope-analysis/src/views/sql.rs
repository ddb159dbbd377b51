//! SQL executions.

use super::jobs::{AttemptCounts, JobRow, Outcome, job};
use super::stages::{StageRow, stage};
use super::{Clock, FindingRef, Subject, findings_about, masked, masked_option};
use crate::attribution::ScopeAttribution;
use emberscope_model::run::StageAttempt;
use emberscope_model::sql::{SqlExecution, SqlStatus};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

impl From<SqlStatus> for Outcome {
    fn from(status: SqlStatus) -> Self {
        match status {
            SqlStatus::Succeeded => Outcome::Succeeded,
            SqlStatus::Failed => Outcome::Failed,
            SqlStatus::Running => Outcome::Running,
        }
    }
}

/// A SQL execution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SqlRow {
    /// Execution id.
    pub id: u64,
    /// The execution that contains it; its own where none does, or the version does not log it.
    pub root_id: u64,
    /// `description`: the job's, a call site, or the statement.
    pub description: Option<String>,
    /// How it ended.
    pub status: Outcome,
    /// Its error; `None` where there is none.
    pub error: Option<String>,
    /// Start.
    pub from_ms: Option<i64>,
    /// End.
    pub to_ms: Option<i64>,
    /// Its length; until the run's end for one that has none.
    pub duration_ms: Option<i64>,
    /// Its jobs.
    pub job_ids: Vec<u32>,
    /// Stage attempts that ran for it.
    pub stages: usize,
    /// Task attempts of them.
    pub tasks: AttemptCounts,
    /// Launch to finish of its task attempts, added up.
    pub task_time_ms: i64,
    /// Plan versions: the initial one and every change.
    pub plan_versions: usize,
    /// Operators of the last plan.
    pub plan_nodes: u32,
    /// Executions that it contains.
    pub contained: usize,
    /// Findings about it and its stages.
    pub findings: Vec<FindingRef>,
}

/// What a plan version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanKind {
    /// As planned before anything ran; also the only one there is.
    Initial,
    /// Changed while it ran.
    Update,
    /// The last change: what ran.
    Final,
}

/// A version of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanVersionRow {
    /// Its number, from 0.
    pub version: usize,
    /// What it is.
    pub kind: PlanKind,
    /// Operators.
    pub nodes: u32,
    /// Whether it could be read as a tree.
    pub has_tree: bool,
    /// Whether its text is kept.
    pub has_text: bool,
    /// Length of its text in the log.
    pub text_bytes: u64,
}

/// One SQL execution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SqlView {
    /// The run's start, epoch milliseconds, from which times count.
    pub start_time_ms: i64,
    /// As in the list.
    pub execution: SqlRow,
    /// `details`: the long call site.
    pub details: Option<String>,
    /// Job group.
    pub group: Option<String>,
    /// Job tags.
    pub tags: Vec<String>,
    /// `queryId` (Spark 4).
    pub query_id: Option<String>,
    /// Settings that it changed.
    pub modified_configs: BTreeMap<String, String>,
    /// Its jobs.
    pub jobs: Vec<JobRow>,
    /// Stage attempts that ran for it.
    pub stages: Vec<StageRow>,
    /// Executions that it contains.
    pub contained: Vec<u64>,
    /// Versions of its plan.
    pub versions: Vec<PlanVersionRow>,
    /// Where its wall time and core-time went; `None` for one that is contained or not among the longest.
    pub attribution: Option<ScopeAttribution>,
}

/// All executions, by id.
pub fn executions(subject: Subject<'_>) -> Vec<SqlRow> {
    let clock = Clock::of(subject.run);
    let mut contained: BTreeMap<u64, Vec<&SqlExecution>> = BTreeMap::new();
    for inner in subject.run.sql_executions.iter().filter(|one| !one.is_root()) {
        contained.entry(inner.root_id.unwrap_or(inner.id)).or_default().push(inner);
    }
    let of = |one: &SqlExecution| row(subject, clock, one, contained.get(&one.id).map_or(&[], Vec::as_slice));
    subject.run.sql_executions.iter().map(of).collect()
}

fn row(subject: Subject<'_>, clock: Clock, execution: &SqlExecution, contained: &[&SqlExecution]) -> SqlRow {
    // A query that only contains others (a micro-batch, a command with a query in it) did what they did.
    let all: Vec<&SqlExecution> = std::iter::once(execution).chain(contained.iter().copied()).collect();
    let mut stages: Vec<&StageAttempt> = all.iter().flat_map(|one| subject.run.stages_of_sql(one)).collect();
    stages.sort_by_key(|stage| (stage.id, stage.attempt));
    stages.dedup_by_key(|stage| (stage.id, stage.attempt));
    let mut job_ids: Vec<u32> = all.iter().flat_map(|one| one.job_ids.iter().copied()).collect();
    job_ids.sort_unstable();
    job_ids.dedup();
    let mut tasks = AttemptCounts::default();
    let mut task_time_ms = 0;
    for digest in stages.iter().filter_map(|stage| subject.digest(stage.id, stage.attempt)) {
        tasks.add(digest);
        task_time_ms += digest.attempt_ms;
    }
    let is_own = |place: (u32, u32)| stages.iter().any(|stage| (stage.id, stage.attempt) == place);
    SqlRow {
        id: execution.id,
        root_id: execution.root_id.unwrap_or(execution.id),
        description: masked_option(execution.description.as_deref()),
        status: execution.status.into(),
        error: masked_option(execution.error.as_deref().filter(|error| !error.is_empty())),
        from_ms: execution.start_ms.map(|ms| clock.at(ms)),
        to_ms: execution.end_ms.map(|ms| clock.at(ms)),
        duration_ms: execution
            .start_ms
            .map(|start| (execution.end_ms.unwrap_or(clock.end_ms) - start).max(0)),
        job_ids,
        stages: stages.len(),
        tasks,
        task_time_ms,
        plan_versions: execution.versions.len(),
        plan_nodes: execution.versions.last().map_or(0, |version| version.nodes),
        contained: contained.len(),
        findings: findings_about(subject.diagnosis, |finding| match finding.scope.sql_id {
            Some(id) => id == execution.id,
            None => finding
                .scope
                .stage_id
                .is_some_and(|id| is_own((id, finding.scope.stage_attempt.unwrap_or(0)))),
        }),
    }
}

/// One execution.
pub fn execution(subject: Subject<'_>, execution: &SqlExecution) -> SqlView {
    let run = subject.run;
    let clock = Clock::of(run);
    let contained: Vec<&SqlExecution> =
        run.sql_executions.iter().filter(|one| !one.is_root() && one.root_id == Some(execution.id)).collect();
    let stages: Vec<&StageAttempt> = run.stages_of_sql(execution);
    let jobs = execution.job_ids.iter().filter_map(|id| run.job(*id));
    let key = execution.id.to_string();
    SqlView {
        start_time_ms: clock.start_ms,
        execution: row(subject, clock, execution, &contained),
        details: execution.details.as_deref().map(masked),
        group: masked_option(execution.job_group_id.as_deref()),
        tags: execution.job_tags.iter().map(|tag| masked(tag)).collect(),
        query_id: execution.query_id.clone(),
        modified_configs: execution.modified_configs.clone(),
        jobs: jobs.map(|one| job(subject, clock, one)).collect(),
        stages: stages.into_iter().map(|one| stage(subject, clock, one)).collect(),
        contained: contained.iter().map(|one| one.id).collect(),
        versions: versions(subject, execution),
        attribution: subject.diagnosis.attribution.sql.iter().find(|one| one.id == key).cloned(),
    }
}

fn versions(subject: Subject<'_>, execution: &SqlExecution) -> Vec<PlanVersionRow> {
    let of = |(number, version): (usize, &emberscope_model::sql::PlanVersion)| PlanVersionRow {
        version: number,
        kind: kind_of(execution, number),
        nodes: version.nodes,
        has_tree: subject.run.plan_tree(version).is_some(),
        has_text: version.text.is_some(),
        text_bytes: version.text_bytes,
    };
    execution.versions.iter().enumerate().map(of).collect()
}

/// What a version of a plan is.
pub(super) fn kind_of(execution: &SqlExecution, version: usize) -> PlanKind {
    match version {
        0 => PlanKind::Initial,
        version if version + 1 == execution.versions.len() => PlanKind::Final,
        _ => PlanKind::Update,
    }
}

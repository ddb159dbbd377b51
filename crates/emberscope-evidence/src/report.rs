//! What all evidence together says, as data.

use crate::hot_keys::{HotKey, hot_keys};
use crate::locate::Located;
use crate::mapping::{Mapped, mapping};
use crate::plan_risks::plan_risks;
use crate::stages::stages;
use crate::statement::statement;
use crate::{Evidence, RunKind};
use emberscope_analysis::context::Context;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::Finding;
use emberscope_analysis::words::count;
use emberscope_model::redact;
use emberscope_model::sql::{SqlExecution, SqlStatus};
use emberscope_text::sql::{Fragment, Outline, outline};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Stages that are shown.
const STAGES: usize = 30;

/// All evidence of one query.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceReport {
    /// What the run was read from.
    pub run_kind: RunKind,
    /// The execution that this is about.
    pub sql_id: Option<u64>,
    /// How it was found, where it was not named.
    pub located: Option<Located>,
    /// How the query went.
    pub query: Option<Query>,
    /// Its stages.
    pub stages: Vec<StageLine>,
    /// Operators with the clauses they come from.
    pub mapping: Vec<Mapped>,
    /// What the plan alone tells, where nothing of it was measured.
    pub plan_risks: Vec<String>,
    /// Settings that matter to SQL.
    pub settings: Vec<Setting>,
    /// Statements that would show hot values. They were not run.
    pub hot_keys: Vec<HotKey>,
    /// What was read, and what it can and cannot tell.
    pub sources: Vec<Source>,
    /// What has to be looked at elsewhere.
    pub open_questions: Vec<String>,
    /// Clauses of the SQL text.
    pub sql: Option<Outline>,
}

/// A query's run. `None` = not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Query {
    /// What it is called.
    pub description: Option<String>,
    /// Submission, from the start of the run.
    pub submitted_after_ms: Option<i64>,
    /// Submission to end.
    pub duration_ms: Option<i64>,
    /// `succeeded`, `failed` or `running`: the last also of one whose end is not told.
    pub status: &'static str,
    /// Its jobs.
    pub jobs: usize,
}

/// A stage attempt. `None` = not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StageLine {
    /// Stage.
    pub stage_id: u32,
    /// Attempt.
    pub stage_attempt: u32,
    /// Call site.
    pub name: String,
    /// Submission, from the start of the run.
    pub submitted_after_ms: Option<i64>,
    /// Submission to first launch.
    pub waiting_ms: Option<i64>,
    /// First launch to last finish.
    pub running_ms: Option<i64>,
    /// Task attempts.
    pub tasks: u64,
    /// Failed ones.
    pub failed: u64,
    /// Run time of the attempts that counted.
    pub run_time_ms: Option<i64>,
    /// Launch to finish of a task, the middle one.
    pub duration_median_ms: Option<i64>,
    /// The 95th percentile of it.
    pub duration_p95_ms: Option<i64>,
    /// The longest.
    pub duration_max_ms: Option<i64>,
    /// Records read by a task, the middle one.
    pub records_median: Option<i64>,
    /// The most.
    pub records_max: Option<i64>,
    /// Bytes read by a task, the middle one.
    pub bytes_median: Option<i64>,
    /// The most.
    pub bytes_max: Option<i64>,
    /// Deserialization of the longest task: of a cold executor much of its time.
    pub slowest_deserialize_ms: Option<i64>,
    /// Spilled data as it was in memory.
    pub memory_spilled_bytes: Option<i64>,
    /// Tags of findings about it.
    pub findings: Vec<String>,
}

/// A setting in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Name.
    pub name: String,
    /// Value: the query's own, else the application's, else the version's default; `None` = not known.
    pub value: Option<String>,
    /// Whether somebody set it.
    pub is_set: bool,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// What it is.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it gave.
    pub gave: Vec<String>,
    /// What it lacks or leaves unsure.
    pub limits: Vec<String>,
}

const SETTINGS: [&str; 14] = [
    "spark.sql.adaptive.enabled",
    "spark.sql.adaptive.coalescePartitions.enabled",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes",
    "spark.sql.adaptive.skewJoin.enabled",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes",
    "spark.sql.shuffle.partitions",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.dynamicAllocation.enabled",
    "spark.dynamicAllocation.minExecutors",
    "spark.dynamicAllocation.maxExecutors",
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
];

/// Puts everything together. `sql_id` is the execution that was named or found.
pub fn report(
    context: &Context<'_>,
    diagnosis: &Diagnosis,
    evidence: &Evidence,
    sql_id: Option<u64>,
    located: Option<Located>,
) -> EvidenceReport {
    let only = || match &context.run.sql_executions[..] {
        [one] => Some(one.id),
        _ => None,
    };
    let sql_id = sql_id.or_else(only);
    let execution = sql_id.and_then(|id| context.run.sql_execution(id));
    let logged = || Some(outline(&statement(context.run, execution?)?));
    let given = evidence.sql.as_ref().map(|sql| sql.content.outline.clone());
    let outline: Option<Outline> = given.or_else(logged);
    let fragments = outline.as_ref().map(Outline::with_calls);
    let fragments = fragments.as_deref();
    let view = sql_id.and_then(|id| context.sql_view(id));
    let tasks_of = |(stage, attempt)| context.digest_of(stage, attempt).map(|digest| digest.useful);
    let mapped = view.as_ref().map_or_else(Vec::new, |view| mapping(view, fragments, &tasks_of));
    let conf = context.conf(execution);
    let is_known = !context.run.environment.spark.is_empty();
    let settings = SETTINGS.iter().map(|name| Setting {
        name: (*name).to_owned(),
        value: conf.text(name).filter(|_| is_known || conf.is_set(name)),
        is_set: conf.is_set(name),
    });
    let of_this = |finding: &&Finding| sql_id.is_none() || finding.scope.sql_id == sql_id;
    let is_linked = evidence.run_kind != RunKind::DriverLog;
    let mut report = EvidenceReport {
        run_kind: evidence.run_kind,
        sql_id,
        located,
        query: execution.filter(|_| is_linked).map(|execution| query(context, execution)),
        // A driver's log does not say which query a stage is of.
        stages: stages(context, sql_id.filter(|_| is_linked), &diagnosis.findings, STAGES),
        settings: settings.collect(),
        plan_risks: match evidence.run_kind {
            RunKind::Explain | RunKind::DriverLog => view.as_deref().map_or_else(Vec::new, plan_risks),
            RunKind::EventLog | RunKind::MonitoringApi => Vec::new(),
        },
        hot_keys: hot_keys(diagnosis.findings.iter().filter(of_this), &mapped, fragments),
        mapping: mapped,
        sources: sources(diagnosis, evidence, outline.as_ref()),
        open_questions: Vec::new(),
        sql: outline,
    };
    report.open_questions = open_questions(&report, diagnosis, evidence);
    mask(&mut report);
    report
}

fn query(context: &Context<'_>, execution: &SqlExecution) -> Query {
    let started = context.run.application.start_ms;
    Query {
        description: execution.description.clone(),
        submitted_after_ms: execution.start_ms.zip(started).map(|(at, start)| at - start),
        duration_ms: execution.duration_ms(),
        status: match execution.status {
            SqlStatus::Succeeded => "succeeded",
            SqlStatus::Failed => "failed",
            SqlStatus::Running => "running",
        },
        jobs: execution.job_ids.len(),
    }
}

fn sources(diagnosis: &Diagnosis, evidence: &Evidence, outline: Option<&Outline>) -> Vec<Source> {
    let (gave, mut limits): (&[&str], Vec<String>) = match evidence.run_kind {
        RunKind::EventLog => (&["jobs, stages, tasks, executors, plans and metrics, exact"], Vec::new()),
        RunKind::MonitoringApi => (
            &[
                "jobs, stages, tasks and executors, exact for what the server kept",
                "plans, with metrics as the server displays them",
            ],
            diagnosis.trust.not_logged.iter().map(|what| format!("not told: {what}")).collect(),
        ),
        RunKind::DriverLog => (
            &["times of jobs, stages and tasks, failures and losses"],
            vec![
                "no metrics of tasks: whether data, memory or machines were the cause cannot be told"
                    .to_owned(),
            ],
        ),
        RunKind::Explain => (
            &["the structure of the plan"],
            vec!["nothing ran: no times, no rows, no skew can be told".to_owned()],
        ),
    };
    limits.extend(diagnosis.trust.notes.iter().cloned());
    limits.extend(diagnosis.trust.files.iter().filter_map(|file| file.reason.clone()));
    let kind = match evidence.run_kind {
        RunKind::EventLog => "event log",
        RunKind::MonitoringApi => "monitoring API",
        RunKind::DriverLog => "driver log",
        RunKind::Explain => "EXPLAIN output",
    };
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut sources =
        vec![Source { kind: kind.to_owned(), name: diagnosis.source.clone(), gave: owned(gave), limits }];
    if let Some(outline) = outline {
        let given = evidence.sql.as_ref().map(|sql| sql.name.clone());
        sources.push(Source {
            kind: "SQL text".to_owned(),
            name: given.unwrap_or_else(|| "in the execution's description".to_owned()),
            gave: vec![format!(
                "{} of {}",
                count(outline.fragments.len(), "clause"),
                count(outline.statements, "statement")
            )],
            limits: outline.notes.clone(),
        });
    }
    if let Some(explain) = evidence.explain.as_ref().filter(|_| evidence.run_kind != RunKind::Explain) {
        let plan = &explain.content;
        let mut limits = plan.notes.clone();
        if plan.is_final == Some(false) {
            limits.push(
                "a plan before adaptive execution: what ran may differ, and the run's own plan is used"
                    .to_owned(),
            );
        }
        let gave = vec![format!("a plan of {} operators", plan.operators.len())];
        sources.push(Source { kind: "EXPLAIN output".to_owned(), name: explain.name.clone(), gave, limits });
    }
    if let Some(log) = evidence.driver_log.as_ref().filter(|_| evidence.run_kind != RunKind::DriverLog) {
        let content = &log.content;
        let mut gave = vec![format!(
            "{} jobs, {} stages, {} task attempts",
            content.jobs.len(),
            content.stages.len(),
            content.task_attempts
        )];
        gave.extend(content.application_id.as_ref().map(|id| format!("application {id}")));
        sources.push(Source {
            kind: "driver log".to_owned(),
            name: log.name.clone(),
            gave,
            limits: content.notes.clone(),
        });
    }
    if let Some(first) = sources.first_mut() {
        first.limits.extend(evidence.notes.iter().cloned());
    }
    sources
}

fn open_questions(report: &EvidenceReport, diagnosis: &Diagnosis, evidence: &Evidence) -> Vec<String> {
    let mut open = Vec::new();
    for hot in &report.hot_keys {
        open.push(format!(
            "Which value of {} is hot, and what it means: the data itself has to be asked (the report as Markdown, HTML or JSON has the statement under Suggestions).",
            hot.keys.join(", ")
        ));
    }
    let kinds: BTreeSet<&str> = diagnosis.findings.iter().map(|finding| finding.kind).collect();
    if kinds.contains("schedulingWait") || kinds.contains("coldStart") {
        open.push("Why executors came late: the resource manager's log and queue, and Kyuubi's own log, have the reason.".to_owned());
    }
    if report
        .mapping
        .iter()
        .any(|mapped| mapped.operator.contains("Python") || mapped.operator.contains("Pandas"))
    {
        open.push("What the Python functions do with their time: their code and the executors' logs have to be looked at.".to_owned());
    }
    if let Some(log) = &evidence.driver_log {
        for line in &log.content.out_of_memory {
            open.push(format!("Memory ran out somewhere: `{line}`. The log of that executor has the place."));
        }
        for (id, executor) in log.content.executors.iter().filter(|(_, executor)| executor.lost_ms.is_some())
        {
            let reason = executor.reason.as_deref().unwrap_or("no reason logged");
            open.push(format!("Executor {id} was lost ({reason}): its own log says why."));
        }
    }
    match evidence.run_kind {
        RunKind::Explain => open.push(
            "Everything about time: give the address of the run, its event log, or the driver's log."
                .to_owned(),
        ),
        RunKind::DriverLog => open.push(
            "Whether a slow task had more data: the event log or the Spark UI has records and bytes."
                .to_owned(),
        ),
        RunKind::MonitoringApi | RunKind::EventLog => {}
    }
    if report.sql.is_none() && report.sql_id.is_some() {
        open.push("Which clause is behind an operator: give the query with --sql-file.".to_owned());
    }
    if let Some(located) = report.located.as_ref().filter(|located| located.sql_id.is_none()) {
        open.push(format!("Which execution is meant: {}. Name it with --sql-id.", located.reason));
    }
    open
}

/// No secret of a text or log leaves.
fn mask(report: &mut EvidenceReport) {
    let text = |text: &mut String| *text = redact::text(text).into_owned();
    let fragment = |fragment: &mut Fragment| text(&mut fragment.text);
    report.mapping.iter_mut().filter_map(|mapped| mapped.fragment.as_mut()).for_each(fragment);
    report.sql.iter_mut().flat_map(|outline| &mut outline.fragments).for_each(fragment);
    report.sql.iter_mut().flat_map(|outline| &mut outline.notes).for_each(text);
    report.open_questions.iter_mut().for_each(text);
    for source in &mut report.sources {
        source.limits.iter_mut().chain(&mut source.gave).for_each(text);
    }
    report.stages.iter_mut().for_each(|stage| text(&mut stage.name));
    let located = report.located.iter_mut().flat_map(|located| &mut located.candidates);
    located.for_each(|candidate| text(&mut candidate.description));
}

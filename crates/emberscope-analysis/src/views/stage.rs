//! One stage attempt: all there is beside its tasks.

use super::stages::{StageRow, stage as row};
use super::{Clock, Subject, masked, masked_option};
use crate::attribution::ScopeAttribution;
use crate::context::Context;
use crate::plan::time::{TimeMethod, operators_time};
use emberscope_model::run::StageAttempt;
use emberscope_model::summary::Work;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageView {
    /// The run's start, epoch milliseconds, from which times count.
    pub start_time_ms: i64,
    /// As in the list.
    pub stage: StageRow,
    /// The long call site.
    pub details: String,
    /// Attempts of the stage that there are.
    pub attempts: Vec<u32>,
    /// Work of all attempts of its tasks.
    pub all_work: Work,
    /// Stages whose output it reads, as logged.
    pub parent_ids: Vec<u32>,
    /// Those of them that ran, where a skipped one is replaced by the one that computed the same data.
    pub executed_parents: Vec<u32>,
    /// Stages that read its output.
    pub child_ids: Vec<u32>,
    /// Jobs that list it; the first ran it.
    pub job_ids: Vec<u32>,
    /// Scheduler pool.
    pub pool: Option<String>,
    /// Resource profile.
    pub resource_profile_id: u32,
    /// Cores one task takes.
    pub task_cpus: f64,
    /// Whether all its tasks run at once.
    pub is_barrier: bool,
    /// Whether it gives a job's result; else it writes shuffle data.
    pub is_result: bool,
    /// RDDs it computes.
    pub rdds: Vec<RddRow>,
    /// Operators of the query that ran in it, with their share of its run time; empty where the plan is not known.
    pub operators: Vec<OperatorRow>,
    /// Where its wall time and core-time went; `None` for a stage that is not among the longest.
    pub attribution: Option<ScopeAttribution>,
    /// Named accumulators at its end.
    pub accumulators: Vec<AccumulatorRow>,
    /// Peaks of executor metrics during it, by executor and Spark's name.
    pub executor_peaks: BTreeMap<String, BTreeMap<String, i64>>,
}

/// An RDD of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RddRow {
    /// RDD id.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Operator that made it.
    pub operator: Option<String>,
    /// Whether it was persisted.
    pub is_cached: bool,
}

/// How an operator's time was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperatorMethod {
    /// By its own timers.
    Measured,
    /// What the task thread spent waiting for it.
    Remainder,
    /// By its share of the rows.
    Rows,
}

impl From<TimeMethod> for OperatorMethod {
    fn from(method: TimeMethod) -> Self {
        match method {
            TimeMethod::Measured => OperatorMethod::Measured,
            TimeMethod::Remainder => OperatorMethod::Remainder,
            TimeMethod::Rows => OperatorMethod::Rows,
        }
    }
}

/// An operator that ran in a stage attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OperatorRow {
    /// Its node in the final plan of `sql_id` of the stage.
    pub node_id: u32,
    /// Name.
    pub name: String,
    /// Expressions.
    pub detail: String,
    /// What it does: `scan`, `shuffle`, `join` and so on.
    pub class: &'static str,
    /// Run time of tasks that is its, milliseconds.
    pub time_ms: f64,
    /// Share of the stage's run time.
    pub share: f64,
    /// How that was found.
    pub method: OperatorMethod,
}

/// A named accumulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccumulatorRow {
    /// Id.
    pub id: u64,
    /// Name.
    pub name: Option<String>,
    /// Value at the stage's end, as text.
    pub value: Option<String>,
}

/// One stage attempt. `context` is that of the run.
pub fn stage(subject: Subject<'_>, context: &Context<'_>, stage: &StageAttempt) -> StageView {
    let run = subject.run;
    let clock = Clock::of(run);
    let key = format!("{}.{}", stage.id, stage.attempt);
    let mut child_ids: Vec<u32> = run
        .stages
        .iter()
        .filter(|other| other.executed_parents.contains(&stage.id))
        .map(|other| other.id)
        .collect();
    child_ids.dedup();
    StageView {
        start_time_ms: clock.start_ms,
        stage: row(subject, clock, stage),
        details: masked(&stage.details),
        attempts: run.attempts(stage.id).iter().map(|stage| stage.attempt).collect(),
        all_work: Work::of(&stage.tasks.sums()),
        parent_ids: stage.parent_ids.clone(),
        executed_parents: stage.executed_parents.clone(),
        child_ids,
        job_ids: stage.job_ids.clone(),
        pool: stage.pool.clone(),
        resource_profile_id: stage.resource_profile_id,
        task_cpus: emberscope_model::occupancy::task_cpus(run, stage),
        is_barrier: stage.is_barrier,
        is_result: stage.is_result,
        rdds: stage
            .rdd_ids
            .iter()
            .map(|id| RddRow {
                id: *id,
                name: run.rdd_name(*id).map(masked).unwrap_or_default(),
                operator: run.rdd_operator(*id).map(masked),
                is_cached: run.storage.cached.contains_key(id),
            })
            .collect(),
        operators: operators(context, stage),
        attribution: subject.diagnosis.attribution.stages.iter().find(|one| one.id == key).cloned(),
        accumulators: stage
            .accumulators
            .iter()
            .map(|(id, accumulator)| AccumulatorRow {
                id: *id,
                name: masked_option(accumulator.name.as_deref()),
                value: masked_option(accumulator.value.as_deref()),
            })
            .collect(),
        executor_peaks: stage.executor_peaks.clone(),
    }
}

/// The operators that ran in a stage attempt, those that took most time first.
fn operators(context: &Context<'_>, stage: &StageAttempt) -> Vec<OperatorRow> {
    let Some(digest) = context.digest_of(stage.id, stage.attempt) else { return Vec::new() };
    let Some(view) = digest.sql_id.and_then(|id| context.sql_view(id)) else { return Vec::new() };
    let mut rows: Vec<OperatorRow> = operators_time(context, &view, digest)
        .into_iter()
        .filter_map(|time| {
            let node = view.nodes.get(time.node as usize)?;
            Some(OperatorRow {
                node_id: time.node,
                name: node.name.clone(),
                detail: masked(&node.detail),
                class: node.class.key(),
                time_ms: time.ms,
                share: time.share,
                method: time.method.into(),
            })
        })
        .collect();
    rows.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms).then(a.node_id.cmp(&b.node_id)));
    rows
}

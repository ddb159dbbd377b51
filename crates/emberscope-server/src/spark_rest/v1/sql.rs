//! `/sql` and `/sql/{id}`.

use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::sql_values;
use crate::spark_rest::{Params, Refusal, time};
use emberscope_analysis::plan::graph::Graph;
use emberscope_log::event::plan::PlanTree;
use emberscope_model::redact;
use emberscope_model::run::{JobStatus, Run};
use emberscope_model::sql::{SqlExecution, SqlStatus};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionData {
    id: u64,
    status: &'static str,
    description: String,
    plan_description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    submission_time: Option<String>,
    duration: i64,
    running_job_ids: Vec<u32>,
    success_job_ids: Vec<u32>,
    failed_job_ids: Vec<u32>,
    nodes: Vec<Value>,
    edges: Vec<Value>,
    /// Absent where the log has none, as those of Spark before 3.4; empty on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    root_execution_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<String>,
    modified_configs: BTreeMap<String, String>,
}

/// What is asked for beside the execution's own facts.
struct Wanted {
    details: bool,
    plan_description: bool,
}

impl Wanted {
    fn of(params: &Params) -> Wanted {
        let is_on = |name| params.is_on(name, true);
        Wanted { details: is_on("details"), plan_description: is_on("planDescription") }
    }
}

pub(super) fn list(opened: &Opened, params: &Params) -> Answer {
    let (offset, length) = (params.number("offset", 0)?, params.number("length", -1)?);
    // No length means all of them, from the first on (`SqlResource.sqlList`).
    let (offset, length) =
        if length <= 0 { (0, usize::MAX) } else { (offset.max(0) as usize, length as usize) };
    let wanted = Wanted::of(params);
    let window = opened.run.sql_executions.iter().skip(offset).take(length);
    json(&window.map(|execution| data(&opened.run, execution, &wanted)).collect::<Vec<_>>())
}

pub(super) fn one(opened: &Opened, id: u64, params: &Params) -> Answer {
    let execution = opened.run.sql_execution(id);
    match execution {
        Some(execution) => json(&data(&opened.run, execution, &Wanted::of(params))),
        None => Err(Refusal::not_found(format!("unknown query execution id: {id}"))),
    }
}

fn data(run: &Run, execution: &SqlExecution, wanted: &Wanted) -> ExecutionData {
    let jobs_of = |status: JobStatus| {
        let jobs = execution.job_ids.iter().copied();
        jobs.filter(|id| run.job(*id).is_some_and(|job| job.status == status)).collect::<Vec<_>>()
    };
    let text = execution.versions.iter().rev().find_map(|version| version.text);
    let plan_description = text.filter(|_| wanted.plan_description).and_then(|text| run.blob_text(text));
    let (nodes, edges) = if wanted.details { graph(run, execution) } else { (Vec::new(), Vec::new()) };
    let until = match execution.status {
        SqlStatus::Running => run.application.end_ms,
        SqlStatus::Succeeded | SqlStatus::Failed => execution.end_ms,
    };
    ExecutionData {
        id: execution.id,
        status: match execution.status {
            SqlStatus::Succeeded => "COMPLETED",
            SqlStatus::Failed => "FAILED",
            SqlStatus::Running => "RUNNING",
        },
        description: execution.description.clone().unwrap_or_default(),
        plan_description: plan_description.unwrap_or_default(),
        submission_time: execution.start_ms.map(time::shown),
        duration: until.zip(execution.start_ms).map_or(0, |(until, start)| until - start),
        running_job_ids: jobs_of(JobStatus::Running),
        success_job_ids: jobs_of(JobStatus::Succeeded),
        failed_job_ids: jobs_of(JobStatus::Failed),
        nodes,
        edges,
        error_message: execution.error.as_deref().map(|error| redact::text(error).into_owned()),
        root_execution_id: execution.root_id.unwrap_or(execution.id),
        query_id: execution.query_id.clone(),
        modified_configs: execution.modified_configs.clone(),
    }
}

fn graph(run: &Run, execution: &SqlExecution) -> (Vec<Value>, Vec<Value>) {
    let Some(tree) = run.final_plan(execution) else { return (Vec::new(), Vec::new()) };
    let graph = Graph::of(&tree);
    let values = sql_values::printed(run, execution);
    let mut nodes = graph.nodes.clone();
    nodes.reverse();
    let nodes = nodes
        .iter()
        .map(|node| {
            let of_tree = &tree.nodes[node.tree_node as usize];
            let mut shown = json!({
                "nodeId": node.id,
                "nodeName": tree.text(of_tree.name).trim(),
                "desc": redact::text(tree.text(of_tree.simple_string)),
                "metrics": metrics(&tree, node.tree_node, &values),
            });
            let codegen =
                node.cluster.and_then(|cluster| codegen_id(tree.text(tree.nodes[cluster as usize].name)));
            if let (Some(id), Some(fields)) = (codegen, shown.as_object_mut()) {
                fields.insert("wholeStageCodegenId".to_owned(), id.into());
            }
            shown
        })
        .collect();
    let edges = graph.edges.iter().map(|(from, to)| json!({ "fromId": from, "toId": to })).collect();
    (nodes, edges)
}

/// The metrics of a node that were measured.
fn metrics(tree: &PlanTree, node: u32, values: &FxHashMap<u64, String>) -> Vec<Value> {
    let measured = tree.metrics_of(node).iter().filter_map(|metric| {
        let value = values.get(&metric.accumulator_id)?;
        Some(json!({ "name": tree.text(metric.name).trim(), "value": value }))
    });
    measured.collect()
}

/// The number of `WholeStageCodegen (2)`.
fn codegen_id(name: &str) -> Option<i64> {
    name.strip_prefix("WholeStageCodegen (")?.strip_suffix(')')?.parse().ok()
}

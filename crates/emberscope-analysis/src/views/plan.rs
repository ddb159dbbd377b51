//! A version of a plan as a graph: operators with their time, metrics and stages.

use super::sql::{PlanKind, kind_of};
use super::stage::OperatorMethod;
use super::{FindingRef, Subject, findings_about, masked};
use crate::context::Context;
use crate::plan::graph::Graph;
use crate::plan::rows::rows_into;
use crate::plan::time::operators_time;
use crate::plan::{Node, SqlView};
use emberscope_log::event::plan::{MetricKind, PlanTree};
use emberscope_model::sql::{MappingMethod, SqlExecution, SqlMetric};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A version of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanView {
    /// Execution.
    pub sql_id: u64,
    /// Number of the version, from 0.
    pub version: usize,
    /// Versions there are.
    pub versions: usize,
    /// What it is.
    pub kind: PlanKind,
    /// Time of all operators together, core milliseconds; `None` where it is not known.
    pub time_ms: Option<f64>,
    /// Operators, in pre-order. Wrappers are left out and code generation is in `clusters`.
    pub nodes: Vec<PlanNodeView>,
    /// Flow of rows.
    pub edges: Vec<PlanEdge>,
    /// Operators that one generated function runs.
    pub clusters: Vec<PlanCluster>,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanNodeView {
    /// Its place in pre-order, from 0, by which findings name it too.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Expressions, tables, options.
    pub detail: String,
    /// What it does: `scan`, `shuffle`, `join` and so on.
    pub class: &'static str,
    /// Cluster that it is in.
    pub cluster: Option<u32>,
    /// Whether it belongs to the plan that made cached data, and did not run here.
    pub in_cached_plan: bool,
    /// Run time of tasks that is its, core milliseconds; `None` where it is not known.
    pub time_ms: Option<f64>,
    /// Share of the plan's time.
    pub share: Option<f64>,
    /// How that was found; where several stages ran it, the least sure way.
    pub time_method: Option<OperatorMethod>,
    /// Rows it handed on.
    pub rows: Option<i64>,
    /// Its metrics that were measured.
    pub metrics: Vec<MetricView>,
    /// Stage attempts in which it ran: id and attempt.
    pub stages: Vec<(u32, u32)>,
    /// How they were found; `None` when they were not.
    pub stages_by: Option<StagesBy>,
    /// Findings about it.
    pub findings: Vec<FindingRef>,
}

/// How a node was tied to stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StagesBy {
    /// Tasks updated its metrics: certain.
    Accumulators,
    /// By the nearest operators: likely.
    Neighbours,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// An average; it has no total.
    Average,
}

/// A metric of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricView {
    /// Name, as Spark shows it.
    pub name: String,
    /// What it counts.
    pub unit: MetricUnit,
    /// Accumulator.
    pub accumulator_id: u64,
    /// Tasks and driver together; `None` for averages.
    pub total: Option<f64>,
    /// How far the true total can lie from it, where it was rounded for display; 0 = exact.
    pub total_within: f64,
    /// Updates of tasks that counted; `None` where only their quantiles are known.
    pub tasks: Option<usize>,
    /// Least of them.
    pub min: Option<f64>,
    /// Median of them.
    pub median: Option<f64>,
    /// Most of them.
    pub max: Option<f64>,
    /// What the driver added; `None` where it did not.
    pub driver: Option<f64>,
}

/// Rows from one operator to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanEdge {
    /// The operator that gives them.
    pub from: u32,
    /// The operator that takes them.
    pub to: u32,
    /// How many; `None` where that is not known.
    pub rows: Option<i64>,
    /// How large, where data is exchanged.
    pub bytes: Option<i64>,
}

/// Operators that one generated function runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanCluster {
    /// Its place in pre-order.
    pub id: u32,
    /// `WholeStageCodegen (1)`.
    pub name: String,
    /// Its metrics that were measured.
    pub metrics: Vec<MetricView>,
}

/// Time of an operator over all its stages.
type Times = BTreeMap<u32, (f64, OperatorMethod)>;

/// A version of an execution's plan; `None` where there is none that could be read.
pub fn plan(
    subject: Subject<'_>,
    context: &Context<'_>,
    execution: &SqlExecution,
    version: usize,
) -> Option<PlanView> {
    let run = subject.run;
    let tree = run.plan_tree(execution.versions.get(version)?)?;
    let view = SqlView::of_tree(run, execution, &tree);
    let kind = kind_of(execution, version);
    let is_last = execution.versions.iter().rposition(|one| run.plan_tree(one).is_some()) == Some(version);
    let times = times(context, execution, &view, is_last);
    let values = run.sql_metrics(execution);
    let graph = Graph::of(&tree);
    let shown = Shown::of(&tree, &graph);
    let mut of_node = Times::new();
    for (node, (ms, method)) in times.iter().flatten() {
        let entry = of_node.entry(shown.nearest(*node)).or_insert((0.0, *method));
        entry.0 += ms;
        entry.1 = less_sure(entry.1, *method);
    }
    let total: Option<f64> = times.as_ref().map(|times| times.values().map(|(ms, _)| ms).sum());
    let places = |id: u32| {
        findings_about(subject.diagnosis, |finding| {
            is_last
                && finding.scope.sql_id == Some(execution.id)
                && finding.scope.node_id.is_some_and(|node| shown.nearest(node) == id)
        })
    };
    let node = |at: &(u32, Option<u32>)| {
        let (id, cluster) = *at;
        let it = &view.nodes[id as usize];
        let time = of_node.get(&id);
        PlanNodeView {
            id,
            name: it.name.clone(),
            detail: masked(&it.detail),
            class: it.class.key(),
            cluster,
            in_cached_plan: it.in_cached_plan,
            time_ms: total.map(|_| time.map_or(0.0, |(ms, _)| *ms)),
            share: total.filter(|total| *total > 0.0).map(|total| time.map_or(0.0, |(ms, _)| *ms) / total),
            time_method: time.map(|(_, method)| *method),
            rows: rows_into(&view, id),
            metrics: metrics(&values, it),
            stages: it.stages.stages.clone(),
            stages_by: it.stages.method.map(|method| match method {
                MappingMethod::Accumulators => StagesBy::Accumulators,
                MappingMethod::Neighbours => StagesBy::Neighbours,
            }),
            findings: places(id),
        }
    };
    Some(PlanView {
        sql_id: execution.id,
        version,
        versions: execution.versions.len(),
        kind,
        time_ms: total,
        nodes: shown.nodes.iter().map(node).collect(),
        edges: shown.edges.iter().map(|(from, to)| edge(&view, *from, *to)).collect(),
        clusters: shown
            .clusters
            .iter()
            .map(|id| PlanCluster {
                id: *id,
                name: view.nodes[*id as usize].name.clone(),
                metrics: metrics(&values, &view.nodes[*id as usize]),
            })
            .collect(),
    })
}

/// The text of a version of a plan; `None` where it was not kept.
pub fn plan_text(subject: Subject<'_>, execution: &SqlExecution, version: usize) -> Option<String> {
    let text = subject.run.blob_text(execution.versions.get(version)?.text?)?;
    Some(masked(&text))
}

/// What of a tree is shown, by places in it.
pub(super) struct Shown {
    /// Operators with their clusters, in pre-order.
    pub(super) nodes: Vec<(u32, Option<u32>)>,
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) clusters: Vec<u32>,
    /// For every node of the tree the shown one that stands for it.
    nearest: Vec<u32>,
}

impl Shown {
    pub(super) fn of(tree: &PlanTree, graph: &Graph) -> Shown {
        let is_cluster = |node: u32| {
            tree.text(tree.nodes[node as usize].name).starts_with("WholeStageCodegen")
                && graph.nodes.iter().any(|one| one.cluster == Some(node))
        };
        let mut shown =
            Shown { nodes: Vec::new(), edges: Vec::new(), clusters: Vec::new(), nearest: Vec::new() };
        for node in &graph.nodes {
            match is_cluster(node.tree_node) {
                true => shown.clusters.push(node.tree_node),
                false => shown.nodes.push((node.tree_node, node.cluster)),
            }
        }
        shown.nodes.sort_unstable();
        shown.clusters.sort_unstable();
        let place: BTreeMap<i64, u32> = graph.nodes.iter().map(|node| (node.id, node.tree_node)).collect();
        shown.edges =
            graph.edges.iter().filter_map(|(from, to)| Some((*place.get(from)?, *place.get(to)?))).collect();
        shown.nearest = shown.stand_ins(tree);
        shown
    }

    /// What is hidden stands for what it wraps, its first shown descendant, and else for what it is under.
    fn stand_ins(&self, tree: &PlanTree) -> Vec<u32> {
        let is_shown = |node: u32| self.nodes.binary_search_by_key(&node, |one| one.0).is_ok();
        let mut below: Vec<Option<u32>> = vec![None; tree.nodes.len()];
        for at in (0..tree.nodes.len()).rev() {
            if is_shown(at as u32) {
                below[at] = Some(at as u32);
            }
            if let Some(parent) = tree.nodes[at].parent.map(|parent| parent as usize)
                && !is_shown(parent as u32)
            {
                // Backward, so that the first child comes last.
                below[parent] = below[at].or(below[parent]);
            }
        }
        let mut nearest: Vec<u32> = Vec::with_capacity(below.len());
        for (at, (node, below)) in tree.nodes.iter().zip(below).enumerate() {
            let above = node.parent.and_then(|parent| nearest.get(parent as usize).copied());
            nearest.push(below.or(above).unwrap_or(at as u32));
        }
        nearest
    }

    fn nearest(&self, node: u32) -> u32 {
        self.nearest.get(node as usize).copied().unwrap_or(node)
    }
}

fn less_sure(a: OperatorMethod, b: OperatorMethod) -> OperatorMethod {
    let rank = |method| match method {
        OperatorMethod::Measured => 0,
        OperatorMethod::Remainder => 1,
        OperatorMethod::Rows => 2,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Time by operator. Of another version than the last, operators have the time of those of the last that
/// updated the same metrics.
fn times(
    context: &Context<'_>,
    execution: &SqlExecution,
    view: &SqlView<'_>,
    is_last: bool,
) -> Option<Times> {
    if context.is_native {
        return None;
    }
    let last = context.sql_view(execution.id)?;
    let mut times = Times::new();
    for digest in context.stages.iter().filter(|digest| digest.sql_id == Some(execution.id)) {
        for time in operators_time(context, &last, digest) {
            let entry = times.entry(time.node).or_insert((0.0, time.method.into()));
            entry.0 += time.ms;
            entry.1 = less_sure(entry.1, time.method.into());
        }
    }
    if is_last {
        return Some(times);
    }
    let first_metric = |node: &Node| node.metrics.first().map(|(_, _, id)| *id);
    let by_metric: BTreeMap<u64, (f64, OperatorMethod)> = times
        .iter()
        .filter_map(|(node, time)| Some((first_metric(last.nodes.get(*node as usize)?)?, *time)))
        .collect();
    let nodes = view.nodes.iter().enumerate();
    Some(nodes.filter_map(|(at, node)| Some((at as u32, *by_metric.get(&first_metric(node)?)?))).collect())
}

/// The metrics of an operator that were measured.
fn metrics(values: &BTreeMap<u64, SqlMetric>, node: &Node) -> Vec<MetricView> {
    let measured = node.metrics.iter().filter_map(|(name, kind, id)| {
        let metric = values.get(id)?;
        metric.total?;
        let unit = match kind {
            MetricKind::Sum | MetricKind::Other => MetricUnit::Count,
            MetricKind::Size => MetricUnit::Bytes,
            MetricKind::Timing => MetricUnit::Milliseconds,
            MetricKind::NsTiming => MetricUnit::Nanoseconds,
            MetricKind::Average => MetricUnit::Average,
        };
        // Averages are logged ten-fold.
        let scaled = |value: f64| if unit == MetricUnit::Average { value / 10.0 } else { value };
        Some(MetricView {
            name: name.trim().to_owned(),
            unit,
            accumulator_id: *id,
            total: metric.total.filter(|_| unit != MetricUnit::Average).map(|total| total as f64),
            total_within: metric.fidelity.within() as f64,
            tasks: metric.tasks.count(),
            min: metric.tasks.min().map(scaled),
            median: metric.tasks.median().map(scaled),
            max: metric.tasks.max().map(scaled),
            driver: metric.driver.sum().map(|sum| scaled(sum as f64)),
        })
    });
    measured.collect()
}

fn edge(view: &SqlView<'_>, from: u32, to: u32) -> PlanEdge {
    let bytes = ["shuffle bytes written", "data size"].into_iter().find_map(|name| view.total(from, name));
    let is_exchange = view.nodes[from as usize].name.contains("Exchange");
    PlanEdge { from, to, rows: rows_into(view, from), bytes: bytes.filter(|_| is_exchange) }
}

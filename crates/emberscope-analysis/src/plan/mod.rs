//! Plans as detectors look at them: typed operators with their metrics and stages.

pub mod aggregate;
pub mod aqe;
pub mod exchange;
pub mod fingerprint;
pub mod graph;
pub mod join;
pub mod names;
pub mod price;
pub mod rows;
pub mod scan;
pub mod stage_ops;
pub mod text;
pub mod time;
pub mod write;

pub use stage_ops::operators_of_stage;

use emberscope_log::event::plan::{MetricKind, PlanTree};
use emberscope_model::run::Run;
use emberscope_model::sql::{NodeStages, SqlExecution, SqlMetricSums};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperatorClass {
    /// Reads from storage.
    Scan,
    /// Moves data between stages.
    Shuffle,
    /// Sends data to all executors.
    Broadcast,
    /// Joins.
    Join,
    /// Aggregates.
    Aggregation,
    /// Sorts.
    Sort,
    /// Window functions.
    Window,
    /// Makes several rows of one.
    Expand,
    /// Python code.
    Python,
    /// Writes to storage.
    Write,
    /// Reads cached data.
    Cache,
    /// Filters, projections and all else.
    Other,
}

/// One operator of a final plan.
#[derive(Clone, Debug)]
pub struct Node {
    /// `nodeName`, trimmed.
    pub name: String,
    /// `simpleString`.
    pub detail: String,
    /// `metadata` as JSON; empty where there is none.
    pub metadata: String,
    /// What it does.
    pub class: OperatorClass,
    /// Parent; `None` for the root.
    pub parent: Option<u32>,
    /// Children, in order.
    pub children: Vec<u32>,
    /// Metrics: name, kind, accumulator.
    pub metrics: Vec<(String, MetricKind, u64)>,
    /// Stages it ran in.
    pub stages: NodeStages,
    /// Whether it belongs to the plan that made cached data: it ran when the data was cached, if at all,
    /// not with this query.
    pub in_cached_plan: bool,
}

/// A SQL execution with its final plan.
#[derive(Debug)]
pub struct SqlView<'r> {
    /// The execution.
    pub execution: &'r SqlExecution,
    /// Operators of the final plan, in pre-order.
    pub nodes: Vec<Node>,
    run: &'r Run,
    metrics: OnceLock<FxHashMap<u64, SqlMetricSums>>,
}

impl<'r> SqlView<'r> {
    /// Looks at the final plan of an execution; `None` when the log has none.
    pub fn of(run: &'r Run, execution: &'r SqlExecution) -> Option<Self> {
        Some(Self::of_tree(run, execution, &run.final_plan(execution)?))
    }

    /// Looks at any version of an execution's plan.
    pub fn of_tree(run: &'r Run, execution: &'r SqlExecution, tree: &PlanTree) -> Self {
        let stages = run.node_stages(execution, tree);
        SqlView { execution, nodes: nodes(tree, stages), run, metrics: OnceLock::new() }
    }

    /// Total of a metric of a node, by the metric's name; `None` when it was never updated.
    pub fn total(&self, node: u32, metric: &str) -> Option<i64> {
        self.metric(node, metric)?.total
    }

    /// A metric of a node by its name.
    pub fn metric(&self, node: u32, metric: &str) -> Option<&SqlMetricSums> {
        let node = self.nodes.get(node as usize)?;
        let (_, _, id) = node.metrics.iter().find(|(name, _, _)| name == metric)?;
        self.metrics().get(id)
    }

    /// Sums of the final plan's metrics by accumulator; added up when they are first asked for.
    pub fn metrics(&self) -> &FxHashMap<u64, SqlMetricSums> {
        self.metrics.get_or_init(|| {
            let metrics = self.nodes.iter().flat_map(|node| &node.metrics);
            let kinds = metrics.map(|(_, kind, id)| (*id, *kind)).collect();
            self.run.sql_metric_sums(self.execution, &kinds)
        })
    }

    /// Whether a node belongs to the plan that made cached data.
    pub fn is_cached_plan(&self, node: u32) -> bool {
        self.nodes.get(node as usize).is_some_and(|node| node.in_cached_plan)
    }

    /// Nodes that ran in a stage attempt.
    pub fn nodes_of_stage(&self, place: (u32, u32)) -> impl Iterator<Item = (u32, &Node)> {
        let numbered = self.nodes.iter().enumerate().map(|(n, node)| (n as u32, node));
        numbered.filter(move |(_, node)| node.stages.stages.contains(&place))
    }
}

/// Plans that are kept beside the one at hand: stages of one query are looked at together.
const KEPT_PLANS: usize = 1024;

/// Looked-at plans by execution, and the executions, oldest first.
#[derive(Debug, Default)]
struct Kept<'r> {
    plans: FxHashMap<u64, Option<Arc<SqlView<'r>>>>,
    order: VecDeque<u64>,
}

/// The plans that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct PlanCache<'r> {
    kept: Mutex<Kept<'r>>,
}

impl<'r> PlanCache<'r> {
    pub(crate) fn get(&self, run: &'r Run, id: u64) -> Option<Arc<SqlView<'r>>> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = kept().plans.get(&id) {
            return view.clone();
        }
        let view = run.sql_execution(id).and_then(|execution| SqlView::of(run, execution)).map(Arc::new);
        let mut kept = kept();
        if kept.order.len() >= KEPT_PLANS
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.plans.remove(&oldest);
        }
        // Two threads may have looked at once.
        if kept.plans.insert(id, view.clone()).is_none() {
            kept.order.push_back(id);
        }
        view
    }
}

fn nodes(tree: &PlanTree, stages: Vec<NodeStages>) -> Vec<Node> {
    let mut nodes: Vec<Node> = tree
        .nodes
        .iter()
        .zip(stages)
        .enumerate()
        .map(|(n, (node, stages))| {
            let name = tree.text(node.name).trim().to_owned();
            Node {
                class: class_of(&name),
                name,
                detail: tree.text(node.simple_string).to_owned(),
                metadata: tree.text(node.metadata).to_owned(),
                parent: node.parent,
                children: Vec::new(),
                metrics: tree
                    .metrics_of(n as u32)
                    .iter()
                    .map(|metric| (tree.text(metric.name).to_owned(), metric.kind, metric.accumulator_id))
                    .collect(),
                stages,
                in_cached_plan: false,
            }
        })
        .collect();
    for n in 0..nodes.len() {
        if let Some(parent) = nodes[n].parent {
            nodes[parent as usize].children.push(n as u32);
            let parent = &nodes[parent as usize];
            nodes[n].in_cached_plan = parent.in_cached_plan || parent.class == OperatorClass::Cache;
        }
    }
    nodes
}

fn class_of(name: &str) -> OperatorClass {
    let has = |part: &str| name.contains(part);
    if has("BroadcastExchange") {
        OperatorClass::Broadcast
    } else if has("Exchange") || has("AQEShuffleRead") || has("ShuffleQueryStage") {
        OperatorClass::Shuffle
    } else if has("InMemoryTableScan") || has("In-memory table") {
        OperatorClass::Cache
    } else if has("Scan") {
        OperatorClass::Scan
    } else if has("Join") || has("CartesianProduct") {
        OperatorClass::Join
    } else if has("Python") || has("Pandas") || has("InArrow") {
        OperatorClass::Python
    } else if has("Aggregate") {
        OperatorClass::Aggregation
    } else if has("Window") {
        OperatorClass::Window
    } else if has("Sort") {
        OperatorClass::Sort
    } else if has("Expand") || has("Generate") {
        OperatorClass::Expand
    } else if has("Insert") || has("Write") || has("Append") || has("Overwrite") {
        OperatorClass::Write
    } else {
        OperatorClass::Other
    }
}

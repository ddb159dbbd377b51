//! The plan of a query: its structure from the text of the plan, its numbers from the nodes of the graph.

use crate::shapes::{Node, Sql};
use crate::tasks::Update;
use crate::values::{self, Kind};
use emberscope_text::explain::{self, Explained, Operator};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers of accumulators that no real one reaches: the API tells none.
const FIRST_ID: u64 = 1 << 40;

/// Updates by stage, attempt and task, each with its execution.
pub(crate) type UpdatesOfTasks = BTreeMap<(u32, u32, u64), Vec<(u64, Update)>>;

/// Gives numbers to metrics and says which task or driver updated them.
#[derive(Debug)]
pub(crate) struct Metrics {
    next: u64,
    /// Of tasks that a displayed value names.
    pub(crate) of_tasks: UpdatesOfTasks,
    /// Updates that belong to no task that is known, by execution.
    pub(crate) of_driver: BTreeMap<u64, Vec<Update>>,
    /// Whether any value was displayed, and so rounded.
    pub(crate) is_any: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics { next: FIRST_ID, of_tasks: BTreeMap::new(), of_driver: BTreeMap::new(), is_any: false }
    }
}

impl Metrics {
    fn of(&mut self, sql: u64, node: &Node) -> Vec<Value> {
        let mut metrics = Vec::new();
        for metric in &node.metrics {
            let Some(shown) = values::read(&metric.value) else { continue };
            let id = self.next;
            self.next += 1;
            self.is_any = true;
            metrics
                .push(json!({ "name": metric.name, "accumulatorId": id, "metricType": shown.kind.name() }));
            // The largest value goes to the task that has it, which also tells in which stage the node ran.
            let mut rest = shown.total;
            if let Some((max, place)) = shown.max {
                self.of_tasks.entry(place).or_default().push((sql, (id, max)));
                rest = rest.map(|total| (total - max).max(0)).filter(|rest| *rest > 0);
            }
            if let (Some(rest), true) = (rest, shown.kind != Kind::Average) {
                self.of_driver.entry(sql).or_default().push((id, rest));
            }
        }
        metrics
    }
}

/// The plan as `sparkPlanInfo`, and whether its structure came from the text.
pub(crate) fn info(sql: &Sql, metrics: &mut Metrics) -> Value {
    let mut nodes = sql.nodes.clone();
    // The graph is numbered in the order of the tree.
    nodes.sort_by_key(|node| node.node_id);
    let explained = sql.plan_description.as_deref().and_then(explain::parse);
    let explained = explained.unwrap_or_else(|| from_graph(sql, &nodes));
    let mut info = explained.plan_info();
    let matched = matched(&explained.operators, &nodes);
    let mut at = 0;
    decorate(&mut info, &mut at, &mut |position, node: &mut Value| {
        let Some(found) = matched.get(&position) else { return };
        if let Some(desc) = nodes[*found].desc.as_deref().filter(|desc| !desc.is_empty()) {
            node["simpleString"] = json!(desc);
        }
        node["metrics"] = Value::Array(metrics.of(sql.id, &nodes[*found]));
    });
    info
}

/// Visits the nodes in pre-order.
fn decorate(node: &mut Value, at: &mut usize, visit: &mut impl FnMut(usize, &mut Value)) {
    visit(*at, node);
    *at += 1;
    if let Some(children) = node.get_mut("children").and_then(Value::as_array_mut) {
        for child in children {
            decorate(child, at, visit);
        }
    }
}

/// Which node of the graph is which operator: both in pre-order, where the graph leaves some kinds out.
fn matched(operators: &[Operator], nodes: &[Node]) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    let mut next = 0;
    for (position, operator) in operators.iter().enumerate() {
        let name = operator.name.trim_end();
        // A few nodes further on at most: else a name that the text alone has would take a later one's numbers.
        let ahead = nodes[next.min(nodes.len())..]
            .iter()
            .take(LOOK_AHEAD)
            .position(|node| node.node_name.trim_end() == name);
        if let Some(ahead) = ahead {
            found.insert(position, next + ahead);
            next += ahead + 1;
        }
    }
    found
}

/// How many nodes of the graph may be unknown to the text in a row.
const LOOK_AHEAD: usize = 4;

/// A tree from the graph's edges, where there is no text.
fn from_graph(sql: &Sql, nodes: &[Node]) -> Explained {
    let parents: BTreeMap<u64, u64> = sql.edges.iter().map(|edge| (edge.from_id, edge.to_id)).collect();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut operators: Vec<Operator> = Vec::new();
    for node in nodes.iter().filter(|node| !node.node_name.starts_with("WholeStageCodegen")) {
        let parent = parents.get(&node.node_id).and_then(|parent| places.get(parent)).copied();
        if parent.is_none() && !operators.is_empty() {
            // A second root would be no tree.
            continue;
        }
        places.insert(node.node_id, operators.len());
        operators.push(Operator {
            name: node.node_name.clone(),
            simple_string: node.desc.clone().unwrap_or_else(|| node.node_name.trim_end().to_owned()),
            parent,
            ..Operator::default()
        });
    }
    Explained { operators, ..Explained::default() }
}

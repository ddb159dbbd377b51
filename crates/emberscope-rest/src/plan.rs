//! The plan of a query: its structure from the text of the plan, its numbers from the nodes of the graph.

use crate::places::{self, Measured, Place, Placed};
use crate::shapes::{Node, Sql, Stage};
use crate::tasks::Update;
use crate::values::{self, Kind};
use emberscope_log::event::sql::DisplayedMetric;
use emberscope_text::explain::{self, Explained, Operator};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers of accumulators that no real one reaches: the API tells none.
const FIRST_ID: u64 = 1 << 40;

/// Updates by stage attempt, each with its execution.
pub(crate) type UpdatesOfStages = BTreeMap<Place, Vec<(u64, Update)>>;

/// Gives numbers to metrics and says where they were updated.
#[derive(Debug)]
pub(crate) struct Metrics {
    next: u64,
    /// Of stage attempts. Each has the whole total: what a metric counts it counts in one stage, but for what is read
    /// again.
    pub(crate) of_stages: UpdatesOfStages,
    /// Updates of the driver, and of what cannot be told, by execution.
    pub(crate) of_driver: BTreeMap<u64, Vec<Update>>,
    /// What was displayed, by execution.
    pub(crate) displayed: BTreeMap<u64, Vec<DisplayedMetric>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            next: FIRST_ID,
            of_stages: BTreeMap::new(),
            of_driver: BTreeMap::new(),
            displayed: BTreeMap::new(),
        }
    }
}

impl Metrics {
    /// Metrics of a node with new numbers.
    fn of(&mut self, sql: u64, node: &Node) -> Vec<Measured> {
        let mut metrics = Vec::new();
        for metric in &node.metrics {
            let Some(shown) = values::read(&metric.value) else { continue };
            let id = self.next;
            self.next += 1;
            let place = shown.tasks.as_ref().and_then(|tasks| tasks.place);
            let largest = shown.tasks.as_ref().map(|tasks| tasks.values[2].value);
            metrics.push(Measured {
                name: metric.name.clone(),
                kind: shown.kind,
                id,
                value: shown.total.map(|total| total.value).or(largest),
                place: place.map(|(stage, attempt, _)| (stage, attempt)),
            });
            self.displayed.entry(sql).or_default().push(DisplayedMetric {
                accumulator_id: id,
                total_within: shown.total.map_or(0, |total| total.within),
                tasks: shown.tasks.map(|tasks| tasks.values),
                is_place_inferred: place.is_none(),
            });
        }
        metrics
    }

    fn update(&mut self, sql: u64, metric: &Measured) {
        let Some(value) = metric.value else { return };
        match metric.place {
            Some(place) => self.of_stages.entry(place).or_default().push((sql, (metric.id, value))),
            // An average has no total that could be added to.
            None if metric.kind == Kind::Average => {}
            None => self.of_driver.entry(sql).or_default().push((metric.id, value)),
        }
    }
}

/// The plan as `sparkPlanInfo`, where its structure came from the text, else from the graph. `stages` are those of
/// the query's jobs.
pub(crate) fn info(sql: &Sql, stages: &[&Stage], metrics: &mut Metrics) -> Value {
    let mut nodes = sql.nodes.clone();
    // The graph is numbered in the order of the tree.
    nodes.sort_by_key(|node| node.node_id);
    let explained = sql.plan_description.as_deref().and_then(explain::parse);
    let explained = explained.unwrap_or_else(|| from_graph(sql, &nodes));
    let mut info = explained.plan_info();
    let matched = matched(&explained.operators, &nodes);
    let mut operators: Vec<Placed> = explained
        .operators
        .iter()
        .enumerate()
        .map(|(position, operator)| Placed {
            name: operator.name.trim().to_owned(),
            parent: operator.parent,
            metrics: matched.get(&position).map_or_else(Vec::new, |node| metrics.of(sql.id, &nodes[*node])),
        })
        .collect();
    places::find(&mut operators, stages);
    let mut at = 0;
    decorate(&mut info, &mut at, &mut |position, node: &mut Value| {
        let Some(found) = matched.get(&position) else { return };
        if let Some(desc) = nodes[*found].desc.as_deref().filter(|desc| !desc.is_empty()) {
            node["simpleString"] = json!(desc);
        }
        let of_node = &operators[position].metrics;
        for metric in of_node {
            metrics.update(sql.id, metric);
        }
        let named = of_node.iter().map(|metric| {
            json!({ "name": metric.name, "accumulatorId": metric.id, "metricType": metric.kind.name() })
        });
        node["metrics"] = named.collect();
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

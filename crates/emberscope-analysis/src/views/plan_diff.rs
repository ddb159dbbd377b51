//! What changed from one version of a plan to another.

use super::masked;
use super::plan::Shown;
use crate::plan::graph::Graph;
use emberscope_log::event::plan::PlanTree;
use emberscope_model::run::Run;
use emberscope_model::sql::SqlExecution;
use emberscope_model::stage_key::normalized;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What changed between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanDiff {
    /// Execution.
    pub sql_id: u64,
    /// The earlier version.
    pub from: usize,
    /// The later version.
    pub to: usize,
    /// Operators that are as they were.
    pub same: usize,
    /// Operators that changed.
    pub changed: usize,
    /// Operators that came.
    pub added: usize,
    /// Operators that went.
    pub removed: usize,
    /// All of them: in the order of the later version, those that went at the end.
    pub nodes: Vec<DiffNode>,
}

/// What became of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanChange {
    /// It is as it was, but for numbers of columns and plans.
    Same,
    /// It changed.
    Changed,
    /// It came.
    Added,
    /// It went.
    Removed,
}

/// An operator of one or both versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiffNode {
    /// What became of it.
    pub change: PlanChange,
    /// Its node in the earlier version.
    pub from_id: Option<u32>,
    /// Its node in the later version.
    pub to_id: Option<u32>,
    /// Its name in the earlier version.
    pub from_name: Option<String>,
    /// Its name in the later version.
    pub to_name: Option<String>,
    /// Its expressions in the earlier version, where they differ.
    pub from_detail: Option<String>,
    /// Its expressions in the later version, where they differ.
    pub to_detail: Option<String>,
}

/// An operator that is to be matched.
struct Side<'t> {
    id: u32,
    name: &'t str,
    detail: &'t str,
    plain: (String, String),
    metrics: Vec<u64>,
}

/// What changed from version `from` to version `to`; `None` where either could not be read.
pub fn plan_diff(run: &Run, execution: &SqlExecution, from: usize, to: usize) -> Option<PlanDiff> {
    let before = run.plan_tree(execution.versions.get(from)?)?;
    let after = run.plan_tree(execution.versions.get(to)?)?;
    let (earlier, later) = (sides(&before), sides(&after));
    let pairs = matched(&earlier, &later);
    let mut nodes: Vec<DiffNode> = Vec::new();
    for (at, new) in later.iter().enumerate() {
        nodes.push(node(pairs.get(&at).map(|old| &earlier[*old]), Some(new)));
    }
    let gone: BTreeSet<usize> = pairs.values().copied().collect();
    let left = earlier.iter().enumerate().filter(|(at, _)| !gone.contains(at));
    nodes.extend(left.map(|(_, old)| node(Some(old), None)));
    let count = |change: PlanChange| nodes.iter().filter(|node| node.change == change).count();
    Some(PlanDiff {
        sql_id: execution.id,
        from,
        to,
        same: count(PlanChange::Same),
        changed: count(PlanChange::Changed),
        added: count(PlanChange::Added),
        removed: count(PlanChange::Removed),
        nodes,
    })
}

fn node(old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> DiffNode {
    let change = match (old, new) {
        (Some(old), Some(new)) if old.plain == new.plain => PlanChange::Same,
        (Some(_), Some(_)) => PlanChange::Changed,
        (None, _) => PlanChange::Added,
        (_, None) => PlanChange::Removed,
    };
    let detail =
        |side: Option<&Side<'_>>| side.filter(|_| change != PlanChange::Same).map(|side| masked(side.detail));
    DiffNode {
        change,
        from_id: old.map(|side| side.id),
        to_id: new.map(|side| side.id),
        from_name: old.map(|side| side.name.to_owned()),
        to_name: new.map(|side| side.name.to_owned()),
        from_detail: detail(old),
        to_detail: detail(new),
    }
}

/// The shown operators of a plan.
fn sides(tree: &PlanTree) -> Vec<Side<'_>> {
    let shown = Shown::of(tree, &Graph::of(tree));
    let side = |(id, _): &(u32, Option<u32>)| {
        let node = &tree.nodes[*id as usize];
        let (name, detail) = (tree.text(node.name).trim(), tree.text(node.simple_string));
        let mut metrics: Vec<u64> = tree.metrics_of(*id).iter().map(|metric| metric.accumulator_id).collect();
        metrics.sort_unstable();
        Side { id: *id, name, detail, plain: (name.to_owned(), normalized(detail)), metrics }
    };
    shown.nodes.iter().map(side).collect()
}

/// Later operators with the earlier ones that they were: by the same metrics, then by the same text, then by
/// the same name, each in the order of the plans.
fn matched(earlier: &[Side<'_>], later: &[Side<'_>]) -> BTreeMap<usize, usize> {
    let mut pairs: BTreeMap<usize, usize> = BTreeMap::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let keys: [fn(&Side<'_>) -> Option<String>; 3] = [
        |side| (!side.metrics.is_empty()).then(|| format!("{:?}", side.metrics)),
        |side| Some(format!("{}\n{}", side.plain.0, side.plain.1)),
        |side| Some(side.name.to_owned()),
    ];
    for key in keys {
        let mut free: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (at, side) in earlier.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
            if let Some(key) = key(side) {
                free.entry(key).or_default().push_back(at);
            }
        }
        for (at, side) in later.iter().enumerate() {
            if pairs.contains_key(&at) {
                continue;
            }
            let found = key(side).and_then(|key| free.get_mut(&key)).and_then(VecDeque::pop_front);
            if let Some(old) = found {
                pairs.insert(at, old);
                taken.insert(old);
            }
        }
    }
    pairs
}

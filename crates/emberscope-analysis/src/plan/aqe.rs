//! What adaptive execution decided: the initial plan against the final one.

use super::exchange::{Place, ShuffleRead, exchange_below, shuffle_read};
use super::join::{self, Join, Strategy};
use super::{SqlView, nodes};
use emberscope_model::run::Run;

/// A join that adaptive execution runs in another way than planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinChange {
    /// The join in the final plan.
    pub node: u32,
    /// As planned.
    pub from: Strategy,
    /// As run.
    pub to: Strategy,
    /// Keys of the left and of the right side.
    pub keys: (Vec<String>, Vec<String>),
}

/// An adaptive read of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDecision {
    /// The read in the final plan.
    pub node: u32,
    /// The exchange it reads.
    pub exchange: Option<u32>,
    /// Partitions the exchange was planned with.
    pub planned_partitions: Option<u32>,
    /// What was decided.
    pub read: ShuffleRead,
    /// Stages that read it so.
    pub stages: Vec<Place>,
}

/// What adaptive execution decided in an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Whether adaptive execution ran the plan.
    pub is_adaptive: bool,
    /// Whether the last plan in the log is the final one.
    pub is_final: bool,
    /// Joins run in another way than planned.
    pub joins: Vec<JoinChange>,
    /// Joins of the initial plan that the final one has no more: a side turned out empty.
    pub joins_removed: u32,
    /// Reads that were changed.
    pub reads: Vec<ReadDecision>,
    /// Joins whose skewed partitions were split.
    pub skew_splits: Vec<u32>,
}

/// Compares the initial with the final plan.
pub fn decisions(run: &Run, view: &SqlView<'_>) -> Decisions {
    let adaptive = view.nodes.iter().find(|node| node.name == "AdaptiveSparkPlan");
    let mut decisions = Decisions {
        is_adaptive: adaptive.is_some(),
        is_final: adaptive.is_some_and(|node| node.detail.contains("isFinalPlan=true")),
        ..Decisions::default()
    };
    let joins = join::joins(view);
    decisions.skew_splits = joins.iter().filter(|join| join.is_skew_split).map(|join| join.node).collect();
    decisions.reads = reads(view);
    let mut planned = initial_joins(run, view);
    for join in &joins {
        let same = |other: &Join| other.left_keys == join.left_keys && other.right_keys == join.right_keys;
        // One that was not changed is matched first, so that of two joins by equal keys the right one counts.
        let at = planned
            .iter()
            .position(|other| same(other) && other.strategy == join.strategy)
            .or_else(|| planned.iter().position(same));
        let Some(at) = at else { continue };
        let from = planned.swap_remove(at).strategy;
        if from != join.strategy {
            let keys = (join.left_keys.clone(), join.right_keys.clone());
            decisions.joins.push(JoinChange { node: join.node, from, to: join.strategy, keys });
        }
    }
    if decisions.is_final {
        decisions.joins_removed = planned.len() as u32;
    }
    decisions
}

/// The joins of the first plan of an execution, without rows.
fn initial_joins(run: &Run, view: &SqlView<'_>) -> Vec<Join> {
    let versions = &view.execution.versions;
    let Some(tree) = versions.iter().find_map(|version| run.plan_tree(version)) else { return Vec::new() };
    let nodes = nodes(&tree, vec![Default::default(); tree.nodes.len()]);
    let own = nodes.iter().filter(|node| !node.in_cached_plan);
    own.filter_map(|node| join::parse(&node.name, &node.detail)).collect()
}

fn reads(view: &SqlView<'_>) -> Vec<ReadDecision> {
    let mut found = Vec::new();
    for node in 0..view.nodes.len() as u32 {
        if view.is_cached_plan(node) {
            continue;
        }
        let Some(read) = shuffle_read(view, node) else { continue };
        let exchange = exchange_below(view, node);
        found.push(ReadDecision {
            node,
            exchange: exchange.as_ref().map(|exchange| exchange.node),
            planned_partitions: exchange.as_ref().and_then(|exchange| exchange.partitions),
            read,
            stages: exchange.map(|exchange| exchange.readers).unwrap_or_default(),
        });
    }
    found
}

//! What an aggregate groups and computes.

use super::text::{list, split_top, without_ids};
use super::{OperatorClass, SqlView};

/// Which part of an aggregation an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregatePart {
    /// Before the shuffle: rows of the same key in one task become one.
    Partial,
    /// Between shuffles of a distinct aggregation.
    Merge,
    /// The result.
    Final,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its node.
    pub node: u32,
    /// What it groups by, without ids.
    pub keys: Vec<String>,
    /// What it computes.
    pub functions: Vec<String>,
    /// Which part it does.
    pub part: AggregatePart,
    /// Whether a function counts distinct values. Its first shuffle is by the distinct columns too, so
    /// that a hot group is spread.
    pub is_distinct: bool,
}

/// All aggregates of a plan that ran outside of cached plans, in pre-order.
pub fn aggregates(view: &SqlView<'_>) -> Vec<Aggregate> {
    let nodes = 0..view.nodes.len() as u32;
    nodes.filter(|node| !view.is_cached_plan(*node)).filter_map(|node| aggregate(view, node)).collect()
}

/// The aggregate at a node; `None` for other operators.
pub fn aggregate(view: &SqlView<'_>, node: u32) -> Option<Aggregate> {
    let it = view.nodes.get(node as usize)?;
    if it.class != OperatorClass::Aggregation {
        return None;
    }
    // HashAggregate says `keys=`, SortAggregate `key=`.
    let keys = list(&it.detail, "keys").or_else(|| list(&it.detail, "key"))?;
    let functions = list(&it.detail, "functions").unwrap_or_default();
    let clean = |text: &str| split_top(text, ',').into_iter().map(without_ids).collect::<Vec<String>>();
    let functions = clean(functions);
    let has = |prefix: &str| functions.iter().any(|function| function.starts_with(prefix));
    // Without functions (distinct) the part that feeds an exchange is the partial one.
    let feeds_exchange = || {
        let mut at = it.parent;
        while let Some(parent) = at.and_then(|at| view.nodes.get(at as usize)) {
            if parent.name.contains("Exchange") {
                return true;
            }
            if !super::names::is_wrapper(&parent.name) && parent.name != "Sort" {
                return false;
            }
            at = parent.parent;
        }
        false
    };
    let part = if has("partial_") || (functions.is_empty() && feeds_exchange()) {
        AggregatePart::Partial
    } else if has("merge_") {
        AggregatePart::Merge
    } else {
        AggregatePart::Final
    };
    let is_distinct = functions.iter().any(|function| function.contains("distinct "));
    Some(Aggregate { node, keys: clean(keys), functions, part, is_distinct })
}

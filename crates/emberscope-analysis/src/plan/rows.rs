//! Row counts along a plan.

use super::{SqlView, exchange, names};

/// Rows that an operator hands to its parent: its own count, else that of the child whose rows it hands
/// on; `None` where neither is known.
pub fn rows_into(view: &SqlView<'_>, node: u32) -> Option<i64> {
    let mut at = node;
    loop {
        let it = view.nodes.get(at as usize)?;
        if let Some(rows) = counted(view, at) {
            return Some(rows);
        }
        if it.name == "ReusedExchange" {
            return rows_into(view, exchange::reused(view, at)?.node);
        }
        if it.name == "Union" {
            return it.children.iter().map(|child| rows_into(view, *child)).sum();
        }
        if !names::keeps_rows(&it.name) {
            return None;
        }
        at = *it.children.first()?;
    }
}

/// Rows that an operator counted itself. A count of 0 is not logged, so that a declared count without
/// a value of an operator that ran is 0.
pub fn counted(view: &SqlView<'_>, node: u32) -> Option<i64> {
    let it = view.nodes.get(node as usize)?;
    let name = ["number of output rows", "shuffle records written"]
        .into_iter()
        .find(|name| it.metrics.iter().any(|(metric, _, _)| metric == name))?;
    let has_run = !it.stages.stages.is_empty();
    view.total(node, name).or(has_run.then_some(0))
}

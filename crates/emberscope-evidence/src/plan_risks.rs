//! What a plan alone tells, before it has run: operators whose cost grows badly with their rows.

use crate::mapping::called;
use emberscope_analysis::plan::names::python_kind;
use emberscope_analysis::plan::{Node, OperatorClass, SqlView, join};

/// Most risks that are told.
const MOST: usize = 20;

/// Risks of a plan in words, in the order of its operators.
pub(crate) fn plan_risks(view: &SqlView<'_>) -> Vec<String> {
    let numbered = view.nodes.iter().enumerate().map(|(id, node)| (id as u32, node));
    let mut risks: Vec<String> = numbered.filter_map(|(id, node)| risk(view, id, node)).take(MOST).collect();
    if view.nodes.len() <= 2 && view.nodes.first().is_some_and(|node| is_command(&node.name)) {
        risks.push(
            "EXPLAIN of a command need not show the plan of its query: explain the SELECT in it alone."
                .to_owned(),
        );
    }
    risks
}

fn is_command(name: &str) -> bool {
    ["Execute ", "CreateTable", "AtomicCreateTable", "AtomicReplaceTable", "AppendData", "Overwrite"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn risk(view: &SqlView<'_>, id: u32, node: &Node) -> Option<String> {
    if python_kind(&node.name).is_some() {
        let functions = called(&node.detail).join(", ");
        return Some(format!("node {id}, {}: every row goes to Python and back for {functions}", node.name));
    }
    if node.name.contains("CartesianProduct") || node.name.contains("BroadcastNestedLoopJoin") {
        return Some(format!("node {id}, {}: every row of one side meets every row of the other", node.name));
    }
    if node.name.contains("SortMergeJoin") {
        let keys = join::join(view, id)?.left_keys.join(", ");
        return Some(format!(
            "node {id}, {} on {keys}: both sides are shuffled and sorted; a small one could be broadcast, and a key that \
             many rows share makes one task long",
            node.name
        ));
    }
    if node.name.contains("Expand") {
        return Some(format!("node {id}, {}: each row becomes several, one for each set of keys", node.name));
    }
    // Partial results, or the first rows, are few.
    let is_few = |above: &Node| above.class == OperatorClass::Aggregation || above.name.contains("Limit");
    let above = node.parent.and_then(|parent| view.nodes.get(parent as usize));
    if node.detail.contains("SinglePartition") && !above.is_some_and(is_few) {
        return Some(format!("node {id}, {}: all rows go through one task", node.name));
    }
    None
}

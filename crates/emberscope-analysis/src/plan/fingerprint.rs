//! Which parts of plans do the same thing: fingerprints of subtrees without ids.
//!
//! Names and arguments of operators count, ids of attributes, expressions and plans do not; literals do.
//! Wrappers (code generation, query stages, adaptive reads) are looked through, so that a subtree is the
//! same before and after adaptive execution touched it.

use super::text::{is_cut, without_ids};
use super::{SqlView, names, scan};
use std::hash::{Hash, Hasher};
use twox_hash::XxHash64;

/// A subtree's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Hash of operators, arguments and children.
    pub hash: u64,
    /// Operators in it, wrappers not counted.
    pub operators: u32,
    /// Whether every text in it was whole; equal hashes of cut texts need not mean equal work.
    pub is_whole: bool,
    /// Whether every leaf says what it reads, so that the same hash elsewhere reads the same data.
    pub is_anchored: bool,
}

/// Fingerprints of the subtrees at all nodes, in the order of the nodes.
pub fn fingerprints(view: &SqlView<'_>) -> Vec<Fingerprint> {
    let empty = Fingerprint { hash: 0, operators: 0, is_whole: true, is_anchored: true };
    let mut prints = vec![empty; view.nodes.len()];
    // Children come after their parents in pre-order.
    for node in (0..view.nodes.len()).rev() {
        let it = &view.nodes[node];
        let children: Vec<Fingerprint> = it.children.iter().map(|child| prints[*child as usize]).collect();
        if is_transparent(&it.name) && children.len() == 1 {
            prints[node] = children[0];
            continue;
        }
        let mut hasher = XxHash64::with_seed(0);
        let (text, is_whole, is_anchored) = own_text(view, node as u32);
        text.hash(&mut hasher);
        for child in &children {
            child.hash.hash(&mut hasher);
        }
        prints[node] = Fingerprint {
            hash: hasher.finish(),
            operators: 1 + children.iter().map(|child| child.operators).sum::<u32>(),
            is_whole: is_whole && children.iter().all(|child| child.is_whole),
            is_anchored: is_anchored && children.iter().all(|child| child.is_anchored),
        };
    }
    prints
}

/// Whether a subtree is the same without the operator.
pub fn is_transparent(name: &str) -> bool {
    names::is_wrapper(name) || name.starts_with("AQEShuffleRead") || name.starts_with("CustomShuffleReader")
}

/// What an operator is, beside its children; whether its text is whole; whether it says what it reads.
fn own_text(view: &SqlView<'_>, node: u32) -> (String, bool, bool) {
    let it = &view.nodes[node as usize];
    if let Some(scan) = scan::scan(view, node) {
        let place = scan.identity().filter(|_| scan.format.is_stored());
        // A range's text has all it makes; rows of the program and of RDDs are not told apart by theirs.
        let is_anchored = place.is_some() || it.name == "Range";
        let text = format!(
            "{} {:?} {:?} {:?} {:?} {:?}",
            it.name, place, scan.columns, scan.partition_filters, scan.data_filters, scan.pushed_filters
        );
        let text = if it.name == "Range" { format!("{text} {}", it.detail) } else { text };
        let cut_columns =
            it.detail.split(" Batched").next().is_some_and(|columns| columns.contains(" more fields"));
        return (text, is_anchored && !cut_columns, is_anchored);
    }
    let detail = without_ids(&it.detail);
    let name = it.name.split(" (").next().unwrap_or(&it.name);
    // A leaf that is not a scan stands for work elsewhere: reused exchanges, cached data.
    let is_anchored = !it.children.is_empty();
    let is_whole = !is_cut(&detail) && !is_volatile(&detail);
    (format!("{name} {detail}"), is_whole, is_anchored)
}

/// Whether an operator may give other rows each time: then equal texts do not make equal results.
fn is_volatile(detail: &str) -> bool {
    ["rand(", "randn(", "uuid(", "shuffle(", "monotonically_increasing_id("]
        .iter()
        .any(|call| detail.contains(call))
}

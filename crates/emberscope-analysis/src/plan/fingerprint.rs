//! Which parts of plans do the same thing: fingerprints of subtrees without ids.
//!
//! Names and arguments of operators count, ids of attributes, expressions and plans do not; literals do.
//! Wrappers (code generation, query stages, adaptive reads) are looked through, so that a subtree is the
//! same before and after adaptive execution touched it.
//!
//! Beside the strict fingerprint there is a loose one. Spark prunes columns and functions that a query
//! does not need, so that two queries over one data frame have different plans. The loose fingerprint
//! leaves out projections, the columns of scans and the functions of aggregates, and keeps what decides
//! which rows there are: sources, filters, keys of joins and groups. Where two queries agree in it,
//! [`aliases`] tells whether their computed columns of the same name are the same.

use super::aggregate::aggregate;
use super::text::{bracketed, is_cut, split_top, without_ids};
use super::{OperatorClass, SqlView, names, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use twox_hash::XxHash64;

/// A subtree's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Hash of operators, arguments and children.
    pub hash: u64,
    /// Hash without what column pruning changes.
    pub loose: u64,
    /// The loose hash without filters: what is computed, whatever rows of it. Equal to the loose one where there
    /// are none.
    pub unfiltered: u64,
    /// Operators in it; wrappers and what made cached data are not counted.
    pub operators: u32,
    /// Whether every text in it was whole; equal hashes of cut texts need not mean equal work.
    pub is_whole: bool,
    /// Whether every leaf says what it reads, so that the same hash elsewhere reads the same data.
    pub is_anchored: bool,
    /// Whether it does more than read, filter and move rows: joins, groups, calls functions of the program.
    pub is_heavy: bool,
    /// Whether it calls functions of the program, which cost what nobody knows.
    pub calls_foreign_code: bool,
    /// Whether it is heavy or reads rows from elsewhere than a cache.
    pub is_costly: bool,
}

/// Fingerprints of the subtrees at all nodes, in the order of the nodes.
pub fn fingerprints(view: &SqlView<'_>) -> Vec<Fingerprint> {
    let empty = Fingerprint {
        hash: 0,
        loose: 0,
        unfiltered: 0,
        operators: 0,
        is_whole: true,
        is_anchored: true,
        is_heavy: false,
        calls_foreign_code: false,
        is_costly: false,
    };
    let mut prints = vec![empty; view.nodes.len()];
    // Children come after their parents in pre-order.
    for node in (0..view.nodes.len()).rev() {
        let it = &view.nodes[node];
        let children: Vec<Fingerprint> = it.children.iter().map(|child| prints[*child as usize]).collect();
        prints[node] = match children.as_slice() {
            [child] if is_transparent(&it.name) => *child,
            children => own_print(view, node as u32, children),
        };
    }
    prints
}

/// What the plan reads, without the columns; `None` where a leaf does not say what it reads.
pub fn sources(view: &SqlView<'_>) -> Option<BTreeSet<u64>> {
    let prints = fingerprints(view);
    let leaves = view.nodes.iter().zip(&prints).filter(|(node, _)| node.children.is_empty());
    leaves.map(|(_, print)| (print.is_anchored && print.is_whole).then_some(print.loose)).collect()
}

fn own_print(view: &SqlView<'_>, node: u32, children: &[Fingerprint]) -> Fingerprint {
    let it = &view.nodes[node as usize];
    let own = own_text(view, node);
    let hash = |text: &str, of: fn(&Fingerprint) -> u64| {
        let mut hasher = XxHash64::with_seed(0);
        text.hash(&mut hasher);
        children.iter().for_each(|child| of(child).hash(&mut hasher));
        hasher.finish()
    };
    let is_heavy = matches!(
        it.class,
        OperatorClass::Join
            | OperatorClass::Aggregation
            | OperatorClass::Window
            | OperatorClass::Python
            | OperatorClass::Expand
    ) || it.name == "Union"
        || names::calls_foreign_code(&it.detail);
    // What made cached data did not run with this query.
    let is_cache = it.class == OperatorClass::Cache;
    let below = |of: fn(&Fingerprint) -> bool| !is_cache && children.iter().any(of);
    let pruned = |text: &Option<String>, of: fn(&Fingerprint) -> u64| match text {
        Some(text) => hash(text, of),
        // Left out: a subtree is as the one below it.
        None => children.first().map_or(0, of),
    };
    let loose = pruned(&own.loose, |child| child.loose);
    let unfiltered = pruned(&own.unfiltered, |child| child.unfiltered);
    Fingerprint {
        hash: hash(&own.text, |child| child.hash),
        loose,
        unfiltered,
        operators: 1 + if is_cache { 0 } else { children.iter().map(|child| child.operators).sum::<u32>() },
        is_whole: own.is_whole && children.iter().all(|child| child.is_whole),
        is_anchored: own.is_anchored && children.iter().all(|child| child.is_anchored),
        is_heavy: (is_heavy && !is_cache) || below(|child| child.is_heavy),
        calls_foreign_code: (names::calls_foreign_code(&it.detail) && !is_cache)
            || below(|child| child.calls_foreign_code),
        is_costly: is_heavy
            || it.class == OperatorClass::Scan
            || it.name == "Range"
            || below(|child| child.is_costly),
    }
}

/// Whether a subtree is the same without the operator.
pub fn is_transparent(name: &str) -> bool {
    names::is_wrapper(name) || name.starts_with("AQEShuffleRead") || name.starts_with("CustomShuffleReader")
}

struct OwnText {
    text: String,
    /// `None` = the operator is left out of the loose fingerprint.
    loose: Option<String>,
    /// The same without filters.
    unfiltered: Option<String>,
    is_whole: bool,
    is_anchored: bool,
}

/// What an operator is, beside its children.
fn own_text(view: &SqlView<'_>, node: u32) -> OwnText {
    let it = &view.nodes[node as usize];
    if let Some(scan) = scan::scan(view, node) {
        let place = scan.identity().filter(|_| scan.format.is_stored());
        // A range's text has all it makes; rows of the program and of RDDs are not told apart by theirs.
        let is_range = it.name == "Range";
        let is_anchored = place.is_some() || is_range;
        let range = if is_range { without_ids(&it.detail) } else { String::new() };
        let filters: BTreeSet<&String> =
            scan.partition_filters.iter().chain(&scan.data_filters).chain(&scan.pushed_filters).collect();
        let conditions = filters.iter().filter(|filter| !filter.to_ascii_lowercase().contains("notnull"));
        let conditions: Vec<&&String> = conditions.collect();
        return OwnText {
            text: format!("{} {place:?} {:?} {filters:?} {range}", it.name, scan.columns),
            loose: Some(format!("{} {place:?} {conditions:?} {range}", it.name)),
            unfiltered: Some(format!("{} {place:?} [] {range}", it.name)),
            is_whole: is_anchored && scan.more_columns == 0,
            is_anchored,
        };
    }
    let detail = without_ids(&it.detail);
    let name = it.name.split(" (").next().unwrap_or(&it.name);
    let loose = if name == "Project" {
        None
    } else if let Some(aggregate) = aggregate(view, node).filter(|aggregate| !aggregate.keys.is_empty()) {
        // Without keys the functions are all there is.
        Some(format!("{name} {:?} {:?}", aggregate.part, aggregate.keys))
    } else {
        Some(format!("{name} {detail}"))
    };
    OwnText {
        text: format!("{name} {detail}"),
        unfiltered: loose.clone().filter(|_| name != "Filter"),
        loose,
        is_whole: !is_cut(&detail) && !is_volatile(&detail),
        // A leaf that is not a scan stands for work elsewhere: reused exchanges, for example.
        is_anchored: !it.children.is_empty(),
    }
}

/// Whether an operator may give other rows each time: then equal texts do not make equal results.
/// Python's lambdas all bear one name.
fn is_volatile(detail: &str) -> bool {
    let calls = ["rand(", "randn(", "uuid(", "shuffle(", "monotonically_increasing_id(", "<lambda>"];
    calls.iter().any(|call| detail.contains(call))
}

/// The computed columns of some nodes by their names: `(id % 10) AS k` is `k`.
pub fn aliases(view: &SqlView<'_>, nodes: &BTreeSet<u32>) -> BTreeMap<String, String> {
    let mut aliases = BTreeMap::new();
    for node in nodes.iter().filter_map(|node| view.nodes.get(*node as usize)) {
        let Some(list) = node.detail.strip_prefix("Project ").and_then(bracketed) else { continue };
        for column in split_top(list.0, ',') {
            if let Some((expression, name)) = column.rsplit_once(" AS ") {
                aliases.insert(without_ids(name), without_ids(expression));
            }
        }
    }
    aliases
}

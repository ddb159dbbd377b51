//! How data moves between stages: exchanges, adaptive reads of them, the stages on both sides.

use super::text::{bracketed, split_top, without_ids};
use super::{OperatorClass, SqlView, names};

/// A stage attempt: stage id and attempt.
pub type Place = (u32, u32);

/// How rows are dealt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// By a hash of keys.
    Hash(Vec<String>),
    /// By ranges of keys.
    Range(Vec<String>),
    /// In turn.
    RoundRobin,
    /// All to one.
    Single,
    /// To every executor.
    Broadcast,
    /// Something else.
    Other(String),
}

/// An exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its node.
    pub node: u32,
    /// How rows are dealt out.
    pub partitioning: Partitioning,
    /// Into how many partitions.
    pub partitions: Option<u32>,
    /// Whether the program asked for it (`repartition`, `REPARTITION` hint).
    pub is_user: bool,
    /// Whether a hint let adaptive execution choose the partitions (`REBALANCE`).
    pub is_rebalance: bool,
    /// Whether it reuses another one of the plan.
    pub is_reused: bool,
    /// Size of its rows as adaptive execution sees it, bytes.
    pub data_bytes: Option<i64>,
    /// Rows written.
    pub rows: Option<i64>,
    /// Stages that wrote it.
    pub writers: Vec<Place>,
    /// Stages that read it.
    pub readers: Vec<Place>,
}

/// How adaptive execution read an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShuffleRead {
    /// Small partitions were put together.
    pub is_coalesced: bool,
    /// Large partitions were split.
    pub is_skewed: bool,
    /// Rows were read where they had been written.
    pub is_local: bool,
    /// Partitions after that.
    pub partitions: Option<i64>,
    /// Partitions that were found too large.
    pub skewed_partitions: Option<i64>,
    /// What they were split into.
    pub skewed_splits: Option<i64>,
}

/// All exchanges of a plan that ran outside of cached plans, in pre-order.
pub fn exchanges(view: &SqlView<'_>) -> Vec<Exchange> {
    let nodes = 0..view.nodes.len() as u32;
    nodes.filter(|node| !view.is_cached_plan(*node)).filter_map(|node| exchange(view, node)).collect()
}

/// The exchange at a node; `None` for other operators.
pub fn exchange(view: &SqlView<'_>, node: u32) -> Option<Exchange> {
    let it = view.nodes.get(node as usize)?;
    let is_exchange =
        matches!(it.class, OperatorClass::Shuffle | OperatorClass::Broadcast) && it.name.contains("Exchange");
    if !is_exchange {
        return None;
    }
    let (partitioning, partitions) = partitioning(&it.detail);
    Some(Exchange {
        node,
        partitioning: if it.class == OperatorClass::Broadcast {
            Partitioning::Broadcast
        } else {
            partitioning
        },
        partitions,
        is_user: it.detail.contains("REPARTITION_BY"),
        is_rebalance: it.detail.contains("REBALANCE"),
        is_reused: it.name == "ReusedExchange",
        data_bytes: view.total(node, "data size").or_else(|| view.total(node, "data size (bytes)")),
        rows: view
            .total(node, "shuffle records written")
            .or_else(|| view.total(node, "number of output rows"))
            .or_else(|| view.total(node, "records read")),
        writers: stages_of(view, node, &["shuffle records written", "shuffle bytes written"]),
        readers: stages_of(view, node, &["records read", "local blocks read", "remote blocks read"]),
    })
}

fn stages_of(view: &SqlView<'_>, node: u32, metrics: &[&str]) -> Vec<Place> {
    let metrics = metrics.iter().filter_map(|name| view.metric(node, name));
    let mut places: Vec<Place> =
        metrics.flat_map(|metric| metric.by_stage.iter().map(|(place, _)| *place)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn partitioning(detail: &str) -> (Partitioning, Option<u32>) {
    // `ReusedExchange [a#1], Exchange hashpartitioning(..)` names the one it reuses.
    let detail = detail.rfind("Exchange ").map_or(detail, |at| &detail[at..]);
    let arguments = |label: &str| {
        let at = detail.find(label)? + label.len();
        let (inside, _) = bracketed(&detail[at..])?;
        let mut parts: Vec<String> = split_top(inside, ',').into_iter().map(without_ids).collect();
        let partitions = parts.last().and_then(|last| last.parse().ok());
        if partitions.is_some() {
            parts.pop();
        }
        Some((parts, partitions))
    };
    if let Some((keys, partitions)) = arguments("rangepartitioning") {
        // A range's key carries its order: `id ASC NULLS FIRST`.
        let keys = keys.iter().map(|key| {
            key.split(" ASC").next().unwrap_or(key).split(" DESC").next().unwrap_or(key).to_owned()
        });
        (Partitioning::Range(keys.collect()), partitions)
    } else if let Some((keys, partitions)) = arguments("hashpartitioning") {
        (Partitioning::Hash(keys), partitions)
    } else if let Some((_, partitions)) = arguments("RoundRobinPartitioning") {
        (Partitioning::RoundRobin, partitions)
    } else if detail.contains("SinglePartition") || detail.contains("singlepartitioning") {
        (Partitioning::Single, Some(1))
    } else {
        (Partitioning::Other(without_ids(detail)), None)
    }
}

/// How an adaptive read at a node changed its exchange; `None` for other operators.
pub fn shuffle_read(view: &SqlView<'_>, node: u32) -> Option<ShuffleRead> {
    let it = view.nodes.get(node as usize)?;
    let is_read = it.name.starts_with("AQEShuffleRead") || it.name.starts_with("CustomShuffleReader");
    let has = |word: &str| it.detail.contains(word);
    is_read.then(|| ShuffleRead {
        is_coalesced: has("coalesced"),
        is_skewed: has("skewed"),
        is_local: has("local"),
        partitions: view.total(node, "number of partitions"),
        skewed_partitions: view.total(node, "number of skewed partitions"),
        skewed_splits: view.total(node, "number of skewed partition splits"),
    })
}

/// The exchange that feeds a node, through nothing but sorts, adaptive reads and wrappers; a reused one
/// is given as the one it reuses.
pub fn exchange_below(view: &SqlView<'_>, node: u32) -> Option<Exchange> {
    let mut at = node;
    loop {
        if let Some(found) = exchange(view, at) {
            return if found.is_reused { reused(view, at).or(Some(found)) } else { Some(found) };
        }
        let it = view.nodes.get(at as usize)?;
        let passes = names::is_wrapper(&it.name) || it.name == "Sort" || shuffle_read(view, at).is_some();
        if !passes || it.children.len() != 1 {
            return None;
        }
        at = it.children[0];
    }
}

/// The exchange that a `ReusedExchange` reuses, by the id of its plan.
pub fn reused(view: &SqlView<'_>, node: u32) -> Option<Exchange> {
    let id = plan_id(&view.nodes.get(node as usize)?.detail)?;
    let mut nodes = view.nodes.iter().enumerate();
    let (original, _) = nodes.find(|(_, other)| {
        other.name != "ReusedExchange"
            && other.name.contains("Exchange")
            && plan_id(&other.detail) == Some(id)
    })?;
    exchange(view, original as u32)
}

fn plan_id(detail: &str) -> Option<u64> {
    let at = detail.rfind("[plan_id=").map(|at| at + 9).or_else(|| detail.rfind("[id=#").map(|at| at + 5))?;
    detail[at..].split(']').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_exchanges() {
        let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        for (detail, expected) in [
            (
                "Exchange hashpartitioning(key#3L, f(b#1, 2), 8), ENSURE_REQUIREMENTS, [plan_id=42]",
                (Partitioning::Hash(keys(&["key", "f(b, 2)"])), Some(8)),
            ),
            (
                "Exchange rangepartitioning(id#62L DESC NULLS LAST, 6), ENSURE_REQUIREMENTS, [plan_id=1]",
                (Partitioning::Range(keys(&["id"])), Some(6)),
            ),
            ("Exchange SinglePartition, true, [id=#39]", (Partitioning::Single, Some(1))),
            (
                "Exchange RoundRobinPartitioning(4), REPARTITION_BY_NUM, [plan_id=7]",
                (Partitioning::RoundRobin, Some(4)),
            ),
            (
                "ReusedExchange [k#187L], Exchange hashpartitioning(k#14L, 2), ENSURE_REQUIREMENTS, [plan_id=358]",
                (Partitioning::Hash(keys(&["k"])), Some(2)),
            ),
        ] {
            assert_eq!(partitioning(detail), expected, "{detail}");
        }
        assert_eq!(plan_id("Exchange SinglePartition, true, [id=#39]"), Some(39));
    }
}

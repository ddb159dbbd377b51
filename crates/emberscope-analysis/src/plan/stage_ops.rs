//! What a stage does, in the words of its query: what it scans, joins and groups, by which keys.

use super::aggregate::{Aggregate, AggregatePart, aggregate};
use super::exchange::{Exchange, Partitioning, Place, exchange};
use super::join::{Join, join};
use super::names::{PythonKind, python_kind};
use super::scan::{Scan, scan};
use super::write::{WriteTarget, write};
use super::{OperatorClass, SqlView};

/// The operators of one stage attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageOperators {
    /// What it reads from storage.
    pub scans: Vec<Scan>,
    /// What it joins.
    pub joins: Vec<Join>,
    /// What it groups.
    pub aggregates: Vec<Aggregate>,
    /// The exchanges it reads.
    pub reads: Vec<Exchange>,
    /// The exchanges it writes.
    pub writes: Vec<Exchange>,
    /// Window operators.
    pub windows: Vec<u32>,
    /// Sort operators.
    pub sorts: Vec<u32>,
    /// Operators that make several rows of one.
    pub expansions: Vec<u32>,
    /// Python operators.
    pub python: Vec<(u32, PythonKind)>,
    /// What it writes to storage.
    pub targets: Vec<WriteTarget>,
}

/// What makes a stage's rows of one key come together in one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Its node.
    pub node: u32,
    /// `join`, `aggregation`, `window`, `repartition` or `sort`.
    pub what: &'static str,
    /// The keys, without ids.
    pub keys: Vec<String>,
}

/// The operators that ran in a stage attempt.
pub fn operators_of_stage(view: &SqlView<'_>, place: Place) -> StageOperators {
    let mut operators = StageOperators::default();
    for (node, it) in view.nodes_of_stage(place) {
        if it.in_cached_plan {
            continue;
        }
        match it.class {
            OperatorClass::Scan => operators.scans.extend(scan(view, node)),
            OperatorClass::Join => operators.joins.extend(join(view, node)),
            OperatorClass::Aggregation => operators.aggregates.extend(aggregate(view, node)),
            OperatorClass::Window => operators.windows.push(node),
            OperatorClass::Sort => operators.sorts.push(node),
            OperatorClass::Expand => operators.expansions.push(node),
            OperatorClass::Write => operators.targets.extend(write(view, node)),
            OperatorClass::Shuffle => {
                let Some(exchange) = exchange(view, node) else { continue };
                if exchange.readers.contains(&place) {
                    operators.reads.push(exchange.clone());
                }
                if exchange.writers.contains(&place) {
                    operators.writes.push(exchange);
                }
            }
            _ => {}
        }
        if let Some(kind) = python_kind(&it.name) {
            operators.python.push((node, kind));
        }
    }
    operators
}

impl StageOperators {
    /// The operator that needs the rows of one key in one task, and its keys: the cause of skew by keys.
    /// The lowest one counts: it takes the rows as they come out of the exchange.
    pub fn keyed(&self, view: &SqlView<'_>) -> Option<Keyed> {
        let read_keys = self.reads.iter().find_map(|exchange| match &exchange.partitioning {
            Partitioning::Hash(keys) | Partitioning::Range(keys) => Some((exchange, keys.clone())),
            _ => None,
        })?;
        let (exchange, keys) = read_keys;
        if exchange.is_user {
            return Some(Keyed { node: exchange.node, what: "repartition", keys });
        }
        let joins =
            self.joins.iter().filter(|join| !join.left_keys.is_empty()).map(|join| (join.node, "join"));
        let finals = self.aggregates.iter().filter(|aggregate| aggregate.part != AggregatePart::Partial);
        let aggregates = finals.map(|aggregate| (aggregate.node, "aggregation"));
        let windows = self.windows.iter().map(|node| (*node, "window"));
        let lowest = joins
            .chain(aggregates)
            .chain(windows)
            .filter(|(node, _)| is_above(view, *node, exchange.node))
            .max();
        match (lowest, &exchange.partitioning) {
            (Some((node, what)), _) => Some(Keyed { node, what, keys }),
            (None, Partitioning::Range(_)) => Some(Keyed { node: exchange.node, what: "sort", keys }),
            (None, _) => Some(Keyed { node: exchange.node, what: "repartition", keys }),
        }
    }

    /// What the stage does, in a few words: `join by k, scan of parquet orders`; `None` when it is not known.
    pub fn label(&self, view: &SqlView<'_>) -> Option<String> {
        let mut words = Vec::new();
        if let Some(keyed) = self.keyed(view) {
            words.push(format!("{} by {}", keyed.what, keyed.keys.join(", ")));
        } else if let Some(join) = self.joins.first() {
            words.push(match join.left_keys.is_empty() {
                true => join.strategy.name().to_owned(),
                false => format!("join by {}", join.keys_label()),
            });
        }
        words.extend(
            self.scans
                .iter()
                .filter(|scan| scan.format.is_stored())
                .take(2)
                .map(|scan| format!("scan of {}", scan.label())),
        );
        let targets = self.targets.iter().filter_map(|target| target.target.as_deref());
        words.extend(targets.take(1).map(|target| format!("write of {}", super::text::last_part(target))));
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// Whether a node is an ancestor of another.
pub fn is_above(view: &SqlView<'_>, above: u32, below: u32) -> bool {
    let mut at = view.nodes.get(below as usize).and_then(|node| node.parent);
    while let Some(node) = at {
        if node == above {
            return true;
        }
        at = view.nodes.get(node as usize).and_then(|node| node.parent);
    }
    false
}

/// Scans below a node, outside of cached plans: where its rows come from.
pub fn scans_below(view: &SqlView<'_>, node: u32) -> Vec<Scan> {
    super::price::subtree(view, node).into_iter().filter_map(|node| scan(view, node)).collect()
}

//! What plans show: detectors with the tag `PLAN`, and what they share.

pub mod duplicate_subtree;
pub mod expand_explosion;
pub mod fallback_to_rows;
pub mod huge_plan;
pub mod join_explosion;
pub mod missing_pruning;
pub mod missing_pushdown;
pub mod nested_loop_join;
pub mod over_broadcast;
pub mod python_udf;
pub mod single_partition;
mod small_batches;
pub mod small_files;
pub mod under_broadcast;
pub mod unsplittable_input;

use crate::config::Conf;
use crate::context::{Context, StageDigest};
use crate::detector::{Sink, Threshold};
use crate::finding::Scope;
use crate::plan::exchange::Place;
use crate::plan::rows::{counted, rows_into};
use crate::plan::scan::Scan;
use crate::plan::{OperatorClass, SqlView, names, price};
use emberscope_model::stage_key::normalized;
use std::collections::BTreeSet;

pub(crate) const TAG: &str = "PLAN";

pub(crate) const fn threshold(name: &'static str, default: f64, doc: &'static str) -> Threshold {
    Threshold { tag: TAG, name, default, doc }
}

/// The configuration that a query ran with.
pub(crate) fn conf<'v>(context: &'v Context<'_>, view: &'v SqlView<'_>) -> Conf<'v> {
    Conf::of(context.run, Some(view.execution))
}

/// The place of a node.
pub(crate) fn scope(view: &SqlView<'_>, node: u32) -> Scope {
    Scope { sql_id: Some(view.execution.id), node_id: Some(node), ..Scope::default() }
}

/// Whether the stages of some operators ran for too short to matter, all together.
pub(crate) fn is_immaterial(context: &Context<'_>, places: &[Place]) -> bool {
    places.is_empty() || context.is_immaterial(price::active_ms(context, places))
}

/// Tasks that could run at once while a stage ran; at least 1.
pub(crate) fn slots(digest: &StageDigest) -> u32 {
    let running = digest.running_ms().max(1) as f64;
    let cores = digest.available_core_ms.map_or(f64::from(digest.peak_concurrency), |ms| ms as f64 / running);
    (cores / digest.task_cpus.max(f64::MIN_POSITIVE)).floor().clamp(1.0, f64::from(u32::MAX)) as u32
}

/// The filter right above a node, and the rows it lets through; projections and wrappers lie between at most.
pub(crate) fn filter_above(view: &SqlView<'_>, node: u32) -> Option<(u32, i64)> {
    let mut at = view.nodes.get(node as usize)?.parent?;
    loop {
        let it = view.nodes.get(at as usize)?;
        if it.name == "Filter" {
            return Some((at, rows_into(view, at)?));
        }
        let is_udf = it.class == OperatorClass::Python;
        if !(is_udf || names::keeps_rows(&it.name)) || it.name.contains("Exchange") {
            return None;
        }
        at = it.parent?;
    }
}

/// A node and what runs above it in the same stages: up to the next exchange, that one included.
pub(crate) fn up_to_exchange(view: &SqlView<'_>, node: u32) -> BTreeSet<u32> {
    let mut nodes = BTreeSet::from([node]);
    let mut at = view.nodes.get(node as usize).and_then(|it| it.parent);
    while let Some(parent) = at {
        let Some(it) = view.nodes.get(parent as usize) else { break };
        nodes.insert(parent);
        if it.name.contains("Exchange") {
            break;
        }
        at = it.parent;
    }
    nodes
}

/// What tells a filter of a relation: queries that differ only in the values compared have one cause.
pub(crate) fn same_filter(scan: &Scan, condition: &str) -> String {
    let relation = scan.location.as_deref().or(scan.relation.as_deref()).unwrap_or_default();
    format!("{relation}\n{}", normalized(condition))
}

/// Whether a native engine ran parts of a plan; then its types say that they could not be looked for.
pub(crate) fn is_native(
    context: &Context<'_>,
    view: &SqlView<'_>,
    kind: &'static str,
    sink: &mut Sink,
) -> bool {
    let is_native = context.is_native || names::has_native(&view.nodes);
    if is_native {
        sink.not_checked(
            kind,
            "operators of a native engine do not report rows and times as Spark's do",
            None,
        );
    }
    is_native
}

/// `1.2 million`, `34 000`.
pub(crate) fn count_text(count: i64) -> String {
    let value = count as f64;
    if value >= 1e12 {
        format!("{} trillion", short(value / 1e12))
    } else if value >= 1e9 {
        format!("{} billion", short(value / 1e9))
    } else if value >= 1e6 {
        format!("{} million", short(value / 1e6))
    } else {
        crate::words::grouped(count)
    }
}

/// Two digits below 10, whole numbers above.
pub(crate) fn short(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A share in whole percent; what is not 0 is at least "under 1".
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "under 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
}

/// A ratio rounded for evidence.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Rows after the first aggregate above a node in the same stages, if it puts most of the node's rows together.
pub(crate) fn collapsed(view: &SqlView<'_>, node: u32, rows: i64) -> Option<i64> {
    let above = up_to_exchange(view, node);
    let aggregate = above.iter().rev().find(|node| view.nodes[**node as usize].name.contains("Aggregate"))?;
    counted(view, *aggregate).filter(|after| after.saturating_mul(2) < rows)
}

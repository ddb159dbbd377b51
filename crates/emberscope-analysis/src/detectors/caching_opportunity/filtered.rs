//! Queries that compute a repeated result too, but only the rows of it that a filter leaves.

use super::{Found, Seen, one_by_root, same_columns};
use crate::context::Context;
use crate::finding::{Claim, Worth};
use crate::plan::price::{self, Part};
use crate::replay::Edit;
use crate::words::count;
use std::collections::{BTreeMap, BTreeSet};

/// What is computed in one query only, by its fingerprint without filters.
pub(super) fn lone(found: &Found) -> BTreeMap<u64, Vec<&Seen>> {
    let mut lone: BTreeMap<u64, Vec<&Seen>> = BTreeMap::new();
    for (_, seen) in found.composites.values() {
        let by_root: BTreeSet<u64> = seen.iter().map(|seen| seen.root).collect();
        if by_root.len() == 1 {
            lone.entry(seen[0].unfiltered).or_default().push(&seen[0]);
        }
    }
    lone
}

/// Those of the lone ones that filter what `seen` computes: Spark pushes a filter below what it can, so that their
/// plans are others, although a copy would serve them. The copy must be there before.
pub(super) fn behind_filters<'f>(
    context: &Context<'_>,
    lone: &BTreeMap<u64, Vec<&'f Seen>>,
    seen: &[&'f Seen],
) -> Vec<&'f Seen> {
    // A copy of some rows does not have those of another filter.
    let Some(first) = seen.first().filter(|first| !first.is_filtered) else { return Vec::new() };
    let roots: BTreeSet<u64> = seen.iter().map(|seen| seen.root).collect();
    let serves = |other: &&&'f Seen| {
        let is_part = other.rows.zip(first.rows).is_none_or(|(rows, all)| rows <= all);
        is_part
            && other.start_ms >= first.start_ms
            && !roots.contains(&other.root)
            && same_columns(context, &[*first, **other])
    };
    one_by_root(lone.get(&first.unfiltered).into_iter().flatten().filter(serves).copied().collect())
}

/// Counts them into the best case: how much of their work is above the copy is not in the log.
pub(super) fn add(context: &Context<'_>, claim: &mut Claim, behind: &[&Seen]) {
    let Worth::Replay { high, .. } = &mut claim.worth else { return };
    let parts: Vec<Part> = behind
        .iter()
        .filter_map(|seen| Some((context.sql_view(seen.execution)?, seen.node)))
        .flat_map(|(view, node)| price::parts_of(context, &view, &price::subtree(&view, node)))
        .collect();
    if parts.is_empty() {
        return;
    }
    let known: BTreeSet<_> = high.iter().filter_map(Edit::place).collect();
    let own = price::without(&parts, 1.0).into_iter();
    high.extend(own.filter(|edit| edit.place().is_none_or(|place| !known.contains(&place))));
    claim.stages.extend(price::places(&parts));
    claim.evidence.insert("filtering_executions".to_owned(), behind.len().into());
    let (queries, verb) =
        (count(behind.len(), "more query"), if behind.len() == 1 { "computes" } else { "compute" });
    claim.recommendation.text.push_str(&format!(
        " {queries} {verb} it for the rows that a filter leaves, and would filter the copy."
    ));
}

//! What it is worth that a part of a plan does not run: as edits of the replay.

use super::exchange::Place;
use super::time::operators_time;
use super::{SqlView, names};
use crate::context::Context;
use crate::replay::Edit;
use std::collections::{BTreeMap, BTreeSet};

/// A share of a stage attempt's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Stage attempt.
    pub place: Place,
    /// Share of its task time, 0 to 1; 1 = the stage has nothing else to do.
    pub share: f64,
}

/// The shares that some operators have in the stages they ran in. A stage that runs nothing else is
/// counted whole, overheads included.
pub fn parts_of(context: &Context<'_>, view: &SqlView<'_>, nodes: &BTreeSet<u32>) -> Vec<Part> {
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for node in nodes {
        if let Some(it) = view.nodes.get(*node as usize) {
            places.extend(it.stages.stages.iter().copied());
        }
    }
    places.into_iter().filter_map(|place| part(context, view, nodes, place)).collect()
}

fn part(context: &Context<'_>, view: &SqlView<'_>, nodes: &BTreeSet<u32>, place: Place) -> Option<Part> {
    let digest = context.digest_of(place.0, place.1)?;
    let times = operators_time(context, view, digest);
    let others = times.iter().filter(|time| !nodes.contains(&time.node));
    // The exchange that a stage reads is listed with it, but was written by another one.
    let has_others = others.clone().any(|time| !names::is_wrapper(&view.nodes[time.node as usize].name));
    if !has_others && !times.is_empty() {
        return Some(Part { place, share: 1.0 });
    }
    let share: f64 = times.iter().filter(|time| nodes.contains(&time.node)).map(|time| time.share).sum();
    let of_attempts = digest.counted.run_ms as f64 / digest.attempt_ms.max(1) as f64;
    (share > 0.0).then_some(Part { place, share: (share * of_attempts).clamp(0.0, 1.0) })
}

/// The edits that take away a share `gone` (0 to 1) of every part.
pub fn without(parts: &[Part], gone: f64) -> Vec<Edit> {
    let mut shares: BTreeMap<Place, f64> = BTreeMap::new();
    for part in parts {
        *shares.entry(part.place).or_default() += part.share * gone;
    }
    let edit = |(place, share): (Place, f64)| match share {
        share if share >= 1.0 => Edit::Drop { place },
        share => Edit::ScaleAll { place, factor: 1.0 - share },
    };
    shares.into_iter().filter(|(_, share)| *share > 0.0).map(edit).collect()
}

/// Core-time that the parts took, milliseconds.
pub fn core_ms(context: &Context<'_>, parts: &[Part]) -> i64 {
    let of = |part: &Part| {
        let digest = context.digest_of(part.place.0, part.place.1)?;
        Some(digest.attempt_ms as f64 * digest.task_cpus * part.share)
    };
    parts.iter().filter_map(of).sum::<f64>().round() as i64
}

/// The places of parts.
pub fn places(parts: &[Part]) -> Vec<Place> {
    parts.iter().map(|part| part.place).collect()
}

/// Time during which any task of these stage attempts ran, milliseconds.
pub fn active_ms(context: &Context<'_>, places: &[Place]) -> i64 {
    let spans = places.iter().filter_map(|(id, attempt)| context.digest_of(*id, *attempt)?.running);
    emberscope_model::intervals::union_ms(spans)
}

/// A node and all below it, without cached plans.
pub fn subtree(view: &SqlView<'_>, root: u32) -> BTreeSet<u32> {
    let mut nodes = BTreeSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if nodes.insert(node)
            && let Some(it) = view.nodes.get(node as usize)
        {
            open.extend(it.children.iter().copied().filter(|child| !view.is_cached_plan(*child)));
        }
    }
    nodes
}

/// What reading (or writing) a kept copy of so many rows takes at most, as a share of the time that computing
/// them takes: by `row_us` a row, and between the two shares.
pub fn copy_share(rows: Option<i64>, core_ms: i64, row_us: f64, least: f64, most: f64) -> f64 {
    let by_rows = rows.map(|rows| rows as f64 * row_us / 1000.0 / core_ms.max(1) as f64);
    by_rows.map_or(most, |share| share.clamp(least.min(most), most))
}

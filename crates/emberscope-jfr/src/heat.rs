//! When which executor had how much: weight over time.

use crate::flame_event::FlameEvent;
use crate::fold::Profile;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Weight by executor and slice of time. A batch of samples counts where it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Heat {
    /// Start of the first slice, epoch milliseconds.
    pub start_ms: i64,
    /// Length of a slice, milliseconds.
    pub slice_ms: i64,
    /// A row for each executor.
    pub rows: Vec<HeatRow>,
}

/// The slices of an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeatRow {
    /// Its id.
    pub executor: String,
    /// Weight of each slice.
    pub weights: Vec<i64>,
}

/// The heat of a profile that kept its samples, in at most `slices`; none of memory, of which only the end is
/// known.
pub fn heat(profile: &Profile, slices: usize) -> Option<Heat> {
    if matches!(profile.event, FlameEvent::Malloc | FlameEvent::Live) {
        return None;
    }
    let samples = profile.samples.as_ref()?;
    let ms = |ns: i64| ns.div_euclid(1_000_000);
    let first = ms(samples.times_ns.iter().copied().min()?);
    let last = ms(samples.times_ns.iter().copied().max()?);
    let slices = slices.max(1);
    let slice_ms = last.saturating_sub(first).saturating_add(1).div_euclid(slices as i64).saturating_add(1);
    let mut rows: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (at, time_ns) in samples.times_ns.iter().enumerate() {
        let Some(thread) = samples.names.get(samples.threads[at] as usize) else { continue };
        let row = rows.entry(&thread.executor).or_insert_with(|| vec![0; slices]);
        let slice = ms(*time_ns).saturating_sub(first).div_euclid(slice_ms) as usize;
        if let Some(weight) = row.get_mut(slice) {
            *weight = weight.saturating_add(samples.weights[at]);
        }
    }
    let rows = rows.into_iter().map(|(executor, weights)| HeatRow { executor: executor.to_owned(), weights });
    Some(Heat { start_ms: first, slice_ms, rows: rows.collect() })
}

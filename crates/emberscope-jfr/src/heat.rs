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

/// Slices that a strip has at most: two pixels each on a desk.
const SLICES: usize = 512;

/// Weight over time from a common start on. Its slices grow with the time, so that their number does not.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    start_ms: i64,
    slice_ms: i64,
    weights: Vec<i64>,
}

impl Strip {
    pub(crate) fn new(start_ms: i64) -> Strip {
        Strip { start_ms, slice_ms: 1, weights: Vec::new() }
    }

    /// A strip with the same start and slices, without weight.
    pub(crate) fn emptied(&self) -> Strip {
        Strip { weights: Vec::new(), ..*self }
    }

    /// Adds a weight at a time. What is before the start counts in the first slice.
    pub(crate) fn add(&mut self, time_ns: i64, weight: i64) {
        let offset = time_ns.div_euclid(1_000_000).saturating_sub(self.start_ms).max(0);
        while offset / self.slice_ms >= SLICES as i64 {
            self.widen();
        }
        let at = (offset / self.slice_ms) as usize;
        if at >= self.weights.len() {
            self.weights.resize(at + 1, 0);
        }
        self.weights[at] = self.weights[at].saturating_add(weight);
    }

    /// Adds a strip with the same start.
    pub(crate) fn merge(&mut self, mut other: Strip) {
        while self.slice_ms < other.slice_ms {
            self.widen();
        }
        while other.slice_ms < self.slice_ms {
            other.widen();
        }
        if self.weights.len() < other.weights.len() {
            self.weights.resize(other.weights.len(), 0);
        }
        for (sum, weight) in self.weights.iter_mut().zip(other.weights) {
            *sum = sum.saturating_add(weight);
        }
    }

    /// Makes slices twice as long.
    fn widen(&mut self) {
        self.slice_ms = self.slice_ms.saturating_mul(2);
        self.weights = self
            .weights
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |a: i64, b| a.saturating_add(*b)))
            .collect();
    }
}

/// The heat of a profile that kept it; none of memory, of which only the end is known.
pub fn heat(profile: &Profile) -> Option<Heat> {
    if matches!(profile.event, FlameEvent::Malloc | FlameEvent::Live) {
        return None;
    }
    let strips = profile.heat.as_ref()?;
    let slice_ms = strips.values().map(|strip| strip.slice_ms).max()?;
    let is_some = |weight: &i64| *weight > 0;
    // What has no weight at all is no row.
    let strips = strips.iter().filter(|(_, strip)| strip.weights.iter().any(is_some));
    let mut rows: BTreeMap<&String, Strip> = strips.map(|(id, strip)| (id, strip.clone())).collect();
    for strip in rows.values_mut() {
        while strip.slice_ms < slice_ms {
            strip.widen();
        }
    }
    let first = rows.values().filter_map(|strip| strip.weights.iter().position(is_some)).min()?;
    let end = rows.values().filter_map(|strip| strip.weights.iter().rposition(is_some)).max()? + 1;
    let start_ms = rows.values().next()?.start_ms.saturating_add(first as i64 * slice_ms);
    let row = |(executor, mut strip): (&String, Strip)| {
        strip.weights.resize(end, 0);
        HeatRow { executor: executor.clone(), weights: strip.weights.split_off(first) }
    };
    Some(Heat { start_ms, slice_ms, rows: rows.into_iter().map(row).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_widen_and_no_weight_is_lost() {
        let mut strip = Strip::new(1000);
        for ms in 0..10_000i64 {
            strip.add((1000 + ms) * 1_000_000, 1);
        }
        strip.add(0, 5);
        assert!(strip.weights.len() <= SLICES && strip.weights.len() > SLICES / 2, "{}", strip.weights.len());
        assert_eq!(strip.weights.iter().sum::<i64>(), 10_005);
        assert_eq!((strip.weights[0], strip.weights[1]), (strip.slice_ms + 5, strip.slice_ms));
        let mut short = Strip::new(1000);
        short.add(1_001_000_000, 7);
        let mut other = short.clone();
        short.merge(strip.clone());
        strip.merge(other.clone());
        assert_eq!((short.weights, short.slice_ms), (strip.weights.clone(), strip.slice_ms));
        other.add(i64::MAX, 1);
        assert!(other.weights.len() <= SLICES);
    }
}

//! When a finding matters, and how much (decision 24).

use crate::detector::Threshold;
use crate::finding::{RangeMs, Severity};
use crate::thresholds::Thresholds;

/// Share of the run's wall time below which a claim of time is not made.
pub const FLOOR_SHARE: Threshold = Threshold {
    tag: "RUN",
    name: "floor_share",
    default: 0.005,
    doc: "Share of the run's wall time (or core-time) that a finding must be able to save; also where `warning` begins.",
};

/// Share of the run's wall time from which a finding is critical.
pub const CRITICAL_SHARE: Threshold = Threshold {
    tag: "RUN",
    name: "critical_share",
    default: 0.02,
    doc: "Share of the run's wall time from which a saving makes a finding critical.",
};

/// Time below which a claim of time is not made, whatever its share: nobody waits for it, and it is within
/// what two runs of the same job differ by.
pub const FLOOR_MS: Threshold = Threshold {
    tag: "RUN",
    name: "floor_ms",
    default: 300.0,
    doc: "Milliseconds that a finding must be able to save at least.",
};

/// The thresholds that hold for all detectors.
pub const THRESHOLDS: &[Threshold] = &[FLOOR_SHARE, FLOOR_MS, CRITICAL_SHARE];

/// Severity of a saving in a run of `wall_ms`.
pub fn severity(saving: RangeMs, wall_ms: i64, thresholds: &Thresholds) -> Severity {
    if wall_ms <= 0 {
        return Severity::Info;
    }
    let share = saving.high as f64 / wall_ms as f64;
    if share >= thresholds.get(&CRITICAL_SHARE) {
        Severity::Critical
    } else if share >= thresholds.get(&FLOOR_SHARE) {
        Severity::Warning
    } else {
        Severity::Info
    }
}

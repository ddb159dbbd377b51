//! All detectors, one file each. To add one, write its file and name it in [`DETECTORS`].

use crate::detector::Detector;

pub mod failures;
pub mod gc;
pub mod partition_sizing;
pub mod retry_waste;
pub mod shuffle;
pub mod skew;
pub mod slow_host;
pub mod speculation_waste;
pub mod spill;
pub mod stage_failed;
pub mod stage_shape;
pub mod stage_slowness;
pub mod straggler;
pub mod tiny_task;

/// All detectors, in the order of the reference.
pub const DETECTORS: &[&Detector] = &[
    &skew::SKEW,
    &straggler::STRAG,
    &stage_shape::SHAPE,
    &shuffle::SHFL,
    &partition_sizing::PART,
    &spill::SPILL,
    &gc::GC,
    &stage_slowness::SLOW,
    &slow_host::HOST,
    &tiny_task::TINY,
    &failures::FAIL,
    &stage_failed::SFAIL,
    &retry_waste::RETRY,
    &speculation_waste::SPEC,
];

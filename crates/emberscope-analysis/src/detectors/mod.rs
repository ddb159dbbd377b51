//! All detectors, one file each. To add one, write its file and name it in [`DETECTORS`].

use crate::detector::Detector;

/// All detectors, in the order of the reference.
pub const DETECTORS: &[&Detector] = &[];

//! All detectors, one file each. To add one, write its file and name it in [`DETECTORS`].

mod app_words;
pub mod cfg;
pub mod chrn;
pub mod cold;
pub mod cstor;
pub mod drift;
pub mod driver;
pub mod incmp;
pub mod jobs;
pub mod local;
pub mod mem;
pub mod sched;
pub mod stream;
pub mod util;

use crate::detector::Detector;

/// All detectors, in the order of the reference.
pub const DETECTORS: &[&Detector] = &[
    &cold::COLD,
    &sched::SCHED,
    &driver::DRIVER,
    &util::UTIL,
    &mem::MEM,
    &chrn::CHRN,
    &cstor::CSTOR,
    &local::LOCAL,
    &jobs::JOBS,
    &incmp::INCMP,
    &cfg::CFG,
    &stream::STREAM,
    &drift::DRIFT,
];

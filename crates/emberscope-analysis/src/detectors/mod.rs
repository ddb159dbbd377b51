//! All detectors, one file each. To add one, write its file and name it in [`DETECTORS`].

pub mod caching_opportunity;
mod caching_rdd;
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
pub mod plan;
pub mod sched;
pub mod stream;
pub mod util;

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
    &caching_opportunity::CACHING_OPPORTUNITY,
    &plan::duplicate_subtree::DUPLICATE_SUBTREE,
    &plan::small_files::SMALL_FILES,
    &plan::under_broadcast::UNDER_BROADCAST,
    &plan::over_broadcast::OVER_BROADCAST,
    &plan::nested_loop_join::NESTED_LOOP_JOIN,
    &plan::join_explosion::JOIN_EXPLOSION,
    &plan::single_partition::SINGLE_PARTITION,
    &plan::expand_explosion::EXPAND_EXPLOSION,
    &plan::missing_pruning::MISSING_PRUNING,
    &plan::missing_pushdown::MISSING_PUSHDOWN,
    &plan::unsplittable_input::UNSPLITTABLE_INPUT,
    &plan::python_udf::PYTHON_UDF,
    &plan::fallback_to_rows::FALLBACK_TO_ROWS,
    &plan::huge_plan::HUGE_PLAN,
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

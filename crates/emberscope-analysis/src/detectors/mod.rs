//! All detectors, one file each. To add one, write its file and name it in [`DETECTORS`].

pub mod caching_opportunity;
pub mod plan;

use crate::detector::Detector;

/// All detectors, in the order of the reference.
pub const DETECTORS: &[&Detector] = &[
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
];

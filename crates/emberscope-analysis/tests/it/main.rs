//! Diagnoses of real and made-up runs.

mod made;
mod plan;
mod plan_detectors;

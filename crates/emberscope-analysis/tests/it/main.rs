//! Diagnoses of real and made-up runs.
#![allow(clippy::unwrap_used)]

mod eight_rules;
mod lost_work;
mod made;
mod memory;
mod shapes;
mod stage_detectors;
mod tails;

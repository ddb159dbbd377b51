//! Diagnoses of real and made-up runs.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and print what they saw"
)]

mod app_audit;
mod app_capacity;
mod app_driver;
mod app_stream;
mod attribution;
mod checks;
mod config_keys;
mod eight_rules;
mod language;
mod lost_work;
mod made;
mod memory;
mod merge;
mod plan;
mod plan_joins;
mod plan_operators;
mod plan_repeated;
mod planned;
mod reference;
mod replay;
mod shapes;
mod stage_detectors;
mod tails;
mod validation;

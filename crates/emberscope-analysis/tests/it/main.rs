//! Diagnoses of real and made-up runs.

mod app_audit;
mod app_capacity;
mod app_driver;
mod app_stream;
mod attribution;
mod checks;
mod config_keys;
mod eight_rules;
mod made;
mod plan;
mod reference;
mod replay;
mod validation;

//! Diagnoses of real and made-up runs.

mod attribution;
mod checks;
mod config_keys;
mod eight_rules;
mod made;
mod replay;
mod validation;
mod plan;

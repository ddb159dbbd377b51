//! Diagnoses of real and made-up runs.

mod config_keys;
mod made;

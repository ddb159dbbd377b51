//! Diagnoses of real and made-up runs.

mod app_audit;
mod app_capacity;
mod app_driver;
mod app_stream;
mod config_keys;
mod made;

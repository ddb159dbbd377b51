//! Diagnoses of real and made-up runs.

mod eight_rules;
mod made;

//! Diagnoses of real and made-up runs.

mod attribution;
mod checks;
mod made;
mod replay;
mod validation;

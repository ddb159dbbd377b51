//! Diagnoses of real and made-up runs.

mod made;
mod reference;
mod replay;

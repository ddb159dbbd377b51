//! Diagnoses of real and made-up runs.

mod made;
mod plan;
mod plan_joins;
mod plan_operators;
mod plan_repeated;
mod planned;

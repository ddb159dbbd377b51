//! Diagnoses of real and made-up runs.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod made;
mod plan;
mod plan_joins;
mod plan_operators;
mod plan_repeated;
mod planned;

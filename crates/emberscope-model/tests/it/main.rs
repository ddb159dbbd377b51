//! The model against known truths: hand-made oddities, laws, and real logs with an oracle.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they skip"
)]

mod base;
mod damage;
mod dump;
mod fixtures;
mod footprint;
mod identity;
mod laws;
mod oddities;
mod referee;
mod spark_format;
mod verdicts;

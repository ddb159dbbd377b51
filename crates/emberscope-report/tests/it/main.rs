//! Tables against their documentation, their readers and Spark's own numbers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they skip"
)]

mod base;
mod docs;
mod files;
mod readers;
mod referee;

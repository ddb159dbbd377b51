//! The two roads of parsing agree: cursor and serde give the same for every line.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they skip"
)]

mod corpora;
mod roads;

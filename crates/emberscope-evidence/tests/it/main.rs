//! Reports of real evidence.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking and tell what they compared"
)]

mod findings;
#[path = "../../../emberscope-rest/tests/it/recorded.rs"]
mod recorded;

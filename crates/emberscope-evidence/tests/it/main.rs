//! Reports of real evidence.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod findings;
#[path = "../../../emberscope-rest/tests/it/recorded.rs"]
mod recorded;

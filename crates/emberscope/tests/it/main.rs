//! The binary as a user meets it: exit code, standard output, standard error.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and tells what it could not check"
)]

mod base;
mod command;
mod contract;
mod diagnose;
mod doctor;
mod doors;
mod evidence;
mod export;
mod flame;
mod follow;
mod inputs;
mod output;
mod report;
mod schema;
mod serve;
mod sql;
mod summary;
mod trust;

//! One Spark run: identity, tasks, stages, jobs, SQL, executors, accounting and the trust block.
//!
//! Takes parsed blocks ([`builder::RunBuilder`]), gives a [`run::Run`]. Numbers follow one set of
//! rules: a metric is a value, zero or not measured; every total says whether it is useful work or
//! all work; nothing depends on the order of events, the codec or the number of threads.

pub mod accounting;
pub mod blobs;
pub mod builder;
pub mod config;
mod distinct;
pub mod distribution;
pub mod doctor;
pub mod engine;
pub mod failures;
pub mod follow;
pub mod intervals;
pub mod load;
pub mod memory;
pub mod occupancy;
pub mod packed;
mod parallel;
mod plan;
pub mod redact;
pub mod run;
pub mod snapshot;
pub mod sql;
pub mod stage_key;
pub mod storage;
pub mod streaming;
pub mod summary;
pub mod task_places;
pub mod tasks;
pub mod trust;

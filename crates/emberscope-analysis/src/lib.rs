//! What cost the time of a Spark run, what to change, and how many seconds that saves.
//!
//! Takes a [`Run`](emberscope_model::run::Run), gives a [`Diagnosis`](diagnosis::Diagnosis). Pure: no
//! input or output, no clock, no randomness; the same run gives the same diagnosis.

pub mod attribution;
mod caches;
pub mod capacity;
pub mod cause;
pub mod config;
pub mod context;
pub mod detector;
pub mod detectors;
pub mod diagnosis;
pub mod failure_fix;
pub mod finding;
mod identity;
pub mod live;
pub mod locating;
pub mod losses;
pub mod materiality;
mod merge;
mod notes;
mod parallel;
pub mod partitions;
pub mod phrases;
pub mod plan;
pub mod plots;
mod pricing;
pub mod profile;
mod redaction;
pub mod reference;
pub mod replay;
pub mod schema;
pub mod stage_plan;
pub mod stage_view;
pub mod tail;
pub mod tail_worth;
pub mod thresholds;
pub mod verdict;
pub mod views;
pub mod words;

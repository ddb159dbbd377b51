//! What cost the time of a Spark run, what to change, and how many seconds that saves.
//!
//! Takes a [`Run`](emberscope_model::run::Run), gives a [`Diagnosis`](diagnosis::Diagnosis). Pure: no
//! input or output, no clock, no randomness; the same run gives the same diagnosis.

pub mod capacity;
pub mod config;
pub mod context;
pub mod detector;
pub mod detectors;
pub mod finding;
pub mod materiality;
mod parallel;
pub mod plan;
pub mod replay;
pub mod stage_view;
pub mod thresholds;

//! The model against known truths: hand-made oddities, laws, and real logs with an oracle.

mod base;
mod dump;
mod fixtures;
mod laws;
mod oddities;

//! Texts around a query: `EXPLAIN` output, logs of drivers and executors, SQL files.
//!
//! Parsers here are tolerant: what they do not understand is passed over and counted in notes, never an error.
//! Plans and timelines come out as events of a log, so that everything else reads them as it reads logs.

pub mod driver_log;
pub mod explain;
pub mod kind;
pub mod sql;

//! Texts of real runs, against what their event logs say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod driver_log;
mod explain;
mod sql;

//! Answers of servers, against the logs behind them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpora;
mod recorded;
mod saved;

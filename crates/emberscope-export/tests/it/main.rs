//! Traces of runs hold to the rules of trace events.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod perfetto;

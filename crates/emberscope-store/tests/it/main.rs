//! The law of the cache: what comes back is what was kept, or nothing.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod runs;

//! Runs as files of other tools.

pub mod perfetto;

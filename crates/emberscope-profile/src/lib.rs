//! The recordings of a run: which there are, and flame graphs of exactly its tasks.
//!
//! ```text
//! directories ─► files of an application ─► recordings ─┐
//! Run ─► which thread ran which task ───────────────────┴─► options, graphs, heat, hottest frames of stages
//! ```
//!
//! Between `emberscope-jfr`, which knows no Spark, and the doors, which hold no analysis.

pub mod ask;
pub mod find;
pub mod graph;
pub mod hot;
pub mod options;
pub mod recorded;
mod tasks;

pub use tasks::task_table;

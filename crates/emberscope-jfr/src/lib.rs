//! Java Flight Recorder files of the JDK's recorder and of async-profiler, as flame graphs.
//!
//! ```text
//! path ─► recordings ─► chunks ─► types, pools ─► events ─► selection ─► tree ─► view ─► export
//! ```
//!
//! A file is read in windows, a chunk at a time; nothing holds a file as a whole. Types are known by name,
//! since ids differ between recorders, versions and chunks. What is damaged or unfinished is counted
//! ([`notes`]) and fails nothing. Of Spark the crate knows one thing: a table that says which thread of
//! which executor ran which task, and when ([`tasks::TaskTable`]).

mod chunk;
mod constants;
mod event;
pub mod export;
pub mod flame_event;
pub mod fold;
pub mod frames;
mod header;
pub mod heat;
pub mod hot;
mod index;
pub mod inspect;
mod layout;
mod metadata;
pub mod names;
pub mod notes;
pub mod open;
pub mod program;
pub mod select;
pub mod tasks;
pub mod tree;
pub mod view;
mod window;
mod wire;

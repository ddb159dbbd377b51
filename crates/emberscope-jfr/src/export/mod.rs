//! Flame trees in forms that others read.

mod firefox;
mod folded;
mod json;
mod pprof;
mod speedscope;

use crate::flame_event::FlameEvent;

pub use firefox::firefox;
pub use folded::folded;
pub use json::{ExecutorWeight, FlameJson, FrameTable, LeftOut, NodeTable, WholeStage, schema};
pub use pprof::pprof;
pub use speedscope::speedscope;

/// What stands above a graph.
#[derive(Clone, Debug)]
pub struct Caption {
    /// What it is of.
    pub event: FlameEvent,
    /// Files and selection, in words.
    pub title: String,
    /// First and last sample, epoch nanoseconds.
    pub times_ns: Option<(i64, i64)>,
}

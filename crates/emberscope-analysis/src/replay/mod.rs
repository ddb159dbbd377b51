//! The run replayed at task granularity, as it was and with fixes applied.
//!
//! [`ReplayModel`] is made once from a run; [`ReplayModel::replay`] replays it with [`Edit`]s. Carried:
//! executors as slots over their lifetimes, resource profiles and task cpus, FIFO and FAIR (without
//! weights, which no log has), barrier stages, retries and speculative copies, causal order of stages,
//! jobs and queries with their measured lags. Not carried: placement by locality, whose effect stays in
//! the tasks' durations.

mod edit;
mod model;
mod overlay;
mod pinned;
mod simulate;
mod slots;
mod units;

pub use edit::{Edit, Place};
pub use model::ReplayModel;
pub use simulate::{Outcome, Timeline};

//! Fixes as changes of a replay.

use std::sync::Arc;

/// A stage attempt: stage id and attempt.
pub type Place = (u32, u32);

/// One change of a replay. Several about one place work together: factors multiply, gaps add.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Each task attempt of a stage attempt holds its slot for a share (0 to 1) of the time it did.
    Scale {
        /// Stage attempt.
        place: Place,
        /// One factor for each attempt, in the order of [`crate::context::StageDigest::task_order`].
        factors: Arc<[f32]>,
    },
    /// All task attempts of a stage attempt hold their slots for a share of the time they did.
    ScaleAll {
        /// Stage attempt.
        place: Place,
        /// Factor, 0 to 1.
        factor: f64,
    },
    /// The same work in another number of tasks of equal size; each has the overhead beside its share.
    Resize {
        /// Stage attempt.
        place: Place,
        /// Number of tasks.
        tasks: u32,
        /// Time of a task beside its share of the work, milliseconds.
        overhead_ms: f64,
    },
    /// Some attempts do not happen: failed ones, speculative copies. Numbers as in `Scale`.
    Remove {
        /// Stage attempt.
        place: Place,
        /// Attempts.
        tasks: Arc<[u32]>,
    },
    /// A stage attempt does not run; what waited for it waits for its parents.
    Drop {
        /// Stage attempt.
        place: Place,
    },
    /// A stage's first task is launched sooner after its submission.
    StartSooner {
        /// Stage attempt.
        place: Place,
        /// Milliseconds.
        by_ms: i64,
    },
    /// A job does not happen: its stages do not run, and nothing is prepared before them or handled after them.
    /// Of a query none of whose jobs happen, nothing is done after the last one either.
    DropJob {
        /// Job.
        job: u32,
    },
    /// The driver takes less time before a job.
    JobSooner {
        /// Job.
        job: u32,
        /// Milliseconds.
        by_ms: i64,
    },
    /// The driver takes less time after the last job.
    EndSooner {
        /// Milliseconds.
        by_ms: i64,
    },
    /// Executors added up to a time, and after that of another such edit, are there from an earlier one on, epoch
    /// milliseconds.
    ExecutorsBy {
        /// Executors added later than this are not concerned.
        until_ms: i64,
        /// When they are there instead.
        at_ms: i64,
    },
    /// As many slots as `factor` times those there were, at all times.
    ScaleSlots {
        /// Factor.
        factor: f64,
    },
}

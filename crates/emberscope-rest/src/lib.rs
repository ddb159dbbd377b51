//! Spark's monitoring API as a run: answers in JSON, from a server or saved as files, become events of a log.
//!
//! ```text
//! answers (a server, a folder) ─► collect ─► events ─► what reads event logs
//!                                        └─► notes: rounded, forgotten, never there
//! ```
//!
//! Nothing here opens a connection: who has one gives an [`Answers`]. Versions 2.4 to 4.3 are read; what a version
//! lacks is not measured. Tasks come exact, metrics of SQL operators rounded for display, and what the server has
//! forgotten (`spark.ui.retained*`) is told.

mod answers;
mod collect;
mod events;
mod parents;
mod places;
mod plan;
mod reason;
mod shapes;
mod tasks;
mod told;
mod values;

pub use answers::{AnswerError, Answers, Saved};
pub use collect::{Collected, RestError, Wanted, collect};

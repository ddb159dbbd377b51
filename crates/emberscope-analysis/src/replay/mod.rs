//! The run replayed at task granularity, as it was and with fixes applied.

mod edit;

pub use edit::{Edit, Place};

//! Recordings of which everything is known, and bytes of which nothing is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "what could not be checked is said")]

mod exports;
mod figures;
mod fixtures;
mod laws;
mod made;
mod oddities;
mod oracle;
mod truth;

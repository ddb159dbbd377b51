//! The page: what is in it, and what must never be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod made;
mod page;
mod plots;

//! Against small servers of our own: kind ones, and ones that mean harm.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod applications;
mod hostile;
mod server;
mod tls;

//! Runs over HTTP: Spark's monitoring API, an API of our own, and pages.
//!
//! Logs are listed from their heads and tails; a run is read when somebody asks for it, once, and kept in
//! memory up to a limit. Nothing here analyses: numbers come from the model and the analysis, and only what
//! Spark's API counts in its own way is counted here. [`serve()`] blocks; nobody outside needs to know about
//! async.

mod api;
mod app;
mod catalog;
mod console;
mod error;
mod http;
mod metrics;
mod opened;
mod page;
mod recordings;
mod security;
mod serve;
mod spark_rest;
mod stream;

pub use api::document as openapi;
pub use app::{App, Options};
pub use error::ServerError;
pub use http::router;
pub use serve::{Ready, serve};

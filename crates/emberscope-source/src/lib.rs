//! Evidence that is not on this machine: History Servers, live Spark UIs, YARN proxies, plain files over HTTP.
//!
//! ```text
//! address ─► root of the monitoring API ─► /logs (zip) ─► temporary file ─► emberscope-log
//!                                      └─► answers in JSON ─► emberscope-rest
//! ```
//!
//! Only GET is ever sent. Who calls needs to know nothing of async: [`client::Client`] blocks. Sizes, times and
//! redirects are bounded, and secrets appear in no error, no `Debug` and no file.

pub mod address;
pub mod application;
pub mod client;
pub mod credentials;
pub mod download;
pub mod error;
pub mod limits;
mod netrc;
pub mod secret;

pub use client::{Client, ClientOptions};
pub use error::FetchError;

//! How long and how large an answer may be.

use std::time::Duration;

/// Limits of one request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// Without a single byte. A History Server parses a log when it is first asked for, before it answers.
    pub idle: Duration,
    /// For one request with all its retries and redirects, whatever arrives meanwhile.
    pub total: Duration,
    /// Bytes of an answer that is kept in memory, unpacked.
    pub answer_bytes: u64,
    /// Bytes of an answer that goes to a temporary file.
    pub download_bytes: u64,
    /// How often a request is tried again after 502, 503, 504 or a connection that broke.
    pub retries: u32,
    /// Pause before the first retry; it doubles with each.
    pub first_pause: Duration,
    /// Redirects that are followed one after the other.
    pub redirects: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(30 * 60),
            answer_bytes: 256 << 20,
            download_bytes: 64 << 30,
            retries: 3,
            first_pause: Duration::from_millis(500),
            redirects: 5,
        }
    }
}

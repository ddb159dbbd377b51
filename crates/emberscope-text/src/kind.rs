//! What a file is that was given for something else.

use crate::driver_log::DriverLog;
use crate::explain;
use crate::sql::{has_statement, outline};
use emberscope_log::codec::{Codec, is_zip, sniff};

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Spark's event log.
    EventLog,
    /// Compressed, as event logs are.
    Packed,
    /// HTML.
    WebPage,
    /// The log of a driver.
    DriverLog,
    /// What `EXPLAIN` prints.
    Plan,
    /// SQL.
    Statement,
}

/// Bytes that are looked at.
const HEAD: usize = 64 << 10;

/// What `bytes`, or their beginning, look like; `None` for all else.
pub fn kind(bytes: &[u8]) -> Option<TextKind> {
    // A few bytes that begin as a packed file does are text.
    if bytes.len() > 8 && (sniff(bytes) != Codec::Plain || is_zip(bytes)) {
        return Some(TextKind::Packed);
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let start = text.trim_start().get(..200).unwrap_or(text.trim_start()).to_ascii_lowercase();
    if start.starts_with("{\"event\":") {
        Some(TextKind::EventLog)
    } else if start.starts_with("<!doctype html") || start.starts_with("<html") {
        Some(TextKind::WebPage)
    } else if DriverLog::read(text.as_bytes()).is_ok_and(|log| !log.jobs.is_empty() || !log.stages.is_empty())
    {
        Some(TextKind::DriverLog)
    } else if text.contains("== Physical Plan ==") || explain::parse(&text).is_some() {
        Some(TextKind::Plan)
    } else if has_statement(&text, &outline(&text)) {
        Some(TextKind::Statement)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{TextKind, kind};

    #[test]
    fn files_are_told_apart() {
        for (bytes, expected) in [
            (
                &b"{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.3.0\"}\n"[..],
                Some(TextKind::EventLog),
            ),
            (b"\x28\xb5\x2f\xfd rest of it", Some(TextKind::Packed)),
            (b"\x04\x22\x4d\x18 rest of it", Some(TextKind::Packed)),
            (b" <!DOCTYPE html><html>", Some(TextKind::WebPage)),
            (b"== Physical Plan ==\n* Range (1)\n", Some(TextKind::Plan)),
            (b"select a from t", Some(TextKind::Statement)),
            (
                b"26/11/30 19:51:06 INFO DAGScheduler: Got job 1 (save at X:1) with 2 output partitions\n== Physical Plan ==\n",
                Some(TextKind::DriverLog),
            ),
            (b"26/11/30 19:51:06 INFO SparkContext: Running Spark", None),
            (b"", None),
            (b"\xff\xfe\0", None),
        ] {
            assert_eq!(kind(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}

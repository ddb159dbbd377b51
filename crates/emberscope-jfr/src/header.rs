//! The first 68 bytes of a chunk.

/// Length of a header in bytes.
pub(crate) const HEADER_BYTES: usize = 68;
const MAGIC: &[u8; 4] = b"FLR\0";

/// What a chunk says of itself. Offsets count from the chunk's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Bytes of the chunk, or of what was flushed; a claim that the file need not keep.
    pub(crate) size: u64,
    /// Offset of the last checkpoint; 0 in a chunk that is being written.
    pub(crate) checkpoint: u64,
    /// Offset of the metadata; 0 in a chunk that is being written.
    pub(crate) metadata: u64,
    /// Start, epoch nanoseconds.
    pub(crate) start_ns: i64,
    /// Start, ticks.
    pub(crate) start_ticks: i64,
    /// Ticks per second.
    pub(crate) ticks_per_second: i64,
    /// Whether integers are of variable length.
    pub(crate) compressed: bool,
    /// Whether its writer was done with it.
    pub(crate) finished: bool,
}

impl Header {
    /// The header at the start of `bytes`, if that is one of a version we know.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.first_chunk::<HEADER_BYTES>()?;
        // Versions 0 and 1 were Oracle's before the format was open.
        if &bytes[..4] != MAGIC || u16::from_be_bytes([bytes[4], bytes[5]]) != 2 {
            return None;
        }
        let long = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes));
        let offset = |at: usize| u64::try_from(long(at)).unwrap_or(0);
        Some(Header {
            size: offset(8),
            checkpoint: offset(16),
            metadata: offset(24),
            start_ns: long(32),
            start_ticks: long(48),
            ticks_per_second: long(56),
            compressed: bytes[67] & 1 == 1,
            finished: bytes[64] == 0,
        })
    }

    /// Epoch nanoseconds of a point in ticks.
    #[inline]
    pub(crate) fn time_ns(&self, ticks: i64) -> i64 {
        self.start_ns.saturating_add(self.span_ns(ticks.wrapping_sub(self.start_ticks)))
    }

    /// Nanoseconds of a span in ticks.
    #[inline]
    pub(crate) fn span_ns(&self, ticks: i64) -> i64 {
        if self.ticks_per_second == 1_000_000_000 || self.ticks_per_second <= 0 {
            return ticks;
        }
        let ns = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_per_second);
        ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_without_overflow() {
        let mut bytes = [0u8; HEADER_BYTES];
        bytes[..8].copy_from_slice(b"FLR\0\0\x02\0\x01");
        bytes[32..40].copy_from_slice(&1_700_000_000_000_000_000i64.to_be_bytes());
        bytes[56..64].copy_from_slice(&3_000_000_000i64.to_be_bytes());
        let header = Header::parse(&bytes).unwrap();
        assert_eq!(header.time_ns(6_000_000_000), 1_700_000_002_000_000_000);
        assert_eq!(header.span_ns(i64::MAX), i64::MAX / 3);
        assert!(!header.compressed && header.finished);
        let broken = Header { ticks_per_second: 0, ..header };
        assert_eq!(broken.span_ns(5), 5);
        bytes[5] = 1;
        assert_eq!(Header::parse(&bytes), None);
        assert_eq!(Header::parse(&bytes[..67]), None);
    }
}

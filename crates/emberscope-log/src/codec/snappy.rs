//! snappy-java's stream (`org.xerial.snappy.SnappyOutputStream`), which Spark writes for `snappy`.
//!
//! A header of 16 bytes (magic, version, least compatible version), then chunks: a big-endian length and a raw
//! snappy block. Where streams were appended to each other, a header stands in place of a length. There is
//! neither a checksum nor an end mark.

use super::blocks::{Block, BlockFormat, Kind};
use super::magic::SNAPPY;
use super::raw::Raw;
use super::{StreamEnd, unknown_bytes};

const HEADER: usize = 16;
/// Spark's blocks are 32 KiB (`spark.io.compression.snappy.blockSize`); this bounds what a damaged length costs.
const LARGEST: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Snappy {
    started: bool,
    decoder: snap::raw::Decoder,
}

impl BlockFormat for Snappy {
    /// A copy of up to 64 bytes takes at least two.
    const MAX_RATIO: usize = 64;

    fn header(&mut self, raw: &mut Raw) -> Result<Block, StreamEnd> {
        loop {
            raw.need(4);
            let at = raw.consumed();
            let bytes = raw.bytes();
            if bytes.is_empty() {
                return Err(StreamEnd::Complete);
            }
            if bytes[0] == SNAPPY[0] {
                // As a length this would be negative, so it can only be a header.
                raw.need(HEADER);
                let bytes = raw.bytes();
                let magic = bytes.len().min(SNAPPY.len());
                if bytes[..magic] != SNAPPY[..magic] {
                    return Err(unknown_bytes(raw, "snappy chunk"));
                }
                if bytes.len() < HEADER {
                    return Err(StreamEnd::truncated(format!(
                        "the input ends inside the header at offset {at}"
                    )));
                }
                raw.consume(HEADER);
                self.started = true;
                continue;
            }
            if !self.started {
                return Err(unknown_bytes(raw, "snappy header"));
            }
            let Some(&[a, b, c, d]) = bytes.first_chunk::<4>() else {
                return Err(StreamEnd::truncated(format!(
                    "the input ends inside the chunk length at offset {at}"
                )));
            };
            let packed = u32::from_be_bytes([a, b, c, d]) as usize;
            if packed == 0 || packed > LARGEST {
                return Err(unknown_bytes(raw, "snappy chunk"));
            }
            return Ok(Block { header: 4, packed, plain: None, kind: Kind::Compressed });
        }
    }

    fn plain_len(&self, packed: &[u8]) -> Result<usize, String> {
        match snap::raw::decompress_len(packed) {
            Ok(n) if n <= LARGEST => Ok(n),
            Ok(n) => Err(format!("{n} bytes in one chunk")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        match self.decoder.decompress(packed, out) {
            Ok(n) if n == out.len() => Ok(()),
            Ok(n) => Err(format!("{n} bytes instead of {}", out.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}

//! LZ4 frames, as the program `lz4` and most libraries write them.
//!
//! Spark's own logs are in another format of the same name ([`super::lz4block`]); frames are what people pack logs
//! and recordings into. A frame: magic, a descriptor with its checksum, blocks with their lengths, a length of 0 and
//! perhaps a checksum of the content. Frames follow each other, with skippable ones between them.

use std::hash::Hasher;

use twox_hash::XxHash32;

use super::raw::Raw;
use super::{Decode, StreamEnd, unknown_bytes};

/// Magic of a frame.
pub(super) const MAGIC: &[u8] = b"\x04\x22\x4d\x18";
/// What follows the first byte in the magic of a skippable frame, whose first byte is 0x50 to 0x5f.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";
/// How far back a block may refer.
const WINDOW: usize = 64 << 10;
/// Set in the length of a block that is stored as it is.
const STORED: u32 = 1 << 31;

/// What the descriptor says.
struct Frame {
    /// Most bytes of a block, packed and plain.
    largest: usize,
    /// Whether blocks refer to those before them.
    is_linked: bool,
    has_block_checksum: bool,
    has_content_checksum: bool,
    content_size: Option<u64>,
    hash: XxHash32,
    plain: u64,
}

/// A decoder of frames.
#[derive(Default)]
pub(super) struct Lz4Frame {
    frame: Option<Frame>,
    /// Whether a frame ended, so that the input may end here.
    ended: bool,
    /// The end of what was decoded, up to [`WINDOW`] bytes, in front of the last block.
    plain: Vec<u8>,
    /// Where in it the bytes begin that were not delivered.
    at: usize,
}

impl Decode for Lz4Frame {
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd> {
        while self.at == self.plain.len() {
            match &self.frame {
                None => self.descriptor(raw)?,
                Some(_) => self.block(raw)?,
            }
        }
        let n = out.len().min(self.plain.len() - self.at);
        out[..n].copy_from_slice(&self.plain[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Says whether so many bytes are there; if not, where the input ends.
fn need(raw: &mut Raw, length: usize, what: &str) -> Result<(), StreamEnd> {
    match raw.need(length) {
        true => Ok(()),
        false => Err(StreamEnd::truncated(format!(
            "the input ends inside the LZ4 {what} at offset {}",
            raw.consumed()
        ))),
    }
}

impl Lz4Frame {
    /// Reads on to the first block of the next frame.
    fn descriptor(&mut self, raw: &mut Raw) -> Result<(), StreamEnd> {
        raw.need(MAGIC.len());
        let bytes = raw.bytes();
        if bytes.is_empty() && self.ended {
            return Err(StreamEnd::Complete);
        }
        let is_skippable = |bytes: &[u8]| bytes[0] & 0xf0 == 0x50 && SKIPPABLE.starts_with(&bytes[1..]);
        let head = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(head) && !is_skippable(head) {
            return Err(unknown_bytes(raw, "LZ4 frame"));
        }
        let is_frame = MAGIC.starts_with(head);
        need(raw, 8, "frame header")?;
        if !is_frame {
            let length = word(raw.bytes(), 4) as usize + 8;
            return self.skip(raw, length);
        }
        let (flags, largest) = (raw.bytes()[4], raw.bytes()[5]);
        let (has_size, has_dictionary) = (flags & 8 != 0, flags & 1 != 0);
        let length = 2 + if has_size { 8 } else { 0 } + if has_dictionary { 4 } else { 0 };
        need(raw, MAGIC.len() + length + 1, "frame header")?;
        let at = raw.consumed();
        let damaged = |reason: &str| Err(StreamEnd::corrupt(format!("LZ4 frame at offset {at}: {reason}")));
        let descriptor = &raw.bytes()[MAGIC.len()..MAGIC.len() + length];
        if (XxHash32::oneshot(0, descriptor) >> 8) as u8 != raw.bytes()[MAGIC.len() + length] {
            return damaged("checksum of the header differs");
        }
        if flags >> 6 != 1 || !(4..8).contains(&(largest >> 4 & 7)) {
            return damaged("a version that is not known");
        }
        if has_dictionary {
            return damaged("it was packed with a dictionary, which is elsewhere");
        }
        let size = descriptor.get(2..10).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        self.frame = Some(Frame {
            largest: 1 << (8 + 2 * usize::from(largest >> 4 & 7)),
            is_linked: flags & 0x20 == 0,
            has_block_checksum: flags & 0x10 != 0,
            has_content_checksum: flags & 4 != 0,
            content_size: size.filter(|_| has_size),
            hash: XxHash32::with_seed(0),
            plain: 0,
        });
        self.plain.clear();
        self.at = 0;
        raw.consume(MAGIC.len() + length + 1);
        Ok(())
    }

    fn skip(&mut self, raw: &mut Raw, mut length: usize) -> Result<(), StreamEnd> {
        while length > 0 {
            need(raw, 1, "skippable frame")?;
            let n = length.min(raw.bytes().len());
            raw.consume(n);
            length -= n;
        }
        self.ended = true;
        Ok(())
    }

    /// Decodes the next block of the frame, or ends it.
    fn block(&mut self, raw: &mut Raw) -> Result<(), StreamEnd> {
        let Some(frame) = &mut self.frame else { return Ok(()) };
        need(raw, 4, "frame")?;
        let at = raw.consumed();
        let damaged = |reason: &str| StreamEnd::corrupt(format!("LZ4 block at offset {at}: {reason}"));
        let size = word(raw.bytes(), 0);
        let packed = (size & !STORED) as usize;
        if size == 0 {
            let end = if frame.has_content_checksum { 8 } else { 4 };
            need(raw, end, "frame")?;
            if frame.content_size.is_some_and(|size| size != frame.plain) {
                return Err(damaged("the frame's length differs"));
            }
            if frame.has_content_checksum && word(raw.bytes(), 4) != frame.hash.finish_32() {
                return Err(damaged("checksum of the frame differs"));
            }
            raw.consume(end);
            self.frame = None;
            self.ended = true;
            return Ok(());
        }
        if packed > frame.largest {
            return Err(damaged("it is longer than the frame allows"));
        }
        let end = 4 + packed + if frame.has_block_checksum { 4 } else { 0 };
        need(raw, end, "block")?;
        let bytes = &raw.bytes()[4..4 + packed];
        if frame.has_block_checksum && XxHash32::oneshot(0, bytes) != word(raw.bytes(), 4 + packed) {
            return Err(damaged("checksum differs"));
        }
        let keep = if frame.is_linked { self.plain.len().min(WINDOW) } else { 0 };
        self.plain.drain(..self.plain.len() - keep);
        self.at = keep;
        if size & STORED != 0 {
            self.plain.extend_from_slice(bytes);
        } else {
            // No block is larger than what its bytes can stand for: a length byte adds up to 255.
            let most = frame.largest.min(packed.saturating_mul(255) + 64);
            self.plain.resize(keep + most, 0);
            let (window, out) = self.plain.split_at_mut(keep);
            match lz4_flex::block::decompress_into_with_dict(bytes, out, window) {
                Ok(length) => self.plain.truncate(keep + length),
                Err(error) => {
                    self.plain.truncate(keep);
                    return Err(damaged(&error.to_string()));
                }
            }
        }
        let added = &self.plain[keep..];
        frame.plain += added.len() as u64;
        if frame.has_content_checksum {
            frame.hash.write(added);
        }
        raw.consume(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Codec, Decoder};
    use crate::input::Memory;
    use std::sync::Arc;

    /// Blocks of 64 KiB, each referring to the one before.
    fn linked(plain: &[u8]) -> Vec<u8> {
        let descriptor = [0x40, 0x40];
        let mut bytes = [MAGIC, &descriptor, &[(XxHash32::oneshot(0, &descriptor) >> 8) as u8]].concat();
        let mut from = 0;
        for block in plain.chunks(WINDOW) {
            let packed = lz4_flex::block::compress_with_dict(block, &plain[from.max(WINDOW) - WINDOW..from]);
            bytes.extend((packed.len() as u32).to_le_bytes());
            bytes.extend(packed);
            from += block.len();
        }
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn blocks_refer_to_those_before_them() {
        // Numbers that do not compress, and each twice at a distance that only another block can hold.
        let half: Vec<u8> = (0..40_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let plain = half.repeat(6);
        let bytes = linked(&plain);
        assert!(bytes.len() < plain.len() / 2, "{}", bytes.len());
        let mut decoder = Decoder::new(Arc::new(Memory::new("x", bytes.as_slice()))).unwrap();
        assert_eq!(decoder.codec(), Codec::Lz4Frame);
        let mut out = vec![0; plain.len() + 1];
        let length = decoder.read(&mut out);
        assert!(out[..length] == plain, "{length} of {}: {:?}", plain.len(), decoder.end());
        assert_eq!(decoder.end(), Some(&StreamEnd::Complete));
    }
}

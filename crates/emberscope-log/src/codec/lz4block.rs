//! lz4-java's block stream (`net.jpountz.lz4.LZ4BlockOutputStream`), which Spark writes for `lz4`.
//!
//! Each block: magic `LZ4Block`, a token (method in the high nibble, level in the low one), packed length, plain
//! length, checksum, all little endian, then the packed bytes. A block of length 0 ends a stream; another stream
//! may follow. An application that was killed leaves no end block.

use twox_hash::XxHash32;

use super::blocks::{Block, BlockFormat, Kind};
use super::magic::LZ4_BLOCK;
use super::raw::Raw;
use super::{StreamEnd, unknown_bytes};

const HEADER: usize = 21;
const METHOD_RAW: u8 = 0x10;
const METHOD_LZ4: u8 = 0x20;
/// `COMPRESSION_LEVEL_BASE`: blocks of level n hold at most 2^(10 + n) bytes, so 32 MiB at the highest.
const LEVEL_BASE: u32 = 10;
/// `DEFAULT_SEED` of the checksum, whose top four bits lz4-java clears.
const SEED: u32 = 0x9747_b28c;
const CHECKSUM_MASK: u32 = 0x0fff_ffff;

#[derive(Default)]
pub(super) struct Lz4Block {
    /// Whether the last block was an end block, so that the input may end here.
    ended: bool,
    checksum: u32,
}

impl BlockFormat for Lz4Block {
    /// A length byte of a match adds up to 255.
    const MAX_RATIO: usize = 255;

    fn header(&mut self, raw: &mut Raw) -> Result<Block, StreamEnd> {
        loop {
            let whole = raw.need(HEADER);
            let at = raw.consumed();
            let bytes = raw.bytes();
            if bytes.is_empty() {
                return Err(if self.ended {
                    StreamEnd::Complete
                } else {
                    StreamEnd::truncated("no end block: still being written, or its writer was killed")
                });
            }
            let magic = bytes.len().min(LZ4_BLOCK.len());
            if bytes[..magic] != LZ4_BLOCK[..magic] {
                return Err(unknown_bytes(raw, "LZ4 block"));
            }
            let Some(Ok(header)) = bytes.get(..HEADER).filter(|_| whole).map(<[u8; HEADER]>::try_from) else {
                return Err(StreamEnd::truncated(format!(
                    "the input ends inside the block header at offset {at}"
                )));
            };
            let token = header[8];
            let word =
                |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
            let (packed, plain, checksum) = (word(9), word(13), word(17));
            let largest = 1u32 << (LEVEL_BASE + u32::from(token & 0x0f));
            // The checks of LZ4BlockInputStream.refill. A writer stores a block that does not shrink.
            let sane = match token & 0xf0 {
                METHOD_RAW => plain <= largest && packed == plain,
                METHOD_LZ4 => plain <= largest && packed <= largest && (plain == 0) == (packed == 0),
                _ => false,
            };
            if !sane || (plain == 0 && checksum != 0) {
                return Err(StreamEnd::corrupt(format!("block header at offset {at} makes no sense")));
            }
            if plain == 0 {
                raw.consume(HEADER);
                self.ended = true;
                continue;
            }
            self.ended = false;
            self.checksum = checksum;
            let kind = if token & 0xf0 == METHOD_RAW { Kind::Stored } else { Kind::Compressed };
            return Ok(Block { header: HEADER, packed: packed as usize, plain: Some(plain as usize), kind });
        }
    }

    fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        match lz4_flex::block::decompress_into(packed, out) {
            Ok(n) if n == out.len() => Ok(()),
            Ok(n) => Err(format!("{n} bytes instead of {}", out.len())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn verify(&self, plain: &[u8]) -> Result<(), String> {
        if XxHash32::oneshot(SEED, plain) & CHECKSUM_MASK == self.checksum {
            Ok(())
        } else {
            Err("checksum differs".to_owned())
        }
    }
}

//! Decompression of event logs, tolerant of every kind of damage.
//!
//! A [`Decoder`] delivers all that can be decoded and then tells, by [`StreamEnd`], what stopped it. A live or
//! killed application leaves an open zstd frame or half a block: that is an ordinary end here, not an error,
//! and nothing ever waits for the rest. The codecs are those of Spark's `CompressionCodec` (zstd, lz4, snappy,
//! lzf), each in the stream format of its Java library, gzip as Databricks rolls its logs, and LZ4 frames.

mod blocks;
mod gzip;
pub(crate) mod inflate;
mod lz4block;
mod lz4frame;
mod lzf;
mod magic;
pub(crate) mod raw;
mod snappy;
mod zstd;

use std::fmt;
use std::io;
use std::sync::Arc;

pub use magic::{Foreign, foreign, is_zip, sniff};

use crate::input::Input;
use raw::Raw;

/// Enough of the start to tell every format we know (tar's magic lies at 257).
pub const SNIFF_BYTES: usize = 512;

/// How a log is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not compressed.
    Plain,
    /// Zstandard frames, any number of them; Spark closes a frame at each flush.
    Zstd,
    /// The block stream of lz4-java's `LZ4BlockOutputStream`, which is not the LZ4 frame format.
    Lz4Block,
    /// LZ4 frames, any number of them.
    Lz4Frame,
    /// The stream of snappy-java's `SnappyOutputStream`, which is not the snappy framing format.
    Snappy,
    /// The chunks of compress-lzf's `LZFOutputStream`.
    Lzf,
    /// Gzip members, any number of them.
    Gzip,
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Plain => "plain",
            Codec::Zstd => "zstd",
            Codec::Lz4Block => "lz4",
            Codec::Lz4Frame => "lz4 frame",
            Codec::Snappy => "snappy",
            Codec::Lzf => "lzf",
            Codec::Gzip => "gzip",
        })
    }
}

/// What stopped a [`Decoder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The whole input was decoded.
    Complete,
    /// The input stops short: still being written, its writer was killed, or a copy broke off.
    Truncated {
        /// Where it stopped, in words.
        reason: String,
    },
    /// The input is damaged at some point, or cannot be read further.
    Corrupt {
        /// What was found, in words, with the offset in the compressed input.
        reason: String,
    },
}

impl StreamEnd {
    fn truncated(reason: impl Into<String>) -> StreamEnd {
        StreamEnd::Truncated { reason: reason.into() }
    }

    fn corrupt(reason: impl Into<String>) -> StreamEnd {
        StreamEnd::Corrupt { reason: reason.into() }
    }
}

/// One codec at work.
trait Decode: Send {
    /// Writes at least one byte into `out` and says how many, or says why there are no more.
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd>;
}

/// Decodes one input from its start to its end or to the damage.
pub struct Decoder {
    codec: Codec,
    raw: Raw,
    decode: Box<dyn Decode>,
    end: Option<StreamEnd>,
    decoded: u64,
    /// Whether to fill the caller's buffer. A pipe may not have more for a while, so what came is passed on.
    greedy: bool,
}

impl Decoder {
    /// Tells the codec of `input` by its first bytes and starts to decode it.
    ///
    /// # Errors
    /// When the first bytes cannot be read. Later trouble is told by [`Decoder::end`].
    pub fn new(input: Arc<dyn Input>) -> io::Result<Decoder> {
        let head = crate::input::read_head(&*input, SNIFF_BYTES)?;
        Decoder::with_codec(input, sniff(&head))
    }

    /// Decodes `input` as `codec`, whatever its first bytes say.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn with_codec(input: Arc<dyn Input>, codec: Codec) -> io::Result<Decoder> {
        let decode: Box<dyn Decode> = match codec {
            Codec::Plain => Box::new(Plain),
            Codec::Zstd => Box::new(zstd::Zstd::new()?),
            Codec::Lz4Block => Box::new(blocks::Blocks::new(lz4block::Lz4Block::default())),
            Codec::Lz4Frame => Box::new(lz4frame::Lz4Frame::default()),
            Codec::Snappy => Box::new(blocks::Blocks::new(snappy::Snappy::default())),
            Codec::Lzf => Box::new(blocks::Blocks::new(lzf::Lzf)),
            Codec::Gzip => Box::new(gzip::Gzip::default()),
        };
        let greedy = input.len().is_some();
        Ok(Decoder { codec, raw: Raw::new(input), decode, end: None, decoded: 0, greedy })
    }

    /// The codec told by the first bytes.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Fills as much of `buf` as is at hand and says how much; 0 when there is no more (or `buf` is empty).
    ///
    /// Everything decodable before damage is delivered first; [`Decoder::end`] then tells what stopped it.
    /// Bytes of `buf` behind the returned count may have been overwritten.
    pub fn read(&mut self, buf: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buf.len() && self.end.is_none() {
            match self.decode.read(&mut self.raw, &mut buf[filled..]) {
                Ok(n) => filled += n,
                Err(end) => {
                    self.end = Some(self.raw.error().cloned().unwrap_or(end));
                }
            }
            if filled > 0 && !self.greedy {
                break;
            }
        }
        self.decoded += filled as u64;
        filled
    }

    /// What stopped the decoder; `None` while it goes on.
    pub fn end(&self) -> Option<&StreamEnd> {
        self.end.as_ref()
    }

    /// Undecoded bytes consumed so far, for progress.
    pub fn raw_bytes(&self) -> u64 {
        self.raw.consumed()
    }

    /// Bytes delivered so far.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("codec", &self.codec)
            .field("decoded_bytes", &self.decoded)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

struct Plain;

impl Decode for Plain {
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd> {
        match raw.read_through(out) {
            0 => Err(StreamEnd::Complete),
            n => Ok(n),
        }
    }
}

/// The end of a stream whose next bytes are none of the format's: zero bytes are what a crash leaves in a file
/// whose blocks were allocated but not yet written, anything else is damage.
fn unknown_bytes(raw: &mut Raw, expected: &str) -> StreamEnd {
    let at = raw.consumed();
    raw.need(64);
    if raw.bytes().iter().take(64).all(|byte| *byte == 0) {
        StreamEnd::truncated(format!("zero bytes from offset {at} on, as a crash leaves them"))
    } else {
        StreamEnd::corrupt(format!("no {expected} at offset {at}"))
    }
}

#[cfg(test)]
mod tests;

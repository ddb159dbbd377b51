//! What lz4-java, snappy-java and LZF streams have in common: a header, then a block decoded as a whole.

use super::raw::Raw;
use super::{Decode, StreamEnd};

/// One block, as its header announces it.
pub(super) struct Block {
    /// Bytes of the header, before the packed bytes.
    pub(super) header: usize,
    /// Bytes of the block as stored. Bounded by the format before the block is read.
    pub(super) packed: usize,
    /// Bytes of the block when decoded; `None` when the packed bytes begin with it (snappy).
    pub(super) plain: Option<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stored,
    Compressed,
}

/// A block format.
pub(super) trait BlockFormat: Send {
    /// Reads the next block header at the start of `raw` without consuming it; stream headers and end marks in
    /// between are consumed. Err when there is no further block.
    fn header(&mut self, raw: &mut Raw) -> Result<Block, StreamEnd>;

    /// Length of the decoded block, when the header does not tell.
    fn plain_len(&self, _packed: &[u8]) -> Result<usize, String> {
        Err("length unknown".to_owned())
    }

    /// Decodes a compressed block into `out`, which has exactly its length.
    fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String>;

    /// Checks a decoded block, where the format has checksums.
    fn verify(&self, _plain: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// How often the codec can shrink its input at the very best: a larger length in a header is damage, and
    /// must not be allocated.
    const MAX_RATIO: usize;
}

/// Decodes a stream of blocks, into the caller's buffer when it has room for a whole one.
pub(super) struct Blocks<F> {
    format: F,
    /// The last block, when it was larger than the caller's buffer, and how much of it was delivered.
    rest: Vec<u8>,
    at: usize,
}

impl<F> Blocks<F> {
    pub(super) fn new(format: F) -> Self {
        Blocks { format, rest: Vec::new(), at: 0 }
    }
}

impl<F: BlockFormat> Blocks<F> {
    fn take_rest(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.rest.len() - self.at);
        out[..n].copy_from_slice(&self.rest[self.at..self.at + n]);
        self.at += n;
        n
    }
}

impl<F: BlockFormat> Decode for Blocks<F> {
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd> {
        if self.at < self.rest.len() {
            return Ok(self.take_rest(out));
        }
        loop {
            let block = self.format.header(raw)?;
            let at = raw.consumed();
            let damaged = |reason: String| StreamEnd::corrupt(format!("block at offset {at}: {reason}"));
            let total = block.header + block.packed;
            if !raw.need(total) {
                return Err(StreamEnd::truncated(format!("the input ends inside the block at offset {at}")));
            }
            let packed = &raw.bytes()[block.header..total];
            let plain = match block.plain {
                Some(plain) => plain,
                None => self.format.plain_len(packed).map_err(damaged)?,
            };
            if block.kind == Kind::Compressed && plain > packed.len().saturating_mul(F::MAX_RATIO) + 64 {
                return Err(damaged(format!("{plain} bytes cannot come from {}", packed.len())));
            }
            let direct = plain <= out.len();
            let target = if direct {
                &mut out[..plain]
            } else {
                self.rest.resize(plain, 0);
                &mut self.rest[..]
            };
            let decoded = match block.kind {
                Kind::Stored => {
                    target.copy_from_slice(packed);
                    Ok(())
                }
                Kind::Compressed => self.format.decode(packed, target),
            };
            if let Err(reason) = decoded.and_then(|()| self.format.verify(target)) {
                self.rest.clear();
                self.at = 0;
                return Err(damaged(reason));
            }
            raw.consume(total);
            if direct {
                self.rest.clear();
                self.at = 0;
                if plain == 0 {
                    continue;
                }
                return Ok(plain);
            }
            self.at = 0;
            return Ok(self.take_rest(out));
        }
    }
}

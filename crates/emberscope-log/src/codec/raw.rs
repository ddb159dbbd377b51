//! The undecoded bytes of one input, read ahead in large pieces.

use std::io;
use std::sync::Arc;

use super::StreamEnd;
use crate::input::Input;

/// Bytes read at a time. Large enough that a read call costs nothing beside decoding, small enough that a
/// few dozen open members fit in a few dozen megabytes.
const READ_AHEAD: usize = 256 * 1024;

/// A window over an input, which only moves forward.
pub(crate) struct Raw {
    input: Arc<dyn Input>,
    /// Offset in the input of the end of `buf[..filled]`.
    offset: u64,
    buf: Vec<u8>,
    pos: usize,
    filled: usize,
    eof: bool,
    error: Option<StreamEnd>,
}

impl Raw {
    pub(crate) fn new(input: Arc<dyn Input>) -> Raw {
        Raw { input, offset: 0, buf: Vec::new(), pos: 0, filled: 0, eof: false, error: None }
    }

    /// Bytes at hand, not consumed yet.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf[self.pos..self.filled]
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.pos = self.filled.min(self.pos + n);
    }

    /// Offset in the input of the first byte not consumed.
    pub(crate) fn consumed(&self) -> u64 {
        self.offset - (self.filled - self.pos) as u64
    }

    /// Why reading stopped before the end, if it did.
    pub(crate) fn error(&self) -> Option<&StreamEnd> {
        self.error.as_ref()
    }

    /// Reads on until `n` bytes are at hand, and says whether they are. Grows with the bytes that do come,
    /// not with `n`: a length read from a damaged header must not allocate.
    pub(crate) fn need(&mut self, n: usize) -> bool {
        while self.filled - self.pos < n {
            if !self.more() {
                return false;
            }
        }
        true
    }

    /// Reads one piece more; false at the end of the input or after an error.
    pub(crate) fn more(&mut self) -> bool {
        if self.eof {
            return false;
        }
        if self.pos == self.filled {
            self.pos = 0;
            self.filled = 0;
        } else if self.pos > 0 && self.buf.len() - self.filled < READ_AHEAD / 4 {
            self.buf.copy_within(self.pos..self.filled, 0);
            self.filled -= self.pos;
            self.pos = 0;
        }
        if self.buf.len() - self.filled < READ_AHEAD / 4 {
            // At most a piece more than was read: doubling keeps the copying linear.
            let grown = (self.buf.len() * 2).clamp(READ_AHEAD, self.filled + (READ_AHEAD).max(self.filled));
            self.buf.resize(grown, 0);
        }
        match self.input.read_at(self.offset, &mut self.buf[self.filled..]) {
            Ok(0) => {
                self.eof = true;
                false
            }
            Ok(n) => {
                self.filled += n;
                self.offset += n as u64;
                true
            }
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    /// Reads straight into `out`, past the window: what plain logs need. Call it with an empty window only.
    pub(crate) fn read_through(&mut self, out: &mut [u8]) -> usize {
        if self.eof {
            return 0;
        }
        match self.input.read_at(self.offset, out) {
            Ok(0) => {
                self.eof = true;
                0
            }
            Ok(n) => {
                self.offset += n as u64;
                n
            }
            Err(error) => {
                self.fail(&error);
                0
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.eof = true;
        self.error = Some(match error.kind() {
            // A zip entry whose archive was cut.
            io::ErrorKind::UnexpectedEof => StreamEnd::Truncated { reason: error.to_string() },
            _ => StreamEnd::Corrupt { reason: format!("cannot be read further: {error}") },
        });
    }
}

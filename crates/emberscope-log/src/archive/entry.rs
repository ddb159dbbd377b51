//! The bytes of one entry.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::invalid;
use crate::codec::StreamEnd;
use crate::codec::inflate::{Inflate, Inflated};
use crate::codec::raw::Raw;
use crate::input::{HEAD_BYTES, Input};

/// A part of another input.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) input: Arc<dyn Input>,
    pub(super) start: u64,
    pub(super) len: u64,
}

impl Input for Window {
    fn name(&self) -> &str {
        self.input.name()
    }

    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn modified_ms(&self) -> Option<i64> {
        self.input.modified_ms()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let n = rest.min(buf.len());
        if n == 0 { Ok(0) } else { self.input.read_at(self.start + offset, &mut buf[..n]) }
    }
}

/// The unpacked bytes of a zip entry. A deflated one is read in sequence; going back starts it over, which
/// costs time only.
pub struct EntryInput {
    name: String,
    len: Option<u64>,
    crc: Option<u32>,
    window: Arc<dyn Input>,
    state: Option<Mutex<Inflating>>,
}

impl EntryInput {
    pub(super) fn stored(name: String, len: Option<u64>, window: Arc<dyn Input>) -> EntryInput {
        EntryInput { name, len, crc: None, window, state: None }
    }

    pub(super) fn deflated(
        name: String,
        len: Option<u64>,
        crc: Option<u32>,
        window: Arc<dyn Input>,
    ) -> EntryInput {
        let state = Some(Mutex::new(Inflating::new(&window)));
        EntryInput { name, len, crc, window, state }
    }
}

struct Inflating {
    raw: Raw,
    inflate: Inflate,
    pos: u64,
    /// The first bytes, since every decoder first looks at the head and then starts at 0.
    head: Vec<u8>,
}

impl Inflating {
    fn new(window: &Arc<dyn Input>) -> Inflating {
        Inflating { raw: Raw::new(Arc::clone(window)), inflate: Inflate::new(), pos: 0, head: Vec::new() }
    }

    fn read(&mut self, crc: Option<u32>, buf: &mut [u8]) -> io::Result<usize> {
        match self.inflate.read(&mut self.raw, buf) {
            Inflated::Bytes(n) => {
                if self.head.len() as u64 == self.pos && self.head.len() < HEAD_BYTES {
                    self.head.extend_from_slice(&buf[..n.min(HEAD_BYTES - self.head.len())]);
                }
                self.pos += n as u64;
                Ok(n)
            }
            Inflated::End if crc.is_none_or(|crc| crc == self.inflate.crc()) => Ok(0),
            Inflated::End => Err(invalid("the zip entry's checksum differs")),
            Inflated::Cut => match self.raw.error() {
                Some(StreamEnd::Corrupt { reason }) => Err(io::Error::other(reason.clone())),
                _ => Err(cut()),
            },
            Inflated::Damaged => Err(invalid("the zip entry is damaged")),
        }
    }
}

impl fmt::Debug for EntryInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryInput").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Input for EntryInput {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        self.len
    }

    fn modified_ms(&self) -> Option<i64> {
        self.window.modified_ms()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let Some(state) = &self.state else {
            let n = self.window.read_at(offset, buf)?;
            // The archive ends before the entry does.
            let is_cut = n == 0 && self.len.is_some_and(|len| offset < len);
            return if is_cut { Err(cut()) } else { Ok(n) };
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if offset < state.head.len() as u64 {
            let kept = &state.head[offset as usize..];
            let n = kept.len().min(buf.len());
            buf[..n].copy_from_slice(&kept[..n]);
            return Ok(n);
        }
        if offset < state.pos {
            *state = Inflating::new(&self.window);
        }
        let mut skipped = [0; 8192];
        while state.pos < offset {
            let n = usize::try_from(offset - state.pos).unwrap_or(usize::MAX).min(skipped.len());
            if state.read(self.crc, &mut skipped[..n])? == 0 {
                return Ok(0);
            }
        }
        state.read(self.crc, buf)
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the zip archive ends inside the entry")
}

//! The chunks of a file, by their headers alone.

use crate::header::{HEADER_BYTES, Header};
use crate::notes::{NoteKind, Notes};
use crate::window::Window;
use emberscope_log::input::Input;
use memchr::memmem;
use std::io;

/// Where a chunk lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPlace {
    /// Offset of its first byte.
    pub(crate) start: u64,
    /// Offset behind its last byte.
    pub(crate) end: u64,
    pub(crate) header: Header,
    /// Whether the header's offsets can be followed.
    pub(crate) is_whole: bool,
}

impl ChunkPlace {
    /// What the same chunk has in every file that holds it.
    pub(crate) fn identity(&self) -> (i64, i64) {
        (self.header.start_ns, self.header.start_ticks)
    }
}

/// Bytes that are searched at a time for the next chunk.
const STEP: usize = 1 << 20;
const START: &[u8] = b"FLR\0\0\x02\0";

/// The chunks of an input, in order.
pub(crate) fn index(input: &dyn Input, notes: &mut Notes) -> io::Result<Vec<ChunkPlace>> {
    let length = input.len().unwrap_or(u64::MAX);
    let mut window = Window::new(input);
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < length {
        let head = window.at(at, HEADER_BYTES)?;
        if head.is_empty() {
            break;
        }
        let Some(header) = Header::parse(head) else {
            let next = find_start(&mut window, at + 1, length)?;
            notes.add(NoteKind::ForeignBytes, || {
                let until = next.unwrap_or(length);
                format!("{} bytes at offset {at} are no chunk of a recording", until - at)
            });
            match next {
                Some(next) => at = next,
                None => break,
            }
            continue;
        };
        let end = at.checked_add(header.size).filter(|end| *end <= length);
        let is_inside = |offset: u64| (HEADER_BYTES as u64..header.size).contains(&offset);
        let is_whole = end.is_some() && is_inside(header.metadata) && is_inside(header.checkpoint);
        let place = match end {
            Some(end) if is_whole => ChunkPlace { start: at, end, header, is_whole },
            _ => {
                let end = find_start(&mut window, at + HEADER_BYTES as u64, length)?.unwrap_or(length);
                ChunkPlace { start: at, end, header, is_whole: false }
            }
        };
        if !is_whole || !header.finished {
            notes.add(NoteKind::UnfinishedChunk, || {
                format!(
                    "the chunk at offset {at} is not finished: its recorder was still writing, or was killed"
                )
            });
        }
        chunks.push(place);
        at = place.end;
    }
    Ok(chunks)
}

/// The next offset from `from` on at which a chunk starts.
fn find_start(window: &mut Window<'_>, from: u64, length: u64) -> io::Result<Option<u64>> {
    let mut at = from;
    while at < length {
        let bytes = window.at(at, STEP)?;
        let bytes = &bytes[..bytes.len().min(STEP)];
        if let Some(found) = memmem::find(bytes, START) {
            let start = at + found as u64;
            if Header::parse(window.at(start, HEADER_BYTES)?).is_some() {
                return Ok(Some(start));
            }
            at = start + 1;
        } else if bytes.len() < STEP {
            break;
        } else {
            // A start may lie across two steps.
            at += (bytes.len() - START.len() + 1) as u64;
        }
    }
    Ok(None)
}

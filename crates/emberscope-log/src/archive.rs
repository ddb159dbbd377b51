//! Zip archives: what the History Server's download button and `/applications/<id>/logs` give.
//!
//! Only what reading logs takes: the directory, stored and deflated entries. The directory is read by our own
//! code so that no count or length of a damaged archive is ever allocated on trust; an archive without a
//! directory (a broken download) is walked entry by entry instead. Each entry is an [`Input`], so the codec of
//! the log inside is told by magic like everywhere else.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::StreamEnd;
use crate::codec::inflate::{Inflate, Inflated};
use crate::codec::raw::Raw;
use crate::input::{HEAD_BYTES, Input};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const END64_LOCATOR: u32 = 0x0706_4b50;
/// The directory's end record, without the comment of at most 65,535 bytes behind it.
const END_LEN: usize = 22;
/// A directory larger than this is damage: it would hold about a million members.
const LARGEST_DIRECTORY: u64 = 128 << 20;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// One entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipEntry {
    /// Path inside the archive, `/`-separated as zip demands.
    pub name: String,
    /// Bytes when unpacked; `None` when the archive's directory is missing.
    pub len: Option<u64>,
    method: u16,
    encrypted: bool,
    packed: Option<u64>,
    crc: Option<u32>,
    header_at: u64,
}

/// The list of entries of a zip archive.
#[derive(Clone, Debug)]
pub struct Archive {
    input: Arc<dyn Input>,
    entries: Vec<ZipEntry>,
    truncated: bool,
}

impl Archive {
    /// Reads the directory of `input`, whose length must be known.
    ///
    /// # Errors
    /// When it is no zip archive or cannot be read.
    pub fn open(input: Arc<dyn Input>) -> io::Result<Archive> {
        let len = input.len().ok_or_else(|| invalid("its length is unknown"))?;
        match directory(&*input, len) {
            Ok(entries) => Ok(Archive { input, entries, truncated: false }),
            Err(error) => {
                let entries = walk(&input)?;
                if entries.is_empty() { Err(error) } else { Ok(Archive { input, entries, truncated: true }) }
            }
        }
    }

    /// The files in the archive (not its directories), in archive order.
    pub fn entries(&self) -> &[ZipEntry] {
        &self.entries
    }

    /// Whether the archive has no directory, as a broken download has none: entries may be missing.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Opens an entry, shown to the user as `name`.
    ///
    /// # Errors
    /// When the entry is encrypted, packed by a method other than deflate, or out of bounds.
    pub fn open_entry(&self, entry: &ZipEntry, name: String) -> io::Result<EntryInput> {
        if entry.encrypted {
            return Err(invalid("the zip entry is encrypted"));
        }
        if entry.method != STORED && entry.method != DEFLATED {
            return Err(invalid(&format!("the zip entry is packed by method {}, not deflate", entry.method)));
        }
        let mut header = [0; 30];
        read_exact(&*self.input, entry.header_at, &mut header)?;
        if u32_at(&header, 0) != LOCAL {
            return Err(invalid("the zip entry is not where the directory says"));
        }
        let start = entry.header_at + 30 + u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
        let packed = entry.packed.unwrap_or(u64::MAX);
        let window: Arc<dyn Input> =
            Arc::new(Window { input: Arc::clone(&self.input), start, len: packed.min(u64::MAX - start) });
        let state = match entry.method {
            STORED => None,
            _ => Some(Mutex::new(Inflating::new(&window))),
        };
        let len = if entry.method == STORED { entry.packed } else { entry.len };
        Ok(EntryInput { name, len, crc: entry.crc, modified_ms: self.input.modified_ms(), window, state })
    }
}

/// A part of another input.
#[derive(Debug)]
struct Window {
    input: Arc<dyn Input>,
    start: u64,
    len: u64,
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
    modified_ms: Option<i64>,
    window: Arc<dyn Input>,
    state: Option<Mutex<Inflating>>,
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
        self.modified_ms
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

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn read_exact(input: &dyn Input, mut offset: u64, mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        match input.read_at(offset, buf)? {
            0 => return Err(invalid("the zip archive is cut")),
            n => {
                offset += n as u64;
                buf = &mut buf[n..];
            }
        }
    }
    Ok(())
}

/// Little-endian numbers; 0 where the bytes end, which every caller has ruled out or treats as damage.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_le_bytes(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Reads the central directory (APPNOTE 4.3.12), zip64 included.
fn directory(input: &dyn Input, len: u64) -> io::Result<Vec<ZipEntry>> {
    let tail_len = len.min(END_LEN as u64 + 0xffff + 20);
    let tail_at = len - tail_len;
    // At most 64 KiB and a little, as computed above.
    let mut tail = vec![0; tail_len as usize];
    read_exact(input, tail_at, &mut tail)?;
    let end = (0..=tail.len().saturating_sub(END_LEN))
        .rev()
        .find(|at| u32_at(&tail, *at) == END && tail.len() - at >= END_LEN)
        .ok_or_else(|| invalid("no zip directory: the download may have broken off"))?;
    let mut size = u64::from(u32_at(&tail, end + 12));
    let mut start = u64::from(u32_at(&tail, end + 16));
    if end >= 20 && u32_at(&tail, end - 20) == END64_LOCATOR {
        let mut record = [0; 56];
        read_exact(input, u64_at(&tail, end - 12), &mut record)?;
        if u32_at(&record, 0) == END64 {
            size = u64_at(&record, 40);
            start = u64_at(&record, 48);
        }
    }
    if size > LARGEST_DIRECTORY || start.checked_add(size).is_none_or(|end| end > len) {
        return Err(invalid("the zip directory makes no sense"));
    }
    let mut bytes = vec![0; size as usize];
    read_exact(input, start, &mut bytes)?;
    let mut entries = Vec::new();
    let mut rest = &bytes[..];
    while rest.len() >= 46 && u32_at(rest, 0) == CENTRAL {
        let (name_len, extra_len, comment_len) = (u16_at(rest, 28), u16_at(rest, 30), u16_at(rest, 32));
        let name_end = 46 + usize::from(name_len);
        let extra_end = name_end + usize::from(extra_len);
        let (Some(name), Some(extra)) = (rest.get(46..name_end), rest.get(name_end..extra_end)) else {
            break;
        };
        let (packed, len, header_at) = zip64(
            extra,
            u64::from(u32_at(rest, 20)),
            u64::from(u32_at(rest, 24)),
            u64::from(u32_at(rest, 42)),
        );
        let name = String::from_utf8_lossy(name).replace('\\', "/");
        if !name.ends_with('/') {
            entries.push(ZipEntry {
                name,
                len: Some(len),
                method: u16_at(rest, 10),
                encrypted: u16_at(rest, 8) & 1 != 0,
                packed: Some(packed),
                crc: Some(u32_at(rest, 16)),
                header_at,
            });
        }
        rest = rest.get(extra_end + usize::from(comment_len)..).unwrap_or_default();
    }
    Ok(entries)
}

/// Fields of 0xFFFFFFFF are found in extra field 1, in this order, and only they.
fn zip64(mut extra: &[u8], packed: u64, len: u64, header_at: u64) -> (u64, u64, u64) {
    let mut fields = [len, packed, header_at];
    while extra.len() >= 4 {
        let (kind, size) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let body = extra.get(4..4 + size).unwrap_or_default();
        if kind == 1 {
            let mut at = 0;
            for field in &mut fields {
                if *field == 0xffff_ffff && body.len() >= at + 8 {
                    *field = u64_at(body, at);
                    at += 8;
                }
            }
        }
        extra = extra.get(4 + size..).unwrap_or_default();
    }
    (fields[1], fields[0], fields[2])
}

/// Finds entries by their local headers, from the start, unpacking each deflated one to find its end: Java's
/// `ZipOutputStream` writes lengths only behind the data.
fn walk(input: &Arc<dyn Input>) -> io::Result<Vec<ZipEntry>> {
    let mut entries = Vec::new();
    let mut at = 0u64;
    let mut header = [0; 30];
    while read_exact(&**input, at, &mut header).is_ok() && u32_at(&header, 0) == LOCAL {
        let flags = u16_at(&header, 6);
        let method = u16_at(&header, 8);
        let name_len = u16_at(&header, 26);
        let mut name = vec![0; usize::from(name_len)];
        if read_exact(&**input, at + 30, &mut name).is_err() {
            break;
        }
        let data_at = at + 30 + u64::from(name_len) + u64::from(u16_at(&header, 28));
        let streamed = flags & 8 != 0;
        let packed = u64::from(u32_at(&header, 18));
        let name = String::from_utf8_lossy(&name).replace('\\', "/");
        if !name.ends_with('/') {
            entries.push(ZipEntry {
                name,
                len: (!streamed).then(|| u64::from(u32_at(&header, 22))),
                method,
                encrypted: flags & 1 != 0,
                packed: (!streamed).then_some(packed),
                crc: (!streamed).then(|| u32_at(&header, 14)),
                header_at: at,
            });
        }
        if !streamed {
            at = data_at + packed;
            continue;
        }
        if method != DEFLATED {
            break;
        }
        let window = Window { input: Arc::clone(input), start: data_at, len: u64::MAX - data_at };
        let mut raw = Raw::new(Arc::new(window));
        let mut inflate = Inflate::new();
        let mut sink = vec![0; 64 * 1024];
        let whole = loop {
            match inflate.read(&mut raw, &mut sink) {
                Inflated::Bytes(_) => {}
                Inflated::End => break true,
                Inflated::Cut | Inflated::Damaged => break false,
            }
        };
        if !whole {
            break;
        }
        // The descriptor: an optional signature, checksum and two lengths of 4 or 8 bytes.
        raw.need(28);
        let next = [12, 16, 20, 24].into_iter().find(|n| {
            let next = u32_at(raw.bytes(), *n);
            next == LOCAL || next == CENTRAL
        });
        let Some(next) = next else { break };
        at = data_at + raw.consumed() + next as u64;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::input::{Memory, read_head};

    fn archive(entries: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8]) -> io::Result<Archive> {
        Archive::open(Arc::new(Memory::new("a.zip", bytes)))
    }

    fn content(archive: &Archive, entry: &ZipEntry) -> io::Result<Vec<u8>> {
        let input = archive.open_entry(entry, entry.name.clone())?;
        read_head(&input, 100)?;
        let mut out = Vec::new();
        let mut buf = vec![0; 1000];
        loop {
            match input.read_at(out.len() as u64, &mut buf)? {
                0 => return Ok(out),
                n => out.extend_from_slice(&buf[..n]),
            }
        }
    }

    #[test]
    fn reads_stored_and_deflated_entries() {
        let long: Vec<u8> = (0..200_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
            let bytes = archive(&[("a/b", b"hello"), ("long", &long), ("empty", b"")], method);
            let archive = open(&bytes).unwrap();
            let names: Vec<&str> = archive.entries().iter().map(|e| e.name.as_str()).collect();
            assert_eq!(names, ["a/b", "long", "empty"]);
            assert!(content(&archive, &archive.entries()[1]).unwrap() == long);
            assert_eq!(content(&archive, &archive.entries()[2]).unwrap(), b"");
            // Back to the middle, after the end.
            let input = archive.open_entry(&archive.entries()[1], "long".into()).unwrap();
            let mut buf = [0; 4];
            for at in [700_000, 300_000, 70_000] {
                assert!(input.read_at(at, &mut buf).unwrap() > 0);
                assert_eq!(buf[0], long[at as usize]);
            }
        }
    }

    #[test]
    fn a_broken_download_gives_its_whole_entries() {
        let text = b"{\"Event\":1}\n".repeat(1000);
        let bytes = archive(&[("one", &text), ("two", &text)], zip::CompressionMethod::Deflated);
        let found = open(&bytes[..bytes.len() - 60]).unwrap();
        assert!(found.truncated());
        assert_eq!(found.entries().len(), 2);
        assert!(content(&found, &found.entries()[0]).unwrap() == text);
    }

    #[test]
    fn a_cut_entry_gives_what_is_there() {
        let text: Vec<u8> = (0..20_000u32)
            .flat_map(|n| format!("{{\"Event\":{}}}\n", n.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
            let bytes = archive(&[("one", &text)], method);
            for kept in [bytes.len() / 2, 400] {
                let found = open(&bytes[..kept]).unwrap();
                assert!(found.truncated());
                let input = Arc::new(found.open_entry(&found.entries()[0], "one".into()).unwrap());
                let mut decoder = crate::codec::Decoder::new(input).unwrap();
                let mut out = vec![0; text.len() + 1];
                let n = decoder.read(&mut out);
                assert!(n > 200 && out[..n] == text[..n], "{method} {kept}: {n}");
                assert!(matches!(decoder.end(), Some(StreamEnd::Truncated { .. })), "{:?}", decoder.end());
            }
        }
    }

    #[test]
    fn damage_never_panics() {
        let text = b"{\"Event\":1}\n".repeat(20);
        let bytes = archive(&[("one", &text), ("two", &text)], zip::CompressionMethod::Deflated);
        for at in 0..bytes.len() {
            for value in [0, 0xff, bytes[at] ^ 1] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                for bytes in [&bytes[..], &bytes[..at]] {
                    if let Ok(archive) = open(bytes) {
                        for entry in archive.entries() {
                            let _ = content(&archive, entry);
                        }
                    }
                }
            }
        }
    }
}

//! Zip archives: what the History Server's download button and `/applications/<id>/logs` give.
//!
//! Only what reading logs takes: the directory, stored and deflated entries. The directory is read by our own
//! code so that no count or length of a damaged archive is ever allocated on trust; an archive without a
//! directory (a broken download) is walked entry by entry instead. Each entry is an [`Input`], so the codec of
//! the log inside is told by magic like everywhere else.

mod directory;
mod entry;

pub use entry::EntryInput;

use std::io;
use std::sync::Arc;

use crate::input::Input;
use directory::{directory, walk};
use entry::Window;

const LOCAL: u32 = 0x0403_4b50;
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
        Ok(match entry.method {
            STORED => EntryInput::stored(name, entry.packed, window),
            _ => EntryInput::deflated(name, entry.len, entry.crc, window),
        })
    }
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::codec::StreamEnd;
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

//! What entries an archive has: by its directory, or where that is missing by the headers before each.

use std::io;
use std::sync::Arc;

use super::entry::Window;
use super::{DEFLATED, LOCAL, ZipEntry, invalid, read_exact, u16_at, u32_at};
use crate::codec::inflate::{Inflate, Inflated};
use crate::codec::raw::Raw;
use crate::input::Input;

const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const END64_LOCATOR: u32 = 0x0706_4b50;
/// The directory's end record, without the comment of at most 65,535 bytes behind it.
const END_LEN: usize = 22;
/// A directory larger than this is damage: it would hold about a million members.
const LARGEST_DIRECTORY: u64 = 128 << 20;

/// Reads the central directory (APPNOTE 4.3.12), zip64 included.
pub(super) fn directory(input: &dyn Input, len: u64) -> io::Result<Vec<ZipEntry>> {
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
pub(super) fn walk(input: &Arc<dyn Input>) -> io::Result<Vec<ZipEntry>> {
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

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

//! Gzip: any number of members, as Databricks rolls its logs and `gzip` appends.

use super::inflate::{Inflate, Inflated};
use super::raw::Raw;
use super::{Decode, StreamEnd, unknown_bytes};

/// Longest name or comment accepted in a header; `gzip` itself has no limit.
const LONGEST_FIELD: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Gzip {
    member: Option<Inflate>,
    member_at: u64,
}

impl Decode for Gzip {
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd> {
        loop {
            let Some(inflate) = &mut self.member else {
                if !raw.need(1) {
                    return Err(StreamEnd::Complete);
                }
                self.member_at = raw.consumed();
                header(raw)?;
                self.member = Some(Inflate::new());
                continue;
            };
            let at = self.member_at;
            match inflate.read(raw, out) {
                Inflated::Bytes(n) => return Ok(n),
                Inflated::Cut => {
                    return Err(StreamEnd::truncated(format!(
                        "the input ends inside the gzip member at offset {at}"
                    )));
                }
                Inflated::Damaged => {
                    return Err(StreamEnd::corrupt(format!("gzip member at offset {at}: no deflate data")));
                }
                Inflated::End => {
                    let (crc, len) = (inflate.crc(), inflate.total_out());
                    self.member = None;
                    if !raw.need(8) {
                        return Err(StreamEnd::truncated(format!(
                            "the input ends inside the trailer of the gzip member at offset {at}"
                        )));
                    }
                    let mut trailer = crc.to_le_bytes().to_vec();
                    // The length is kept modulo 2^32.
                    trailer.extend_from_slice(&(len as u32).to_le_bytes());
                    if raw.bytes()[..8] != trailer {
                        return Err(StreamEnd::corrupt(format!(
                            "gzip member at offset {at}: checksum differs"
                        )));
                    }
                    raw.consume(8);
                }
            }
        }
    }
}

/// Consumes a member header (RFC 1952).
fn header(raw: &mut Raw) -> Result<(), StreamEnd> {
    let at = raw.consumed();
    let cut = || StreamEnd::truncated(format!("the input ends inside the gzip header at offset {at}"));
    let whole = raw.need(10);
    let magic = raw.bytes().len().min(3);
    if raw.bytes()[..magic] != b"\x1f\x8b\x08"[..magic] {
        return Err(unknown_bytes(raw, "gzip member"));
    }
    if !whole {
        return Err(cut());
    }
    let flags = raw.bytes()[3];
    let mut len = 10;
    if flags & 0x04 != 0 {
        if !raw.need(len + 2) {
            return Err(cut());
        }
        len += 2 + usize::from(u16::from_le_bytes([raw.bytes()[len], raw.bytes()[len + 1]]));
    }
    // Name and comment end with a zero byte.
    for flag in [0x08, 0x10] {
        if flags & flag != 0 {
            let start = len;
            loop {
                if !raw.need(len + 1) {
                    return Err(cut());
                }
                len += 1;
                if raw.bytes()[len - 1] == 0 {
                    break;
                }
                if len - start > LONGEST_FIELD {
                    return Err(StreamEnd::corrupt(format!("gzip header at offset {at} makes no sense")));
                }
            }
        }
    }
    if flags & 0x02 != 0 {
        len += 2;
    }
    if !raw.need(len) {
        return Err(cut());
    }
    raw.consume(len);
    Ok(())
}

//! LZF chunks (`com.ning.compress.lzf.LZFOutputStream`), which Spark writes for `lzf`.
//!
//! A chunk: `ZV`, type 0 (stored) or 1 (compressed), big-endian packed length, for type 1 also the plain length,
//! then the bytes. Both lengths are 16 bits wide. There is neither a checksum nor an end mark.

use super::blocks::{Block, BlockFormat, Kind};
use super::raw::Raw;
use super::{StreamEnd, unknown_bytes};

const STORED_HEADER: usize = 5;
const COMPRESSED_HEADER: usize = 7;

pub(super) struct Lzf;

impl BlockFormat for Lzf {
    /// Lengths have 16 bits, so they bound themselves.
    const MAX_RATIO: usize = 1 << 16;

    fn header(&mut self, raw: &mut Raw) -> Result<Block, StreamEnd> {
        raw.need(COMPRESSED_HEADER);
        let at = raw.consumed();
        let bytes = raw.bytes();
        if bytes.is_empty() {
            return Err(StreamEnd::Complete);
        }
        let magic = bytes.len().min(2);
        if bytes[..magic] != b"ZV"[..magic] || bytes.get(2).is_some_and(|kind| *kind > 1) {
            return Err(unknown_bytes(raw, "LZF chunk"));
        }
        let word = |i: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(i)?, *bytes.get(i + 1)?])));
        let block = match bytes.get(2) {
            Some(0) => word(3).map(|n| Block {
                header: STORED_HEADER,
                packed: n,
                plain: Some(n),
                kind: Kind::Stored,
            }),
            Some(_) => word(3).zip(word(5)).map(|(packed, plain)| Block {
                header: COMPRESSED_HEADER,
                packed,
                plain: Some(plain),
                kind: Kind::Compressed,
            }),
            None => None,
        };
        block.ok_or_else(|| {
            StreamEnd::truncated(format!("the input ends inside the chunk header at offset {at}"))
        })
    }

    fn decode(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        match decode_chunk(packed, out) {
            Some(n) if n == out.len() => Ok(()),
            _ => Err("the chunk does not decode to its length".to_owned()),
        }
    }
}

/// Decodes one LZF chunk and says how many bytes it gave; `None` when a run or a reference leaves its bounds.
///
/// A control byte below 32 starts a run of that many literals plus one. Any other holds a length in its top
/// three bits (7: the next byte adds to it) and the high bits of a distance, whose low byte follows; the
/// reference copies length plus 2 bytes from distance plus 1 bytes back and may overlap itself.
fn decode_chunk(packed: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut from = 0;
    let mut to = 0;
    while let Some(&control) = packed.get(from) {
        from += 1;
        let control = usize::from(control);
        if control < 32 {
            let run = control + 1;
            // Copying a fixed 32 bytes and then moving on by less is a good deal faster than a variable copy,
            // as long as both sides have the room.
            if let (Some(literals), Some(target)) = (packed.get(from..from + 32), out.get_mut(to..to + 32)) {
                target.copy_from_slice(literals);
            } else {
                out.get_mut(to..to + run)?.copy_from_slice(packed.get(from..from + run)?);
            }
            from += run;
            to += run;
            continue;
        }
        let mut len = (control >> 5) + 2;
        if len == 9 {
            len += usize::from(*packed.get(from)?);
            from += 1;
        }
        let distance = ((control & 0x1f) << 8) + usize::from(*packed.get(from)?) + 1;
        from += 1;
        let start = to.checked_sub(distance)?;
        let end = to + len;
        if end > out.len() {
            return None;
        }
        if distance >= 16 && len <= 16 && to + 16 <= out.len() {
            out.copy_within(start..start + 16, to);
        } else if distance >= len {
            out.copy_within(start..start + len, to);
        } else if distance == 1 {
            let byte = out[start];
            out[to..end].fill(byte);
        } else {
            for i in to..end {
                out[i] = out[i - distance];
            }
        }
        to = end;
    }
    Some(to)
}

#[cfg(test)]
mod tests {
    use super::decode_chunk;

    #[test]
    fn decodes_runs_and_references() {
        type Case = (&'static [u8], usize, Option<&'static [u8]>);
        let cases: &[Case] = &[
            (&[2, b'a', b'b', b'c'], 3, Some(b"abc")),
            // three bytes from one back: a run of one byte
            (&[0, b'x', 1 << 5, 0], 4, Some(b"xxxx")),
            // overlapping pair, long form: 2 + 7 + 1 = 10 bytes from two back
            (&[1, b'a', b'b', 7 << 5, 1, 1], 12, Some(b"abababababab")),
            // before the start
            (&[0, b'x', 1 << 5, 1], 4, None),
            // literals beyond the input
            (&[3, b'a'], 4, None),
            // more than the announced length
            (&[3, b'a', b'b', b'c', b'd'], 3, None),
            (&[7 << 5], 300, None),
            (&[], 0, Some(b"")),
        ];
        for (packed, len, expected) in cases {
            let mut out = vec![0; *len];
            let got = decode_chunk(packed, &mut out).filter(|n| n == len);
            assert_eq!(got.map(|n| &out[..n]), *expected, "{packed:?}");
        }
    }
}

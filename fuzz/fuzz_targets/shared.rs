//! The law all codecs obey: no input panics, the result does not depend on the caller's buffer, and a prefix of
//! the input never gives more than the whole.

use std::sync::Arc;

use emberscope_log::codec::{Codec, Decoder, StreamEnd};
use emberscope_log::input::Memory;

/// Stops at this many bytes: a few hundred may unpack to gigabytes, which is slow but not wrong.
const MOST: usize = 4 << 20;

fn decode(bytes: &[u8], codec: Codec, step: usize) -> (Vec<u8>, Option<StreamEnd>) {
    let mut decoder = Decoder::with_codec(Arc::new(Memory::new("fuzz", bytes)), codec).expect("codecs start");
    let mut out = Vec::new();
    let mut buf = vec![0; step];
    while out.len() < MOST {
        match decoder.read(&mut buf) {
            0 => break,
            n => out.extend_from_slice(&buf[..n]),
        }
    }
    assert!(decoder.raw_bytes() <= bytes.len() as u64);
    (out, decoder.end().cloned())
}

pub fn check(data: &[u8], codec: Codec) {
    let (large, large_end) = decode(data, codec, 1 << 20);
    if large.len() >= MOST {
        return;
    }
    let (small, small_end) = decode(data, codec, 61);
    assert!(large == small, "the buffer matters");
    assert_eq!(large_end, small_end);
    let (half, _) = decode(&data[..data.len() / 2], codec, 1 << 20);
    assert!(large.starts_with(&half), "a prefix gives something else");
}

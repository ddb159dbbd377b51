//! Each codec: whole, appended, cut at every byte, damaged at every byte.

use std::io::Write;

use super::*;
use crate::input::{Memory, Stdin};

const PLAIN: &[u8] = include_bytes!("../../tests/data/codec/stream.plain");

fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let mut encoder = flate2::GzBuilder::new()
            .filename("eventlog")
            .comment("c")
            .extra(vec![1, 2, 3])
            .write(&mut out, flate2::Compression::default());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    out
}

/// All encodings of [`PLAIN`], those of Spark's codecs written by Spark's own libraries.
fn encodings() -> Vec<(Codec, Vec<u8>)> {
    let half = PLAIN.len() / 2;
    vec![
        (Codec::Plain, PLAIN.to_vec()),
        (Codec::Zstd, include_bytes!("../../tests/data/codec/stream.zstd").to_vec()),
        (Codec::Lz4Block, include_bytes!("../../tests/data/codec/stream.lz4").to_vec()),
        (Codec::Lz4Frame, include_bytes!("../../tests/data/codec/stream.lz4frame").to_vec()),
        (Codec::Snappy, include_bytes!("../../tests/data/codec/stream.snappy").to_vec()),
        (Codec::Lzf, include_bytes!("../../tests/data/codec/stream.lzf").to_vec()),
        (Codec::Gzip, gzip(&[&PLAIN[..half], &PLAIN[half..]])),
    ]
}

fn decode_in(bytes: &[u8], step: usize) -> (Codec, Vec<u8>, StreamEnd) {
    let mut decoder = Decoder::new(Arc::new(Memory::new("test", bytes))).unwrap();
    let mut out = Vec::new();
    let mut buf = vec![0; step];
    loop {
        match decoder.read(&mut buf) {
            0 => break,
            n => out.extend_from_slice(&buf[..n]),
        }
    }
    assert_eq!(decoder.decoded_bytes(), out.len() as u64);
    assert!(decoder.raw_bytes() <= bytes.len() as u64);
    assert_eq!(decoder.read(&mut buf), 0);
    (decoder.codec(), out, decoder.end().unwrap().clone())
}

fn decode(bytes: &[u8]) -> (Codec, Vec<u8>, StreamEnd) {
    decode_in(bytes, 1 << 16)
}

#[test]
fn whole_streams_whatever_the_buffer() {
    for (codec, bytes) in encodings() {
        for step in [1, 7, 100, 1024, 1 << 16] {
            let (found, out, end) = decode_in(&bytes, step);
            assert_eq!(found, codec);
            assert_eq!(end, StreamEnd::Complete, "{codec} by {step}");
            assert!(out == PLAIN, "{codec} by {step}");
        }
    }
}

#[test]
fn appended_streams() {
    for (codec, bytes) in encodings() {
        let (_, out, end) = decode(&[&bytes[..], &bytes[..]].concat());
        assert_eq!(end, StreamEnd::Complete, "{codec}");
        assert!(out == [PLAIN, PLAIN].concat(), "{codec}");
    }
}

#[test]
fn cut_at_every_byte_is_monotone() {
    for (codec, bytes) in encodings() {
        let mut longest = 0;
        for cut in 0..bytes.len() {
            for step in [64, 1 << 16] {
                let (_, out, end) = decode_in(&bytes[..cut], step);
                assert!(PLAIN.starts_with(&out), "{codec} cut at {cut}");
                assert!(out.len() >= longest, "{codec} cut at {cut}: {} after {longest}", out.len());
                assert!(!matches!(end, StreamEnd::Corrupt { .. }), "{codec} cut at {cut}: {end:?}");
                longest = out.len();
            }
        }
        assert!(longest > PLAIN.len() * 2 / 3, "{codec} gave only {longest}");
    }
}

#[test]
fn damage_at_every_byte_never_panics_and_does_not_depend_on_the_buffer() {
    for (codec, bytes) in encodings() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                let (_, out, end) = decode(&bytes);
                let (_, small, same) = decode_in(&bytes, 50);
                assert_eq!(end, same, "{codec} damaged at {at}");
                assert!(out == small, "{codec} damaged at {at}: {} or {} bytes", out.len(), small.len());
            }
        }
    }
}

#[test]
fn damage_in_the_middle_keeps_what_came_before() {
    // Large enough for several blocks in one frame or member.
    let lines: Vec<u8> =
        (0..40_000u64).flat_map(|i| format!("{{\"Event\":{}}}\n", i * i * 7919).into_bytes()).collect();
    for (codec, mut bytes) in [
        (Codec::Zstd, ::zstd::encode_all(&lines[..], 1).unwrap()),
        (Codec::Zstd, ::zstd::bulk::compress(&lines, 1).unwrap()),
        (Codec::Gzip, gzip(&[&lines])),
    ] {
        let at = bytes.len() / 2;
        bytes[at..at + 4096].fill(0xff);
        let (_, out, end) = decode_in(&bytes, 8 << 20);
        assert!(matches!(end, StreamEnd::Corrupt { .. }), "{codec}: {end:?}");
        // Deflate may take the damage for data for a while.
        let good = lines.iter().zip(&out).take_while(|(a, b)| a == b).count();
        assert!(good > lines.len() / 4, "{codec}: {good}");
    }
}

#[test]
fn an_open_zstd_frame_gives_what_was_flushed() {
    let mut first = ::zstd::encode_all(&PLAIN[..1000], 1).unwrap();
    let mut open = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
    open.write_all(&PLAIN[1000..2000]).unwrap();
    open.flush().unwrap();
    let flushed = open.get_ref().len();
    open.write_all(&PLAIN[2000..3000]).unwrap();
    open.flush().unwrap();
    let second = open.get_ref().clone();
    let start = first.len();
    first.extend_from_slice(&second);
    for (cut, expected) in
        [(start + flushed / 2, 1000), (start + flushed, 2000), (first.len() - 1, 2000), (first.len(), 3000)]
    {
        let (_, out, end) = decode(&first[..cut]);
        assert_eq!(out.len(), expected);
        assert!(matches!(end, StreamEnd::Truncated { .. }), "{end:?}");
    }
}

#[test]
fn skippable_zstd_frames_are_skipped() {
    let frame = ::zstd::encode_all(PLAIN, 1).unwrap();
    let skip = b"\x53\x2a\x4d\x18\x05\0\0\0hello";
    let (codec, out, end) = decode(&[&skip[..], &frame, &skip[..], &frame, &skip[..]].concat());
    assert_eq!((codec, end), (Codec::Zstd, StreamEnd::Complete));
    assert!(out == [PLAIN, PLAIN].concat());
}

#[test]
fn long_zstd_windows_open_up_to_the_limit() {
    for (log, opens) in [(27, true), (28, false)] {
        let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(PLAIN).unwrap();
        let (_, out, end) = decode(&encoder.finish().unwrap());
        assert_eq!(end == StreamEnd::Complete, opens, "{log}: {end:?}");
        assert_eq!(out.len(), if opens { PLAIN.len() } else { 0 });
    }
}

#[test]
fn zero_bytes_at_the_end_are_a_crash_and_others_are_damage() {
    for (codec, bytes) in encodings().into_iter().filter(|(codec, _)| *codec != Codec::Plain) {
        let (_, out, end) = decode(&[&bytes[..], &[0; 4096]].concat());
        assert!(out == PLAIN, "{codec}");
        assert!(matches!(end, StreamEnd::Truncated { .. }), "{codec}: {end:?}");
        let (_, out, end) = decode(&[&bytes[..], b"garbage, and quite a lot of it"].concat());
        assert!(out == PLAIN, "{codec}");
        assert!(matches!(end, StreamEnd::Corrupt { .. }), "{codec}: {end:?}");
    }
}

#[test]
fn an_lz4_stream_without_end_block_is_open() {
    let mut bytes = include_bytes!("../../tests/data/codec/stream.lz4").to_vec();
    bytes.truncate(bytes.len() - 21);
    let (_, out, end) = decode(&bytes);
    assert!(out == PLAIN);
    assert!(matches!(end, StreamEnd::Truncated { .. }), "{end:?}");
}

#[test]
fn lengths_that_lie_allocate_nothing() {
    // An LZ4 block of 32 MiB plain, a snappy chunk of 4 GiB, each with nothing behind.
    let lz4 = b"LZ4Block\x2f\xff\xff\xff\x01\0\0\0\x02\0\0\0\0 some bytes";
    let snappy = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\x7f\xff\xff\xff\xff\xff\xff\xff\x0f";
    // A chunk that claims 60 MiB from 8 bytes.
    let ratio = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x08\x80\x80\x80\x1d\0\0\0\0";
    for bytes in [&lz4[..], snappy, ratio] {
        let (_, out, end) = decode(bytes);
        assert!(out.is_empty());
        assert_ne!(end, StreamEnd::Complete);
    }
}

#[test]
fn nothing_decodes_to_nothing() {
    let (codec, out, end) = decode(b"");
    assert_eq!((codec, out.len(), end), (Codec::Plain, 0, StreamEnd::Complete));
}

#[test]
fn pipes_decode_like_files() {
    for (codec, bytes) in encodings() {
        let pipe = Stdin::from_reader("-", Box::new(io::Cursor::new(bytes)));
        let mut decoder = Decoder::new(Arc::new(pipe)).unwrap();
        let mut out = Vec::new();
        let mut buf = vec![0; 1000];
        while let n @ 1.. = decoder.read(&mut buf) {
            out.extend_from_slice(&buf[..n]);
        }
        assert!(out == PLAIN, "{codec}");
    }
}

#[test]
fn a_read_error_ends_the_stream_and_is_told() {
    #[derive(Debug)]
    struct Broken;
    impl Input for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        fn len(&self) -> Option<u64> {
            Some(1 << 20)
        }
        fn modified_ms(&self) -> Option<i64> {
            None
        }
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            let rest = PLAIN.get(offset as usize..).unwrap_or_default();
            let n = rest.len().min(buf.len());
            buf[..n].copy_from_slice(&rest[..n]);
            if n == 0 { Err(io::Error::other("disk on fire")) } else { Ok(n) }
        }
    }
    let mut decoder = Decoder::new(Arc::new(Broken)).unwrap();
    let mut buf = vec![0; 1 << 20];
    assert_eq!(decoder.read(&mut buf), PLAIN.len());
    let Some(StreamEnd::Corrupt { reason }) = decoder.end() else { panic!("{:?}", decoder.end()) };
    assert!(reason.contains("disk on fire"));
}

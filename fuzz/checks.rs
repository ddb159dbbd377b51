//! The laws that the fuzz targets check, one function a target.
//!
//! They need no nightly compiler: the tests of `emberscope-log` include this file and replay the
//! committed corpora through it.

use std::collections::HashSet;
use std::sync::Arc;

use emberscope_log::archive::Archive;
use emberscope_log::block::{Block, MemberEnd, ParseOptions, parse_block};
use emberscope_log::codec::{Codec, Decoder, StreamEnd};
use emberscope_log::columns::{TASK_COLUMNS, TaskStatus, Unit};
use emberscope_log::event::sql::{plan_event_with_serde, read_plan_event};
use emberscope_log::event::stage::fast::{read_job_start, read_stage_completed, read_stage_submitted};
use emberscope_log::event::stage::{JobStart, StageCompleted, StageSubmitted};
use emberscope_log::event::task::{
    Sink, TaskRow, read_task_end, read_task_start, task_end_with_serde, task_start_with_serde,
};
use emberscope_log::input::{Memory, read_head};
use emberscope_log::layout::{Entry, log_name, recognise};
use emberscope_log::scan::{ScanOptions, scan};
use emberscope_log::source::Member;

/// Panics when the input breaks the law.
pub(crate) type Check = fn(&[u8]);

/// Every target by its name.
#[allow(dead_code, reason = "a target uses its own function only")]
pub(crate) const TARGETS: &[(&str, Check)] = &[
    ("archive", archive),
    ("block", block),
    ("gzip", gzip),
    ("layout", layout),
    ("lz4block", lz4block),
    ("lz4frame", lz4frame),
    ("lzf", lzf),
    ("plan", plan),
    ("scan", scan_blocks),
    ("snappy", snappy),
    ("stage", stage),
    ("task", task),
];

// ---------------------------------------------------------------------------- codecs

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

/// The law all codecs obey: no input panics, the result does not depend on the caller's buffer, and a
/// prefix of the input never gives more than the whole.
fn codec(data: &[u8], codec: Codec) {
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

pub(crate) fn gzip(data: &[u8]) {
    codec(data, Codec::Gzip);
}

pub(crate) fn lz4block(data: &[u8]) {
    codec(data, Codec::Lz4Block);
}

pub(crate) fn lz4frame(data: &[u8]) {
    codec(data, Codec::Lz4Frame);
}

pub(crate) fn lzf(data: &[u8]) {
    codec(data, Codec::Lzf);
}

pub(crate) fn snappy(data: &[u8]) {
    codec(data, Codec::Snappy);
}

// ---------------------------------------------------------------------------- places

/// No archive makes the reader panic.
pub(crate) fn archive(data: &[u8]) {
    let Ok(archive) = Archive::open(Arc::new(Memory::new("fuzz.zip", data))) else { return };
    for entry in archive.entries().iter().take(20) {
        if let Ok(input) = archive.open_entry(entry, entry.name.clone()) {
            let _ = read_head(&input, 64 * 1024);
        }
    }
}

/// Every path gets one verdict.
pub(crate) fn layout(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut seen = HashSet::new();
    let entries: Vec<Entry> = text
        .lines()
        .filter(|path| seen.insert(*path))
        .map(|path| Entry { path: path.to_owned(), len: Some((path.len() % 3) as u64) })
        .collect();
    for entry in &entries {
        let _ = log_name(&entry.path);
    }
    let layout = recognise(&entries);
    // Nothing is read twice, and nothing is both read and set aside.
    let mut used = HashSet::new();
    for index in layout.groups.iter().flat_map(|group| &group.members) {
        assert!(used.insert(*index));
    }
    for aside in &layout.aside {
        assert!(used.insert(aside.entry));
    }
    // Whatever is left is an appstatus file.
    for (index, entry) in entries.iter().enumerate() {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        assert!(used.contains(&index) || name.starts_with("appstatus_"), "{name} got no verdict");
    }
}

// ---------------------------------------------------------------------------- lines

/// A row with its texts and updates, so that rows of different sinks compare.
fn row_facts(row: &TaskRow, sink: &Sink) -> String {
    let values: Vec<String> = TASK_COLUMNS
        .iter()
        .filter_map(|def| {
            let value = row.get(def.column)?;
            Some(match def.unit {
                Unit::Text => format!("{}={}", def.name, sink.strings.text(value as u32)),
                _ => format!("{}={value}", def.name),
            })
        })
        .collect();
    let updates = &sink.accumulators[row.accumulators.start as usize..row.accumulators.end as usize];
    format!("{}.{} {} {values:?} {updates:?}", row.stage_id, row.stage_attempt, row.is_result_task)
}

/// Whether a line is JSON at all. The cursor does not look into what it skips, so a damaged line (bad
/// UTF-8 in a text that nobody wants) may please it alone.
fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok())
}

/// The cursor never panics on a task's line, a refused line leaves no trace, and a line that both
/// roads take is the same on both.
pub(crate) fn task(line: &[u8]) {
    let (mut fast, mut slow) = (Sink::default(), Sink::default());
    let mut row = TaskRow::new(0);
    match read_task_end(line, &mut row, &mut fast) {
        Some(()) => {
            if let (true, Ok((expected, _))) = (is_json(line), task_end_with_serde(line, &mut slow)) {
                assert_eq!(row_facts(&row, &fast), row_facts(&expected, &slow));
                assert_eq!(fast.non_integer_updates, slow.non_integer_updates);
            }
        }
        None => assert!(fast.accumulators.is_empty() && fast.non_integer_updates == 0),
    }
    let (mut fast, mut slow) = (Sink::default(), Sink::default());
    if let (Some(start), true, Ok(expected)) =
        (read_task_start(line, &mut fast), is_json(line), task_start_with_serde(line, &mut slow))
    {
        let whole = |start| TaskRow::of_start(start, TaskStatus::Running);
        assert_eq!(row_facts(&whole(&start), &fast), row_facts(&whole(&expected), &slow));
    }
}

/// The same for an event with a plan.
pub(crate) fn plan(line: &[u8]) {
    for keep_text in [false, true] {
        let Some(event) = read_plan_event(line, keep_text) else { continue };
        let Ok(expected) = plan_event_with_serde(line, keep_text) else { continue };
        let (mut event, mut expected) = (event, expected);
        let (plan, expected_plan) = (event.plan.take(), expected.plan.take());
        assert_eq!(event, expected);
        if let (Some(plan), Some(expected)) = (plan, expected_plan) {
            assert_eq!(plan.nodes.len(), expected.nodes.len());
            for (node, other) in plan.nodes.iter().zip(&expected.nodes) {
                assert_eq!(node.parent, other.parent);
                assert_eq!(plan.text(node.name), expected.text(other.name));
                assert_eq!(plan.text(node.simple_string), expected.text(other.simple_string));
            }
        }
    }
}

/// The same for the events of jobs and stages.
pub(crate) fn stage(line: &[u8]) {
    if !is_json(line) {
        let _ = (read_job_start(line), read_stage_submitted(line), read_stage_completed(line));
        return;
    }
    if let (Some(job), Ok(expected)) = (read_job_start(line), serde_json::from_slice::<JobStart>(line)) {
        assert_eq!(job, expected);
    }
    if let (Some(stage), Ok(expected)) =
        (read_stage_submitted(line), serde_json::from_slice::<StageSubmitted>(line))
    {
        assert_eq!(stage, expected);
    }
    if let (Some(stage), Ok(expected)) =
        (read_stage_completed(line), serde_json::from_slice::<StageCompleted>(line))
    {
        assert_eq!(stage, expected.info);
    }
}

// ---------------------------------------------------------------------------- blocks

fn whole(data: &[u8], last: bool) -> Block {
    let end =
        MemberEnd { end: StreamEnd::Complete, codec: None, raw_bytes: 0, decoded_bytes: 0, content_hash: 0 };
    let member_end = last.then_some(end);
    Block {
        seq: 0,
        member: 0,
        buffer: data.to_vec(),
        len: data.len(),
        member_end,
        elided_lines: 0,
        is_overlong: false,
    }
}

/// No lines make the parser panic; every line is an event, bad, blank or the cut end; and whether the
/// cursor is used changes no count, but that it forgives a little more (a key given twice).
pub(crate) fn block(data: &[u8]) {
    for (keep_plan_text, last) in [(false, true), (true, false)] {
        let options = ParseOptions { keep_plan_text, without_cursor: false };
        let fast = parse_block(&whole(data, last), options);
        assert!(u64::from(fast.events) + fast.bad_line_count <= u64::from(fast.lines));
        assert!(fast.bad_lines.len() as u64 <= fast.bad_line_count);
        assert!(fast.task_ends.len() + fast.task_starts.len() <= fast.events as usize);
        assert_eq!(fast.first_time_ms.is_some(), fast.last_time_ms.is_some());
        assert!(fast.first_time_ms <= fast.last_time_ms);
        let slow = parse_block(&whole(data, last), ParseOptions { without_cursor: true, ..options });
        assert_eq!(fast.lines, slow.lines);
        if data.split(|byte| *byte == b'\n').all(|line| line.is_empty() || is_json(line)) {
            assert!(fast.events >= slow.events, "the cursor lost a line");
            assert_eq!(fast.unknown_events, slow.unknown_events);
        }
    }
}

/// Cutting into blocks loses, repeats and moves nothing: if no line is too long to hold, the blocks
/// together are the text; whatever the sizes, all blocks but the last end with a line end.
///
/// The first four bytes choose the block's size, the longest line held and the threads.
pub(crate) fn scan_blocks(data: &[u8]) {
    let Some((sizes, text)) = data.split_first_chunk::<4>() else { return };
    let options = ScanOptions {
        threads: 1 + usize::from(sizes[3] % 3),
        block_bytes: 1 + usize::from(sizes[0]),
        held_line_bytes: 1 + usize::from(u16::from_le_bytes([sizes[1], sizes[2]]) % 2048),
    };
    // Text that looks packed is another target's concern.
    let member = Member::from_input(Arc::new(Memory::new("fuzz", text)));
    match member.open() {
        Ok(decoder) if decoder.codec() == Codec::Plain => {}
        _ => return,
    }
    let (mut out, mut next, mut ends, mut elided) = (Vec::new(), 0, 0, 0);
    scan(
        &[member],
        options,
        &|_| {},
        |block| (block.seq, block.bytes().to_vec(), block.member_end.clone(), block.elided_lines),
        |(seq, bytes, end, elided_lines)| {
            assert_eq!(seq, next);
            next += 1;
            elided += elided_lines;
            assert!(bytes.ends_with(b"\n") || end.is_some(), "a block ends inside a line");
            if let Some(end) = end {
                ends += 1;
                assert_eq!(end.decoded_bytes, text.len() as u64);
            }
            out.extend_from_slice(&bytes);
        },
    );
    assert_eq!(ends, 1);
    let longest = text.split(|byte| *byte == b'\n').map(|line| line.len() + 1).max().unwrap_or(0);
    if longest <= options.held_line_bytes {
        assert_eq!(elided, 0, "a line that fits was cut");
        assert!(out == text, "the blocks are not the text");
    }
    let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(&out), lines(text), "a line end was lost");
}

//! Laws that hold for every log: how it is read does not change what it says.

use crate::base::{lines, options, run_of, run_with, source, text};
use crate::dump::dump;
use crate::fixtures::{fixture_bytes, fixture_source, names};
use emberscope_log::block::{Block, ParseOptions, parse_block};
use emberscope_log::scan::{ScanOptions, scan};
use emberscope_model::builder::RunBuilder;
use emberscope_model::load::load;
use emberscope_model::summary::summarize;
use proptest::prelude::*;

const KEEP: ParseOptions = ParseOptions { keep_plan_text: true, without_cursor: false };

/// Fixtures that together hold every kind of event.
const VARIED: &[&str] =
    &["sql-aqe-3.5.9", "executor-loss-3.5.9", "streaming-4.3.0", "speculation-4.3.0", "cache-3.5.9"];

#[test]
fn threads_and_block_size_do_not_matter() {
    for name in VARIED {
        let bytes = fixture_bytes(name);
        let whole = dump(&run_with(&bytes, options()));
        for (threads, block_bytes) in [(1, 1), (1, 1000), (4, 777), (3, 64 << 10), (2, 1 << 20)] {
            let options = ScanOptions { threads, block_bytes, ..ScanOptions::default() };
            assert_eq!(dump(&run_with(&bytes, options)), whole, "{name} {threads} {block_bytes}");
        }
    }
}

#[test]
fn a_log_cut_into_members_is_the_whole_log() {
    for name in VARIED {
        let bytes = fixture_bytes(name);
        let whole = dump(&run_of(&bytes));
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).map(|end| end + 1).collect();
        for parts in [2, 5] {
            let mut members = Vec::new();
            let mut start = 0;
            for n in 1..=parts {
                let end = if n == parts { bytes.len() } else { ends[ends.len() * n / parts] };
                members.push(bytes[start..end].to_vec());
                start = end;
            }
            assert_eq!(dump(&load(&source("app-1", members), options(), KEEP, &|_| {})), whole, "{name}");
        }
    }
}

#[test]
fn a_codec_does_not_matter() {
    let bytes = fixture_bytes("sql-noaqe-3.5.9");
    let whole = dump(&run_of(&bytes));
    assert_eq!(dump(&run_of(zstd::bulk::compress(&bytes, 3).unwrap())), whole);
    let frames: Vec<u8> =
        bytes.chunks(10_000).flat_map(|chunk| zstd::bulk::compress(chunk, 1).unwrap()).collect();
    assert_eq!(dump(&run_of(frames)), whole);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &bytes).unwrap();
    assert_eq!(dump(&run_of(gzip.finish().unwrap())), whole);
}

#[test]
fn a_snapshot_changes_nothing() {
    for name in VARIED {
        let source = fixture_source(name);
        let mut builder = RunBuilder::new(&source);
        let mut at_once = RunBuilder::new(&source);
        let small = ScanOptions { threads: 1, block_bytes: 20_000, ..ScanOptions::default() };
        let mut snapshots = 0;
        scan(
            &source.members,
            small,
            &|_| {},
            |block| (parse_block(block, KEEP), parse_block(block, KEEP)),
            |(block, same)| {
                builder.add(block);
                at_once.add(same);
                summarize(&builder.snapshot());
                snapshots += 1;
            },
        );
        assert!(snapshots > 1);
        assert_eq!(dump(&builder.snapshot()), dump(&at_once.finish()), "{name}");
    }
}

#[test]
fn sums_of_metrics_are_sums_of_their_values() {
    let mut compared = 0;
    for name in names() {
        let run = load(&fixture_source(&name), options(), KEEP, &|_| {});
        for execution in &run.sql_executions {
            let kinds = run.metric_kinds(execution).into_iter().collect();
            let sums = run.sql_metric_sums(execution, &kinds);
            for (id, metric) in run.sql_metrics(execution) {
                let sum = sums.get(&id).cloned().unwrap_or_default();
                let by_stage = metric.by_stage.iter();
                let by_stage: Vec<_> = by_stage.map(|(key, of)| (*key, of.sum().unwrap_or(0))).collect();
                assert_eq!((sum.by_stage, sum.total), (by_stage, metric.total), "{name} {id}");
                compared += usize::from(metric.total.is_some());
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn useful_and_lost_make_all() {
    for name in names() {
        let run = load(&fixture_source(&name), options(), KEEP, &|_| {});
        let totals = summarize(&run).totals;
        let (all, useful) = (totals.all_work.run_time_ms, totals.useful.run_time_ms);
        assert_eq!(all.unwrap_or(0), useful.unwrap_or(0) + totals.lost.run_time_ms.unwrap_or(0), "{name}");
        assert_eq!(totals.lost.attempt_time_ms, totals.lost.by_cause.values().sum::<i64>(), "{name}");
        let tasks = totals.tasks;
        assert_eq!(
            tasks.attempts,
            tasks.succeeded + tasks.failed + tasks.killed + tasks.resubmitted + tasks.running,
            "{name}"
        );
        let useful_rows: usize = run.stages.iter().map(|stage| stage.tasks.useful().len()).sum();
        let lost_rows: usize = run.stages.iter().map(|stage| stage.tasks.lost().len()).sum();
        assert_eq!(useful_rows + lost_rows + tasks.running as usize, tasks.attempts as usize, "{name}");
    }
}

/// Events whose order in the file is their meaning; they keep their places among themselves.
fn is_sequence(line: &[u8]) -> bool {
    [
        "SQLAdaptiveExecutionUpdate",
        "DriverAccumUpdates",
        "EnvironmentUpdate",
        "BlockUpdated",
        "UnpersistRDD",
        "SQLAdaptiveSQLMetricUpdates",
    ]
    .iter()
    .any(|name| memchr::memmem::find(&line[..line.len().min(120)], name.as_bytes()).is_some())
}

#[test]
fn the_order_of_events_does_not_matter() {
    for name in VARIED {
        let bytes = fixture_bytes(name);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let whole = dump(&run_of(&bytes));
        for seed in 1..4u64 {
            let mut free: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_sequence(line)).collect();
            let mut fixed = lines.iter().copied().filter(|line| is_sequence(line));
            shuffle(&mut free, seed);
            let mut free = free.into_iter();
            let mut mixed = Vec::with_capacity(bytes.len());
            for line in &lines {
                let next = if is_sequence(line) { fixed.next() } else { free.next() };
                mixed.extend_from_slice(next.unwrap());
            }
            let shuffled = dump(&run_of(&mixed));
            for (a, b) in shuffled.lines().zip(whole.lines()) {
                assert_eq!(a, b, "{name} seed {seed}");
            }
            assert_eq!(shuffled.len(), whole.len());
        }
    }
}

fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for n in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(n, (state >> 33) as usize % (n + 1));
    }
}

#[test]
fn a_cut_at_every_byte_is_read_and_monotone() {
    let plain = text(&lines()).into_bytes();
    let packed = zstd::bulk::compress(&plain, 1).unwrap();
    for bytes in [&plain, &packed] {
        let mut events = 0;
        for cut in 0..=bytes.len() {
            let run = run_of(&bytes[..cut]);
            assert!(run.trust.events >= events, "cut at {cut}");
            events = run.trust.events;
            assert_eq!(run.trust.bad_lines.count, 0, "cut at {cut}");
            summarize(&run);
        }
        assert_eq!(events, 10);
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let plain = text(&lines()).into_bytes();
    let packed = zstd::bulk::compress(&plain, 1).unwrap();
    for bytes in [plain, packed] {
        for at in 0..bytes.len() {
            for flip in [1, 0x20, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                summarize(&run_of(&damaged));
            }
        }
    }
}

#[test]
fn a_line_too_long_to_hold_keeps_its_small_values() {
    let prefix = "org.apache.spark.sql.execution.ui.SparkListener";
    let start = serde_json::json!({"Event": format!("{prefix}SQLExecutionStart"), "executionId": 7,
        "description": "big", "physicalPlanDescription": "x\n".repeat(200_000),
        "sparkPlanInfo": {"nodeName": "N", "simpleString": "s".repeat(50_000), "children": [], "metrics": []},
        "time": 1500});
    let mut log = lines();
    log.insert(3, start);
    let options = ScanOptions { threads: 1, block_bytes: 1000, held_line_bytes: 20_000 };
    let run = run_with(text(&log).as_bytes(), options);
    assert_eq!((run.trust.events, run.trust.bad_lines.count), (11, 0));
    assert_eq!((run.sql_executions[0].id, run.sql_executions[0].start_ms), (7, Some(1500)));
    assert_eq!(run.final_plan(&run.sql_executions[0]).unwrap().nodes.len(), 1);
    assert_eq!(run.trust.notes, ["lines too long to hold, whose long texts were cut: 1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_of_any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let block = Block { seq: 0, member: 0, len: bytes.len(), buffer: bytes, member_end: None, elided_lines: 0, is_overlong: false };
        let mut builder = RunBuilder::new(&source("x", vec![Vec::new()]));
        builder.add(parse_block(&block, KEEP));
        summarize(&builder.finish());
    }
}

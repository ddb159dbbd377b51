//! Streaming queries.

use crate::made::{Made, fixture, of_kind, read_path, said};
use emberscope_analysis::finding::Severity;
use serde_json::{Value, json};
use std::path::Path;

/// One micro-batch of a made query.
#[derive(Clone, Copy)]
struct Made1 {
    at_s: i64,
    took_ms: i64,
    rows: i64,
    input_rate: f64,
    state_rows: i64,
    state_bytes: i64,
    watermark_s: i64,
    event_s: i64,
}

const CALM: Made1 = Made1 {
    at_s: 0,
    took_ms: 4000,
    rows: 1000,
    input_rate: 100.0,
    state_rows: 50,
    state_bytes: 1000,
    watermark_s: 0,
    event_s: 0,
};

/// `1970-01-01T...` is enough: all times of a query are relative.
fn iso(seconds: i64) -> String {
    let (day, rest) = (seconds / 86_400 + 1, seconds % 86_400);
    format!("1970-01-{day:02}T{:02}:{:02}:{:02}.000Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn progress(n: i64, batch: &Made1) -> Value {
    let processed = batch.rows as f64 * 1000.0 / batch.took_ms as f64;
    json!({"Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent", "progress": {
        "id": "q", "runId": "r", "name": "clicks", "timestamp": iso(batch.at_s), "batchId": n, "batchDuration":
        batch.took_ms, "durationMs": {"triggerExecution": batch.took_ms}, "eventTime": {"watermark":
        iso(batch.watermark_s), "max": iso(batch.event_s)}, "stateOperators": [{"operatorName": "stateStoreSave",
        "numRowsTotal": batch.state_rows, "numRowsUpdated": 1, "memoryUsedBytes": batch.state_bytes}], "sources":
        [{"description": "rate", "numInputRows": batch.rows, "inputRowsPerSecond": batch.input_rate,
        "processedRowsPerSecond": processed}], "sink": {"description": "memory", "numOutputRows": 1}}})
}

fn kinds(batches: impl Fn(i64) -> Made1, count: i64) -> Vec<&'static str> {
    let mut made = Made::new("4.3.0", 1, 1, &[]);
    for n in 0..count {
        made.line(progress(n, &batches(n)));
    }
    let sink = said(&made.run(), "STREAM");
    assert!(sink.claims().iter().all(|claim| claim.title.starts_with("query clicks: ")));
    sink.claims().iter().map(|claim| claim.kind).collect()
}

/// A healthy query with a trigger of 10 s whose watermark follows.
fn calm(n: i64) -> Made1 {
    Made1 { at_s: n * 10, watermark_s: n * 10, event_s: n * 10 + 9, ..CALM }
}

#[test]
fn a_query_that_keeps_up() {
    assert!(kinds(calm, 40).is_empty());
    assert!(kinds(|n| Made1 { state_rows: n * 1_000_000, ..calm(n) }, 5).is_empty(), "too few batches");
}

#[test]
fn a_query_that_falls_behind() {
    let behind = |n: i64| {
        let rows = 1000 + n * 200;
        Made1 { rows, took_ms: rows * 4, input_rate: 900.0, at_s: n * 4, ..calm(n) }
    };
    assert_eq!(kinds(behind, 40), ["batchBacklog"]);
    // A peak of input that passes is none.
    let peak = |n: i64| Made1 { rows: if (10..14).contains(&n) { 9000 } else { 1000 }, ..calm(n) };
    assert!(kinds(peak, 40).is_empty());
    // Rates that differ while batches stay even: the source limits them on purpose.
    let limited = |n: i64| Made1 { input_rate: 900.0, at_s: n * 4, ..calm(n) };
    assert!(kinds(limited, 40).is_empty());
}

#[test]
fn batches_longer_than_the_trigger() {
    let slow = |n: i64| {
        let long = n % 3 == 0;
        let lost = (n + 2) / 3 * 10;
        Made1 { at_s: n * 10 + lost, took_ms: if long { 14_000 } else { 4000 }, ..calm(n) }
    };
    assert_eq!(kinds(slow, 40), ["triggerOverrun"]);
    // Without a trigger every batch follows the one before: nothing can overrun.
    assert!(kinds(|n| Made1 { at_s: n * 14, took_ms: 13_990, ..calm(n) }, 40).is_empty());
}

#[test]
fn state_without_a_bound() {
    let growing = |n: i64| Made1 { state_rows: (n + 1) * 100_000, state_bytes: n << 22, ..calm(n) };
    assert_eq!(kinds(growing, 40), ["stateGrowth"]);
    for (name, batch) in [
        ("levels off", (|n: i64| (n.min(15) + 1) * 100_000) as fn(i64) -> i64),
        ("shrinks", |n| (n % 7 + 8) * 100_000),
        ("small", |n| n + 1),
    ] {
        let found = kinds(|n| Made1 { state_rows: batch(n), ..calm(n) }, 40);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_short_query_that_never_keeps_up() {
    // Ticks of a second; each batch takes all that came during the one before. (row cost, kinds)
    let short = |cost_ms: i64| {
        let mut made = Made::new("4.3.0", 1, 1, &[]);
        made.line(progress(0, &Made1 { at_s: 1, took_ms: 600, rows: 0, ..calm(0) }));
        let (mut at_ms, mut rows) = (3000, 800);
        for n in 1..6 {
            let took_ms = 100 + rows * cost_ms / 10;
            let batch = Made1 { rows, took_ms, input_rate: 800.0, ..calm(n) };
            let mut line = progress(n, &batch);
            line["progress"]["timestamp"] =
                json!(format!("1970-01-01T00:00:{:02}.{:03}Z", at_ms / 1000, at_ms % 1000));
            made.line(line);
            let next = (at_ms + took_ms + 3).max((at_ms / 1000 + 1) * 1000);
            rows = (next - at_ms) * 8 / 10;
            at_ms = next;
        }
        let sink = said(&made.run(), "STREAM");
        sink.claims().iter().map(|claim| claim.kind).collect::<Vec<_>>()
    };
    assert_eq!(short(22), ["batchBacklog", "triggerOverrun"]);
    assert!(short(3).is_empty());
}

#[test]
fn small_state_that_nothing_bounds() {
    let of = |watermark: bool, rows: fn(i64) -> i64| {
        let mut made = Made::new("4.3.0", 1, 1, &[]);
        for n in 0..11 {
            let mut line = progress(n, &Made1 { state_rows: rows(n), ..calm(n) });
            if !watermark {
                line["progress"]["eventTime"] = json!({});
            }
            made.line(line);
        }
        let sink = said(&made.run(), "STREAM");
        sink.claims().iter().map(|claim| (claim.kind, claim.severity)).collect::<Vec<_>>()
    };
    assert_eq!(of(false, |n| (n + 1) * 6000), [("stateGrowth", Some(Severity::Info))]);
    assert!(of(true, |n| (n + 1) * 6000).is_empty(), "a watermark bounds it later");
    assert!(of(false, |n| (n + 1).min(4) * 6000).is_empty(), "it levels off");
    assert!(of(false, |n| n * 10).is_empty(), "it is tiny");
}

#[test]
fn a_watermark_that_stands_still() {
    let stuck = |n: i64| Made1 { watermark_s: (n * 10).min(100), ..calm(n) };
    assert_eq!(kinds(stuck, 40), ["watermarkStuck"]);
    // Event time stands still as well: the watermark is right to.
    let quiet = |n: i64| Made1 { watermark_s: (n * 10).min(100), event_s: (n * 10).min(110), ..calm(n) };
    assert!(kinds(quiet, 40).is_empty());
}

#[test]
fn event_time_that_never_moves() {
    let frozen = |n: i64| Made1 { watermark_s: 99, event_s: 100, state_rows: 800 * n.min(6), ..calm(n) };
    let said_of = |batches: &dyn Fn(i64) -> Made1, count: i64| {
        let mut made = Made::new("4.3.0", 1, 1, &[]);
        for n in 0..count {
            made.line(progress(n, &batches(n)));
        }
        let sink = said(&made.run(), "STREAM");
        sink.claims().iter().map(|claim| (claim.variant, claim.severity)).collect::<Vec<_>>()
    };
    for count in [10, 40] {
        assert_eq!(said_of(&frozen, count), [(Some("eventTime"), Some(Severity::Info))], "{count}");
    }
    assert!(said_of(&frozen, 9).is_empty(), "too few batches");
    // It moves on in the last batch; state is freed; there is none.
    assert!(said_of(&|n| Made1 { event_s: 100 + n / 9, ..frozen(n) }, 10).is_empty());
    assert!(said_of(&|n| Made1 { state_rows: 800 - n, ..frozen(n) }, 10).is_empty());
    assert!(said_of(&|n| Made1 { state_rows: 0, ..frozen(n) }, 10).is_empty());
}

#[test]
fn without_a_pause_no_trigger_is_known() {
    for (pause_ms, is_unchecked) in [(10, true), (1000, false)] {
        let mut made = Made::new("4.3.0", 1, 1, &[]);
        for n in 0..6 {
            made.line(progress(n, &Made1 { at_s: n * 4, took_ms: 4000 - pause_ms, ..calm(n) }));
        }
        let sink = said(&made.run(), "STREAM");
        assert!(sink.claims().is_empty());
        assert_eq!(sink.unchecked().iter().any(|one| one.kind == "triggerOverrun"), is_unchecked);
    }
}

#[test]
fn batches_that_take_longer_for_the_same_rows() {
    // (time of the n-th batch, its rows, pause after it, what is said)
    type Of = fn(i64) -> i64;
    let cases: [(Of, Of, i64, Option<&str>); 5] = [
        (|n| 1000 + 400 * n, |_| 900, 0, Some("slowing")),
        // As many more rows; an even load; a load that passes; time to spare.
        (|n| 1000 + 400 * n, |n| 900 + 360 * n, 0, None),
        (|n| 2000 + n % 2, |_| 900, 0, None),
        (|n| if n == 6 { 1500 } else { 1000 + 400 * n }, |_| 900, 0, None),
        (|n| 1000 + 400 * n, |_| 900, 500, None),
    ];
    for (at, (took, rows, pause_ms, variant)) in cases.into_iter().enumerate() {
        let mut made = Made::new("4.3.0", 1, 1, &[]);
        let mut at_ms = 1000;
        for n in 0..7 {
            let batch = Made1 { took_ms: took(n), rows: rows(n), ..calm(n) };
            let mut line = progress(n, &batch);
            let (seconds, millis) = (at_ms / 1000, at_ms % 1000);
            line["progress"]["timestamp"] = json!(format!("1970-01-01T00:00:{seconds:02}.{millis:03}Z"));
            made.line(line);
            at_ms += batch.took_ms + pause_ms;
        }
        let sink = said(&made.run(), "STREAM");
        let said: Vec<Option<&str>> = sink.claims().iter().map(|claim| claim.variant).collect();
        assert_eq!(said, variant.map(Some).into_iter().collect::<Vec<_>>(), "case {at}: {:?}", sink.claims());
    }
}

#[test]
fn small_files_of_many_batches() {
    let run =
        |log: &str| read_path(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/logs").join(log));
    let sink = said(&run("unseen2-appended-bad-4.3.0.zst"), "PLAN");
    let [claim] = of_kind(&sink, "smallFiles")[..] else { panic!("{sink:?}") };
    assert!(
        claim.title.starts_with("11 batches of a streaming query write 241 files of "),
        "{}",
        claim.title
    );
    assert_eq!(claim.evidence["batches"], 11);
    // The same query with few files in each batch.
    let sink = said(&run("unseen2-appended-good-4.3.0.zst"), "PLAN");
    assert!(of_kind(&sink, "smallFiles").is_empty(), "{sink:?}");
}

#[test]
fn real_streams_are_healthy() {
    for name in ["streaming-3.5.9", "streaming-4.3.0"] {
        assert!(said(&fixture(name), "STREAM").claims().is_empty(), "{name}");
    }
}

//! What fills a log, what it lacks, and which Spark settings would change either.
//!
//! Field names are a contract like those of the summary; adding is free, renaming is not.

mod advice;

use crate::builder::{PreparedBlock, RunBuilder};
use crate::run::Run;
use crate::trust::Trust;
pub use advice::{Advice, Basis, Purpose, SavedOf, Saving};
use emberscope_log::block::{ParseOptions, parse_block};
use emberscope_log::census::{Census, count_block};
use emberscope_log::scan::{ScanOptions, scan};
use emberscope_log::source::RunSource;
use serde::Serialize;

/// Version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What fills a log and what it lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doctor {
    /// Version of this shape.
    pub schema_version: u32,
    /// Where it was read from.
    pub source: String,
    /// Whose log it is.
    pub application: ApplicationName,
    /// The log as a whole.
    pub log: LogFacts,
    /// What fills it, by event type, the largest first.
    pub events: Vec<EventShare>,
    /// Event types that a log can hold and this one does not.
    pub absent: Vec<Absent>,
    /// Settings that would help, the largest saving first.
    pub advice: Vec<Advice>,
    /// What was read and what was not.
    pub trust: Trust,
}

/// Whose log it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApplicationName {
    /// Application id.
    pub id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Spark version.
    pub spark_version: Option<String>,
}

/// The log as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogFacts {
    /// Codecs of its files, each named once.
    pub codecs: Vec<String>,
    /// Bytes as stored.
    pub bytes: u64,
    /// Bytes of JSON text.
    pub decoded_bytes: u64,
    /// decoded / stored; `None` for an empty log.
    pub ratio: Option<f64>,
    /// Lines, blank ones included.
    pub lines: u64,
    /// Events.
    pub events: u64,
    /// Bytes of the longest line.
    pub longest_line_bytes: u64,
    /// Event of the longest line.
    pub longest_line_event: Option<String>,
    /// Events that repeat an earlier line although they happen once.
    pub repeated_events: u64,
    /// Bytes of lines that are blank or no event.
    pub other_bytes: u64,
}

/// Events of one type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventShare {
    /// Type, without its package.
    pub event: String,
    /// How many.
    pub events: u64,
    /// Bytes of text.
    pub bytes: u64,
    /// Share of all text, 0 to 1.
    pub share: f64,
    /// Its largest fields: those of at least 1 % of all text.
    pub fields: Vec<FieldShare>,
}

/// One field of an event type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldShare {
    /// Path, such as `Task Info.Accumulables`.
    pub field: String,
    /// How many times it occurs.
    pub count: u64,
    /// Bytes of text.
    pub bytes: u64,
    /// Share of all text, 0 to 1.
    pub share: f64,
}

/// An event type that is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// Type, without its package.
    pub event: &'static str,
    /// What cannot be told without it.
    pub tells: &'static str,
    /// The setting that makes Spark write it; `None` where Spark always does.
    pub setting: Option<&'static str>,
}

/// Types whose absence is worth a word, and since which version of Spark they exist.
const EXPECTED: &[(Absent, (u32, u32))] = &[
    (absent("SparkListenerLogStart", "the Spark version"), (1, 0)),
    (absent("SparkListenerApplicationStart", "id, name, user and start of the application"), (1, 0)),
    (absent("SparkListenerApplicationEnd", "the end of the application"), (1, 0)),
    (absent("SparkListenerEnvironmentUpdate", "the settings of the run"), (1, 0)),
    (absent("SparkListenerExecutorAdded", "executors, cores and allocated core-time"), (1, 0)),
    (absent("SparkListenerBlockManagerAdded", "the memory of executors"), (1, 0)),
    (absent("SparkListenerJobStart", "jobs"), (1, 0)),
    (absent("SparkListenerStageSubmitted", "when stages were submitted"), (1, 0)),
    (absent("SparkListenerStageCompleted", "when stages completed, and why they failed"), (1, 0)),
    (absent("SparkListenerTaskStart", "tasks that never ended"), (1, 0)),
    (absent("SparkListenerTaskEnd", "tasks: times, metrics, failures"), (1, 0)),
    (
        Absent {
            event: "SparkListenerStageExecutorMetrics",
            tells: "peak memory of each executor in each stage",
            setting: Some("spark.eventLog.logStageExecutorMetrics"),
        },
        (3, 0),
    ),
    (
        Absent {
            event: "SparkListenerBlockUpdated",
            tells: "cached blocks: where they are, when they were evicted",
            setting: Some("spark.eventLog.logBlockUpdates.enabled"),
        },
        (2, 3),
    ),
];

const fn absent(event: &'static str, tells: &'static str) -> Absent {
    Absent { event, tells, setting: None }
}

/// Reads a source for its content and for what fills it, in one pass.
pub fn examine(
    source: &RunSource,
    scan_options: ScanOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> (Run, Census) {
    let mut builder = RunBuilder::new(source).with_threads(scan_options.threads);
    let mut census = Census::default();
    scan(
        &source.members,
        scan_options,
        progress,
        |block| {
            let parsed = PreparedBlock::new(parse_block(block, ParseOptions::default()));
            (parsed, count_block(block))
        },
        |(parsed, counted)| {
            builder.add_prepared(parsed);
            census.add(counted);
        },
    );
    (builder.finish(), census)
}

/// Judges what [`examine`] gave.
pub fn diagnose_log(run: &Run, census: &Census) -> Doctor {
    let trust = &run.trust;
    let bytes = trust.files.iter().map(|file| file.bytes).sum();
    let decoded_bytes: u64 = trust.files.iter().map(|file| file.decoded_bytes).sum();
    let mut codecs: Vec<String> = trust.files.iter().map(|file| file.codec.clone()).collect();
    codecs.sort();
    codecs.dedup();
    let version = advice::version_of(run);
    let absent = EXPECTED
        .iter()
        .filter(|(absent, since)| {
            census.events_of(absent.event) == 0 && version.is_none_or(|version| version >= *since)
        })
        .map(|(absent, _)| *absent)
        .collect();
    Doctor {
        schema_version: SCHEMA_VERSION,
        source: run.source.clone(),
        application: ApplicationName {
            id: run.application.id.clone(),
            attempt_id: run.application.attempt_id.clone(),
            name: run.application.name.clone(),
            spark_version: run.application.spark_version.clone(),
        },
        log: LogFacts {
            codecs,
            bytes,
            decoded_bytes,
            ratio: (bytes > 0).then(|| decoded_bytes as f64 / bytes as f64),
            lines: trust.lines,
            events: trust.events,
            longest_line_bytes: census.longest.bytes,
            longest_line_event: (census.longest.bytes > 0).then(|| census.longest.event.clone()),
            repeated_events: census.repeated_events,
            other_bytes: census.other_lines.bytes,
        },
        events: event_shares(census),
        absent,
        advice: advice::advise(run, census),
        trust: trust.clone(),
    }
}

/// Fields below this share of the log are left out.
const TOLD_SHARE: f64 = 0.01;

fn event_shares(census: &Census) -> Vec<EventShare> {
    let total = census.bytes().max(1) as f64;
    let mut shares: Vec<EventShare> = census
        .events
        .iter()
        .map(|(name, event)| {
            let mut fields: Vec<FieldShare> = event
                .fields
                .iter()
                .map(|(path, size)| FieldShare {
                    field: path.clone(),
                    count: size.count,
                    bytes: size.bytes,
                    share: size.bytes as f64 / total,
                })
                .filter(|field| field.share >= TOLD_SHARE)
                .collect();
            fields.sort_by_key(|field| std::cmp::Reverse(field.bytes));
            EventShare {
                event: name.clone(),
                events: event.lines.count,
                bytes: event.lines.bytes,
                share: event.lines.bytes as f64 / total,
                fields,
            }
        })
        .collect();
    shares.sort_by_key(|event| std::cmp::Reverse(event.bytes));
    shares
}

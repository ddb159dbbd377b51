//! The trust block: what was read, what could not be, and what had to be estimated.
//!
//! It goes with every output, under the JSON key `trust`.

use borsh::{BorshDeserialize, BorshSerialize};
use emberscope_log::source::{self, AnswersRead};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How reading a file went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// Read to its end.
    Ok,
    /// Read up to a cut or damage.
    Partial,
    /// Not read, on purpose.
    Skipped,
    /// Could not be read at all.
    Failed,
}

/// One file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct FileTrust {
    /// Path as the user would write it.
    pub path: String,
    /// Codec by magic bytes.
    pub codec: String,
    /// Size on disk.
    pub bytes: u64,
    /// Size after decompression.
    pub decoded_bytes: u64,
    /// How reading went.
    pub status: FileStatus,
    /// Why it is not `ok`.
    pub reason: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct BadLineTrust {
    /// File.
    pub file: String,
    /// Line within the file, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// All lines that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct BadLines {
    /// How many.
    pub count: u64,
    /// The first twenty.
    pub first: Vec<BadLineTrust>,
}

/// How many of the expected tasks are in the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct Coverage {
    /// Tasks that must have ended: of completed stage attempts all, of others those that started.
    pub tasks_expected: u64,
    /// Of them, tasks whose end is in the log.
    pub tasks_seen: u64,
    /// seen / expected; `None` when nothing was expected.
    pub ratio: Option<f64>,
    /// Stage attempts where something is missing.
    pub stages: Vec<StageCoverage>,
}

impl Coverage {
    pub(crate) fn update_ratio(&mut self) {
        self.ratio = (self.tasks_expected > 0).then(|| self.tasks_seen as f64 / self.tasks_expected as f64);
    }
}

/// Coverage of one stage attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct StageCoverage {
    /// Stage id.
    pub stage_id: u32,
    /// Stage attempt.
    pub stage_attempt: u32,
    /// Tasks that must have ended.
    pub tasks_expected: u64,
    /// Tasks whose end is in the log.
    pub tasks_seen: u64,
}

/// Whose answers of Spark's monitoring API a run was put together from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// A History Server's.
    HistoryServer,
    /// The UI's of the application itself, while it ran.
    LiveUi,
    /// Somebody's who saved them as files.
    Files,
}

/// Answers of Spark's monitoring API that a run was put together from; `files` of the trust block then holds the
/// events that were made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct AnswersTrust {
    /// Whose they are.
    pub by: AnsweredBy,
    /// How many: one for each request that was answered, or for each file.
    pub count: u64,
    /// How large all of them are, bytes of JSON.
    pub bytes: u64,
}

impl From<AnswersRead> for AnswersTrust {
    fn from(read: AnswersRead) -> Self {
        let by = match read.by {
            source::AnsweredBy::HistoryServer => AnsweredBy::HistoryServer,
            source::AnsweredBy::LiveUi => AnsweredBy::LiveUi,
            source::AnsweredBy::Files => AnsweredBy::Files,
        };
        AnswersTrust { by, count: read.count, bytes: read.bytes }
    }
}

/// The trust block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema, BorshSerialize, BorshDeserialize)]
pub struct Trust {
    /// Every file of the run.
    pub files: Vec<FileTrust>,
    /// The answers of the monitoring API that the run was put together from, where it was not read from a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswersTrust>,
    /// Lines, blank ones included.
    pub lines: u64,
    /// Events, unknown ones included.
    pub events: u64,
    /// Lines that could not be read.
    pub bad_lines: BadLines,
    /// The log ends in the middle of a line.
    pub truncated_tail: bool,
    /// Where the cut line is.
    pub truncated_at: Option<BadLineTrust>,
    /// Events that were only counted, by name.
    pub unknown_events: BTreeMap<String, u64>,
    /// How many of the expected tasks are in the log.
    pub coverage: Coverage,
    /// Names of values that the log lacks and that were estimated.
    pub estimated: Vec<String>,
    /// Members of a rolled log that are missing.
    pub missing_members: Vec<String>,
    /// The log was compacted: events of finished work were removed by Spark.
    pub compacted: bool,
    /// Applications beside the run's own whose events stand in the same log: its numbers are mixed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub mixed_applications: BTreeSet<String>,
    /// Values that had to be clamped, by name, with how often.
    pub clamped: BTreeMap<String, u64>,
    /// The engine: spark, photon, rapids, gluten, comet, auron.
    pub engine: String,
    /// Spark's version, as the log tells it.
    pub spark_version: Option<String>,
    /// The server says that the application still runs: numbers are of the moment it was asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_running: bool,
    /// Anything else a reader of the numbers should know.
    pub notes: Vec<String>,
    /// Kinds of evidence that the log does not hold at all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_logged: BTreeSet<String>,
}

impl Trust {
    /// Counts a value that was clamped.
    pub fn clamp(&mut self, name: &str, times: u64) {
        if times > 0 {
            *self.clamped.entry(name.to_owned()).or_default() += times;
        }
    }

    /// Records that a value is an estimate.
    pub fn estimate(&mut self, name: impl Into<String>) {
        let name = name.into();
        if !self.estimated.contains(&name) {
            self.estimated.push(name);
        }
    }

    /// Whether every file was read to its end, every line understood, and no event of another
    /// application among them.
    pub fn is_complete(&self) -> bool {
        self.mixed_applications.is_empty()
            && self.files.iter().all(|file| file.status == FileStatus::Ok)
            && self.bad_lines.count == 0
            && !self.truncated_tail
            && self.missing_members.is_empty()
    }
}

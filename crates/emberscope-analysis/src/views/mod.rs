//! What views of a run show: plain data, made once for every door.
//!
//! Times named `from_ms`, `to_ms` and the like are milliseconds since the run's start, which [`Clock`] tells;
//! `None` = not measured. Texts of the log are masked.

pub mod configuration;
pub mod distributions;
pub mod executors;
pub mod failures;
pub mod hosts;
pub mod jobs;
pub mod metric;
pub mod plan;
pub mod plan_diff;
pub mod scatter;
pub mod sql;
pub mod stage;
pub mod stages;
pub mod storage;
pub mod timeline;

use crate::context::Digests;
use crate::diagnosis::Diagnosis;
use crate::finding::{Finding, RangeMs, Severity};
use crate::plots::span_of;
use emberscope_model::redact;
use emberscope_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// A run and what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'r> {
    /// The run.
    pub run: &'r Run,
    /// What looking over its tasks gave.
    pub digests: &'r Digests,
    /// What was found in it.
    pub diagnosis: &'r Diagnosis,
}

/// The run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Start, epoch milliseconds.
    pub start_ms: i64,
    /// End, epoch milliseconds.
    pub end_ms: i64,
}

impl Clock {
    /// The time of a run, from whatever has a time; both ends are 0 where nothing has.
    pub fn of(run: &Run) -> Clock {
        let (start_ms, end_ms) = span_of(run).unwrap_or_default();
        Clock { start_ms, end_ms }
    }

    /// An epoch time as one since the run's start; negative for what came before it.
    pub fn at(self, epoch_ms: i64) -> i64 {
        epoch_ms.saturating_sub(self.start_ms)
    }

    /// Length of the run.
    pub fn duration_ms(self) -> i64 {
        self.end_ms - self.start_ms
    }
}

/// A finding, as far as a mark in another view says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingRef {
    /// Its id.
    pub id: String,
    /// Type, e.g. `skew`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What it says.
    pub title: String,
    /// Wall time that its fix saves; `None` where it cannot be said.
    pub saves_ms: Option<RangeMs>,
    /// Node of the final plan it is about.
    pub node_id: Option<u32>,
}

impl FindingRef {
    fn of(finding: &Finding) -> Self {
        FindingRef {
            id: finding.id.clone(),
            kind: finding.kind,
            severity: finding.severity,
            title: finding.title.clone(),
            saves_ms: finding.savings.wall_ms,
            node_id: finding.scope.node_id,
        }
    }
}

/// The findings that are about something, most important first.
pub fn findings_about(diagnosis: &Diagnosis, is_about: impl Fn(&Finding) -> bool) -> Vec<FindingRef> {
    diagnosis.findings.iter().filter(|finding| is_about(finding)).map(FindingRef::of).collect()
}

/// A text of the log without the secrets in it.
pub(crate) fn masked(text: &str) -> String {
    redact::text(text).into_owned()
}

pub(crate) fn masked_option(text: Option<&str>) -> Option<String> {
    text.map(masked)
}

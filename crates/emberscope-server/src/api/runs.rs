//! `/runs` and `/runs/{run}`.

use super::Param;
use super::failure::{Failure, number};
use crate::app::App;
use crate::catalog::Entry;
use crate::spark_rest::Params;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::Severity;
use emberscope_model::run::ApplicationStatus;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

/// Most runs in an answer.
const MOST: usize = 1000;

pub(super) const PARAMS: &[Param] = &[
    Param { name: "q", kind: "string", doc: "Words that name, id or user must hold, in any case." },
    Param {
        name: "status",
        kind: "string",
        doc: "Only these: succeeded, failed, incomplete, ended, unknown; by comma.",
    },
    Param {
        name: "sort",
        kind: "string",
        doc: "start, name, id, user, duration, status, size, cost or findings; with `-` in front the other way round. [default: -start]",
    },
    Param { name: "offset", kind: "integer", doc: "Runs to leave out. [default: 0]" },
    Param { name: "limit", kind: "integer", doc: "Most runs, up to 1000. [default: 100]" },
];

/// A part of the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RunsPage {
    /// Runs there are.
    pub(crate) total: usize,
    /// Runs that match.
    pub(crate) matched: usize,
    /// Paths that gave no run.
    pub(crate) skipped_paths: usize,
    /// The part that was asked for.
    pub(crate) runs: Vec<RunInfo>,
}

/// How a run ended, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// It ended, and nothing says that it failed.
    Succeeded,
    /// It failed.
    Failed,
    /// Its log has no end: it runs, or its driver was killed.
    Incomplete,
    /// It ended; how, only reading its log tells.
    Ended,
    /// The log has neither start nor end.
    Unknown,
}

impl RunStatus {
    /// As in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RunStatus::Succeeded => "succeeded",
            RunStatus::Failed => "failed",
            RunStatus::Incomplete => "incomplete",
            RunStatus::Ended => "ended",
            RunStatus::Unknown => "unknown",
        }
    }
}

/// A run in the list. `null` = not known without reading the log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RunInfo {
    /// Names the run in this API.
    pub(crate) id: String,
    /// Application id.
    pub(crate) application_id: Option<String>,
    /// Attempt id.
    pub(crate) attempt_id: Option<String>,
    /// Name.
    pub(crate) name: Option<String>,
    /// User.
    pub(crate) user: Option<String>,
    /// Spark version.
    pub(crate) spark_version: Option<String>,
    /// Start, epoch milliseconds.
    pub(crate) start_time_ms: Option<i64>,
    /// End, epoch milliseconds.
    pub(crate) end_time_ms: Option<i64>,
    /// Duration.
    pub(crate) duration_ms: Option<i64>,
    /// How it ended.
    pub(crate) status: RunStatus,
    /// Size of its log on disk.
    pub(crate) log_bytes: u64,
    /// Last modification of its log, epoch milliseconds.
    pub(crate) modified_ms: i64,
    /// Whether its log was read and is in memory.
    pub(crate) is_read: bool,
    /// What executors offered, lifetimes times cores; once it was diagnosed.
    pub(crate) core_ms: Option<i64>,
    /// Findings by severity; once it was diagnosed.
    pub(crate) findings: Option<FindingCounts>,
    /// What the verdict says; once it was diagnosed.
    pub(crate) headline: Option<String>,
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct FindingCounts {
    /// Critical ones.
    critical: usize,
    /// Warnings.
    warning: usize,
    /// Facts worth knowing.
    info: usize,
}

impl FindingCounts {
    fn of(diagnosis: &Diagnosis) -> FindingCounts {
        let count = |severity: Severity| {
            diagnosis.findings.iter().filter(|finding| finding.severity == severity).count()
        };
        FindingCounts {
            critical: count(Severity::Critical),
            warning: count(Severity::Warning),
            info: count(Severity::Info),
        }
    }
}

impl RunInfo {
    pub(super) fn of(app: &App, entry: &Entry) -> RunInfo {
        let glance = &entry.glance;
        let known = app.runs.known(entry);
        let application = known.as_ref().map(|opened| &opened.run.application);
        let diagnosis = known.as_ref().and_then(|opened| opened.known_diagnosis());
        let end_time_ms = match application {
            Some(known) => known.end_ms,
            None => glance.end_ms,
        };
        let status = match application.map(|known| known.status) {
            Some(ApplicationStatus::Succeeded) => RunStatus::Succeeded,
            Some(ApplicationStatus::Failed) => RunStatus::Failed,
            Some(ApplicationStatus::Incomplete) => RunStatus::Incomplete,
            Some(ApplicationStatus::Unknown) => RunStatus::Unknown,
            None if glance.exit_code.is_some_and(|code| code != 0) => RunStatus::Failed,
            None if glance.is_completed && glance.has_failed => RunStatus::Failed,
            None if glance.is_completed => RunStatus::Ended,
            None => RunStatus::Incomplete,
        };
        let start_time_ms = application.and_then(|known| known.start_ms).or(glance.start_ms);
        RunInfo {
            id: entry.id.clone(),
            application_id: glance.application_id.clone(),
            attempt_id: glance.attempt_id.clone(),
            name: glance.name.clone(),
            user: glance.user.clone(),
            spark_version: application
                .and_then(|known| known.spark_version.clone())
                .or_else(|| glance.spark_version.clone()),
            start_time_ms,
            end_time_ms,
            duration_ms: end_time_ms.zip(start_time_ms).map(|(end, start)| (end - start).max(0)),
            status,
            log_bytes: entry.stamp.bytes(),
            modified_ms: entry.stamp.modified_ms(),
            is_read: application.is_some(),
            core_ms: known.as_ref().and_then(|opened| opened.known_core_ms()),
            findings: diagnosis.map(FindingCounts::of),
            headline: diagnosis.map(|diagnosis| diagnosis.verdict.headline.clone()),
        }
    }

    fn holds(&self, words: &[String]) -> bool {
        let texts = [&self.name, &self.application_id, &self.user];
        let texts: Vec<String> = texts.into_iter().flatten().map(|text| text.to_lowercase()).collect();
        words.iter().all(|word| texts.iter().any(|text| text.contains(word)))
    }
}

type Order = fn(&RunInfo, &RunInfo) -> Ordering;

/// What the list can be sorted by.
const ORDERS: &[(&str, Order)] = &[
    ("start", |a, b| a.start_time_ms.cmp(&b.start_time_ms)),
    ("name", |a, b| a.name.cmp(&b.name)),
    ("id", |a, b| a.application_id.cmp(&b.application_id)),
    ("user", |a, b| a.user.cmp(&b.user)),
    ("duration", |a, b| a.duration_ms.cmp(&b.duration_ms)),
    ("status", |a, b| a.status.cmp(&b.status)),
    ("size", |a, b| a.log_bytes.cmp(&b.log_bytes)),
    ("cost", |a, b| a.core_ms.cmp(&b.core_ms)),
    ("findings", |a, b| a.findings.cmp(&b.findings)),
];

pub(super) fn list(app: &App, params: &Params) -> Result<RunsPage, Failure> {
    let offset = params.first("offset").map_or(Ok(0), number)?;
    let limit = params.first("limit").map_or(Ok(100), number::<usize>)?.min(MOST);
    let sort = params.first("sort").unwrap_or("-start");
    let statuses = params.first("status").unwrap_or_default();
    find(app, params.first("q").unwrap_or_default(), statuses, sort, offset..offset.saturating_add(limit))
        .ok_or_else(|| {
            Failure::bad(
                format!("runs are not sorted by `{sort}`"),
                "one of start, name, id, user, duration, status, size, cost, findings, with `-` in front the other way round",
            )
        })
}

/// The runs that match, in the order asked for; `None` if there is no such order.
pub(crate) fn find(
    app: &App,
    query: &str,
    statuses: &str,
    sort: &str,
    window: std::ops::Range<usize>,
) -> Option<RunsPage> {
    let (by, is_reversed) = sort.strip_prefix('-').map_or((sort, false), |by| (by, true));
    let (_, order) = ORDERS.iter().find(|(name, _)| *name == by)?;
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let statuses: Vec<&str> = statuses.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let listing = app.catalog.listing();
    let mut runs: Vec<RunInfo> = listing
        .entries
        .iter()
        .map(|entry| RunInfo::of(app, entry))
        .filter(|run| run.holds(&words) && (statuses.is_empty() || statuses.contains(&run.status.name())))
        .collect();
    runs.sort_by(|a, b| {
        let order = order(a, b);
        if is_reversed { order.reverse() } else { order }
    });
    let matched = runs.len();
    let end = window.end.min(matched);
    let runs = runs.drain(window.start.min(end)..end).collect();
    Some(RunsPage { total: listing.entries.len(), matched, skipped_paths: listing.skipped, runs })
}

pub(super) fn one(app: &App, id: &str) -> Result<RunInfo, Failure> {
    let listing = app.catalog.listing();
    let entry = listing.entry(id).ok_or_else(|| Failure::no_run(id))?;
    Ok(RunInfo::of(app, entry))
}

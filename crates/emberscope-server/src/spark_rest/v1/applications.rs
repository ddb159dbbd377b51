//! `/applications`: from heads and tails of logs, and from the runs that are in memory.

use super::{Answer, Ask, entry, json};
use crate::catalog::Entry;
use crate::spark_rest::time::{self, UNKNOWN};
use crate::spark_rest::{Params, Refusal};
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct ApplicationInfo {
    id: String,
    name: String,
    attempts: Vec<AttemptInfo>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_id: Option<String>,
    start_time: String,
    end_time: String,
    last_updated: String,
    duration: i64,
    spark_user: String,
    completed: bool,
    app_spark_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    start_time_epoch: i64,
    end_time_epoch: i64,
    last_updated_epoch: i64,
}

impl AttemptInfo {
    /// From the run where it is in memory, else from the log's head and tail.
    fn of(ask: &Ask<'_>, entry: &Entry) -> AttemptInfo {
        let glance = &entry.glance;
        let known = ask.runs.known(entry);
        let application = known.as_ref().map(|opened| &opened.run.application);
        let start = application.and_then(|known| known.start_ms).or(glance.start_ms).unwrap_or(UNKNOWN);
        // What was read tells; before that a log's name may have to.
        let completed = application.map_or(glance.is_completed, |known| known.has_end);
        let end = application.filter(|known| known.has_end).and_then(|known| known.end_ms).or(glance.end_ms);
        let updated = entry.stamp.modified_ms();
        let version = application.and_then(|known| known.spark_version.clone());
        AttemptInfo {
            attempt_id: glance.attempt_id.clone(),
            start_time: time::shown(start),
            end_time: time::shown(end.unwrap_or(UNKNOWN)),
            last_updated: time::shown(updated),
            // Spark's provider knows no duration of an application that has no end.
            duration: end.map_or(0, |end| (end - start).max(0)),
            spark_user: glance.user.clone().unwrap_or_default(),
            completed,
            app_spark_version: version.or_else(|| glance.spark_version.clone()).unwrap_or_default(),
            exit_code: application.and_then(|known| known.exit_code).or(glance.exit_code),
            start_time_epoch: start,
            end_time_epoch: end.unwrap_or(UNKNOWN),
            last_updated_epoch: updated,
        }
    }
}

/// Bounds of start and end.
struct Range {
    start: (i64, i64),
    end: (i64, i64),
    now: i64,
}

impl Range {
    fn of(params: &Params) -> Result<Range, Refusal> {
        let date = |name: &str, default: &str| {
            let text = params.first(name).unwrap_or(default);
            time::parsed(text).ok_or_else(|| Refusal::Bad(format!("Couldn't parse date: {text}")))
        };
        Ok(Range {
            start: (date("minDate", "2010-01-01")?, date("maxDate", "3000-01-01")?),
            end: (date("minEndDate", "2010-01-01")?, date("maxEndDate", "3000-01-01")?),
            now: jiff::Timestamp::now().as_millisecond(),
        })
    }

    fn holds(&self, attempt: &AttemptInfo, is_running: bool) -> bool {
        let within = |time: i64, (from, to): (i64, i64)| from <= time && time <= to;
        let ended = match is_running {
            // With an end in the past, nothing that still runs is meant.
            true => self.end.1 > self.now,
            // An end that only reading the log would tell rules nothing out.
            false => attempt.end_time_epoch == UNKNOWN || within(attempt.end_time_epoch, self.end),
        };
        within(attempt.start_time_epoch, self.start) && ended
    }
}

pub(super) fn list(ask: &Ask<'_>) -> Answer {
    let limit = ask.params.number("limit", i64::from(i32::MAX))?.max(0) as usize;
    let wanted = ask.params.words("status", &["COMPLETED", "RUNNING"])?;
    let range = Range::of(ask.params)?;
    let mut found: Vec<ApplicationInfo> = Vec::new();
    for group in &ask.listing.applications {
        let app = application(ask, group.iter().map(|at| &ask.listing.entries[*at]));
        let is_running = app.attempts.first().is_none_or(|attempt| !attempt.completed);
        let status = if is_running { "RUNNING" } else { "COMPLETED" };
        let is_wanted = wanted.is_empty() || wanted.contains(&status);
        if is_wanted && app.attempts.iter().any(|attempt| range.holds(attempt, is_running)) {
            found.push(app);
        }
    }
    // The one that ended last is first, as there.
    found.sort_by_key(|app| std::cmp::Reverse(app.attempts.first().map(|attempt| attempt.end_time_epoch)));
    found.truncate(limit);
    json(&found)
}

fn application<'e>(ask: &Ask<'_>, entries: impl Iterator<Item = &'e Arc<Entry>>) -> ApplicationInfo {
    let mut app = ApplicationInfo { id: String::new(), name: String::new(), attempts: Vec::new() };
    for entry in entries {
        if app.attempts.is_empty() {
            app.id = entry.glance.application_id.clone().unwrap_or_default();
            app.name = entry.glance.name.clone().unwrap_or_default();
        }
        app.attempts.push(AttemptInfo::of(ask, entry));
    }
    app
}

pub(super) fn one(ask: &Ask<'_>, id: &str) -> Answer {
    let unknown = || Refusal::not_found(format!("unknown app: {id}"));
    let newest = entry(ask, id, None).ok_or_else(unknown)?;
    // Whoever asks for one application will ask for more of it, so that it may be read now, whole.
    if ask.runs.open(newest).is_err() {
        return Err(unknown());
    }
    let is_this = |at: &&Vec<usize>| at.iter().any(|at| ask.listing.entries[*at].id == newest.id);
    let group = ask.listing.applications.iter().find(is_this).ok_or_else(unknown)?;
    json(&application(ask, group.iter().map(|at| &ask.listing.entries[*at])))
}

pub(super) fn attempt(ask: &Ask<'_>, id: &str, attempt: &str) -> Answer {
    let unknown = || Refusal::not_found(format!("unknown app {id}, attempt {attempt}"));
    let entry = entry(ask, id, Some(attempt)).ok_or_else(unknown)?;
    ask.runs.open(entry).map_err(|_| unknown())?;
    json(&AttemptInfo::of(ask, entry))
}

//! The addresses below `/api/v1`, one module each.

mod applications;
mod environment;
mod executors;
mod jobs;
pub(crate) mod logs;
mod sql;
mod stages;
mod storage;
mod streaming;
mod task_list;
mod task_summary;
mod version;

use super::params::{Params, id};
use super::refusal::Refusal;
use crate::catalog::{Entry, Listing};
use crate::opened::{OpenError, Opened, Runs};
use serde::Serialize;
use std::sync::Arc;

/// What there is to answer from.
pub(crate) struct Ask<'a> {
    pub(crate) listing: &'a Listing,
    pub(crate) runs: &'a Runs,
    pub(crate) params: &'a Params,
    /// The whole path, for words about it.
    pub(crate) path: &'a str,
}

/// An answer.
pub(crate) enum Reply {
    /// JSON.
    Json(Vec<u8>),
    /// The logs of these attempts, as a zip archive to be written while it is sent.
    Logs {
        /// Name of the archive.
        name: String,
        /// What goes into it.
        entries: Vec<Arc<Entry>>,
    },
}

type Answer = Result<Reply, Refusal>;

/// First words of addresses below an application; anything else there is an attempt.
const WORDS: &[&str] = &[
    "allexecutors",
    "allmiscellaneousprocess",
    "environment",
    "executors",
    "jobs",
    "logs",
    "sql",
    "stages",
    "storage",
    "streaming",
];

/// Answers a request for `segments` below `/api/v1`.
pub(crate) fn answer(ask: &Ask<'_>, segments: &[&str]) -> Answer {
    match segments {
        ["version"] => version::get(),
        ["applications"] => applications::list(ask),
        ["applications", app] => applications::one(ask, app),
        ["applications", app, word, ..] if WORDS.contains(word) => below(ask, app, None, &segments[2..]),
        ["applications", app, attempt] => applications::attempt(ask, app, attempt),
        ["applications", app, attempt, ..] => below(ask, app, Some(attempt), &segments[3..]),
        _ => Err(Refusal::NoSuchAddress),
    }
}

fn below(ask: &Ask<'_>, app: &str, attempt: Option<&str>, rest: &[&str]) -> Answer {
    if rest == ["logs"] {
        return logs::get(ask, app, attempt);
    }
    let run = open(ask, app, attempt)?;
    match rest {
        ["environment"] => environment::get(&run),
        ["jobs"] => jobs::list(&run, ask.params),
        ["jobs", job] => match job.parse() {
            Ok(job) => jobs::one(&run, job),
            Err(_) => Err(Refusal::not_found(ask.path)),
        },
        ["stages"] => stages::list(&run, ask.params),
        ["stages", stage] => stages::attempts(&run, id(stage)?, ask.params),
        ["stages", stage, attempt] => stages::one(&run, id(stage)?, id(attempt)?, ask.params),
        ["stages", stage, attempt, "taskSummary"] => {
            task_summary::get(&run, id(stage)?, id(attempt)?, ask.params)
        }
        ["stages", stage, attempt, "taskList"] => task_list::get(&run, id(stage)?, id(attempt)?, ask.params),
        ["executors"] => executors::active(&run),
        ["allexecutors"] => executors::all(&run),
        ["executors", _, "threads"] => {
            Err(Refusal::Unavailable("Thread dumps not available through the history server."))
        }
        ["allmiscellaneousprocess"] => executors::processes(&run),
        ["storage", "rdd"] => storage::list(&run),
        ["storage", "rdd", rdd] => storage::one(&run, id(rdd)?),
        ["sql"] => sql::list(&run, ask.params),
        ["sql", execution] => sql::one(&run, id(execution)?, ask.params),
        ["streaming", ..] => streaming::get(&run),
        // Below an attempt Spark's framework has found the application, and says what is not there.
        _ if attempt.is_some() && !rest.first().is_some_and(|word| WORDS.contains(word)) => {
            Err(Refusal::not_found(ask.path))
        }
        _ => Err(Refusal::NoSuchAddress),
    }
}

/// The log of an attempt; without one named, of the newest.
fn entry<'a>(ask: &Ask<'a>, app: &str, attempt: Option<&str>) -> Option<&'a Arc<Entry>> {
    let of_app = |at: &&Vec<usize>| {
        at.first().is_some_and(|at| ask.listing.entries[*at].glance.application_id.as_deref() == Some(app))
    };
    let group = ask.listing.applications.iter().find(of_app)?;
    let mut entries = group.iter().map(|at| &ask.listing.entries[*at]);
    match attempt {
        Some(_) => entries.find(|entry| entry.glance.attempt_id.as_deref() == attempt),
        None => entries.next(),
    }
}

fn open(ask: &Ask<'_>, app: &str, attempt: Option<&str>) -> Result<Arc<Opened>, Refusal> {
    let entry = entry(ask, app, attempt).ok_or_else(|| {
        let attempt = attempt.map(|attempt| format!("/{attempt}")).unwrap_or_default();
        Refusal::not_found(format!("no such app: {app}{attempt}"))
    })?;
    ask.runs.open(entry).map_err(|error| match error {
        OpenError::Moved => Refusal::not_found(format!("no such app: {app}")),
        OpenError::NoEvents => Refusal::Unreadable(error.to_string()),
    })
}

fn json<T: Serialize + ?Sized>(value: &T) -> Answer {
    serde_json::to_vec(value).map(Reply::Json).map_err(|error| Refusal::Unreadable(error.to_string()))
}

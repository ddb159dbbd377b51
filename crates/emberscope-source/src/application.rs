//! From an address to the event logs of an application, or at least to its monitoring API.

use crate::address::Address;
use crate::client::{Client, looks_like_page};
use crate::download::Download;
use crate::error::FetchError;
use crate::secret::shown;
use emberscope_log::input::{Input, read_head};
use serde::Deserialize;
use std::sync::Arc;
use url::Url;

/// What an address led to.
#[derive(Debug)]
pub enum Fetched {
    /// The event logs of an application, as a zip archive: full fidelity.
    Logs(Arc<Download>, Target),
    /// The server has no event log of it, but answers the monitoring API.
    Api(Target),
    /// Something else that was at the address: perhaps an event log.
    File(Arc<Download>),
}

/// An application on a server.
#[derive(Clone, Debug)]
pub struct Target {
    /// Ends with `api/v1/applications/ID/`, or with the attempt after it.
    pub api: Url,
    /// Application.
    pub application_id: String,
    /// Attempt: the one that was named; for answers of the API else the newest, where attempts are numbered.
    pub attempt_id: Option<String>,
    newest_attempt: Option<String>,
    /// What the address says beside that.
    pub address: Address,
    /// Why there is no event log, where there is none.
    pub no_log: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: Option<String>,
    #[serde(default)]
    attempts: Vec<ListedAttempt>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedAttempt {
    attempt_id: Option<String>,
    #[serde(default)]
    start_time_epoch: i64,
}

/// Where the API lists applications.
const LIST: &str = "api/v1/applications";

/// How many applications of a server are told as examples.
const EXAMPLES: usize = 3;

/// Fetches what `address` names. `progress` is told the bytes of a download so far.
///
/// # Errors
/// When the server cannot be reached or refuses, or has nothing that is known there.
pub fn fetch(
    client: &mut Client,
    address: &str,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Fetched, FetchError> {
    let url = client.name(address)?;
    let place = Address::of(&url);
    let mut target = match find(client, &place) {
        Ok(target) => target,
        Err(error) if is_about_access(&error) => return Err(error),
        Err(error) if place.is_known_shape => return Err(not_spark(client, &url, &place, error)),
        // No API there: the address may be that of a log.
        Err(_) => {
            return file(client, &url, progress).map_err(|error| not_spark(client, &url, &place, error));
        }
    };
    let logs = join(&target.api, "logs")?;
    match client.download(&logs, &shown(&url), progress) {
        Ok((download, content_type)) => {
            let head = read_head(&download, 64)?;
            if head.starts_with(b"PK\x03\x04") {
                return Ok(Fetched::Logs(Arc::new(download), target));
            }
            if looks_like_page(&content_type, &head) && !head.starts_with(b"PK") {
                let reason = "the answer is a web page, not an archive of event logs".to_owned();
                return Err(FetchError::Content { url: shown(&logs), reason, is_page: true });
            }
            // A live UI answers with an archive without entries.
            target.no_log = Some("the server has no event log to give".to_owned());
        }
        // Before Spark 1.4 or on a live UI of some builds there is no such address, and 503 is what Spark
        // answers where a log is gone.
        Err(error) if matches!(error.status(), Some(404 | 500 | 503)) => {
            target.no_log = Some(error.to_string());
        }
        Err(error) => return Err(error),
    }
    // The archive has all attempts; answers are about one.
    if target.attempt_id.is_none()
        && let Some(attempt) = target.newest_attempt.take()
    {
        target.api = join(&target.api, &format!("{attempt}/"))?;
        target.attempt_id = Some(attempt);
    }
    Ok(Fetched::Api(target))
}

/// Whether trying another way would only hide what went wrong.
fn is_about_access(error: &FetchError) -> bool {
    match error {
        FetchError::Status { status, .. } => !matches!(status, 400 | 404 | 405),
        FetchError::Content { .. } => false,
        _ => true,
    }
}

/// That nothing of Spark is below what stands in the path before its own part; any other error stays as it is.
/// Where Spark answers without that part, it is told.
fn not_spark(client: &Client, url: &Url, place: &Address, error: FetchError) -> FetchError {
    let is_about_path = matches!(error, FetchError::Content { .. }) || error.status() == Some(404);
    if !is_about_path || place.root.path() == "/" || place.application_id.is_some() {
        return error;
    }
    let is_page = matches!(error, FetchError::Content { is_page: true, .. });
    let server = url.join("/").ok().filter(|server| {
        let list = join(server, LIST).and_then(|list| client.get_json::<Vec<Listed>>(&list));
        list.is_ok()
    });
    FetchError::NotSpark {
        url: shown(url),
        tried: shown(&place.root) + LIST,
        spark_at: server.as_ref().map(shown),
        is_page,
    }
}

/// Finds the API and the application.
fn find(client: &Client, place: &Address) -> Result<Target, FetchError> {
    let root = &place.root;
    let list = join(root, LIST)?;
    let found: Listed = match &place.application_id {
        Some(id) => client.get_json(&join(&list, &format!("applications/{id}"))?)?,
        None => only(root, client.get_json(&list)?)?,
    };
    let newest_attempt = found.attempts.into_iter().next().and_then(|attempt| attempt.attempt_id);
    let id = found.id;
    let mut api = join(&list, &format!("applications/{id}/"))?;
    if let Some(attempt) = &place.attempt_id {
        api = join(&api, &format!("{attempt}/"))?;
    }
    Ok(Target {
        api,
        application_id: id,
        attempt_id: place.attempt_id.clone(),
        newest_attempt,
        address: place.clone(),
        no_log: None,
    })
}

/// The application of a server that has one.
fn only(root: &Url, mut all: Vec<Listed>) -> Result<Listed, FetchError> {
    match (all.pop(), &all[..]) {
        (Some(one), []) => Ok(one),
        (None, _) => Err(FetchError::NoApplication { url: shown(root) }),
        (Some(last), others) => {
            let mut newest: Vec<&Listed> = others.iter().chain([&last]).collect();
            let start = |app: &Listed| app.attempts.iter().map(|attempt| attempt.start_time_epoch).max();
            newest.sort_by_key(|app| std::cmp::Reverse(start(app)));
            let examples = newest.iter().take(EXAMPLES).map(|app| {
                let name = app.name.as_deref().unwrap_or("unnamed");
                format!("{}history/{}/ ({name})", shown(root), app.id)
            });
            Err(FetchError::Several {
                url: shown(root),
                count: others.len() + 1,
                examples: examples.collect(),
            })
        }
    }
}

fn file(client: &Client, url: &Url, progress: &(dyn Fn(u64) + Sync)) -> Result<Fetched, FetchError> {
    let (download, content_type) = client.download(url, &shown(url), progress)?;
    let head = read_head(&download, 64)?;
    if download.is_empty() || looks_like_page(&content_type, &head) {
        let is_page = !download.is_empty();
        let what = if is_page { "a web page" } else { "nothing" };
        let reason = format!("there is {what}, neither an event log nor Spark's monitoring API");
        return Err(FetchError::Content { url: shown(url), reason, is_page });
    }
    Ok(Fetched::File(Arc::new(download)))
}

/// An address below another.
///
/// # Errors
/// Where an application's id makes none.
pub fn join(base: &Url, path: &str) -> Result<Url, FetchError> {
    base.join(path).map_err(|error| FetchError::Address { address: shown(base), reason: error.to_string() })
}

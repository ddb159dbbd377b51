//! Runs that lie on a server.

use super::answers;
use crate::cli::Reading;
use crate::messages;
use crate::progress::Progress;
use emberscope_log::source::{Discovery, discover_input};
use emberscope_rest::{AnswerError, Answers, Wanted};
use emberscope_source::application::{Fetched, Target, fetch as fetch_application, join};
use emberscope_source::secret::shown;
use emberscope_source::{Client, FetchError};

/// Whether a source is an address to fetch from.
pub(crate) fn is_address(source: &str) -> bool {
    let scheme = source.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Fetches what an address names; on failure what went wrong and what to do.
pub(crate) fn fetch(reading: &Reading, address: &str) -> Result<Discovery, (String, String)> {
    let told = |error: FetchError| (error.to_string(), error.hint());
    let mut client = Client::new((*reading.client).clone()).map_err(told)?;
    let fetched = {
        let progress = Progress::of_download(reading.progress, "downloading the event log");
        fetch_application(&mut client, address, &|bytes| progress.at(bytes)).map_err(told)?
    };
    match fetched {
        Fetched::Logs(download, target) => {
            let mut found = discover_input(download);
            for run in &mut found.runs {
                // What the archive's entries are called does not always tell.
                run.app_id_hint.get_or_insert_with(|| target.application_id.clone());
            }
            Ok(found)
        }
        Fetched::File(download) => Ok(discover_input(download)),
        Fetched::Api(target) => from_api(reading, &client, &target),
    }
}

/// Puts a run together from answers of the monitoring API.
fn from_api(reading: &Reading, client: &Client, target: &Target) -> Result<Discovery, (String, String)> {
    let label = shown(&target.api);
    if let Some(reason) = &target.no_log
        && !reading.quiet
    {
        messages::note(&format!("{reason}: its answers are asked for instead, one by one"), None);
    }
    let progress = Progress::of_download(reading.progress, "asking the monitoring API");
    let live = Live { client, target };
    let wanted = Wanted {
        attempt_id: target.attempt_id.clone(),
        sql_id: reading.sql_id.or(target.address.sql_id),
        asked_at_ms: now_ms(),
        ..Wanted::default()
    };
    answers::discovery(&label, &live, &wanted, &|count| progress.at(count))
}

/// This machine's time: answers about an application that runs tell no other.
fn now_ms() -> Option<i64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(now.as_millis()).ok()
}

/// Answers of a server.
struct Live<'a> {
    client: &'a Client,
    target: &'a Target,
}

impl Answers for Live<'_> {
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError> {
        let told = |error: FetchError| AnswerError(format!("{error}\n{}", error.hint()));
        let url = match path {
            // The application with all its attempts; it has no slash at its end.
            "" => {
                let up = if self.target.attempt_id.is_some() { "../../" } else { "../" };
                join(&self.target.api, &format!("{up}{}", self.target.application_id))
            }
            path => join(&self.target.api, path),
        };
        match self.client.get(&url.map_err(told)?) {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(told(error)),
        }
    }
}

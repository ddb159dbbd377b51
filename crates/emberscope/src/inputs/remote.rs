//! Runs that lie on a server.

use crate::cli::Reading;
use crate::messages;
use crate::progress::Progress;
use emberscope_log::source::{Discovery, discover_input};
use emberscope_source::application::{Fetched, fetch as fetch_application};
use emberscope_source::{Client, FetchError};

/// Whether a source is an address to fetch from.
pub(crate) fn is_address(source: &str) -> bool {
    let scheme = source.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Fetches what an address names.
pub(crate) fn fetch(reading: &Reading, address: &str) -> Result<Discovery, FetchError> {
    let mut client = Client::new((*reading.client).clone())?;
    let fetched = {
        let progress = Progress::of_download(reading.progress);
        fetch_application(&mut client, address, &|bytes| progress.at(bytes))?
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
        Fetched::Api(target) => {
            if let Some(reason) = &target.no_log
                && !reading.quiet
            {
                messages::note(reason, None);
            }
            Err(FetchError::Content {
                url: emberscope_source::secret::shown(&target.api),
                reason: "there is no event log".to_owned(),
                is_page: false,
            })
        }
    }
}

//! Event logs as Parquet: in the cache, or for this time only.

use crate::cli::Reading;
use crate::messages;
use crate::progress::Progress;
use crate::render;
use emberscope_log::block::ParseOptions;
use emberscope_log::source::RunSource;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_report::sink::{Sink, write_run};
use emberscope_report::{FileSink, FileSinkOptions, Format, Report, ReportError, RunKey};
use emberscope_store::{Key, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What there is to know of a log without reading it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LogMeta {
    /// As shown to the user.
    pub(super) source: String,
    pub(super) application_id: Option<String>,
    pub(super) attempt_id: Option<String>,
    pub(super) start_time_ms: Option<i64>,
    /// Of the decoded log.
    pub(super) content_hash: Option<u64>,
    pub(super) events: u64,
    /// Why there is no event in it.
    pub(super) nothing: Option<String>,
    /// What it lacks to be whole.
    pub(super) gaps: Vec<String>,
    /// Table and name of every file.
    pub(super) files: Vec<(String, String)>,
}

/// The tables of a log.
#[derive(Debug)]
pub(super) struct LogTables {
    pub(super) meta: LogMeta,
    pub(super) dir: PathBuf,
    /// Kept for as long as the tables are needed, when the cache has no place for them.
    pub(super) _temporary: Option<tempfile::TempDir>,
}

/// Makes tables of logs.
pub(super) struct Logs {
    store: Option<Store>,
    build: String,
}

impl Logs {
    pub(super) fn new() -> Logs {
        let store = Store::open().inspect_err(|error| {
            messages::warning(&format!("tables are not kept: {error}"), Some(error.hint()));
        });
        Logs { store: store.ok(), build: build() }
    }

    /// The tables of a log: those of the cache if it has them.
    pub(super) fn tables(&self, source: &RunSource, reading: &Reading) -> anyhow::Result<LogTables> {
        let key = self.store.as_ref().and_then(|store| Some((store, Key::of(source, &self.build)?)));
        let Some((store, key)) = key else { return temporary(source, reading) };
        if let Some(entry) = store.find::<LogMeta>(&key) {
            return Ok(LogTables { meta: entry.meta, dir: entry.dir, _temporary: None });
        }
        let made: Result<_, MakeError> = store.make(&key, |dir| Ok(make(source, reading, dir)?));
        match made {
            Ok(entry) => Ok(LogTables { meta: entry.meta, dir: entry.dir, _temporary: None }),
            // A full disk of the cache need not be one of the system's own place for such files.
            Err(MakeError::Store(error)) => {
                messages::warning(&format!("tables are not kept: {error}"), Some(error.hint()));
                temporary(source, reading)
            }
            Err(MakeError::Report(error)) => Err(error.into()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum MakeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Report(#[from] ReportError),
}

fn temporary(source: &RunSource, reading: &Reading) -> anyhow::Result<LogTables> {
    // Only its owner may read such a directory.
    let place = tempfile::Builder::new().prefix("emberscope-").tempdir()?;
    let meta = make(source, reading, place.path())?;
    Ok(LogTables { meta, dir: place.path().to_owned(), _temporary: Some(place) })
}

fn make(source: &RunSource, reading: &Reading, dir: &Path) -> Result<LogMeta, ReportError> {
    let parse = ParseOptions { keep_plan_text: true, ..ParseOptions::default() };
    let run = {
        let progress = Progress::start(source, reading.progress);
        load(source, reading.scan, parse, &|bytes| progress.at(bytes))
    };
    let mut meta = meta_of(&run);
    if meta.nothing.is_some() {
        return Ok(meta);
    }
    let options =
        FileSinkOptions { format: Format::Parquet, file_size_limit: u64::MAX, ..FileSinkOptions::default() };
    let sink = FileSink::open(dir, &RunKey::of(&run), Report::ALL, options)?;
    write_run(&run, Report::ALL, &sink, reading.scan.threads)?;
    Box::new(sink).close()?;
    let manifests = super::reports::manifests(dir);
    let files = manifests.into_iter().flat_map(|manifest| manifest.files);
    meta.files = files.map(|file| (file.report, file.name)).collect();
    Ok(meta)
}

fn meta_of(run: &Run) -> LogMeta {
    let gaps = if run.is_whole() { Vec::new() } else { render::gaps(&run.trust, run.application.has_end) };
    LogMeta {
        source: run.source.clone(),
        application_id: run.application.id.clone(),
        attempt_id: run.application.attempt_id.clone(),
        start_time_ms: run.application.start_ms,
        content_hash: run.content_hash,
        events: run.trust.events,
        nothing: (run.trust.events == 0).then(|| crate::inputs::without_events(run)),
        gaps,
        files: Vec::new(),
    }
}

/// What tables depend on beside the log: this program. Its own file tells builds of one version apart.
fn build() -> String {
    let hash = Sha256::digest(emberscope_report::docs::schema_json().as_bytes());
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let of_file = file.and_then(|file| {
        let modified = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some((file.len(), modified.as_millis()))
    });
    format!("{} {hash:x?} {of_file:?}", env!("CARGO_PKG_VERSION"))
}

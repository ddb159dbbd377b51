//! Event logs as Parquet: in the cache, or for this time only.

use emberscope_log::source::RunSource;
use emberscope_model::run::Run;
use emberscope_report::sink::{Sink, write_run};
use emberscope_report::{FileSink, FileSinkOptions, Format, Manifest, Report, ReportError, RunKey};
use emberscope_sql_protocol as protocol;
use emberscope_store::{Key, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The column by which runs are told that share application and attempt. It is there only when some do.
pub const RUN_ID: &str = "runId";

/// What there is to know of a log without reading it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogMeta {
    /// As shown to the user.
    pub source: String,
    /// Application id.
    pub application_id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Start, epoch milliseconds.
    pub start_time_ms: Option<i64>,
    /// Of the decoded log.
    pub content_hash: Option<u64>,
    /// Events that were read.
    pub events: u64,
    /// Why there is no event in it.
    pub nothing: Option<String>,
    /// What it lacks to be whole.
    pub gaps: Vec<String>,
    /// Table and name of every file.
    pub files: Vec<(String, String)>,
}

/// The tables of a log.
#[derive(Debug)]
pub struct LogTables {
    /// What there is to know.
    pub meta: LogMeta,
    /// Where its files are.
    pub dir: PathBuf,
    /// Kept for as long as the tables are needed, when the cache has no place for them.
    _temporary: Option<tempfile::TempDir>,
}

/// How a door tells of a run.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Why a run without events has none.
    pub nothing: fn(&Run) -> String,
    /// What a run lacks to be whole.
    pub gaps: fn(&Run) -> Vec<String>,
}

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// There is no place for them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// They cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// There is no place for what is not kept.
    #[error("no place for tables: {0}")]
    Place(#[from] std::io::Error),
}

/// What went wrong on the way.
enum Making<E> {
    Tables(TablesError),
    Read(E),
}

impl<E> From<StoreError> for Making<E> {
    fn from(error: StoreError) -> Self {
        Making::Tables(error.into())
    }
}

/// Makes tables of logs.
#[derive(Debug)]
pub struct Tables {
    store: Option<Store>,
    words: Words,
    threads: usize,
    build: String,
}

impl Tables {
    /// Tables that are kept in `store`, and made by this many threads.
    pub fn new(store: Option<Store>, words: Words, threads: usize) -> Tables {
        Tables { store, words, threads, build: build() }
    }

    /// The tables of a log: those of the cache if it has them; else `read` reads the log. What keeps them from
    /// being kept is told to `warn`.
    ///
    /// # Errors
    /// Those of `read`, or there is no place for tables at all.
    pub fn of<R: Borrow<Run>, E: From<TablesError>>(
        &self,
        source: &RunSource,
        read: impl Fn() -> Result<R, E>,
        warn: impl FnOnce(&StoreError),
    ) -> Result<LogTables, E> {
        let key = self.store.as_ref().and_then(|store| Some((store, Key::of(source, &self.build)?)));
        let Some((store, key)) = key else { return Ok(self.temporary(read()?.borrow())?) };
        if let Some(entry) = store.find::<LogMeta>(&key) {
            return Ok(LogTables { meta: entry.meta, dir: entry.dir, _temporary: None });
        }
        let made = store.make(&key, |dir| -> Result<LogMeta, Making<E>> {
            let run = read().map_err(Making::Read)?;
            self.make(run.borrow(), dir).map_err(|error| Making::Tables(error.into()))
        });
        match made {
            Ok(entry) => Ok(LogTables { meta: entry.meta, dir: entry.dir, _temporary: None }),
            // A full disk of the cache need not be one of the system's own place for such files.
            Err(Making::Tables(TablesError::Store(error))) => {
                warn(&error);
                Ok(self.temporary(read()?.borrow())?)
            }
            Err(Making::Tables(error)) => Err(error.into()),
            Err(Making::Read(error)) => Err(error),
        }
    }

    fn temporary(&self, run: &Run) -> Result<LogTables, TablesError> {
        // Only its owner may read such a directory.
        let place = tempfile::Builder::new().prefix("emberscope-").tempdir()?;
        let meta = self.make(run, place.path())?;
        Ok(LogTables { meta, dir: place.path().to_owned(), _temporary: Some(place) })
    }

    fn make(&self, run: &Run, dir: &Path) -> Result<LogMeta, ReportError> {
        let mut meta = self.meta_of(run);
        if meta.nothing.is_some() {
            return Ok(meta);
        }
        let options = FileSinkOptions {
            format: Format::Parquet,
            file_size_limit: u64::MAX,
            ..FileSinkOptions::default()
        };
        let sink = FileSink::open(dir, &RunKey::of(run), Report::ALL, options)?;
        write_run(run, Report::ALL, &sink, self.threads)?;
        Box::new(sink).close()?;
        let files = manifests(dir).into_iter().flat_map(|manifest| manifest.files);
        meta.files = files.map(|file| (file.report, file.name)).collect();
        Ok(meta)
    }

    fn meta_of(&self, run: &Run) -> LogMeta {
        LogMeta {
            source: run.source.clone(),
            application_id: run.application.id.clone(),
            attempt_id: run.application.attempt_id.clone(),
            start_time_ms: run.application.start_ms,
            content_hash: run.content_hash,
            events: run.trust.events,
            nothing: (run.trust.events == 0).then(|| (self.words.nothing)(run)),
            gaps: if run.is_whole() { Vec::new() } else { (self.words.gaps)(run) },
            files: Vec::new(),
        }
    }
}

/// What tables depend on beside the log: their definition, and this program.
fn build() -> String {
    let hash = Sha256::digest(emberscope_report::docs::schema_json().as_bytes());
    format!("{} {hash:x?}", emberscope_store::this_program())
}

/// The manifests in a directory. A damaged one is as good as none: its files are read all the same.
pub fn manifests(dir: &Path) -> Vec<Manifest> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "manifest"));
    let mut read: Vec<Manifest> =
        paths.filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok()).collect();
    read.sort_by(|a, b| (&a.run, &a.format).cmp(&(&b.run, &b.format)));
    read
}

/// Files by table, to which those of logs are added.
pub type Files = BTreeMap<Report, Vec<protocol::File>>;

/// Adds the files of a log; where runs are `told_apart`, with a column that says of which they are.
pub fn add_log(log: &LogTables, told_apart: bool, files: &mut Files) {
    let run_id = log.meta.content_hash.map(|hash| format!("{hash:016x}"));
    let directories = match (told_apart, run_id) {
        (true, Some(id)) => vec![(RUN_ID.to_owned(), id)],
        _ => Vec::new(),
    };
    for (table, name) in &log.meta.files {
        let path = log.dir.join(name);
        let Some(report) = Report::from_name(table) else { continue };
        let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        let path = path.display().to_string();
        let directories = directories.clone();
        let file =
            protocol::File { path, bytes, format: protocol::Format::Parquet, directories, is_own: true };
        files.entry(report).or_default().push(file);
    }
}

/// Whether several of these runs, by application and attempt, have the same names.
pub fn share_names<'r>(runs: impl IntoIterator<Item = (&'r Option<String>, &'r Option<String>)>) -> bool {
    let mut seen = BTreeSet::new();
    runs.into_iter().filter(|(id, _)| id.is_some()).any(|run| !seen.insert(run))
}

/// All tables, with these files.
pub fn tables(mut files: Files) -> Vec<protocol::Table> {
    let table = |report: &Report| protocol::Table {
        name: report.name().to_owned(),
        columns: columns(*report),
        files: files.remove(report).unwrap_or_default(),
    };
    Report::ALL.iter().map(table).collect()
}

/// The columns of a table as the protocol says them.
pub fn columns(report: Report) -> Vec<protocol::Column> {
    let columns = report.columns().iter();
    columns.map(|def| protocol::Column { name: def.name.to_owned(), ty: def.ty.sql().to_owned() }).collect()
}

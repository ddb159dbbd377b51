//! Files: NDJSON or Parquet, rolled at a size, whole or not there at all.
//!
//! While it is written a file is called `.<name>.inprogress` and locked by its writer. When all files
//! of a run are whole, they get their names; a list of them, the run's manifest, is written last. A
//! writer that dies leaves files that no reader takes for results, and a manifest that says what they
//! are: the next report of the same run starts over, and [`recover`](recover::recover) takes over what
//! is whole.

pub(crate) mod manifest;
mod ndjson;
mod parquet_file;
pub(crate) mod recover;
mod timer;

use crate::ReportError;
use crate::cells::Batch;
use crate::destination::run_id;
use crate::schema::Report;
use crate::sink::{Sink, Written, lock};
use crate::snippets;
use emberscope_model::run::Run;
use manifest::{Manifest, ManifestFile, RunLock, State};
use ndjson::NdjsonFile;
use parquet_file::ParquetFile;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use timer::Timer;

/// Form of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    Ndjson,
    /// Apache Parquet, compressed with zstd.
    Parquet,
}

impl Format {
    /// Ending of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Ndjson => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// How files are written.
#[derive(Clone, Debug)]
pub struct FileSinkOptions {
    /// Their form.
    pub format: Format,
    /// Rows after which they are handed to the system.
    pub batch_size: usize,
    /// Bytes after which a new file begins.
    pub file_size_limit: u64,
    /// Time after which rows are handed to the system, however few they are and whether or not more
    /// come. Of NDJSON only: Parquet cannot be read before its end is written.
    pub flush_every: Duration,
    /// How long closing may take.
    pub close_timeout: Duration,
}

impl Default for FileSinkOptions {
    fn default() -> Self {
        FileSinkOptions {
            format: Format::Ndjson,
            batch_size: 100,
            file_size_limit: 200 << 20,
            flush_every: Duration::from_secs(10),
            close_timeout: Duration::from_secs(10),
        }
    }
}

/// What tells the files of one run from those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// Application id.
    pub application_id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Where it was read from.
    pub source: String,
}

impl RunKey {
    /// Of a run.
    pub fn of(run: &Run) -> Self {
        RunKey {
            application_id: run.application.id.clone(),
            attempt_id: run.application.attempt_id.clone(),
            source: run.source.clone(),
        }
    }

    /// As a UUID. A run without an application id is told by its source.
    pub fn id(&self) -> uuid::Uuid {
        match &self.application_id {
            Some(id) => run_id(Some(id), self.attempt_id.as_deref()),
            None => run_id(None, Some(&self.source)),
        }
    }
}

/// A file while it is written.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// Where it is now.
    pub(crate) path: PathBuf,
    /// Its name when it is whole.
    pub(crate) name: String,
}

enum Writer {
    Ndjson(Box<NdjsonFile>),
    Parquet(Box<ParquetFile>),
}

impl Writer {
    fn finish(self) -> Result<(String, u64, u64), ReportError> {
        match self {
            Writer::Ndjson(file) => file.finish(),
            Writer::Parquet(file) => file.finish(),
        }
    }
}

/// Writes the files of one run.
pub struct FileSink {
    files: Arc<Files>,
    timer: Option<Timer>,
    _lock: RunLock,
}

/// What a sink shares with its timer. A writer is locked before the state.
struct Files {
    dir: PathBuf,
    options: FileSinkOptions,
    reports: Vec<Report>,
    /// Of every table, so that tables can be written beside each other.
    writers: BTreeMap<Report, Mutex<Option<Writer>>>,
    state: Mutex<FilesState>,
}

struct FilesState {
    manifest: Manifest,
    /// Files of this run that were there before.
    earlier: BTreeSet<String>,
    /// Files that are whole and not yet in their places.
    whole: Vec<ManifestFile>,
    /// Where numbers of file names go on.
    next: BTreeMap<Report, u32>,
    /// Whether the run still goes on, so that what is written now will be written again.
    is_live: bool,
    is_promoted: bool,
}

/// The name of a file while it is written.
pub(crate) fn in_progress(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!(".{name}.inprogress"))
}

impl FileSink {
    /// Prepares a directory for the files of a run.
    pub fn open(
        dir: &Path,
        run: &RunKey,
        reports: &[Report],
        options: FileSinkOptions,
    ) -> Result<FileSink, ReportError> {
        FileSink::open_as(dir, run, reports, options, false)
    }

    /// As [`FileSink::open`], for a run that still goes on: what is written before [`FileSink::begin_again`] is
    /// there for whoever cannot wait for the end, and for [`recover`](recover::recover()) where none comes.
    pub fn open_live(
        dir: &Path,
        run: &RunKey,
        reports: &[Report],
        options: FileSinkOptions,
    ) -> Result<FileSink, ReportError> {
        FileSink::open_as(dir, run, reports, options, true)
    }

    fn open_as(
        dir: &Path,
        run: &RunKey,
        reports: &[Report],
        options: FileSinkOptions,
        is_live: bool,
    ) -> Result<FileSink, ReportError> {
        std::fs::create_dir_all(dir).map_err(ReportError::io(dir, "created"))?;
        let lock = RunLock::take(dir, run, options.format)?;
        let mut manifest = Manifest::load(dir, run, options.format)?;
        // What an earlier writer left is finished if it was whole, else it is written again now.
        manifest.settle(dir)?;
        let earlier = manifest.files.iter().map(|file| file.name.clone()).collect();
        let has_timer = options.format == Format::Ndjson && !options.flush_every.is_zero();
        let flush_every = options.flush_every;
        let files = Arc::new(Files {
            dir: dir.to_owned(),
            options,
            reports: reports.to_vec(),
            writers: Report::ALL.iter().map(|report| (*report, Mutex::new(None))).collect(),
            state: Mutex::new(FilesState {
                manifest,
                earlier,
                whole: Vec::new(),
                next: BTreeMap::new(),
                is_live,
                is_promoted: false,
            }),
        });
        let mut sink = FileSink { files: Arc::clone(&files), timer: None, _lock: lock };
        files.begin_all()?;
        if has_timer {
            sink.timer = Some(Timer::start(flush_every, move || files.flush()));
        }
        Ok(sink)
    }

    /// Closes the files that were written while the run went on, and begins those that stay. The former are removed
    /// when the latter are whole. `source` is where the run is found now.
    pub fn begin_again(&self, source: &str) -> Result<(), ReportError> {
        for report in self.files.writers.keys() {
            self.files.with_writer(*report, |open| self.files.end(*report, open))?;
        }
        let mut state = lock(&self.files.state);
        state.is_live = false;
        state.whole.clear();
        state.next.clear();
        source.clone_into(&mut state.manifest.source);
        state.manifest.live = std::mem::take(&mut state.manifest.pending);
        drop(state);
        self.files.begin_all()
    }
}

impl Files {
    /// Opens the first file of every report: one without rows has a file all the same, which gives a view its place and
    /// its columns.
    fn begin_all(&self) -> Result<(), ReportError> {
        for report in &self.reports {
            let writer = self.begin(*report)?;
            self.with_writer(*report, |open| *open = Some(writer));
        }
        Ok(())
    }

    fn with_writer<T>(&self, report: Report, work: impl FnOnce(&mut Option<Writer>) -> T) -> T {
        match self.writers.get(&report) {
            Some(writer) => work(&mut lock(writer)),
            // Every table has a place.
            None => work(&mut None),
        }
    }

    /// Opens the next file of a report.
    fn begin(&self, report: Report) -> Result<Writer, ReportError> {
        let open = lock(&self.state).claim(&self.dir, report, self.options.format)?;
        Ok(match self.options.format {
            Format::Ndjson => Writer::Ndjson(Box::new(NdjsonFile::new(open, report, &self.options))),
            Format::Parquet => Writer::Parquet(Box::new(ParquetFile::new(open, report)?)),
        })
    }

    /// Hands all rows to the system.
    fn flush(&self) {
        for writer in self.writers.values() {
            if let Some(Writer::Ndjson(file)) = &mut *lock(writer) {
                file.flush_waiting();
            }
        }
    }

    fn write(&self, batch: &Batch<'_>, open: &mut Option<Writer>) -> Result<(), ReportError> {
        let mut row = 0;
        while row < batch.rows {
            let writer = match open {
                Some(writer) => writer,
                None => open.insert(self.begin(batch.report)?),
            };
            let bytes = match writer {
                Writer::Ndjson(file) => file.write(batch, &mut row)?,
                Writer::Parquet(file) => file.write(batch, &mut row)?,
            };
            if bytes >= self.options.file_size_limit {
                self.end(batch.report, open)?;
            }
        }
        Ok(())
    }

    fn end(&self, report: Report, open: &mut Option<Writer>) -> Result<(), ReportError> {
        if let Some(writer) = open.take() {
            let (name, rows, bytes) = writer.finish()?;
            let file = ManifestFile { name, report: report.name().to_owned(), rows, bytes };
            lock(&self.state).whole.push(file);
        }
        Ok(())
    }

    /// Ends all files and gives them their names.
    fn finish(&self) -> Result<BTreeMap<Report, Written>, ReportError> {
        for report in self.writers.keys() {
            self.with_writer(*report, |open| self.end(*report, open))?;
        }
        let mut state = lock(&self.state);
        let mut written: BTreeMap<Report, Written> = BTreeMap::new();
        // Which table ended first is chance.
        state.whole.sort_by_key(|file| Report::from_name(&file.report));
        for file in &state.whole {
            if let Some(report) = Report::from_name(&file.report) {
                let of_report = written.entry(report).or_default();
                of_report.rows += file.rows;
                of_report.files += 1;
                of_report.bytes += file.bytes;
            }
        }
        state.promote(&self.dir, &self.reports)?;
        Ok(written)
    }
}

impl FilesState {
    /// Finds a name that is this run's or nobody's, and creates its file.
    fn claim(&mut self, dir: &Path, report: Report, format: Format) -> Result<OpenFile, ReportError> {
        loop {
            let number = self.next.entry(report).or_default();
            let live = if self.is_live { "live-" } else { "" };
            let name = format!("{}-reports-{live}{number}.{}", report.name(), format.extension());
            *number += 1;
            let target = dir.join(&name);
            let is_own = self.earlier.contains(&name);
            if !is_own && target.exists() {
                continue;
            }
            let path = in_progress(dir, &name);
            if path.exists() {
                // Another run's.
                continue;
            }
            // Listed before it exists: so no file is ever there that nobody knows.
            self.manifest.pending.push(name.clone());
            self.manifest.state = State::Writing;
            self.manifest.save(dir)?;
            let file = match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    // Another run was faster.
                    self.manifest.pending.pop();
                    continue;
                }
                Err(source) => return Err(ReportError::Io { path: target, action: "created", source }),
            };
            // Its lock tells others that it is being written. Not every file system has locks.
            _ = file.try_lock();
            if !is_own && target.exists() {
                // Its writer finished in between.
                self.manifest.pending.pop();
                _ = std::fs::remove_file(&path);
                continue;
            }
            return Ok(OpenFile { file, path, name });
        }
    }

    /// Gives all files their names: first the data, then the list of it.
    fn promote(&mut self, dir: &Path, reports: &[Report]) -> Result<(), ReportError> {
        let kept = self.manifest.files.iter().filter(|file| {
            // A report that was not asked for this time stays.
            !reports.iter().any(|report| report.name() == file.report)
        });
        let files: Vec<ManifestFile> = kept.cloned().chain(self.whole.drain(..)).collect();
        self.manifest.obsolete = self
            .earlier
            .iter()
            .filter(|name| !files.iter().any(|file| file.name == **name))
            .cloned()
            .collect();
        self.manifest.files = files;
        self.manifest.state = State::Promoting;
        self.manifest.save(dir)?;
        // From here on the files are whole, whatever happens: the next start goes on.
        self.is_promoted = true;
        self.manifest.settle(dir)
    }
}

impl Sink for FileSink {
    fn write(&self, batch: &Batch<'_>) -> Result<(), ReportError> {
        self.files.with_writer(batch.report, |open| self.files.write(batch, open))
    }

    fn end(&self, report: Report) -> Result<(), ReportError> {
        self.files.with_writer(report, |open| self.files.end(report, open))
    }

    fn close(self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError> {
        // A disk that hangs must not hang its user: closing goes on beside, and is waited for.
        let (dir, timeout) = (self.files.dir.clone(), self.files.options.close_timeout);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let done = self.files.finish();
            // Its lock goes before its user goes on.
            drop(self);
            // Nobody listens after the time is up.
            _ = tell.send(done);
        });
        told.recv_timeout(timeout)
            .unwrap_or_else(|_| Err(ReportError::CloseTimeout { dir, seconds: timeout.as_secs_f64() }))
    }

    fn view_snippet(&self, report: Report) -> Option<String> {
        Some(snippets::view(report, self.files.options.format, &snippets::literal(&self.files.dir)))
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        // It holds the files, too.
        self.timer = None;
        let mut state = lock(&self.files.state);
        if state.is_promoted {
            return;
        }
        drop(state);
        // Not finished: leave what was there before, and nothing else.
        for writer in self.files.writers.values() {
            *lock(writer) = None;
        }
        state = lock(&self.files.state);
        let live = std::mem::take(&mut state.manifest.live);
        for name in std::mem::take(&mut state.manifest.pending).into_iter().chain(live) {
            _ = std::fs::remove_file(in_progress(&self.files.dir, &name));
        }
        state.manifest.restore(&self.files.dir);
    }
}

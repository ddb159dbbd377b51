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

use crate::ReportError;
use crate::cells::Batch;
use crate::destination::run_id;
use crate::schema::Report;
use crate::sink::{Sink, Written};
use crate::snippets;
use emberscope_model::run::Run;
use manifest::{Manifest, ManifestFile, RunLock, State};
use ndjson::NdjsonFile;
use parquet_file::ParquetFile;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Time after which rows are handed to the system, however few they are.
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
    Ndjson(NdjsonFile),
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
    dir: PathBuf,
    options: FileSinkOptions,
    reports: Vec<Report>,
    manifest: Manifest,
    /// Files of this run that were there before.
    earlier: BTreeSet<String>,
    writers: BTreeMap<Report, Writer>,
    /// Files that are whole and not yet in their places.
    whole: Vec<ManifestFile>,
    /// Where numbers of file names go on.
    next: BTreeMap<Report, u32>,
    is_promoted: bool,
    _lock: RunLock,
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
        std::fs::create_dir_all(dir).map_err(ReportError::io(dir, "created"))?;
        let lock = RunLock::take(dir, run, options.format)?;
        let mut manifest = Manifest::load(dir, run, options.format)?;
        // What an earlier writer left is finished if it was whole, else it is written again now.
        manifest.settle(dir)?;
        let earlier = manifest.files.iter().map(|file| file.name.clone()).collect();
        let mut sink = FileSink {
            dir: dir.to_owned(),
            options,
            reports: reports.to_vec(),
            manifest,
            earlier,
            writers: BTreeMap::new(),
            whole: Vec::new(),
            next: BTreeMap::new(),
            is_promoted: false,
            _lock: lock,
        };
        // A report without rows has a file all the same: it gives a view its place and its columns.
        for report in reports {
            sink.begin(*report)?;
        }
        Ok(sink)
    }

    /// Opens the next file of a report.
    fn begin(&mut self, report: Report) -> Result<(), ReportError> {
        let open = self.claim(report)?;
        let writer = match self.options.format {
            Format::Ndjson => Writer::Ndjson(NdjsonFile::new(open, report, &self.options)),
            Format::Parquet => Writer::Parquet(Box::new(ParquetFile::new(open, report)?)),
        };
        self.writers.insert(report, writer);
        Ok(())
    }

    /// Finds a name that is this run's or nobody's, and creates its file.
    fn claim(&mut self, report: Report) -> Result<OpenFile, ReportError> {
        loop {
            let number = self.next.entry(report).or_default();
            let name = format!("{}-reports-{number}.{}", report.name(), self.options.format.extension());
            *number += 1;
            let target = self.dir.join(&name);
            let is_own = self.earlier.contains(&name);
            if !is_own && target.exists() {
                continue;
            }
            let path = in_progress(&self.dir, &name);
            if path.exists() {
                // Another run's.
                continue;
            }
            // Listed before it exists: so no file is ever there that nobody knows.
            self.manifest.pending.push(name.clone());
            self.manifest.state = State::Writing;
            self.manifest.save(&self.dir)?;
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

    fn end(&mut self, report: Report) -> Result<(), ReportError> {
        if let Some(writer) = self.writers.remove(&report) {
            let (name, rows, bytes) = writer.finish()?;
            self.whole.push(ManifestFile { name, report: report.name().to_owned(), rows, bytes });
        }
        Ok(())
    }

    /// Ends all files and gives them their names.
    fn finish(&mut self) -> Result<BTreeMap<Report, Written>, ReportError> {
        for report in self.reports.clone() {
            self.end(report)?;
        }
        let mut written: BTreeMap<Report, Written> = BTreeMap::new();
        for file in &self.whole {
            if let Some(report) = Report::from_name(&file.report) {
                let of_report = written.entry(report).or_default();
                of_report.rows += file.rows;
                of_report.files += 1;
                of_report.bytes += file.bytes;
            }
        }
        self.promote()?;
        Ok(written)
    }

    /// Gives all files their names: first the data, then the list of it.
    fn promote(&mut self) -> Result<(), ReportError> {
        let kept = self.manifest.files.iter().filter(|file| {
            // A report that was not asked for this time stays.
            !self.reports.iter().any(|report| report.name() == file.report)
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
        self.manifest.save(&self.dir)?;
        // From here on the files are whole, whatever happens: the next start goes on.
        self.is_promoted = true;
        self.manifest.settle(&self.dir)
    }
}

impl Sink for FileSink {
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), ReportError> {
        let mut row = 0;
        while row < batch.rows {
            if !self.writers.contains_key(&batch.report) {
                self.begin(batch.report)?;
            }
            let Some(writer) = self.writers.get_mut(&batch.report) else { break };
            let bytes = match writer {
                Writer::Ndjson(file) => file.write(batch, &mut row)?,
                Writer::Parquet(file) => file.write(batch, &mut row)?,
            };
            if bytes >= self.options.file_size_limit {
                self.end(batch.report)?;
            }
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError> {
        // A disk that hangs must not hang its user: closing goes on beside, and is waited for.
        let (dir, timeout) = (self.dir.clone(), self.options.close_timeout);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut sink = self;
            let done = sink.finish();
            // Its lock goes before its user goes on.
            drop(sink);
            // Nobody listens after the time is up.
            _ = tell.send(done);
        });
        told.recv_timeout(timeout)
            .unwrap_or_else(|_| Err(ReportError::CloseTimeout { dir, seconds: timeout.as_secs_f64() }))
    }

    fn view_snippet(&self, report: Report) -> Option<String> {
        Some(snippets::view(report, self.options.format, &snippets::literal(&self.dir)))
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if self.is_promoted {
            return;
        }
        // Not finished: leave what was there before, and nothing else.
        self.writers.clear();
        for name in std::mem::take(&mut self.manifest.pending) {
            _ = std::fs::remove_file(in_progress(&self.dir, &name));
        }
        self.manifest.restore(&self.dir);
    }
}

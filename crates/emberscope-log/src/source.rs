//! From what the user typed to runs that can be read, with a verdict for every path that is none.

mod assemble;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::{Archive, ZipEntry};
use crate::codec::Decoder;
use crate::input::{Input, LocalFile, Stdin};
use assemble::Assembler;

/// How a run's log is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// One file (`SingleEventLogFileWriter`).
    File,
    /// A directory of numbered members (`RollingEventLogFilesWriter`).
    Rolled,
    /// A Databricks cluster log folder: `eventlog` and dated, gzipped predecessors.
    Databricks,
    /// Inside a zip archive, as the History Server's download gives it, in any of the layouts above.
    HistoryServerZip,
    /// Standard input or another pipe.
    Stdin,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceKind::File => "file",
            SourceKind::Rolled => "rolled directory",
            SourceKind::Databricks => "Databricks folder",
            SourceKind::HistoryServerZip => "zip",
            SourceKind::Stdin => "standard input",
        })
    }
}

/// One file of a run.
#[derive(Clone, Debug)]
pub struct Member {
    /// Path as shown to the user.
    pub name: String,
    /// Bytes as stored, when known. For a zip entry: the bytes it unpacks to.
    pub len: Option<u64>,
    /// Last modification in milliseconds since 1970, when known.
    pub modified_ms: Option<i64>,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    /// Opened when read, so that a scan of many runs holds no file descriptors.
    Local(PathBuf),
    Zip(Arc<Archive>, Box<ZipEntry>),
    Input(Arc<dyn Input>),
}

impl Member {
    /// A member read from `input`: how sources other than the local file system make theirs.
    pub fn from_input(input: Arc<dyn Input>) -> Member {
        Member {
            name: input.name().to_owned(),
            len: input.len(),
            modified_ms: input.modified_ms(),
            origin: Origin::Input(input),
        }
    }

    /// Opens the undecoded bytes.
    ///
    /// # Errors
    /// When the file is gone or unreadable, or the zip entry is packed in an unknown way.
    pub fn input(&self) -> Result<Arc<dyn Input>, SourceError> {
        let opened: io::Result<Arc<dyn Input>> = match &self.origin {
            Origin::Local(path) => match LocalFile::open_as(path.clone(), self.name.clone()) {
                Ok(file) => Ok(Arc::new(file)),
                Err(error) => Err(error),
            },
            Origin::Zip(archive, entry) => match archive.open_entry(entry, self.name.clone()) {
                Ok(input) => Ok(Arc::new(input)),
                Err(error) => Err(error),
            },
            Origin::Input(input) => Ok(Arc::clone(input)),
        };
        opened.map_err(|error| SourceError::from_io(&self.name, error))
    }

    /// Starts to decode the member. A pipe can be opened once only.
    ///
    /// # Errors
    /// When it cannot be opened or its first bytes cannot be read.
    pub fn open(&self) -> Result<Decoder, SourceError> {
        Decoder::new(self.input()?).map_err(|error| SourceError::from_io(&self.name, error))
    }
}

/// The log of one run: one application attempt, as far as names tell.
#[derive(Clone, Debug)]
pub struct RunSource {
    /// The path as shown to the user: the file, the directory, or the place inside the archive.
    pub label: String,
    /// How the log is laid out.
    pub kind: SourceKind,
    /// The files to read, in the order of their meaning.
    pub members: Vec<Member>,
    /// Members that ought to be there and are not, such as `events_3 to events_9`.
    pub missing_members: Vec<String>,
    /// Whether the log begins with a compacted file (`EventLogFileCompactor`), so some events were dropped.
    pub compacted: bool,
    /// Whether the application still writes, by its appstatus file or name; `None` when neither tells.
    pub in_progress: Option<bool>,
    /// Application id by file or directory name.
    pub app_id_hint: Option<String>,
    /// Attempt by file or directory name.
    pub attempt_hint: Option<String>,
    /// What it is known from, where that is not its event log.
    pub provenance: Provenance,
}

/// What a run is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownFrom {
    /// Its event log.
    #[default]
    EventLog,
    /// Answers of Spark's monitoring API.
    MonitoringApi,
    /// The log of its driver.
    DriverLog,
    /// What `EXPLAIN` printed: nothing ran.
    Explain,
}

/// Whose answers of the monitoring API were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// A History Server's.
    HistoryServer,
    /// The UI's of the application itself, while it runs.
    LiveUi,
    /// Somebody's who saved them as files.
    Files,
}

/// Answers of the monitoring API that a run was put together from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswersRead {
    /// Whose they are.
    pub by: AnsweredBy,
    /// How many: one for each request that was answered, or for each file.
    pub count: u64,
    /// How large all of them are, bytes of JSON.
    pub bytes: u64,
}

/// Evidence of the same run that was left aside for a better one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAside {
    /// What it is, as shown to the user.
    pub name: String,
    /// Task attempts it knows.
    pub task_attempts: u64,
}

/// What is to be said of a run that was put together from other evidence than its event log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// What it is known from.
    pub known_from: KnownFrom,
    /// The answers that it was put together from, where it was.
    pub answers: Option<AnswersRead>,
    /// What a reader of the numbers should know.
    pub notes: Vec<String>,
    /// Kinds of evidence that are not there at all.
    pub not_measured: BTreeSet<String>,
    /// What was there once, and is no more.
    pub forgotten: Vec<String>,
    /// Whether the source says that the application still runs.
    pub is_running: bool,
    /// Task attempts that the source knows, where that is known before it is read.
    pub task_attempts: u64,
    /// Other evidence of the same run.
    pub left_aside: Vec<LeftAside>,
}

/// Why a path gave no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStatus {
    /// Not an event log, or of no use as one.
    Skipped,
    /// A log without any event yet.
    Empty,
    /// It should be readable and is not.
    Failed,
}

/// The verdict on a path that gave no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedPath {
    /// The path as shown to the user.
    pub path: String,
    /// What became of it.
    pub status: PathStatus,
    /// Why, in words.
    pub reason: String,
    /// What the user can do, when there is something.
    pub hint: Option<String>,
}

/// All that was found, in the order of the paths.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Runs that can be read.
    pub runs: Vec<RunSource>,
    /// Every other path, with its verdict.
    pub skipped: Vec<SkippedPath>,
}

/// Why a source the user named cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path has no characters, as that of a variable which is not set.
    #[error("an empty path")]
    NoPath,
    /// A URL of a store that is not read.
    #[error("{path}: only local files are read so far")]
    Remote {
        /// The URL as typed.
        path: String,
    },
    /// There is nothing at the path.
    #[error("{path}: no such file or directory")]
    NotFound {
        /// The path as shown to the user.
        path: String,
    },
    /// The path exists but may not be read.
    #[error("{path}: permission denied")]
    Denied {
        /// The path as shown to the user.
        path: String,
    },
    /// Reading failed in another way.
    #[error("{path}: cannot be read: {error}")]
    Unreadable {
        /// The path as shown to the user.
        path: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

impl SourceError {
    pub(crate) fn from_io(path: &str, error: io::Error) -> SourceError {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing && path.is_empty() {
            return SourceError::NoPath;
        }
        let path = path.to_owned();
        if is_missing && scheme(&path).is_some() {
            return SourceError::Remote { path };
        }
        match error.kind() {
            io::ErrorKind::NotFound => SourceError::NotFound { path },
            io::ErrorKind::PermissionDenied => SourceError::Denied { path },
            _ => SourceError::Unreadable { path, error },
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SourceError::NoPath => "name a log; a variable of the shell may not be set",
            SourceError::Remote { path } => pipe_hint(path),
            SourceError::NotFound { .. } => {
                "check the path; an application that ends renames its log, dropping the suffix .inprogress"
            }
            SourceError::Denied { .. } => {
                "Spark writes event logs readable by owner and group only: use that account, or copy the log"
            }
            SourceError::Unreadable { .. } => "copy the log to a local disk and try again",
        }
    }
}

/// The scheme of a URL. One letter is a drive of Windows.
fn scheme(path: &str) -> Option<&str> {
    let (scheme, rest) = path.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (is_scheme && (rest.starts_with("//") || matches!(scheme, "dbfs" | "file" if rest.starts_with('/'))))
        .then_some(scheme)
}

/// How to read a log of a store that is not read, by the tool its users have.
fn pipe_hint(url: &str) -> &'static str {
    match scheme(url).unwrap_or_default().to_ascii_lowercase().as_str() {
        "file" => "name the path alone, without the scheme `file:`",
        "s3" | "s3a" | "s3n" => "pipe it: `aws s3 cp s3://... - | emberscope summary -`, or copy it",
        "gs" => "pipe it: `gcloud storage cat gs://... | emberscope summary -`, or copy it",
        "http" | "https" => "pipe it: `curl -fsS https://... | emberscope summary -`, or download it",
        "dbfs" => "copy it: `databricks fs cp -r dbfs:/... DIR`, then name DIR",
        _ => "pipe it: `hdfs dfs -cat ... | emberscope summary -`, or copy it",
    }
}

/// Finds the runs at `source`: a file, a directory of any depth, or `-` for standard input.
///
/// Inside a directory nothing is an error: every file and every unreadable folder gets a verdict. What was named
/// itself is read more willingly than what a directory happens to hold: it may begin with lines that are no
/// events.
///
/// # Errors
/// When `source` itself does not exist or cannot be read.
pub fn discover(source: &str) -> Result<Discovery, SourceError> {
    if source == "-" {
        return pipe(Stdin::new());
    }
    let path = Path::new(source);
    let failed = |error| SourceError::from_io(source, error);
    let meta = std::fs::metadata(path).map_err(failed)?;
    let mut assembler = Assembler::default();
    if meta.is_dir() {
        walk::walk(path, &mut assembler).map_err(failed)?;
    } else if meta.is_file() {
        // Tell right away, as an error, what only shows when a file is opened.
        drop(LocalFile::open(path).map_err(failed)?);
        assembler.named(Member {
            name: source.to_owned(),
            len: Some(meta.len()),
            modified_ms: crate::input::modified_ms(&meta),
            origin: Origin::Local(path.to_owned()),
        });
    } else if is_open_pipe(path) {
        let file = std::fs::File::open(path).map_err(failed)?;
        return pipe(Stdin::from_reader(source, Box::new(file)));
    } else {
        // Opening a named pipe nobody writes to would wait for ever.
        let hint = format!("if it is a pipe, read it from standard input: `- < {source}`");
        assembler.skip(source, PathStatus::Skipped, "a device, socket or named pipe, not a file", Some(hint));
    }
    let mut discovery = assembler.finish();
    if discovery.runs.is_empty() && discovery.skipped.is_empty() {
        discovery.skipped.push(SkippedPath {
            path: source.to_owned(),
            status: PathStatus::Empty,
            reason: "no files in this directory".to_owned(),
            hint: None,
        });
    }
    Ok(discovery)
}

/// As [`discover`], for an input that is at hand: what was fetched from elsewhere, or made in memory. It is treated
/// like a file the user named.
pub fn discover_input(input: Arc<dyn Input>) -> Discovery {
    let mut assembler = Assembler::default();
    assembler.named(Member::from_input(input));
    assembler.finish()
}

/// Whether the path is a pipe some process already opened for us, as the shell's `<(command)` gives it.
fn is_open_pipe(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc") || path == Path::new("/dev/stdin")
}

fn pipe(stdin: Stdin) -> Result<Discovery, SourceError> {
    let mut assembler = Assembler::default();
    let name = stdin.name().to_owned();
    assembler.piped(stdin).map_err(|error| SourceError::from_io(&name, error))?;
    Ok(assembler.finish())
}

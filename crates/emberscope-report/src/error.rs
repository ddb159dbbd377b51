//! What can go wrong: always with the path it is about, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file or directory could not be written.
    #[error("{}: cannot be {action}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Parquet could not be encoded.
    #[error("{}: cannot be written as Parquet: {source}", path.display())]
    Parquet {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
    /// Rows do not fit their table: a mistake in a table's definition.
    #[error("table {table}: {source}")]
    Table {
        /// Which.
        table: &'static str,
        /// Why not.
        source: arrow_schema::ArrowError,
    },
    /// The destination makes no sense.
    #[error("{message}")]
    Destination {
        /// What is wrong with it.
        message: String,
        /// What would be right.
        hint: String,
    },
    /// Another process writes the same run to the same place.
    #[error("{}: another process is writing this run here", dir.display())]
    Busy {
        /// Where.
        dir: PathBuf,
    },
    /// The list of a run's files cannot be read, so that its files cannot be told from others.
    #[error("{}: not a list of files that this version wrote: {reason}", path.display())]
    Manifest {
        /// Which.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Writing did not end in time.
    #[error("{}: not written after {seconds} s", dir.display())]
    CloseTimeout {
        /// Where.
        dir: PathBuf,
        /// How long it was waited for.
        seconds: f64,
    },
}

impl ReportError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> ReportError {
        let path = path.to_owned();
        move |source| ReportError::Io { path, action, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } => io_hint(source).to_owned(),
            Self::Parquet { source, .. } => {
                let text = source.to_string();
                if text.contains("os error 28") || text.contains("os error 27") {
                    DISK_FULL.to_owned()
                } else {
                    "nothing was left under a final name; run it again when the cause is gone".to_owned()
                }
            }
            Self::Table { .. } => "this is a mistake in emberscope; please report it".to_owned(),
            Self::Destination { hint, .. } => hint.clone(),
            Self::Busy { .. } => "wait for it, or choose another directory".to_owned(),
            Self::Manifest { .. } => {
                "move this file and the report files beside it away, then run it again".to_owned()
            }
            Self::CloseTimeout { .. } => {
                "raise --close-timeout; what was written so far can be taken over with --recover".to_owned()
            }
        }
    }
}

const DISK_FULL: &str = "the disk or a limit on file sizes is full; reports written before are untouched: make room and run it again";

fn io_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => DISK_FULL,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a directory that you may write to"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file stands where a directory should be: choose another directory"
        }
        io::ErrorKind::NotFound => "check the path",
        _ => "reports written before are untouched; run it again when the cause is gone",
    }
}

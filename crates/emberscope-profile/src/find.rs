//! Which recordings belong to a run: `{{APP_ID}}/profile-driver.jfr`, `{{APP_ID}}/profile-exec-<id>.jfr`
//! and their rotated parts, below the directories that were named.

use emberscope_jfr::open::{OpenError, Recording, is_recording_name, open};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Directories with recordings.
#[derive(Clone, Debug, Default)]
pub struct Places {
    directories: Vec<PathBuf>,
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct PlaceError {
    name: String,
    reason: String,
}

/// A file that is named like a recording, in the state it was found in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordingFile {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes on disk.
    pub bytes: u64,
    /// Last modification, epoch milliseconds.
    pub modified_ms: u128,
}

impl Places {
    /// The directories of these names.
    ///
    /// # Errors
    /// When one is no directory.
    pub fn new(names: &[String]) -> Result<Places, PlaceError> {
        let directory = |name: &String| {
            let failed = |reason: String| PlaceError { name: name.clone(), reason };
            let path = std::fs::canonicalize(name).map_err(|error| failed(error.to_string()))?;
            if path.is_dir() { Ok(path) } else { Err(failed("no directory".to_owned())) }
        };
        Ok(Places { directories: names.iter().map(directory).collect::<Result<_, _>>()? })
    }

    /// Whether no directory was named.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }

    /// The files of an application, in order. Those that lie in a named directory itself are of the
    /// application whose id the directory bears, and where there is `is_only` one run, of that.
    ///
    /// What links lead to outside of the directories is not there.
    pub fn files(&self, application_id: Option<&str>, is_only: bool) -> Vec<RecordingFile> {
        // An id comes from a log: it must not lead anywhere else.
        let is_name =
            |id: &&str| !id.is_empty() && *id != "." && *id != ".." && !id.contains(['/', '\\', '\0']);
        let id = application_id.filter(is_name);
        let mut files = Vec::new();
        for root in &self.directories {
            let is_its_own = id.is_some() && root.file_name().and_then(|name| name.to_str()) == id;
            if is_only || is_its_own {
                files.extend(files_in(root, root));
            }
            if let Some(id) = id {
                files.extend(files_in(&root.join(id), root));
            }
        }
        files.sort();
        files.dedup();
        files
    }
}

fn files_in(directory: &Path, root: &Path) -> Vec<RecordingFile> {
    // A directory that is not there holds nothing, and one that cannot be read holds nothing that can be.
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let file = |path: PathBuf| {
        let is_named = path.file_name().and_then(|name| name.to_str()).is_some_and(is_recording_name);
        let real = std::fs::canonicalize(&path).ok().filter(|real| is_named && real.starts_with(root))?;
        let meta = std::fs::metadata(&real).ok().filter(Metadata::is_file)?;
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ms = modified.map_or(0, |time| time.as_millis());
        Some(RecordingFile { path: real, bytes: meta.len(), modified_ms })
    };
    entries.flatten().filter_map(|entry| file(entry.path())).collect()
}

/// Opens files, and tells of each that cannot be opened why. Recordings are called as their files are, without
/// directories.
pub fn open_files(files: &[RecordingFile]) -> (Vec<Recording>, Vec<OpenError>) {
    let (mut recordings, mut failed) = (Vec::new(), Vec::new());
    for file in files {
        match open(&file.path.to_string_lossy()) {
            Ok(found) => recordings.extend(found),
            Err(error) => failed.push(error),
        }
    }
    for recording in &mut recordings {
        if let Some(at) = recording.name.rfind('/') {
            recording.name.drain(..=at);
        }
    }
    (recordings, failed)
}

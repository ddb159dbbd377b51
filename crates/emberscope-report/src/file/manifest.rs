//! The list of a run's files, by which they are told from other runs' and replaced as a whole.

use super::{Format, RunKey, in_progress};
use crate::ReportError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the manifest's shape.
const VERSION: u32 = 1;

/// How far writing has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Files are being written; `files` are those of before.
    Writing,
    /// All files are whole and get their names; `files` are the new ones.
    Promoting,
    /// `files` are in their places.
    #[default]
    Complete,
    /// `files` are in their places and hold what a dead writer had written.
    Recovered,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Name.
    pub name: String,
    /// Table.
    pub report: String,
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The list of a run's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this shape.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Application id.
    pub application_id: Option<String>,
    /// Attempt id.
    pub attempt_id: Option<String>,
    /// Where the run was read from.
    pub source: String,
    /// Ending of the files' names.
    pub format: String,
    /// How far writing has come.
    pub state: State,
    /// Files that are, or are to be, in their places.
    pub files: Vec<ManifestFile>,
    /// Files that are being written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// Files that were written while the run went on. They say less than those in `pending`, but they are whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<String>,
    /// Files of before that the new ones do not replace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obsolete: Vec<String>,
    /// As it was before writing began.
    #[serde(skip)]
    before: State,
}

fn stem(run: &str, extension: &str) -> String {
    format!(".emberscope-{run}-{extension}")
}

impl Manifest {
    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(stem(&self.run, &self.format) + ".manifest")
    }

    /// The manifest of a run; an empty one where there is none.
    pub(super) fn load(dir: &Path, run: &RunKey, format: Format) -> Result<Manifest, ReportError> {
        let empty = Manifest {
            version: VERSION,
            run: run.id().to_string(),
            application_id: run.application_id.clone(),
            attempt_id: run.attempt_id.clone(),
            source: run.source.clone(),
            format: format.extension().to_owned(),
            state: State::Complete,
            files: Vec::new(),
            pending: Vec::new(),
            live: Vec::new(),
            obsolete: Vec::new(),
            before: State::Complete,
        };
        let found = Manifest::read(&empty.path(dir))?;
        Ok(Manifest { source: run.source.clone(), ..found.unwrap_or(empty) })
    }

    /// Reads a manifest; `None` where there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Manifest>, ReportError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ReportError::Io { path: path.to_owned(), action: "read", source }),
        };
        let damaged = |reason: String| ReportError::Manifest { path: path.to_owned(), reason };
        let manifest: Manifest =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if manifest.version != VERSION {
            return Err(damaged(format!("its version is {}, not {VERSION}", manifest.version)));
        }
        // Names are joined to a directory and removed: they must not lead out of it.
        let files = manifest.files.iter().map(|file| &file.name);
        for name in files.chain(&manifest.pending).chain(&manifest.live).chain(&manifest.obsolete) {
            if name.contains('/') || name.contains('\\') || !name.contains("-reports-") {
                return Err(damaged(format!("{name} is no name of a report's file")));
            }
        }
        Ok(Some(manifest))
    }

    /// Writes it, at once or not at all.
    pub(super) fn save(&self, dir: &Path) -> Result<(), ReportError> {
        let path = self.path(dir);
        let written = path.with_extension("manifest.inprogress");
        let json = serde_json::to_vec(self)
            .map_err(|error| ReportError::Manifest { path: path.clone(), reason: error.to_string() })?;
        let write = || {
            let mut file = File::create(&written)?;
            file.write_all(&json)?;
            // While files are written a lost list is no loss: what is in progress is known by its name.
            if self.state != State::Writing {
                file.sync_all()?;
            }
            std::fs::rename(&written, &path)
        };
        write().map_err(ReportError::io(&path, "written"))?;
        if self.state == State::Writing { Ok(()) } else { sync_dir(dir) }
    }

    /// Goes on where a writer stopped: puts whole files in their places, removes what is not whole.
    pub(super) fn settle(&mut self, dir: &Path) -> Result<(), ReportError> {
        match self.state {
            State::Complete | State::Recovered => {
                self.before = self.state;
                return Ok(());
            }
            State::Writing => {
                let of_others = self.pending_of_others(dir);
                let live = std::mem::take(&mut self.live);
                for name in std::mem::take(&mut self.pending).into_iter().chain(live) {
                    // A name is listed before its file exists, so that it may have become another run's.
                    if !of_others.contains(&name) {
                        remove(&in_progress(dir, &name))?;
                    }
                }
                if self.files.is_empty() {
                    return remove(&self.path(dir));
                }
            }
            State::Promoting => {
                for file in &self.files {
                    let from = in_progress(dir, &file.name);
                    let to = dir.join(&file.name);
                    match std::fs::rename(&from, &to) {
                        // In its place already.
                        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                        done => done.map_err(ReportError::io(&to, "put in its place"))?,
                    }
                }
                sync_dir(dir)?;
                for name in std::mem::take(&mut self.obsolete) {
                    remove(&dir.join(name))?;
                }
                for name in std::mem::take(&mut self.live) {
                    remove(&in_progress(dir, &name))?;
                }
                self.pending.clear();
            }
        }
        self.state = State::Complete;
        self.save(dir)
    }

    /// Files that other runs are writing in the same place.
    fn pending_of_others(&self, dir: &Path) -> Vec<String> {
        let own = self.path(dir);
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let manifests = entries.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            *path != own && name.starts_with(".emberscope-") && name.ends_with(".manifest")
        });
        // One that cannot be read is its own run's trouble.
        manifests
            .filter_map(|path| Manifest::read(&path).ok().flatten())
            .flat_map(|manifest| manifest.pending.into_iter().chain(manifest.live))
            .collect()
    }

    /// Makes it say what it said before writing began; nobody is left to tell when that fails.
    pub(super) fn restore(&mut self, dir: &Path) {
        self.state = self.before;
        self.pending.clear();
        self.live.clear();
        if self.files.is_empty() {
            _ = std::fs::remove_file(self.path(dir));
        } else {
            _ = self.save(dir);
        }
    }

    /// Makes what a dead writer left the run's files.
    pub(super) fn take_over(&mut self, dir: &Path, files: Vec<ManifestFile>) -> Result<(), ReportError> {
        self.pending.clear();
        self.live.clear();
        self.files = files;
        self.state = State::Recovered;
        self.save(dir)
    }
}

/// Makes names of files last through a loss of power. Not every system lets a directory be opened.
pub(super) fn sync_dir(dir: &Path) -> Result<(), ReportError> {
    match File::open(dir) {
        Ok(open) if cfg!(unix) => open.sync_all().map_err(ReportError::io(dir, "written")),
        _ => Ok(()),
    }
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), ReportError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(ReportError::io(path, "removed")),
    }
}

/// Held by the one writer of a run's files; gone with its process.
pub(super) struct RunLock {
    path: PathBuf,
    _file: File,
}

impl RunLock {
    pub(super) fn take(dir: &Path, run: &RunKey, format: Format) -> Result<RunLock, ReportError> {
        let path = dir.join(stem(&run.id().to_string(), format.extension()) + ".lock");
        match RunLock::at(&path)? {
            Some(lock) => Ok(lock),
            None => Err(ReportError::Busy { dir: dir.to_owned() }),
        }
    }

    /// `None` when another process holds it.
    pub(super) fn of_manifest(dir: &Path, manifest: &Manifest) -> Result<Option<RunLock>, ReportError> {
        RunLock::at(&dir.join(stem(&manifest.run, &manifest.format) + ".lock"))
    }

    fn at(path: &Path) -> Result<Option<RunLock>, ReportError> {
        loop {
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(ReportError::io(path, "created"))?;
            if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
                return Ok(None);
            }
            // Its last holder may have removed it between opening and locking.
            if is_same(&file, path) {
                return Ok(Some(RunLock { path: path.to_owned(), _file: file }));
            }
        }
    }
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(found)) => held.ino() == found.ino() && held.dev() == found.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same(_: &File, _: &Path) -> bool {
    true
}

impl Drop for RunLock {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

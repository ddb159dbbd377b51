//! Taking over what dead writers left.

use super::in_progress;
use super::manifest::{Manifest, ManifestFile, RunLock, State, remove, sync_dir};
use crate::ReportError;
use crate::schema::Report;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// Its whole lines have its final name now.
    Lines {
        /// Which.
        path: PathBuf,
        /// How many rows.
        rows: u64,
        /// Bytes of a last line that was cut.
        cut_bytes: u64,
    },
    /// It was whole and only had to be put in its place.
    Whole {
        /// Which.
        path: PathBuf,
    },
    /// Removed: the run's earlier reports are whole.
    Superseded {
        /// Which.
        path: PathBuf,
    },
    /// Left where it is: Parquet without its end cannot be read. The report has to be run again.
    Unreadable {
        /// Which.
        path: PathBuf,
    },
    /// Left alone: it is being written.
    Busy {
        /// Which.
        path: PathBuf,
    },
}

/// Takes over what dead writers left in `dir` and below.
pub fn recover(dir: &Path) -> Result<Vec<Recovered>, ReportError> {
    let mut found = Vec::new();
    recover_below(dir, 0, &mut found)?;
    Ok(found)
}

/// Deeper than any destination; symbolic links are not followed.
const DEPTH: usize = 32;

fn recover_below(dir: &Path, depth: usize, found: &mut Vec<Recovered>) -> Result<(), ReportError> {
    let entries = std::fs::read_dir(dir).map_err(ReportError::io(dir, "read"))?;
    let mut dirs = Vec::new();
    let mut manifests = Vec::new();
    let mut orphans = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ReportError::io(dir, "read"))?;
        let kind = entry.file_type().map_err(ReportError::io(&entry.path(), "read"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            dirs.push(entry.path());
        } else if name.starts_with(".emberscope-") && name.ends_with(".manifest") {
            manifests.push(entry.path());
        } else if let Some(name) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".inprogress"))
            && name.contains("-reports-")
        {
            orphans.push(name.to_owned());
        }
    }
    manifests.sort();
    for path in manifests {
        let Some(mut manifest) = Manifest::read(&path)? else { continue };
        let Some(_lock) = RunLock::of_manifest(dir, &manifest)? else {
            let written = || manifest.pending.iter().chain(&manifest.live);
            found.extend(written().map(|name| Recovered::Busy { path: dir.join(name) }));
            orphans.retain(|name| !written().any(|written| written == name));
            continue;
        };
        let names: Vec<String> = manifest
            .pending
            .iter()
            .chain(&manifest.live)
            .cloned()
            .chain(manifest.files.iter().map(|file| file.name.clone()))
            .collect();
        recover_run(dir, &mut manifest, found)?;
        orphans.retain(|name| !names.contains(name));
    }
    orphans.sort();
    for name in orphans {
        // No manifest knows it: its writer died just after creating it.
        take_over_file(dir, &name, found)?;
    }
    dirs.sort();
    for path in dirs {
        if depth < DEPTH {
            recover_below(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

fn recover_run(dir: &Path, manifest: &mut Manifest, found: &mut Vec<Recovered>) -> Result<(), ReportError> {
    match manifest.state {
        State::Complete | State::Recovered => Ok(()),
        State::Promoting => {
            let left =
                manifest.files.iter().map(|file| &file.name).filter(|name| in_progress(dir, name).exists());
            found.extend(left.map(|name| Recovered::Whole { path: dir.join(name) }));
            manifest.settle(dir)
        }
        State::Writing if !manifest.files.is_empty() => {
            found.extend(manifest.pending.iter().map(|name| Recovered::Superseded { path: dir.join(name) }));
            manifest.settle(dir)
        }
        State::Writing => {
            let mut files = Vec::new();
            // Of a run that was followed to its end, the files written meanwhile are whole; those that were to take
            // their place are not.
            let (taken, left) = match manifest.live.is_empty() {
                true => (manifest.pending.clone(), Vec::new()),
                false => (manifest.live.clone(), manifest.pending.clone()),
            };
            for name in left {
                remove(&in_progress(dir, &name))?;
            }
            for name in taken {
                files.extend(take_over_file(dir, &name, found)?);
            }
            manifest.take_over(dir, files)
        }
    }
}

fn take_over_file(
    dir: &Path,
    name: &str,
    found: &mut Vec<Recovered>,
) -> Result<Option<ManifestFile>, ReportError> {
    let from = in_progress(dir, name);
    let path = dir.join(name);
    let mut file = match File::options().read(true).write(true).open(&from) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ReportError::Io { path: from, action: "read", source }),
    };
    if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
        found.push(Recovered::Busy { path });
        return Ok(None);
    }
    if !name.ends_with(".json") {
        found.push(Recovered::Unreadable { path: from });
        return Ok(None);
    }
    if path.exists() {
        // Somebody else's file has the name by now.
        remove(&from)?;
        found.push(Recovered::Superseded { path });
        return Ok(None);
    }
    let (rows, bytes, all) = whole_lines(&mut file).map_err(ReportError::io(&from, "read"))?;
    file.set_len(bytes).and_then(|()| file.sync_all()).map_err(ReportError::io(&from, "written"))?;
    std::fs::rename(&from, &path).map_err(ReportError::io(&path, "put in its place"))?;
    sync_dir(dir)?;
    found.push(Recovered::Lines { path, rows, cut_bytes: all - bytes });
    let report = name.split("-reports-").next().and_then(Report::from_name);
    let report = report.map_or("", Report::name).to_owned();
    Ok(Some(ManifestFile { name: name.to_owned(), report, rows, bytes }))
}

/// Number of whole lines, bytes up to the last one's end, and all bytes.
fn whole_lines(file: &mut File) -> std::io::Result<(u64, u64, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; 256 << 10];
    let (mut rows, mut whole, mut at) = (0, 0, 0);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((rows, whole, at));
        }
        rows += memchr::memchr_iter(b'\n', &buffer[..n]).count() as u64;
        if let Some(last) = memchr::memrchr(b'\n', &buffer[..n]) {
            whole = at + last as u64 + 1;
        }
        at += n as u64;
    }
}

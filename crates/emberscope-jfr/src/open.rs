//! From what the user names to recordings: files, directories, archives, and whose they are.

use crate::notes::{NoteKind, Notes};
use emberscope_log::archive::Archive;
use emberscope_log::codec::{Codec, Decoder, SNIFF_BYTES, StreamEnd, is_zip, sniff};
use emberscope_log::input::{Input, LocalFile, Stdin, read_head};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::NamedTempFile;

/// A recording that can be read.
pub struct Recording {
    /// The path as shown to the user.
    pub name: String,
    /// Id of the executor whose JVM it is of: `driver`, or what the file's name says.
    pub executor: String,
    pub(crate) input: Arc<dyn Input>,
    pub(crate) notes: Notes,
    /// Where it was unpacked to; removed with it.
    _unpacked: Option<NamedTempFile>,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("name", &self.name).field("executor", &self.executor).finish()
    }
}

/// Why something that was named is no recording.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error("{name}: {source}")]
    Io {
        /// What was named.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error("{name}: no recording of Java Flight Recorder")]
    Foreign {
        /// What was named.
        name: String,
    },
    /// A directory or an archive without recordings.
    #[error("{name}: no recording in it")]
    Nothing {
        /// What was named.
        name: String,
    },
}

impl OpenError {
    /// In words, with the file's name alone.
    pub fn without_directory(&self) -> String {
        let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        match self {
            OpenError::Io { name, source } => format!("{}: {source}", base(name)),
            OpenError::Foreign { name } => OpenError::Foreign { name: base(name) }.to_string(),
            OpenError::Nothing { name } => OpenError::Nothing { name: base(name) }.to_string(),
        }
    }

    /// What could be done.
    pub fn hint(&self) -> &'static str {
        match self {
            OpenError::Io { .. } => "name a file that can be read",
            OpenError::Foreign { .. } => {
                "recordings start with FLR; they are what the JDK's recorder (`-XX:StartFlightRecording`) and \
                 async-profiler (`jfr,file=x.jfr`) write, as they are or packed with gzip, zstd, lz4 or zip"
            }
            OpenError::Nothing { .. } => {
                "the names of recordings end in .jfr, .jfr.gz, .jfr.zst, .jfr.lz4 or .zip"
            }
        }
    }
}

/// The recordings that `name` leads to: a file, a directory of them, an archive, or `-`.
///
/// # Errors
/// When there is none. Of a directory, what is no recording is passed over.
pub fn open(name: &str) -> Result<Vec<Recording>, OpenError> {
    let at = |source| OpenError::Io { name: name.to_owned(), source };
    if name == "-" {
        let stdin = Stdin::new();
        stdin.spool().map_err(at)?;
        return open_input(Arc::new(stdin), name);
    }
    if Path::new(name).is_dir() {
        return open_directory(name);
    }
    open_input(Arc::new(LocalFile::open(name).map_err(at)?), name)
}

/// What the names of packed recordings have behind `.jfr`.
const PACKED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// Whether a file is named like a recording, or an archive of them.
pub fn is_recording_name(name: &str) -> bool {
    name.ends_with(".zip") || without_packing(name).ends_with(".jfr")
}

fn without_packing(name: &str) -> &str {
    PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn open_directory(name: &str) -> Result<Vec<Recording>, OpenError> {
    let at = |source| OpenError::Io { name: name.to_owned(), source };
    let entries = std::fs::read_dir(name).map_err(at)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(at)?;
    paths.retain(|path| path.is_file());
    let mut names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.retain(|name| is_recording_name(name));
    names.sort();
    let mut recordings = Vec::new();
    for name in names {
        match open(&name) {
            Ok(found) => recordings.extend(found),
            Err(OpenError::Io { name, source }) => return Err(OpenError::Io { name, source }),
            Err(OpenError::Foreign { .. } | OpenError::Nothing { .. }) => {}
        }
    }
    match recordings.is_empty() {
        true => Err(OpenError::Nothing { name: name.to_owned() }),
        false => Ok(recordings),
    }
}

/// The recordings in an input.
///
/// # Errors
/// When there is none.
pub fn open_input(input: Arc<dyn Input>, name: &str) -> Result<Vec<Recording>, OpenError> {
    let at = |source| OpenError::Io { name: name.to_owned(), source };
    let head = read_head(&*input, SNIFF_BYTES).map_err(at)?;
    if is_zip(&head) {
        return open_archive(input, name);
    }
    if matches!(sniff(&head), Codec::Gzip | Codec::Zstd | Codec::Lz4Frame) {
        return Ok(vec![unpacked(input, name)?]);
    }
    if !head.starts_with(b"FLR\0") {
        return Err(OpenError::Foreign { name: name.to_owned() });
    }
    Ok(vec![Recording {
        name: name.to_owned(),
        executor: executor(name),
        input,
        notes: Notes::default(),
        _unpacked: None,
    }])
}

fn open_archive(input: Arc<dyn Input>, name: &str) -> Result<Vec<Recording>, OpenError> {
    let at = |source| OpenError::Io { name: name.to_owned(), source };
    let archive = Archive::open(input).map_err(at)?;
    let mut recordings = Vec::new();
    for entry in archive.entries() {
        if !without_packing(&entry.name).ends_with(".jfr") {
            continue;
        }
        let inner = format!("{name}!/{}", entry.name);
        let input: Arc<dyn Input> = Arc::new(archive.open_entry(entry, inner.clone()).map_err(at)?);
        recordings.push(unpacked(input, &inner)?);
    }
    match recordings.is_empty() {
        true => Err(OpenError::Nothing { name: name.to_owned() }),
        false => Ok(recordings),
    }
}

/// Unpacks into a temporary file: chunks are read back and forth, and memory must not hold them.
fn unpacked(input: Arc<dyn Input>, name: &str) -> Result<Recording, OpenError> {
    let at = |source| OpenError::Io { name: name.to_owned(), source };
    let mut decoder = Decoder::new(input).map_err(at)?;
    let mut file = NamedTempFile::new().map_err(at)?;
    let mut buffer = vec![0; 1 << 18];
    let mut is_recording = None;
    loop {
        let length = decoder.read(&mut buffer);
        if length == 0 {
            break;
        }
        if !*is_recording.get_or_insert_with(|| buffer[..length].starts_with(b"FLR\0")) {
            break;
        }
        file.write_all(&buffer[..length]).map_err(at)?;
    }
    if is_recording != Some(true) {
        return Err(OpenError::Foreign { name: name.to_owned() });
    }
    let mut notes = Notes::default();
    if let Some(StreamEnd::Truncated { reason } | StreamEnd::Corrupt { reason }) = decoder.end() {
        notes.add(NoteKind::DamagedInput, || reason.clone());
    }
    let input = LocalFile::open_as(file.path().to_owned(), name.to_owned()).map_err(at)?;
    Ok(Recording {
        name: name.to_owned(),
        executor: executor(name),
        input: Arc::new(input),
        notes,
        _unpacked: Some(file),
    })
}

/// Whose recording a file is, by its name: `profile-driver.jfr`, `profile-exec-<id>.jfr`, both also in
/// rotated parts `<name>.<n>.jfr`; else what follows `exec` or `executor`, else the name itself.
pub fn executor(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = without_packing(name);
    let name = name.strip_suffix(".jfr").unwrap_or(name);
    if let Some(id) = name.strip_prefix("profile-exec-") {
        return match id.rsplit_once('.') {
            Some((id, part)) if !id.is_empty() && is_number(part) => id.to_owned(),
            _ => id.to_owned(),
        };
    }
    let lower = name.to_ascii_lowercase();
    for mark in ["executor", "exec"] {
        let Some(at) = lower.find(mark) else { continue };
        let rest = name[at + mark.len()..].trim_start_matches(['-', '_']);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits > 0 {
            return rest[..digits].to_owned();
        }
    }
    if lower.contains("driver") { "driver".to_owned() } else { name.to_owned() }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_by_name() {
        for (path, id) in [
            ("a/profile-driver.jfr", "driver"),
            ("profile-driver.2.jfr", "driver"),
            ("a/profile-exec-12.jfr", "12"),
            ("profile-exec-12.3.jfr.gz", "12"),
            ("profile-exec-a-b.c.jfr", "a-b.c"),
            ("ap-exec-0.jfr", "0"),
            ("jdk-exec1-003.jfr", "1"),
            ("executor_7.jfr.zst", "7"),
            ("profile-exec-5.0.jfr.lz4", "5"),
            ("jdk-driver-000.jfr", "driver"),
            ("a.zip!/x/profile-exec-4.jfr", "4"),
            ("recording.jfr", "recording"),
        ] {
            assert_eq!(executor(path), id, "{path}");
        }
    }
}

//! A log that is still being written: its bytes as they come.
//!
//! Whoever writes is waited for where a reader of a finished log would find the end. The end is there when the
//! writer renamed the log, when the application's end was read, when nothing came for a while (if that was asked
//! for), when a [`Stop`] says so, and, of a pipe, when it is closed.

use crate::block::Block;
use crate::input::{Input, LocalFile, Stdin};
use crate::layout;
use crate::scan::{Reader, ScanOptions};
use crate::source::{Discovery, Member, Provenance, RunSource, SourceError, SourceKind, discover};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a file that gave nothing is asked again.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// How long the writer may take to close and rename a log after the application's end.
const CLOSING: Duration = Duration::from_secs(2);
/// What Spark appends to the names of files it still writes.
const IN_PROGRESS: &str = ".inprogress";

/// Tells a reader that waits when there is nothing to wait for. Copies are one and the same.
#[derive(Clone, Debug)]
pub struct Stop(Arc<StopState>);

#[derive(Debug)]
struct StopState {
    /// Nothing more is waited for.
    is_over: AtomicBool,
    /// From when on the application's end was known.
    ended: Mutex<Option<Instant>>,
    /// How long nothing may come.
    idle_end: Option<Duration>,
}

impl Stop {
    fn new(idle_end: Option<Duration>) -> Self {
        Stop(Arc::new(StopState { is_over: AtomicBool::new(false), ended: Mutex::new(None), idle_end }))
    }

    /// What is there now is all.
    pub fn now(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }

    /// The application has ended: its writer is closing the log.
    pub fn application_ended(&self) {
        self.ended().get_or_insert_with(Instant::now);
    }

    fn ended(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no more bytes are to be expected of a log that gave the last ones at `last`.
    fn is_over(&self, last: Instant, is_in_progress: bool) -> bool {
        let grace = if is_in_progress { CLOSING } else { Duration::ZERO };
        self.0.is_over.load(Ordering::Relaxed)
            || self.ended().is_some_and(|ended| ended.elapsed() >= grace)
            || self.0.idle_end.is_some_and(|most| last.elapsed() >= most)
    }
}

/// A log to follow.
#[derive(Debug)]
pub struct Followed {
    source: RunSource,
    path: PathBuf,
    members: Members,
    stop: Stop,
}

/// Opens what is to be followed: a file, the directory of a rolled log, or `-` for standard input. `idle_end` is how
/// long a file may not grow before that counts as its end.
///
/// # Errors
/// There is nothing at the path, it cannot be read, or it is a directory that holds no log or several.
pub fn open(path: &str, idle_end: Option<Duration>) -> Result<Followed, SourceError> {
    let stop = Stop::new(idle_end);
    if path == "-" {
        let members = Members::Pipe(Member::from_input(Arc::new(Stdin::new())));
        return Ok(Followed::new(path, SourceKind::Stdin, members, stop));
    }
    let unreadable = |error: io::Error| SourceError::from_io(path, error);
    let found = existing(path);
    let meta = std::fs::metadata(&found).map_err(unreadable)?;
    if meta.is_dir() {
        return rolled(path, stop);
    }
    drop(LocalFile::open(&found).map_err(unreadable)?);
    let label = found.display().to_string();
    let mut followed = Followed::new(&label, SourceKind::File, Members::File(found), stop);
    let name = layout::log_name(layout::file_name(&label.replace('\\', "/")));
    followed.source.in_progress = name.in_progress;
    followed.source.app_id_hint = name.app_id;
    followed.source.attempt_hint = name.attempt;
    Ok(followed)
}

/// The file of this name, or the one that is to get it.
fn existing(path: &str) -> PathBuf {
    let in_progress = PathBuf::from(format!("{path}{IN_PROGRESS}"));
    let is_there = Path::new(path).exists() || !in_progress.exists();
    if is_there { PathBuf::from(path) } else { in_progress }
}

fn rolled(path: &str, stop: Stop) -> Result<Followed, SourceError> {
    let Discovery { runs, .. } = discover(path)?;
    let wrong = |what: &str| SourceError::Unreadable {
        path: path.to_owned(),
        error: io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()),
    };
    let [source] = <[RunSource; 1]>::try_from(runs)
        .map_err(|runs| wrong(if runs.is_empty() { "no event log in it" } else { "several logs in it" }))?;
    if source.kind != SourceKind::Rolled {
        return Err(wrong("not the directory of a rolled log; name the log itself"));
    }
    let members = Members::Rolled(source.members.iter().map(|member| PathBuf::from(&member.name)).collect());
    let mut followed = Followed::new(&source.label, SourceKind::Rolled, members, stop);
    followed.source = RunSource { members: Vec::new(), ..source };
    Ok(followed)
}

impl Followed {
    fn new(label: &str, kind: SourceKind, members: Members, stop: Stop) -> Self {
        let source = RunSource {
            label: label.to_owned(),
            kind,
            members: Vec::new(),
            missing_members: Vec::new(),
            compacted: false,
            in_progress: None,
            app_id_hint: None,
            attempt_hint: None,
            provenance: Provenance::default(),
        };
        Followed { source, path: PathBuf::from(label), members, stop }
    }

    /// What is known of the log before it is read; its members come with the blocks.
    pub fn source(&self) -> &RunSource {
        &self.source
    }

    /// Tells the reader when to stop waiting.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// How the log is found once it was read: where its writer has renamed it, under its last name.
    pub fn found_again(&self) -> Option<RunSource> {
        if self.source.kind == SourceKind::Stdin {
            return None;
        }
        let label = self.path.display().to_string();
        let last =
            label.strip_suffix(IN_PROGRESS).filter(|last| !self.path.exists() && Path::new(last).exists());
        let runs = discover(last.unwrap_or(&label)).ok()?.runs;
        <[RunSource; 1]>::try_from(runs).ok().map(|[run]| run)
    }

    /// Starts to read.
    pub fn blocks(&self, options: ScanOptions) -> Blocks {
        let (members, stop) = (self.members.clone(), self.stop.clone());
        let begun = Arc::new(Mutex::new(Vec::new()));
        let names = Arc::clone(&begun);
        let next = move |number| {
            let member = members.get(number, &stop)?;
            names.lock().unwrap_or_else(PoisonError::into_inner).push(member.name.clone());
            Some(member)
        };
        Blocks { reader: Reader::eager(Box::new(next), options), begun }
    }
}

type NextMember = Box<dyn FnMut(usize) -> Option<Member> + Send>;

/// The blocks of a log that is followed.
pub struct Blocks {
    reader: Reader<NextMember>,
    /// Names of members that were begun and not yet told.
    begun: Arc<Mutex<Vec<String>>>,
}

impl Blocks {
    /// Waits for the next lines, and gives them with the names of members begun since the last call; `None` at the end.
    /// `spare` is a buffer that is no longer needed.
    pub fn next(&mut self, spare: Vec<u8>) -> Option<(Block, Vec<String>)> {
        let block = self.reader.next_block(spare)?;
        let begun = std::mem::take(&mut *self.begun.lock().unwrap_or_else(PoisonError::into_inner));
        Some((block, begun))
    }
}

#[derive(Clone, Debug)]
enum Members {
    Pipe(Member),
    File(PathBuf),
    /// Those that were there at the beginning; others are found when their turn comes.
    Rolled(Vec<PathBuf>),
}

impl Members {
    fn get(&self, number: usize, stop: &Stop) -> Option<Member> {
        match self {
            Members::Pipe(member) => (number == 0).then(|| member.clone()),
            Members::File(path) => (number == 0).then(|| member(path, None, stop)),
            Members::Rolled(known) => {
                let path = nth(known, number)?;
                let next = Next { known: known.clone(), number: number + 1 };
                Some(member(&path, Some(next), stop))
            }
        }
    }
}

fn member(path: &Path, next: Option<Next>, stop: &Stop) -> Member {
    let name = path.display().to_string();
    match GrowingFile::open(path, next, stop.clone()) {
        Ok(file) => Member::from_input(Arc::new(file)),
        // Opening it again tells why.
        Err(_) => Member::from_input(Arc::new(Gone { name })),
    }
}

/// The member of a rolled log with this number, counted from the first that was there.
fn nth(known: &[PathBuf], number: usize) -> Option<PathBuf> {
    if let Some(path) = known.get(number) {
        return Some(path.clone());
    }
    let last = known.last()?;
    let index = index_of(last)? + (number + 1 - known.len()) as u64;
    let entries = std::fs::read_dir(last.parent()?).ok()?;
    let mut found = entries.flatten().map(|entry| entry.path()).filter(|path| index_of(path) == Some(index));
    found.next()
}

fn index_of(path: &Path) -> Option<u64> {
    let rest = path.file_name()?.to_str()?.strip_prefix("events_")?;
    rest.split('_').next()?.parse().ok()
}

/// Where a rolled log goes on.
#[derive(Clone, Debug)]
struct Next {
    known: Vec<PathBuf>,
    number: usize,
}

impl Next {
    fn has_begun(&self) -> bool {
        nth(&self.known, self.number).is_some()
    }

    /// Whether Spark says, by the name of an empty file, that it still writes.
    fn is_in_progress(&self) -> bool {
        let dir = self.known.last().and_then(|path| path.parent());
        let names = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name()).any(|name| {
            let name = name.to_string_lossy();
            name.starts_with("appstatus_") && name.ends_with(IN_PROGRESS)
        })
    }
}

/// A file whose end is waited for.
#[derive(Debug)]
struct GrowingFile {
    path: PathBuf,
    file: LocalFile,
    /// Of a rolled log: what comes after it.
    next: Option<Next>,
    stop: Stop,
}

impl GrowingFile {
    fn open(path: &Path, next: Option<Next>, stop: Stop) -> io::Result<GrowingFile> {
        Ok(GrowingFile { path: path.to_owned(), file: LocalFile::open(path)?, next, stop })
    }

    /// Whether nothing will be appended any more.
    fn is_whole(&self, last: Instant) -> bool {
        let (is_done, is_in_progress) = match &self.next {
            Some(next) => {
                let is_in_progress = next.is_in_progress();
                (next.has_begun() || !is_in_progress, is_in_progress)
            }
            None => {
                let name = self.path.to_string_lossy().replace('\\', "/");
                // Spark gives a finished log its name; any other name tells nothing.
                match layout::log_name(layout::file_name(&name)).in_progress {
                    Some(true) => (!self.path.exists(), true),
                    named => (named == Some(false), false),
                }
            }
        };
        is_done || self.stop.is_over(last, is_in_progress)
    }
}

impl Input for GrowingFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    /// Not known before it is whole; so decoders hand on what came instead of waiting for a full buffer.
    fn len(&self) -> Option<u64> {
        None
    }

    fn modified_ms(&self) -> Option<i64> {
        self.file.modified_ms()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let last = Instant::now();
        loop {
            // Asked first: what was appended before it was whole is read all the same.
            let is_whole = self.is_whole(last);
            let n = self.file.read_at(offset, buf)?;
            if n > 0 || is_whole || buf.is_empty() {
                return Ok(n);
            }
            std::thread::sleep(ASK_EVERY);
        }
    }
}

/// A file that was there and is not any more.
#[derive(Debug)]
struct Gone {
    name: String,
}

impl Input for Gone {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        None
    }

    fn modified_ms(&self) -> Option<i64> {
        None
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        LocalFile::open(&self.name).and_then(|_| Err(io::ErrorKind::NotFound.into()))
    }
}

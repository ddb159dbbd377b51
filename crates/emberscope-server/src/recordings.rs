//! Recordings of runs: looked for when somebody asks, opened once for each state of their files.

use crate::catalog::{Entry, Listing};
use crate::error::ServerError;
use crate::opened::Opened;
use emberscope_jfr::fold::FoldError;
use emberscope_profile::find::{Places, RecordingFile};
use emberscope_profile::recorded::{Recorded, Work};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs whose recordings are kept open, with the graphs that were made of them.
const KEPT_RUNS: usize = 4;
/// Requests that wait for a graph at a time, before others are turned away.
const WAITING: usize = 16;

/// Recordings of runs.
#[derive(Debug)]
pub(crate) struct Recordings {
    places: Places,
    threads: usize,
    /// By run, the one used last at the end.
    known: Mutex<Vec<(String, Arc<Recorded>)>>,
    /// Held while recordings are read, which takes all threads there are.
    reading: Mutex<()>,
    waiting: AtomicUsize,
}

/// Why a graph is not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingsError {
    /// Too many ask at a time.
    #[error("others are waiting for flame graphs already")]
    Busy,
    /// A recording cannot be read.
    #[error(transparent)]
    Fold(#[from] FoldError),
}

/// Set when the client that asked is gone.
pub(crate) type Gone = Arc<AtomicBool>;

impl Recordings {
    /// Of the directories of these names.
    pub(crate) fn new(names: &[String], threads: usize) -> Result<Recordings, ServerError> {
        let places = Places::new(names).map_err(ServerError::Recordings)?;
        Ok(Recordings {
            places,
            threads,
            known: Mutex::default(),
            reading: Mutex::default(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// The files of a run, as they are now.
    pub(crate) fn files(&self, listing: &Listing, entry: &Entry) -> Vec<RecordingFile> {
        if self.places.is_empty() {
            return Vec::new();
        }
        // Attempts of one application share its directory.
        let is_only = listing.applications.len() <= 1;
        self.places.files(entry.glance.application_id.as_deref(), is_only)
    }

    /// Does something with the recordings of a run, one request at a time; `None` where there are none.
    pub(crate) fn with<T>(
        &self,
        listing: &Listing,
        entry: &Entry,
        opened: &Opened,
        gone: &Gone,
        work: impl FnOnce(&Recorded, &Work) -> T,
    ) -> Result<Option<T>, RecordingsError> {
        let files = self.files(listing, entry);
        if files.is_empty() {
            return Ok(None);
        }
        let _waiting = Waiting::of(&self.waiting)?;
        let _one_at_a_time = lock(&self.reading);
        if gone.load(Ordering::Relaxed) {
            return Err(FoldError::Stopped.into());
        }
        let recorded = self.opened(entry, files, opened)?;
        let how = Work { threads: self.threads, stop: Some(Arc::clone(gone)) };
        Ok(Some(work(&recorded, &how)))
    }

    fn opened(
        &self,
        entry: &Entry,
        files: Vec<RecordingFile>,
        opened: &Opened,
    ) -> Result<Arc<Recorded>, RecordingsError> {
        // A log that grew knows more tasks.
        let key = format!("{} {:?}", entry.id, entry.stamp);
        let mut known = lock(&self.known);
        if let Some(at) = known.iter().position(|(id, recorded)| *id == key && recorded.files() == files) {
            let found = known.remove(at);
            let recorded = Arc::clone(&found.1);
            known.push(found);
            return Ok(recorded);
        }
        let recorded = Arc::new(Recorded::open(files, &opened.run)?);
        known.retain(|(id, _)| !id.starts_with(&entry.id));
        known.push((key, Arc::clone(&recorded)));
        if known.len() > KEPT_RUNS {
            known.remove(0);
        }
        Ok(recorded)
    }
}

/// One of those who wait.
struct Waiting<'w>(&'w AtomicUsize);

impl<'w> Waiting<'w> {
    fn of(count: &'w AtomicUsize) -> Result<Waiting<'w>, RecordingsError> {
        // Counted first, so that it is given back whatever happens.
        let waiting = Waiting(count);
        match count.fetch_add(1, Ordering::Relaxed) < WAITING {
            true => Ok(waiting),
            false => Err(RecordingsError::Busy),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The recordings of a run, opened once, with what was made of them so far.

use crate::find::{RecordingFile, open_files};
use crate::tasks::{intervals, task_table};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{FoldError, Profile, Request, Thread, fold};
use emberscope_jfr::inspect::{Inventory, inspect, threads};
use emberscope_jfr::open::Recording;
use emberscope_jfr::select::Selection;
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::tree::Limits;
use emberscope_model::run::Run;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nodes of a tree while it is built: what is beyond is weight of `[other]`, so that memory is bounded
/// whatever a recording holds.
const TREE: Limits = Limits { max_nodes: 1 << 20, max_depth: crate::ask::MOST_DEPTH };
/// Memory for graphs that were made.
const KEPT_BYTES: usize = 64 << 20;

/// The recordings of a run.
#[derive(Debug)]
pub struct Recorded {
    recordings: Vec<Recording>,
    files: Vec<RecordingFile>,
    tasks: TaskTable,
    is_tasks_from_log: bool,
    unreadable: Vec<String>,
    inventory: Mutex<Option<Arc<Inventory>>>,
    threads: Mutex<BTreeMap<String, Arc<Vec<Thread>>>>,
    kept: Mutex<Kept>,
}

/// How a graph is made.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Files that are read at a time.
    pub threads: usize,
    /// Set by who does not want the answer any more.
    pub stop: Option<Arc<AtomicBool>>,
}

/// What tells one folded profile from another.
type Key = (FlameEvent, Selection, bool);

/// Profiles by what was asked, the one used last at the end.
#[derive(Debug, Default)]
struct Kept {
    profiles: Vec<(Key, Arc<Profile>)>,
}

impl Recorded {
    /// Opens files and joins them with the tasks of a run. Files that are no recording are passed over.
    ///
    /// # Errors
    /// When a recording cannot be read any more.
    pub fn open(files: Vec<RecordingFile>, run: &Run) -> Result<Recorded, FoldError> {
        let (mut recordings, failed) = open_files(&files);
        let tasks = task_table(Some(run), &mut recordings)?;
        Ok(Recorded {
            recordings,
            files,
            tasks,
            is_tasks_from_log: !intervals(run).is_empty(),
            // Without the path, which is nobody's business who only sees the page.
            unreadable: failed.iter().map(|error| error.without_directory()).collect(),
            inventory: Mutex::default(),
            threads: Mutex::default(),
            kept: Mutex::default(),
        })
    }

    /// The recordings, by executor and part.
    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    /// The files that were opened.
    pub fn files(&self) -> &[RecordingFile] {
        &self.files
    }

    /// Which thread ran which task.
    pub fn tasks(&self) -> &TaskTable {
        &self.tasks
    }

    /// Whether the event log says which thread ran which task.
    pub fn is_tasks_from_log(&self) -> bool {
        self.is_tasks_from_log
    }

    /// What of the files could not be opened, and why.
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Executors with recordings: the driver first, then by number.
    pub fn executors(&self) -> Vec<&str> {
        let mut ids: Vec<&str> =
            self.recordings.iter().map(|recording| recording.executor.as_str()).collect();
        ids.sort_by_key(|id| (*id != "driver", id.parse::<u64>().unwrap_or(u64::MAX), *id));
        ids.dedup();
        ids
    }

    /// Everything but stacks, read when first asked for.
    ///
    /// # Errors
    /// When a recording cannot be read.
    pub fn inventory(&self) -> Result<Arc<Inventory>, FoldError> {
        let mut known = lock(&self.inventory);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(inspect(&self.recordings, &Selection::default())?);
        *known = Some(Arc::clone(&read));
        Ok(read)
    }

    /// The threads of an executor's JVM, from the dictionaries of its recordings.
    ///
    /// # Errors
    /// When a recording cannot be read.
    pub fn threads(&self, executor: &str) -> Result<Arc<Vec<Thread>>, FoldError> {
        let mut known = lock(&self.threads);
        if let Some(known) = known.get(executor) {
            return Ok(Arc::clone(known));
        }
        let selection = Selection { executors: vec![executor.to_owned()], ..Selection::default() };
        let read = Arc::new(threads(&self.recordings, &selection)?);
        known.insert(executor.to_owned(), Arc::clone(&read));
        Ok(read)
    }

    /// Folds what is selected, or finds it among what was folded before.
    ///
    /// # Errors
    /// When a recording cannot be read, or the work was given up.
    pub fn fold(
        &self,
        event: FlameEvent,
        selection: &Selection,
        keep_heat: bool,
        work: &Work,
    ) -> Result<Arc<Profile>, FoldError> {
        let key = (event, selection.clone(), keep_heat);
        if let Some(known) = lock(&self.kept).find(&key) {
            return Ok(known);
        }
        let request = Request {
            selection: selection.clone(),
            limits: TREE,
            threads: work.threads.max(1),
            keep_heat,
            stop: work.stop.clone(),
            ..Request::all(event)
        };
        let profile = Arc::new(fold(&self.recordings, &request, &self.tasks)?);
        lock(&self.kept).keep(key, Arc::clone(&profile));
        Ok(profile)
    }
}

impl Kept {
    fn find(&mut self, key: &Key) -> Option<Arc<Profile>> {
        let at = self.profiles.iter().position(|(known, _)| known == key)?;
        let found = self.profiles.remove(at);
        let profile = Arc::clone(&found.1);
        self.profiles.push(found);
        Some(profile)
    }

    fn keep(&mut self, key: Key, profile: Arc<Profile>) {
        self.profiles.push((key, profile));
        let mut bytes: usize = self.profiles.iter().map(|(_, profile)| profile.memory_bytes()).sum();
        while bytes > KEPT_BYTES && !self.profiles.is_empty() {
            bytes -= self.profiles.remove(0).1.memory_bytes();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

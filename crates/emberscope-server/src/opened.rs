//! Runs that were read: each once, however many ask at a time, and the ones used last kept in memory.

use crate::catalog::{Entry, Stamp, is_inside};
use crate::spark_rest::Figures;
use emberscope_analysis::context::{Context, Digests};
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose_in};
use emberscope_analysis::thresholds::Thresholds;
use emberscope_analysis::views::Subject;
use emberscope_analysis::views::timeline::TimelineIndex;
use emberscope_log::block::ParseOptions;
use emberscope_log::scan::ScanOptions;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_store::RunCache;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A run that was read, and what was made of it so far.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The run.
    pub(crate) run: Run,
    /// Estimate of the memory it takes.
    pub(crate) bytes: u64,
    digests: OnceLock<Digests>,
    timeline: OnceLock<TimelineIndex>,
    diagnosis: OnceLock<Diagnosis>,
    figures: OnceLock<Figures>,
}

impl Opened {
    fn of(run: Run) -> Opened {
        let bytes = weight(&run);
        Opened {
            run,
            bytes,
            digests: OnceLock::new(),
            timeline: OnceLock::new(),
            diagnosis: OnceLock::new(),
            figures: OnceLock::new(),
        }
    }

    /// The diagnosis, made when first asked for.
    pub(crate) fn diagnosis(&self) -> &Diagnosis {
        self.diagnosis.get_or_init(|| {
            let options = Options::default();
            diagnose_in(&self.context(&options.thresholds), &options)
        })
    }

    /// The diagnosis, if it was made.
    pub(crate) fn known_diagnosis(&self) -> Option<&Diagnosis> {
        self.diagnosis.get()
    }

    /// Lifetimes times cores over all executors, if that was looked at.
    pub(crate) fn known_core_ms(&self) -> Option<i64> {
        self.digests.get()?.occupancy.allocated_core_ms
    }

    /// What looking over the tasks gives, made when first asked for.
    pub(crate) fn digests(&self) -> &Digests {
        self.digests.get_or_init(|| Digests::of(&self.run))
    }

    /// What timelines are made of, made when first asked for.
    pub(crate) fn timeline(&self) -> &TimelineIndex {
        self.timeline.get_or_init(|| TimelineIndex::of(&self.run, self.digests()))
    }

    /// What detectors know.
    pub(crate) fn context<'o>(&'o self, thresholds: &'o Thresholds) -> Context<'o> {
        Context::again(&self.run, thresholds, self.digests())
    }

    /// What views are made of.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { run: &self.run, digests: self.digests(), diagnosis: self.diagnosis() }
    }

    /// What the monitoring API counts of stages, made when first asked for.
    pub(crate) fn figures(&self) -> &Figures {
        self.figures.get_or_init(|| Figures::of(&self.run))
    }
}

/// Memory of a run, as far as it grows with the log.
fn weight(run: &Run) -> u64 {
    let texts: usize = run.strings.texts().iter().map(|text| 2 * text.len() + 48).sum();
    let parts = run.stages.len() * 2048 + run.jobs.len() * 512 + run.sql_executions.len() * 2048;
    let small = run.storage.rdds.len() * 96 + run.task_errors.len() * 96 + run.task_threads.len() * 96;
    let rows: usize = run.stages.iter().map(|stage| stage.tasks.rows()).sum();
    let timeline = rows * TimelineIndex::BYTES_A_TASK;
    (timeline + run.task_memory_bytes() + run.blobs.memory_bytes() + texts + parts + small + (1 << 20)) as u64
}

/// Why a run cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// A link leads out of what is served by now.
    #[error("the log is no longer where it was")]
    Moved,
    /// There is nothing in it.
    #[error("no Spark event could be read")]
    NoEvents,
}

/// Time without a change after which a log is taken not to grow any more.
const QUIET: Duration = Duration::from_secs(300);

/// Whether a log will stay as it is, so that keeping its run is worth it.
fn is_settled(entry: &Entry, run: &Run) -> bool {
    let modified = u64::try_from(entry.stamp.modified_ms()).map(Duration::from_millis).unwrap_or_default();
    let age = SystemTime::UNIX_EPOCH.checked_add(modified).and_then(|time| time.elapsed().ok());
    run.application.has_end || age.is_some_and(|age| age > QUIET)
}

#[derive(Debug, Default)]
struct Slot {
    run: Mutex<Option<Arc<Opened>>>,
    last_used: AtomicU64,
}

/// What is counted for `/metrics`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) runs: usize,
    pub(crate) bytes: u64,
    pub(crate) reads: u64,
    /// Runs that were on disk already.
    pub(crate) found: u64,
    pub(crate) read_time: Duration,
    pub(crate) evictions: u64,
}

/// Runs in memory, up to a size.
#[derive(Debug)]
pub(crate) struct Runs {
    limit_bytes: u64,
    scan: ScanOptions,
    /// Runs on disk.
    cache: Option<Arc<RunCache>>,
    clock: AtomicU64,
    state: Mutex<State>,
    /// Held while a log is read: reading takes all threads there are, so several at a time would only
    /// take more memory.
    reading: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    slots: FxHashMap<(String, Stamp), Arc<Slot>>,
    sizes: FxHashMap<(String, Stamp), u64>,
    counts: Counts,
    /// The log that is being read, bytes read and all bytes of it.
    reading: Option<((String, Stamp), Arc<AtomicU64>, u64)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runs {
    /// Keeps runs up to `limit_bytes`; the one asked for last stays whatever its size.
    pub(crate) fn new(limit_bytes: u64, scan: ScanOptions, cache: Option<RunCache>) -> Runs {
        Runs {
            limit_bytes,
            scan,
            cache: cache.map(Arc::new),
            clock: AtomicU64::new(0),
            state: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// The run of a log; read now unless it is in memory. Blocks.
    ///
    /// # Errors
    /// When the log holds no run any more.
    pub(crate) fn open(&self, entry: &Arc<Entry>) -> Result<Arc<Opened>, OpenError> {
        let key = (entry.id.clone(), entry.stamp);
        let slot = Arc::clone(lock(&self.state).slots.entry(key.clone()).or_default());
        slot.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        // Whoever comes second waits here for the first.
        let mut run = lock(&slot.run);
        if let Some(run) = &*run {
            return Ok(Arc::clone(run));
        }
        match self.read(entry) {
            Ok(opened) => {
                *run = Some(Arc::clone(&opened));
                drop(run);
                self.keep(&key, opened.bytes);
                let for_pages = Arc::clone(&opened);
                // Made while the first answer is on its way, so that the first timeline need not wait for it.
                std::thread::spawn(move || _ = for_pages.timeline());
                Ok(opened)
            }
            Err(error) => {
                drop(run);
                lock(&self.state).slots.remove(&key);
                Err(error)
            }
        }
    }

    fn read(&self, entry: &Arc<Entry>) -> Result<Arc<Opened>, OpenError> {
        let _one_at_a_time = lock(&self.reading);
        // Also a moment ago it may have been replaced by a link.
        if entry.root.as_ref().is_some_and(|root| !is_inside(&entry.source, root)) {
            return Err(OpenError::Moved);
        }
        let kept = self.cache.as_ref().and_then(|cache| Some((Arc::clone(cache), cache.key(&entry.source)?)));
        if let Some((cache, key)) = &kept
            && let Some(run) = cache.find(key)
        {
            lock(&self.state).counts.found += 1;
            return Ok(Arc::new(Opened::of(run)));
        }
        let start = Instant::now();
        let parse = ParseOptions { keep_plan_text: true, without_cursor: false };
        let read = Arc::new(AtomicU64::new(0));
        let key = (entry.id.clone(), entry.stamp);
        lock(&self.state).reading = Some((key, Arc::clone(&read), entry.stamp.bytes()));
        // Threads report out of order.
        let run =
            load(&entry.source, self.scan, parse, &|bytes| _ = read.fetch_max(bytes, Ordering::Relaxed));
        let mut state = lock(&self.state);
        state.reading = None;
        state.counts.reads += 1;
        state.counts.read_time += start.elapsed();
        drop(state);
        if run.trust.events == 0 {
            return Err(OpenError::NoEvents);
        }
        let opened = Arc::new(Opened::of(run));
        if let Some((cache, key)) = kept
            && is_settled(entry, &opened.run)
        {
            let opened = Arc::clone(&opened);
            // Nobody waits for it. What cannot be kept is read again next time.
            std::thread::spawn(move || _ = cache.keep(&key, &opened.run));
        }
        Ok(opened)
    }

    /// Counts a run in, and forgets others: earlier states of its log first, then those used longest ago.
    fn keep(&self, key: &(String, Stamp), bytes: u64) {
        let mut state = lock(&self.state);
        let earlier: Vec<_> =
            state.sizes.keys().filter(|known| known.0 == key.0 && known.1 != key.1).cloned().collect();
        for known in earlier {
            state.forget(&known);
        }
        state.sizes.insert(key.clone(), bytes);
        while state.sizes.values().sum::<u64>() > self.limit_bytes {
            let used = |key: &(String, Stamp)| {
                state.slots.get(key).map_or(0, |slot| slot.last_used.load(Ordering::Relaxed))
            };
            let oldest = state.sizes.keys().filter(|known| *known != key).min_by_key(|known| used(known));
            let Some(oldest) = oldest.cloned() else { break };
            state.forget(&oldest);
            state.counts.evictions += 1;
        }
    }

    /// The run of a log if it is in memory, in whatever state of the log.
    pub(crate) fn known(&self, entry: &Entry) -> Option<Arc<Opened>> {
        let slot = lock(&self.state).slots.get(&(entry.id.clone(), entry.stamp)).cloned()?;
        // While it is being read, it is not known.
        slot.run.try_lock().ok()?.clone()
    }

    /// Bytes that were read of a log, and all bytes of it, while it is read.
    pub(crate) fn progress(&self, entry: &Entry) -> Option<(u64, u64)> {
        let state = lock(&self.state);
        let (key, read, total) = state.reading.as_ref()?;
        let is_it = key.0 == entry.id && key.1 == entry.stamp;
        is_it.then(|| (read.load(Ordering::Relaxed).min(*total), *total))
    }

    pub(crate) fn counts(&self) -> Counts {
        let state = lock(&self.state);
        Counts { runs: state.sizes.len(), bytes: state.sizes.values().sum(), ..state.counts }
    }
}

impl State {
    fn forget(&mut self, key: &(String, Stamp)) {
        self.slots.remove(key);
        self.sizes.remove(key);
    }
}

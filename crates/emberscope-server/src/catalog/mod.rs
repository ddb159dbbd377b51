//! Which runs there are, told from names, heads and tails of files only.

mod glance;
mod roots;

pub(crate) use glance::Glance;
pub(crate) use roots::is_inside;

use crate::error::ServerError;
use emberscope_log::source::{RunSource, SourceKind, discover};
use glance::{Budget, glance};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// What tells whether a log is as it was: it grew, was renamed or written anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    members: usize,
    bytes: u64,
    modified_ms: i64,
}

impl Stamp {
    fn of(source: &RunSource) -> Stamp {
        Stamp {
            members: source.members.len(),
            bytes: source.members.iter().filter_map(|member| member.len).sum(),
            modified_ms: source.members.iter().filter_map(|member| member.modified_ms).max().unwrap_or(0),
        }
    }

    /// Last modification, epoch milliseconds.
    pub(crate) fn modified_ms(&self) -> i64 {
        self.modified_ms
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// One log.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// By which pages and our API name it; says nothing of paths.
    pub(crate) id: String,
    /// Where it is.
    pub(crate) source: RunSource,
    /// The directory or file that was named; `None` of a run that was gathered elsewhere.
    pub(crate) root: Option<PathBuf>,
    /// State of its files.
    pub(crate) stamp: Stamp,
    /// What its head and tail say.
    pub(crate) glance: Glance,
}

/// All logs at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    /// Logs, newest first.
    pub(crate) entries: Vec<Arc<Entry>>,
    by_id: FxHashMap<String, usize>,
    /// Applications in the order of their newest attempt, each with its attempts, newest first.
    pub(crate) applications: Vec<Vec<usize>>,
    /// Paths that gave no run.
    pub(crate) skipped: usize,
}

impl Listing {
    fn of(mut entries: Vec<Arc<Entry>>, skipped: usize) -> Listing {
        entries.sort_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.id.cmp(&b.id)));
        let by_id = entries.iter().enumerate().map(|(at, entry)| (entry.id.clone(), at)).collect();
        let applications = applications(&entries);
        Listing { entries, by_id, applications, skipped }
    }

    /// A log by its id.
    pub(crate) fn entry(&self, id: &str) -> Option<&Arc<Entry>> {
        self.by_id.get(id).map(|at| &self.entries[*at])
    }
}

fn newest(entry: &Entry) -> (i64, i64) {
    (entry.glance.start_ms.unwrap_or(entry.stamp.modified_ms), entry.stamp.modified_ms)
}

/// Groups logs by application; of several logs of one attempt the one written last counts.
fn applications(entries: &[Arc<Entry>]) -> Vec<Vec<usize>> {
    let mut order: Vec<Vec<usize>> = Vec::new();
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, entry) in entries.iter().enumerate() {
        let Some(id) = entry.glance.application_id.as_deref() else { continue };
        let group = *known.entry(id).or_insert_with(|| {
            order.push(Vec::new());
            order.len() - 1
        });
        let same = order[group]
            .iter_mut()
            .find(|other| entries[**other].glance.attempt_id == entry.glance.attempt_id);
        match same {
            Some(other) if entries[*other].stamp.modified_ms < entry.stamp.modified_ms => *other = at,
            Some(_) => {}
            None => order[group].push(at),
        }
    }
    order
}

/// Finds logs and keeps track of them.
#[derive(Debug)]
pub(crate) struct Catalog {
    roots: Vec<String>,
    gathered: Vec<RunSource>,
    threads: usize,
    listing: RwLock<Arc<Listing>>,
}

impl Catalog {
    /// Looks for logs at `roots`; `gathered` are there besides.
    ///
    /// # Errors
    /// When a root cannot be looked at, or nothing at all is found.
    pub(crate) fn open(
        roots: Vec<String>,
        gathered: Vec<RunSource>,
        threads: usize,
    ) -> Result<Catalog, ServerError> {
        if roots.iter().any(|root| root == "-") {
            return Err(ServerError::Pipe);
        }
        let catalog = Catalog { roots, gathered, threads, listing: RwLock::default() };
        for root in &catalog.roots {
            // Told as an error now; later a directory may come and go.
            if !std::path::Path::new(root).is_dir() {
                discover(root)?;
            }
        }
        catalog.refresh();
        let has_run = catalog.listing().entries.iter().any(|entry| entry.glance.has_events);
        if !has_run && !catalog.has_directory() {
            return Err(ServerError::NoLogs { paths: catalog.roots.join(", ") });
        }
        Ok(catalog)
    }

    /// Logs may yet be written into a directory.
    fn has_directory(&self) -> bool {
        self.roots.iter().any(|root| std::path::Path::new(root).is_dir())
    }

    /// What there is, as of the last look.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks again. Files that are as they were are not opened.
    pub(crate) fn refresh(&self) {
        let before = self.listing();
        let mut skipped = 0;
        let mut found: BTreeMap<String, (RunSource, Option<PathBuf>)> = BTreeMap::new();
        for source in &self.gathered {
            found.insert(opaque_id(&source.label), (source.clone(), None));
        }
        for root in &self.roots {
            let Ok(discovery) = discover(root) else { continue };
            skipped += discovery.skipped.len();
            let Ok(real) = std::fs::canonicalize(root) else { continue };
            for source in discovery.runs {
                if source.kind == SourceKind::Stdin || !is_inside(&source, &real) {
                    skipped += 1;
                    continue;
                }
                found.entry(opaque_id(&source.label)).or_insert((source, Some(real.clone())));
            }
        }
        let entries = self.look(&before, &found.into_iter().collect::<Vec<_>>());
        let listing = Arc::new(Listing::of(entries, skipped));
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = listing;
    }

    /// Glances at new and changed logs, several at a time.
    fn look(&self, before: &Listing, found: &[(String, (RunSource, Option<PathBuf>))]) -> Vec<Arc<Entry>> {
        let budget = Budget::new();
        let part = found.len().div_ceil(self.threads.max(1)).max(1);
        let look_at = |(id, (source, root)): &(String, (RunSource, Option<PathBuf>))| {
            let stamp = Stamp::of(source);
            match before.entry(id) {
                Some(known) if known.stamp == stamp => Arc::clone(known),
                _ => {
                    let glance = glance(source, &budget);
                    Arc::new(Entry {
                        id: id.clone(),
                        source: source.clone(),
                        root: root.clone(),
                        stamp,
                        glance,
                    })
                }
            }
        };
        std::thread::scope(|scope| {
            let parts: Vec<_> = found
                .chunks(part)
                .map(|part| scope.spawn(move || part.iter().map(look_at).collect::<Vec<_>>()))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        })
    }
}

/// An id that is the same as long as the log is where it is, and does not tell where.
fn opaque_id(label: &str) -> String {
    let digest = Sha256::digest(label.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

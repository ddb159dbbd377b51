//! Recordings folded into one flame tree, several files at a time.

mod chunk;
mod file;

use crate::chunk::Counts;
use crate::flame_event::FlameEvent;
use crate::frames::{FrameKind, Frames, OTHER};
use crate::heat::Strip;
use crate::index::{ChunkPlace, index};
use crate::notes::{Note, NoteKind, Notes};
use crate::open::Recording;
use crate::select::Selection;
use crate::tasks::TaskTable;
use crate::tree::{Limits, NodeId, Tree};
use file::FoldedFile;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What to make of recordings.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the graph is of.
    pub event: FlameEvent,
    /// Which samples count.
    pub selection: Selection,
    /// How large each file's tree, and that of all, may become.
    pub limits: Limits,
    /// Files that are read at a time.
    pub threads: usize,
    /// Whether each sample is kept with its time, beside the sums.
    pub keep_samples: bool,
    /// Whether weight over time is kept, by executor.
    pub keep_heat: bool,
    /// Set by who does not want the answer any more.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Request {
    /// Everything of an event, without limits, one file at a time.
    pub fn all(event: FlameEvent) -> Request {
        Request {
            event,
            selection: Selection::default(),
            limits: Limits::NONE,
            threads: 1,
            keep_samples: false,
            keep_heat: false,
            stop: None,
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// A thread of a JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Executor whose JVM it is of.
    pub executor: String,
    /// `javaThreadId`; 0 for threads of the VM.
    pub java_id: u64,
    /// Id in the operating system.
    pub os_id: u64,
    /// A name it had: Spark renames a thread for each task.
    pub name: String,
}

/// Samples with their times, in columns.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Time, epoch nanoseconds.
    pub times_ns: Vec<i64>,
    /// Position in [`Samples::names`].
    pub threads: Vec<u32>,
    /// Where its stack ends in the tree.
    pub nodes: Vec<NodeId>,
    /// Weight.
    pub weights: Vec<i64>,
    /// The threads.
    pub names: Vec<Thread>,
}

/// What recordings say of the selected samples.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What it is of.
    pub event: FlameEvent,
    /// The stacks.
    pub tree: Tree,
    /// The frames of the stacks.
    pub frames: Frames,
    /// Number of events that count.
    pub events: u64,
    /// Time of the first and the last of them, epoch nanoseconds.
    pub times_ns: Option<(i64, i64)>,
    /// Samples one by one, where they were asked for.
    pub samples: Option<Samples>,
    /// Weight over time by executor, where it was asked for.
    pub(crate) heat: Option<BTreeMap<String, Strip>>,
    /// Number of events of all types in the chunks that were read, by type.
    pub counts: BTreeMap<String, u64>,
    /// Weight by executor.
    pub executors: BTreeMap<String, i64>,
    /// What was not as it should be.
    pub notes: Vec<Note>,
}

/// Why recordings cannot be folded.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// A file cannot be read.
    #[error("{name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// Nobody wants it any more.
    #[error("given up, as was asked")]
    Stopped,
}

/// Folds what the request selects. `tasks` says which thread ran which task, where the selection asks for it.
///
/// The result does not depend on the number of threads: files are merged in their order.
///
/// # Errors
/// When a file cannot be read any more. Damage is noted and fails nothing.
pub fn fold(recordings: &[Recording], request: &Request, tasks: &TaskTable) -> Result<Profile, FoldError> {
    let plans = plan(recordings, &request.selection)?;
    let threads = request.threads.clamp(1, plans.len().max(1));
    let starts = plans.iter().flat_map(|plan| &plan.chunks).map(|chunk| chunk.header.start_ns);
    let start_ms = starts.min().unwrap_or(0).div_euclid(1_000_000);
    let next = AtomicUsize::new(0);
    let merger = Mutex::new(Merger { done: 0, profile: Profile::new(request), failed: None });
    let turn = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(at) else { return };
                    let folded = FoldedFile::read(plan, request, tasks, start_ms);
                    // Files end in any order and are merged in their own, so that no more trees than
                    // threads wait.
                    let mut merger = merger.lock().unwrap_or_else(PoisonError::into_inner);
                    while merger.done < at {
                        merger = turn.wait(merger).unwrap_or_else(PoisonError::into_inner);
                    }
                    merger.take(plan, folded);
                    turn.notify_all();
                }
            });
        }
    });
    let Merger { profile, failed, .. } = merger.into_inner().unwrap_or_else(PoisonError::into_inner);
    if request.is_stopped() {
        return Err(FoldError::Stopped);
    }
    failed.map_or(Ok(profile), Err)
}

/// A file and the chunks of it that count.
pub(crate) struct Plan<'r> {
    pub(crate) recording: &'r Recording,
    pub(crate) chunks: Vec<ChunkPlace>,
    pub(crate) notes: Notes,
}

/// The chunks of each file of the selected executors. Files of one JVM overlap: of a chunk that several
/// hold, the one with most of it counts.
pub(crate) fn plan<'r>(
    recordings: &'r [Recording],
    selection: &Selection,
) -> Result<Vec<Plan<'r>>, FoldError> {
    let mut plans = Vec::new();
    for recording in recordings.iter().filter(|one| selection.has_executor(&one.executor)) {
        let mut notes = recording.notes.clone();
        let chunks = index(&*recording.input, &mut notes)
            .map_err(|source| FoldError::Io { name: recording.name.clone(), source })?;
        plans.push(Plan { recording, chunks, notes });
    }
    let mut best: BTreeMap<(i64, i64), (bool, u64, usize, usize)> = BTreeMap::new();
    for (file, plan) in plans.iter().enumerate() {
        for (at, chunk) in plan.chunks.iter().enumerate() {
            let rank = (chunk.is_whole, chunk.end - chunk.start, file, at);
            let held = best.entry(chunk.identity()).or_insert(rank);
            if (rank.0, rank.1) > (held.0, held.1) {
                *held = rank;
            }
        }
    }
    for (file, plan) in plans.iter_mut().enumerate() {
        let Plan { chunks, notes, .. } = plan;
        let mut at = 0;
        chunks.retain(|chunk| {
            let is_best = best.get(&chunk.identity()).is_some_and(|best| (best.2, best.3) == (file, at));
            if !is_best {
                notes.add(NoteKind::RepeatedChunk, || {
                    format!("the chunk at offset {} is in another file, too, and counted there", chunk.start)
                });
            }
            at += 1;
            is_best
        });
    }
    Ok(plans)
}

impl Profile {
    /// Estimate of the memory it takes.
    pub fn memory_bytes(&self) -> usize {
        let samples = self.samples.as_ref().map_or(0, |samples| samples.times_ns.len() * 24);
        self.tree.memory_bytes() + self.frames.memory_bytes() + samples + 4096
    }

    /// The same stacks from their leaves on: below a frame are those that called it. What limits cut off a stack
    /// is below `[other]`.
    pub fn inverted(&self) -> Profile {
        let mut frames = self.frames.clone();
        let other = frames.intern(FrameKind::Mark, OTHER);
        let mut tree = Tree::new(self.tree.limits());
        let tree_of = &self.tree;
        for node in 0..tree_of.len() as NodeId {
            let above = || {
                let next = |node: &NodeId| Some(tree_of.parent(*node));
                std::iter::successors(Some(node), next).map_while(|node| tree_of.frame(node))
            };
            // All of it fitted into one number before.
            if tree_of.own(node) > 0 {
                let place = tree.place(above());
                tree.add(place, tree_of.own(node));
            }
            if tree_of.other(node) > 0 {
                let place = tree.place(std::iter::once(other).chain(above()));
                tree.add(place, tree_of.other(node));
            }
        }
        Profile { tree, frames, samples: None, heat: None, ..self.clone() }
    }

    pub(crate) fn new(request: &Request) -> Profile {
        Profile {
            event: request.event,
            tree: Tree::new(request.limits),
            frames: Frames::default(),
            events: 0,
            times_ns: None,
            samples: request.keep_samples.then(Samples::default),
            heat: request.keep_heat.then(BTreeMap::new),
            counts: Counts::new(),
            executors: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}

/// Puts files together in their order.
struct Merger {
    /// Files so far.
    done: usize,
    profile: Profile,
    failed: Option<FoldError>,
}

impl Merger {
    fn take(&mut self, plan: &Plan<'_>, folded: io::Result<FoldedFile>) {
        self.done += 1;
        match folded {
            Ok(folded) => self.merge(plan, folded),
            Err(source) => {
                let name = plan.recording.name.clone();
                self.failed.get_or_insert(FoldError::Io { name, source });
            }
        }
    }

    fn merge(&mut self, plan: &Plan<'_>, mut folded: FoldedFile) {
        let profile = &mut self.profile;
        let ids = profile.frames.adopt(&folded.frames);
        let (places, fitted) = profile.tree.merge(&folded.tree, &ids);
        if !fitted {
            folded.notes.add(NoteKind::Overflow, || "the sum of all files is too large".to_owned());
        }
        if let (Some(all), Some(mut more)) = (&mut profile.samples, folded.samples) {
            let first = all.names.len() as u32;
            all.times_ns.append(&mut more.times_ns);
            all.threads.extend(more.threads.iter().map(|thread| first + thread));
            all.nodes.extend(more.nodes.iter().map(|node| places[*node as usize].node));
            all.weights.append(&mut more.weights);
            all.names.append(&mut more.names);
        }
        if let (Some(all), Some(more)) = (&mut profile.heat, folded.heat) {
            match all.get_mut(&plan.recording.executor) {
                Some(strip) => strip.merge(more),
                None => _ = all.insert(plan.recording.executor.clone(), more),
            }
        }
        profile.events += folded.events;
        profile.times_ns = match (profile.times_ns, folded.times_ns) {
            (Some(all), Some(more)) => Some((all.0.min(more.0), all.1.max(more.1))),
            (all, more) => all.or(more),
        };
        for (name, count) in folded.counts {
            *profile.counts.entry(name).or_default() += count;
        }
        let of_executor = profile.executors.entry(plan.recording.executor.clone()).or_default();
        *of_executor = of_executor.saturating_add(folded.tree.sum());
        profile.notes.extend(folded.notes.into_notes(&plan.recording.name));
    }
}

//! One file folded: its chunks one after the other, each with its own keys.

use super::chunk::ChunkFolder;
use super::{Plan, Request, Samples, Thread};
use crate::chunk::{Chunk, Counts};
use crate::flame_event::FlameEvent;
use crate::frames::Frames;
use crate::heat::Strip;
use crate::notes::{NoteKind, Notes};
use crate::tasks::{TaskTable, Windows};
use crate::tree::{Place, Tree};
use crate::window::Window;
use rustc_hash::FxHashMap;
use std::io;

/// What a file gives.
pub(crate) struct FoldedFile {
    pub(crate) tree: Tree,
    pub(crate) frames: Frames,
    pub(crate) events: u64,
    pub(crate) times_ns: Option<(i64, i64)>,
    pub(crate) samples: Option<Samples>,
    pub(crate) heat: Option<Strip>,
    pub(crate) counts: Counts,
    pub(crate) notes: Notes,
}

/// What lives longer than a chunk.
pub(super) struct FileFolder<'r> {
    pub(super) request: &'r Request,
    /// When threads ran the selected tasks; `None` where tasks do not matter.
    pub(super) windows: Option<Windows>,
    pub(super) folded: FoldedFile,
    /// Blocks of native memory by address, with the stacks that took them.
    pub(super) blocks: FxHashMap<u64, (Place, i64)>,
    /// Objects alive at the end of the last chunk that tells.
    pub(super) live: Vec<(Place, i64)>,
    /// Threads by executor-wide identity.
    pub(super) threads: FxHashMap<(u64, u64), u32>,
    pub(super) executor: &'r str,
}

impl FoldedFile {
    /// Folds the chunks of a plan.
    ///
    /// Heat counts from `start_ms` on, epoch milliseconds.
    pub(crate) fn read(
        plan: &Plan<'_>,
        request: &Request,
        tasks: &TaskTable,
        start_ms: i64,
    ) -> io::Result<FoldedFile> {
        let query = request.selection.tasks;
        let executor = plan.recording.executor.as_str();
        let mut folder = FileFolder {
            request,
            windows: query.is_any().then(|| tasks.windows(executor, query)),
            folded: FoldedFile {
                tree: Tree::new(request.limits),
                frames: Frames::default(),
                events: 0,
                times_ns: None,
                samples: request.keep_samples.then(Samples::default),
                heat: request.keep_heat.then(|| Strip::new(start_ms)),
                counts: Counts::new(),
                notes: plan.notes.clone(),
            },
            blocks: FxHashMap::default(),
            live: Vec::new(),
            threads: FxHashMap::default(),
            executor,
        };
        let mut window = Window::new(&*plan.recording.input);
        for place in &plan.chunks {
            if request.is_stopped() {
                break;
            }
            if let Some(chunk) = Chunk::open(place, &mut window, &mut folder.folded.notes)? {
                folder.chunk(&chunk, &mut window)?;
            }
        }
        Ok(folder.finish())
    }
}

impl FileFolder<'_> {
    fn chunk(&mut self, chunk: &Chunk, window: &mut Window<'_>) -> io::Result<()> {
        let mut counts = std::mem::take(&mut self.folded.counts);
        let mut notes = Notes::default();
        let mut folder = ChunkFolder::new(self, chunk);
        chunk.visit(window, &mut folder, &mut counts, &mut notes)?;
        folder.finish();
        self.folded.counts = counts;
        self.folded.notes.merge(notes);
        Ok(())
    }

    fn finish(mut self) -> FoldedFile {
        // What is known only at the end: what was not given back, and what was alive last.
        let mut late: Vec<(Place, i64)> = match self.request.event {
            FlameEvent::Malloc => self.blocks.into_values().collect(),
            _ => self.live,
        };
        late.sort_unstable_by_key(|(place, weight)| (place.node, place.is_other, *weight));
        for (place, weight) in late {
            if !self.folded.tree.add(place, weight) {
                self.folded.notes.add(NoteKind::Overflow, || "a sum is too large for a number".to_owned());
            }
        }
        self.folded
    }

    /// The position of a thread among those of the samples.
    pub(super) fn thread(&mut self, java_id: u64, os_id: u64, name: &str) -> u32 {
        let Some(samples) = &mut self.folded.samples else { return 0 };
        // Java's id where there is one: a thread may be seen without its other.
        let key = if java_id > 0 { (java_id, 0) } else { (0, os_id) };
        *self.threads.entry(key).or_insert_with(|| {
            samples.names.push(Thread {
                executor: self.executor.to_owned(),
                java_id,
                os_id,
                name: name.to_owned(),
            });
            (samples.names.len() - 1) as u32
        })
    }
}

//! The events of a chunk, summed by its own keys first: each stack is looked up once.

use super::file::FileFolder;
use crate::chunk::{Chunk, Visitor};
use crate::event::EventKind;
use crate::flame_event::{FlameEvent, Unit, WAYS};
use crate::frames::{FrameId, FrameKind, NO_STACK, TRUNCATED};
use crate::heat::Strip;
use crate::layout::{RawFrame, Row, Slot};
use crate::names::class_name;
use crate::notes::NoteKind;
use crate::select::{samples_inside, time_inside};
use crate::tree::{Place, ROOT};
use rustc_hash::FxHashMap;

/// Keys of a stack and of the class that stands below it, 0 = none.
type Key = (u64, u64);

/// A thread of the chunk, as far as the selection is concerned.
#[derive(Clone, Copy, Debug)]
struct ThreadView {
    /// Whether its samples count at all.
    is_selected: bool,
    java_id: u64,
    /// Position among the threads of samples.
    position: u32,
}

/// What all events of one stack weigh.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    weight: i64,
    is_overflown: bool,
}

/// A block of native memory.
#[derive(Clone, Copy, Debug)]
struct Block {
    time_ns: i64,
    stack: u32,
    bytes: i64,
}

/// A sample that is kept with its time.
#[derive(Clone, Copy, Debug)]
struct KeptSample {
    time_ns: i64,
    thread: u32,
    stack: u32,
    weight: i64,
    way: usize,
}

pub(super) struct ChunkFolder<'f, 'r> {
    file: &'f mut FileFolder<'r>,
    chunk: &'f Chunk,
    is_async_profiler: bool,
    stacks: FxHashMap<Key, u32>,
    keys: Vec<Key>,
    /// By way and stack.
    sums: [Vec<Sum>; WAYS],
    /// Events that count, by way.
    events: [u64; WAYS],
    times: [Option<(i64, i64)>; WAYS],
    /// Whether the chunk has events of a way, selected or not.
    has: [bool; WAYS],
    samples: Vec<KeptSample>,
    /// By way, where it is kept.
    heat: Option<[Strip; WAYS]>,
    threads: FxHashMap<u64, ThreadView>,
    states: FxHashMap<u64, bool>,
    /// Blocks of native memory that this chunk's stacks took, by address.
    blocks: FxHashMap<u64, Block>,
    /// When blocks were given back last, by address. Threads write their events for themselves, so that one may stand
    /// before that of the block's taking.
    given_back: FxHashMap<u64, i64>,
    without_stack: u64,
}

impl Visitor for ChunkFolder<'_, '_> {
    fn wants(&self, kind: EventKind) -> bool {
        self.file.request.event.way_of(kind).is_some()
    }

    fn event(&mut self, chunk: &Chunk, kind: EventKind, row: &Row<'_>) {
        let event = self.file.request.event;
        let Some(way) = event.way_of(kind) else { return };
        if kind == EventKind::Execution && self.is_wall_sample(row) != (event == FlameEvent::Wall) {
            return;
        }
        self.has[way] = true;
        if kind == EventKind::Free {
            let address = row.number(Slot::Address) as u64;
            self.give_back(address, chunk.header.time_ns(row.number(Slot::StartTime)));
            return;
        }
        let thread = self.thread(row.number(Slot::EventThread) as u64);
        if !thread.is_selected || !self.has_state(row) {
            return;
        }
        let start_ns = chunk.header.time_ns(row.number(Slot::StartTime));
        let weight = self.weight(kind, row, start_ns, thread.java_id);
        if weight > 0 {
            self.count(way, row, start_ns, weight, thread.position);
        }
    }
}

impl<'f, 'r> ChunkFolder<'f, 'r> {
    pub(super) fn new(file: &'f mut FileFolder<'r>, chunk: &'f Chunk) -> Self {
        let heat = file.folded.heat.as_ref().map(|strip| std::array::from_fn(|_| strip.emptied()));
        ChunkFolder {
            file,
            heat,
            chunk,
            is_async_profiler: chunk.types.is_async_profiler(),
            stacks: FxHashMap::default(),
            keys: Vec::new(),
            sums: Default::default(),
            events: [0; WAYS],
            times: [None; WAYS],
            has: [false; WAYS],
            samples: Vec::new(),
            threads: FxHashMap::default(),
            states: FxHashMap::default(),
            blocks: FxHashMap::default(),
            given_back: FxHashMap::default(),
            without_stack: 0,
        }
    }

    /// Whether an execution sample is one of the wall clock.
    fn is_wall_sample(&self, row: &Row<'_>) -> bool {
        self.is_async_profiler && self.chunk.pools.state(row.number(Slot::State) as u64) != "STATE_DEFAULT"
    }

    fn thread(&mut self, key: u64) -> ThreadView {
        if let Some(view) = self.threads.get(&key) {
            return *view;
        }
        let thread = self.chunk.pools.thread(key).unwrap_or_default();
        let pattern = self.file.request.selection.thread.as_ref();
        let runs_tasks =
            self.file.windows.as_ref().is_none_or(|windows| windows.contains_key(&thread.java_id));
        let is_selected =
            runs_tasks && pattern.is_none_or(|pattern| pattern.matches(thread.java_id, &thread.name));
        let position =
            if is_selected { self.file.thread(thread.java_id, thread.os_id, &thread.name) } else { 0 };
        let view = ThreadView { is_selected, java_id: thread.java_id, position };
        self.threads.insert(key, view);
        view
    }

    fn has_state(&mut self, row: &Row<'_>) -> bool {
        let selection = &self.file.request.selection;
        if selection.state.is_none() {
            return true;
        }
        let Some(key) = row.present(Slot::State) else { return false };
        let pools = &self.chunk.pools;
        *self.states.entry(key as u64).or_insert_with(|| selection.has_state(pools.state(key as u64)))
    }

    /// What counts of an event: of a batch the samples, and of a wait the time, that are selected.
    fn weight(&self, kind: EventKind, row: &Row<'_>, start_ns: i64, java_id: u64) -> i64 {
        let header = &self.chunk.header;
        match (kind, self.file.request.event.unit()) {
            (EventKind::WallClock, _) => {
                let count = row.present(Slot::Samples).unwrap_or(1);
                let span = header.span_ns(row.number(Slot::TimeSpan));
                self.inside(java_id, |range| samples_inside(start_ns, span, count, range))
            }
            (_, Unit::Samples) => self.inside(java_id, |range| samples_inside(start_ns, 0, 1, range)),
            (_, Unit::Nanoseconds) => {
                let span = header.span_ns(row.number(Slot::Duration));
                self.inside(java_id, |range| time_inside(start_ns, span, range))
            }
            (_, Unit::Bytes) => {
                let is_inside = self.inside(java_id, |range| samples_inside(start_ns, 0, 1, range)) > 0;
                if is_inside { bytes(kind, row) } else { 0 }
            }
        }
    }

    /// Sum over the selected intervals of a thread.
    fn inside(&self, java_id: u64, part: impl Fn((i64, i64)) -> i64) -> i64 {
        let range = self.file.request.selection.range();
        let Some(windows) = &self.file.windows else { return part(range) };
        let windows = windows.get(&java_id).map(Vec::as_slice).unwrap_or_default();
        let clip = |window: &(i64, i64)| (window.0.max(range.0), window.1.min(range.1));
        windows.iter().map(clip).filter(|(from, to)| from < to).map(part).sum()
    }

    fn count(&mut self, way: usize, row: &Row<'_>, time_ns: i64, weight: i64, thread: u32) {
        let stack = self.stack(row);
        if self.file.request.event == FlameEvent::Malloc {
            self.take(row.number(Slot::Address) as u64, Block { time_ns, stack, bytes: weight });
        } else {
            let sum = &mut self.sums[way][stack as usize];
            match sum.weight.checked_add(weight) {
                Some(weight) => sum.weight = weight,
                None => sum.is_overflown = true,
            }
        }
        self.events[way] += 1;
        let times = self.times[way].get_or_insert((time_ns, time_ns));
        *times = (times.0.min(time_ns), times.1.max(time_ns));
        if let Some(heat) = &mut self.heat {
            heat[way].add(time_ns, weight);
        }
        if self.file.folded.samples.is_some() {
            self.samples.push(KeptSample { time_ns, thread, stack, weight, way });
        }
    }

    fn take(&mut self, address: u64, block: Block) {
        let is_later = |time_ns: i64| time_ns > block.time_ns;
        let was_given_back = self.given_back.get(&address).is_some_and(|time_ns| is_later(*time_ns));
        let was_taken_again = self.blocks.get(&address).is_some_and(|other| is_later(other.time_ns));
        if !was_given_back && !was_taken_again {
            self.blocks.insert(address, block);
        }
    }

    fn give_back(&mut self, address: u64, time_ns: i64) {
        if self.blocks.get(&address).is_some_and(|block| block.time_ns <= time_ns) {
            self.blocks.remove(&address);
        }
        self.file.blocks.remove(&address);
        let last = self.given_back.entry(address).or_insert(time_ns);
        *last = time_ns.max(*last);
    }

    /// The number of an event's stack in this chunk.
    fn stack(&mut self, row: &Row<'_>) -> u32 {
        let class = row.present(Slot::ObjectClass).or(row.present(Slot::LockClass)).unwrap_or(0);
        let key = (row.number(Slot::StackTrace) as u64, class as u64);
        if key.0 == 0 {
            self.without_stack += 1;
        }
        *self.stacks.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.sums.iter_mut().for_each(|sums| sums.push(Sum::default()));
            (self.keys.len() - 1) as u32
        })
    }

    /// Moves the chunk's sums into the file's tree.
    pub(super) fn finish(mut self) {
        let Some(way) = self.has.iter().position(|has| *has) else { return };
        let sums = std::mem::take(&mut self.sums[way]);
        let mut used: Vec<bool> = sums.iter().map(|sum| sum.weight > 0).collect();
        self.blocks.values().for_each(|block| used[block.stack as usize] = true);
        let places = self.places(&used);
        let folded = &mut self.file.folded;
        let is_live = self.file.request.event == FlameEvent::Live;
        if is_live {
            self.file.live.clear();
        }
        for (place, sum) in places.iter().zip(&sums).filter(|(_, sum)| sum.weight > 0) {
            let fitted = if is_live {
                self.file.live.push((*place, sum.weight));
                true
            } else {
                folded.tree.add(*place, sum.weight)
            };
            if !fitted || sum.is_overflown {
                folded.notes.add(NoteKind::Overflow, || "a sum is too large for a number".to_owned());
            }
        }
        for (address, block) in self.blocks {
            self.file.blocks.insert(address, (places[block.stack as usize], block.bytes));
        }
        if let Some(samples) = &mut folded.samples {
            for sample in self.samples.iter().filter(|sample| sample.way == way) {
                samples.times_ns.push(sample.time_ns);
                samples.threads.push(sample.thread);
                samples.nodes.push(places[sample.stack as usize].node);
                samples.weights.push(sample.weight);
            }
        }
        if let (Some(all), Some(heat)) = (&mut folded.heat, self.heat) {
            heat.into_iter().skip(way).take(1).for_each(|strip| all.merge(strip));
        }
        folded.events += self.events[way];
        folded.times_ns = match (folded.times_ns, self.times[way]) {
            (Some(all), Some(more)) => Some((all.0.min(more.0), all.1.max(more.1))),
            (all, more) => all.or(more),
        };
        for _ in 0..self.without_stack {
            folded.notes.add(NoteKind::NoStack, || "the recorder had no stack for a sample".to_owned());
        }
    }

    /// Where the stacks that are used end in the file's tree.
    fn places(&mut self, used: &[bool]) -> Vec<Place> {
        let mut methods: FxHashMap<RawFrame, FrameId> = FxHashMap::default();
        let mut places = Vec::with_capacity(self.keys.len());
        for (key, is_used) in std::mem::take(&mut self.keys).into_iter().zip(used) {
            places.push(match is_used {
                true => self.place(key, &mut methods),
                false => Place { node: ROOT, is_other: true },
            });
        }
        places
    }

    fn place(&mut self, (stack, class): Key, methods: &mut FxHashMap<RawFrame, FrameId>) -> Place {
        let pools = &self.chunk.pools;
        let folded = &mut self.file.folded;
        let frames = &mut folded.frames;
        let mut path: Vec<FrameId> = Vec::new();
        match pools.stack(stack) {
            Some((stack, raw)) => {
                if stack.is_truncated {
                    path.push(frames.intern(FrameKind::Mark, TRUNCATED));
                    folded.notes.add(NoteKind::TruncatedStack, || {
                        "a stack is deeper than the recorder keeps; a larger `stackdepth` keeps more"
                            .to_owned()
                    });
                }
                path.extend(
                    raw.iter().rev().map(|frame| {
                        *methods.entry(*frame).or_insert_with(|| frames.of_record(*frame, pools))
                    }),
                );
            }
            None => {
                path.push(frames.intern(FrameKind::Mark, NO_STACK));
                if stack != 0 {
                    folded
                        .notes
                        .add(NoteKind::NoStack, || "a stack is not in the recording's pools".to_owned());
                }
            }
        }
        if class != 0 {
            let name = class_name(pools.class(class));
            if !name.is_empty() {
                path.push(frames.intern(FrameKind::Class, &name));
            }
        }
        folded.tree.place(path.into_iter())
    }
}

/// The bytes that an event stands for.
fn bytes(kind: EventKind, row: &Row<'_>) -> i64 {
    match kind {
        EventKind::AllocationSample => row.number(Slot::Weight),
        EventKind::Malloc => row.number(Slot::Size),
        // A sample taken when a thread got a new buffer stands for the whole buffer.
        _ => row.present(Slot::TlabSize).filter(|size| *size > 0).unwrap_or(row.number(Slot::AllocationSize)),
    }
}

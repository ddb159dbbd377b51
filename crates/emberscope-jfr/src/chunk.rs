//! A chunk: its types and pools, and one pass over its events.

use crate::constants::Pools;
use crate::event::EventKind;
use crate::header::{HEADER_BYTES, Header};
use crate::index::ChunkPlace;
use crate::layout::{Layouts, Row};
use crate::metadata::Types;
use crate::notes::{NoteKind, Notes};
use crate::window::{MOST_RECORD_BYTES, Window};
use crate::wire::{Cursor, Malformed};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io;

const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;
/// The longest head of a record: size and type.
const HEAD_BYTES: usize = 18;

/// A chunk that is ready to be read.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) header: Header,
    pub(crate) types: Types,
    pub(crate) pools: Pools,
    /// Checkpoints that were read.
    pub(crate) checkpoints: u64,
    layouts: Layouts,
    start: u64,
    /// Offset behind the last event whose pools are there.
    events_end: u64,
}

/// Who looks at events.
pub(crate) trait Visitor {
    /// Whether events of a kind are of interest.
    fn wants(&self, kind: EventKind) -> bool;
    /// One event.
    fn event(&mut self, chunk: &Chunk, kind: EventKind, row: &Row<'_>);
}

/// Number of events by the name of their type.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Why a chunk cannot be read.
enum Failure {
    Io(io::Error),
    Malformed(Malformed),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

impl From<Malformed> for Failure {
    fn from(error: Malformed) -> Self {
        Failure::Malformed(error)
    }
}

/// Size, type and length of the head of a record.
#[derive(Clone, Copy, Debug)]
struct Head {
    size: u64,
    class: u64,
    length: usize,
}

impl Head {
    /// The head of the record at the start of `bytes`; `None` where the records end.
    #[inline]
    fn parse(bytes: &[u8], compressed: bool, room: u64) -> Result<Option<Head>, Malformed> {
        let mut cursor = Cursor::new(&bytes[..bytes.len().min(HEAD_BYTES)], compressed);
        let size = cursor.int()? as u32;
        if size == 0 {
            return Ok(None);
        }
        let class = cursor.long()? as u64;
        let size = u64::from(size);
        if size > room {
            return Err(Malformed("a record goes beyond its chunk"));
        }
        if size < cursor.at() as u64 {
            return Err(Malformed("a record is shorter than its head"));
        }
        Ok(Some(Head { size, class, length: cursor.at() }))
    }
}

impl Chunk {
    /// Reads types and pools. What cannot be read is noted; `None` where no event can be understood.
    pub(crate) fn open(
        place: &ChunkPlace,
        window: &mut Window<'_>,
        notes: &mut Notes,
    ) -> io::Result<Option<Chunk>> {
        let mut damage = None;
        if place.is_whole {
            match Chunk::by_offsets(place, window, notes) {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(Failure::Io(error)) => return Err(error),
                Err(Failure::Malformed(Malformed(reason))) => damage = Some(reason),
            }
        }
        let found = match Chunk::by_search(place, window, notes) {
            Ok(found) => found,
            Err(Failure::Io(error)) => return Err(error),
            Err(Failure::Malformed(Malformed(reason))) => {
                damage.get_or_insert(reason);
                None
            }
        };
        if let Some(reason) = damage {
            notes.add(NoteKind::DamagedChunk, || format!("the chunk at offset {}: {reason}", place.start));
        }
        Ok(found)
    }

    /// A chunk whose header says where types and pools are.
    fn by_offsets(place: &ChunkPlace, window: &mut Window<'_>, notes: &mut Notes) -> Result<Chunk, Failure> {
        let mut chunk = Chunk::without_pools(place, place.header.metadata, window)?;
        chunk.events_end = place.end;
        let mut offset = place.header.checkpoint;
        loop {
            let delta = chunk.add_checkpoint(place.start + offset, place.end, window, notes)?;
            // Always back, so that no chain is endless.
            match offset.checked_add_signed(delta) {
                Some(before) if delta < 0 && before >= HEADER_BYTES as u64 => offset = before,
                _ => return Ok(chunk),
            }
        }
    }

    /// A chunk that was not closed: types and pools are where the records tell, and events count up to the
    /// last whole checkpoint, which has the pools of all before it.
    fn by_search(
        place: &ChunkPlace,
        window: &mut Window<'_>,
        notes: &mut Notes,
    ) -> Result<Option<Chunk>, Failure> {
        let compressed = place.header.compressed;
        let (mut metadata, mut checkpoints) = (None, Vec::new());
        let mut at = place.start + HEADER_BYTES as u64;
        let mut usable = at;
        while at < place.end {
            let Ok(Some(head)) = Head::parse(window.at(at, HEAD_BYTES)?, compressed, place.end - at) else {
                break;
            };
            match head.class {
                METADATA => metadata = Some(at - place.start),
                CHECKPOINT => {
                    checkpoints.push(at);
                    usable = at;
                }
                _ => {}
            }
            at += head.size;
        }
        let Some(metadata) = metadata.filter(|_| !checkpoints.is_empty()) else { return Ok(None) };
        let mut chunk = Chunk::without_pools(place, metadata, window)?;
        chunk.events_end = usable;
        for checkpoint in checkpoints.into_iter().rev() {
            chunk.add_checkpoint(checkpoint, place.end, window, notes)?;
        }
        Ok(Some(chunk))
    }

    fn without_pools(place: &ChunkPlace, metadata: u64, window: &mut Window<'_>) -> Result<Chunk, Failure> {
        let types = read_record(place.start + metadata, place, window, METADATA, Types::parse)??;
        Ok(Chunk {
            header: place.header,
            layouts: Layouts::compile(&types),
            types,
            pools: Pools::default(),
            checkpoints: 0,
            start: place.start,
            events_end: place.start,
        })
    }

    /// Adds the pools of a checkpoint; gives the way to the one before.
    fn add_checkpoint(
        &mut self,
        at: u64,
        end: u64,
        window: &mut Window<'_>,
        notes: &mut Notes,
    ) -> Result<i64, Failure> {
        let place = ChunkPlace { start: self.start, end, header: self.header, is_whole: true };
        let (types, layouts, pools) = (&self.types, &self.layouts, &mut self.pools);
        let (delta, read) =
            read_record(at, &place, window, CHECKPOINT, |cursor| pools.add(cursor, types, layouts))?;
        self.checkpoints += 1;
        if let Err(Malformed(reason)) = read {
            notes.add(NoteKind::DamagedRecord, || format!("the checkpoint at offset {at}: {reason}"));
        }
        Ok(delta)
    }

    /// Shows all events that `visitor` wants, in the order of the file, and counts all.
    pub(crate) fn visit(
        &self,
        window: &mut Window<'_>,
        visitor: &mut impl Visitor,
        counts: &mut Counts,
        notes: &mut Notes,
    ) -> io::Result<()> {
        let mut routes = self.routes(visitor);
        let compressed = self.header.compressed;
        let mut frames = Vec::new();
        let mut at = self.start + HEADER_BYTES as u64;
        while at < self.events_end {
            let head = match Head::parse(window.at(at, HEAD_BYTES)?, compressed, self.events_end - at) {
                Ok(Some(head)) => head,
                Ok(None) => break,
                Err(Malformed(reason)) => {
                    notes.add(NoteKind::DamagedRecord, || format!("the record at offset {at}: {reason}"));
                    break;
                }
            };
            if head.class > CHECKPOINT
                && let Some(route) = routes.get_mut(&head.class)
            {
                route.count += 1;
                if let Some((kind, layout)) = route.wanted
                    && head.size <= MOST_RECORD_BYTES
                {
                    let size = head.size as usize;
                    let bytes = window.at(at, size)?;
                    let payload = bytes.get(head.length..size).unwrap_or_default();
                    let mut row = Row::new();
                    frames.clear();
                    match self.layouts.read(
                        layout,
                        &mut Cursor::new(payload, compressed),
                        &mut row,
                        &mut frames,
                    ) {
                        Ok(()) => visitor.event(self, kind, &row),
                        Err(Malformed(reason)) => {
                            notes.add(NoteKind::DamagedRecord, || {
                                format!("the event at offset {at}: {reason}")
                            });
                        }
                    }
                }
            }
            at += head.size;
        }
        for (class, route) in routes.iter().filter(|(_, route)| route.count > 0) {
            if let Some(class) = self.types.classes.get(class) {
                *counts.entry(class.name.clone()).or_default() += route.count;
            }
        }
        Ok(())
    }

    fn routes(&self, visitor: &impl Visitor) -> FxHashMap<u64, Route> {
        let route = |(id, class): (&u64, &crate::metadata::Class)| {
            let kind = EventKind::of(class).filter(|kind| visitor.wants(*kind));
            (*id, Route { wanted: kind.zip(self.layouts.of(*id)), count: 0 })
        };
        self.types.classes.iter().map(route).collect()
    }
}

/// What becomes of the events of a type.
#[derive(Clone, Copy, Debug)]
struct Route {
    wanted: Option<(EventKind, u32)>,
    count: u64,
}

/// Reads the record at an offset, which must be of one type.
fn read_record<T>(
    at: u64,
    place: &ChunkPlace,
    window: &mut Window<'_>,
    class: u64,
    read: impl FnOnce(&mut Cursor<'_>) -> T,
) -> Result<T, Failure> {
    let compressed = place.header.compressed;
    let room = place.end.checked_sub(at).ok_or(Malformed("an offset goes beyond the chunk"))?;
    let head = Head::parse(window.at(at, HEAD_BYTES)?, compressed, room)?;
    let head = head
        .filter(|head| head.class == class)
        .ok_or(Malformed("an offset leads to a record of another type"))?;
    if head.size > MOST_RECORD_BYTES {
        return Err(Malformed("a record of types or pools is larger than 256 MiB").into());
    }
    let size = head.size as usize;
    let bytes = window.at(at, size)?;
    let payload = bytes.get(head.length..size).ok_or(Malformed("a record ends before its length"))?;
    Ok(read(&mut Cursor::new(payload, compressed)))
}

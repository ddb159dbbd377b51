//! What was not as it should be in recordings: counted, never a failure.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A chunk was being written, or its end is missing: what was flushed whole is read.
    UnfinishedChunk,
    /// A chunk whose types or pools cannot be read: none of its events count.
    DamagedChunk,
    /// A chunk that another file holds, too: counted once.
    RepeatedChunk,
    /// A record that cannot be read: left out, and in a chunk what comes after it where its length is lost.
    DamagedRecord,
    /// Bytes between chunks that are no chunk.
    ForeignBytes,
    /// A compressed file that stops short or is damaged: what was unpacked is read.
    DamagedInput,
    /// Stacks that the recorder cut at its depth, so that the frames next to the root are missing.
    TruncatedStack,
    /// Samples without a stack, or whose stack the recording lacks.
    NoStack,
    /// Weights that would make a sum larger than a number holds: left out.
    Overflow,
}

/// A note, counted within a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// The file.
    pub file: String,
    /// What it is about.
    pub kind: NoteKind,
    /// How often.
    pub count: u64,
    /// The first of them in words.
    pub first: String,
}

/// The notes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(BTreeMap<NoteKind, (u64, String)>);

impl Notes {
    /// Counts one; only the first is told in words.
    pub(crate) fn add(&mut self, kind: NoteKind, tell: impl FnOnce() -> String) {
        self.0.entry(kind).or_insert_with(|| (0, tell())).0 += 1;
    }

    /// Takes over what another part of the same file has.
    pub(crate) fn merge(&mut self, other: Notes) {
        for (kind, (count, first)) in other.0 {
            self.0.entry(kind).or_insert((0, first)).0 += count;
        }
    }

    /// The notes, named by their file.
    pub(crate) fn into_notes(self, file: &str) -> impl Iterator<Item = Note> {
        let file = file.to_owned();
        self.0.into_iter().map(move |(kind, (count, first))| Note { file: file.clone(), kind, count, first })
    }
}

//! A string table: each distinct text once, in order of first sight.

use borsh::io::{Read, Result, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use rustc_hash::FxHashMap;

/// Interns strings and gives them dense numbers.
#[derive(Clone, Debug, Default)]
pub struct StringTable {
    ids: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
    /// Numbers of the texts seen last, by a cheap hash: most lookups repeat one of a few.
    recent: [u32; RECENT],
}

const RECENT: usize = 32;

impl StringTable {
    /// The number of `text`, new or known.
    #[inline]
    pub fn intern(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    /// The number of a text in bytes; `None` if they are no UTF-8.
    #[inline]
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> Option<u32> {
        let last = usize::from(bytes.last().copied().unwrap_or(0));
        let slot = (bytes.len() * 7 + last) % RECENT;
        let recent = self.recent[slot];
        if self.texts.get(recent as usize).is_some_and(|text| text.as_bytes() == bytes) {
            return Some(recent);
        }
        let id = self.intern(std::str::from_utf8(bytes).ok()?);
        self.recent[slot] = id;
        Some(id)
    }

    /// The text of a number this table gave; empty for any other.
    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }

    /// The number of a known text.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// All texts in the order of their numbers.
    pub fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    /// Number of distinct texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether nothing has been interned.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// Only the texts, of which all else follows.
impl BorshSerialize for StringTable {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        self.texts.serialize(writer)
    }
}

impl BorshDeserialize for StringTable {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        let texts = Vec::<Box<str>>::deserialize_reader(reader)?;
        let ids = texts.iter().enumerate().map(|(id, text)| (text.clone(), id as u32)).collect();
        Ok(StringTable { ids, texts, recent: [0; RECENT] })
    }
}

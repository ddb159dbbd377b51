//! The types of a chunk. Their ids differ between recorders, versions and chunks: names decide.

use crate::wire::{Cursor, Malformed, Result, Text};
use rustc_hash::FxHashMap;

/// Elements stand in one another; ours are three deep.
const MOST_DEPTH: u32 = 16;

/// All types of a chunk by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    pub(crate) classes: FxHashMap<u64, Class>,
}

/// A type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) name: String,
    /// Whether its records stand in a chunk by themselves.
    pub(crate) is_event: bool,
    pub(crate) fields: Vec<Field>,
}

/// A field of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Id of its type.
    pub(crate) class: u64,
    /// Whether the record holds a key of a constant pool.
    pub(crate) is_reference: bool,
    /// Whether there is a count and so many values.
    pub(crate) is_array: bool,
}

impl Types {
    /// Reads the payload of a metadata record, after size and type.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Types> {
        for _ in 0..3 {
            // Start, duration, id.
            cursor.long()?;
        }
        let count = cursor.count(1)?;
        let mut strings = Vec::with_capacity(count);
        for _ in 0..count {
            strings.push(match cursor.text()? {
                Text::Literal(text) => text.into_owned(),
                Text::Null | Text::Key(_) => String::new(),
            });
        }
        let mut types = Types::default();
        types.element(cursor, &strings, None, 0)?;
        Ok(types)
    }

    fn element(
        &mut self,
        cursor: &mut Cursor<'_>,
        strings: &[String],
        class: Option<u64>,
        depth: u32,
    ) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(Malformed("metadata is nested too deep"));
        }
        let name = string(strings, cursor.int()?)?;
        let mut attributes: FxHashMap<&str, &str> = FxHashMap::default();
        for _ in 0..cursor.count(2)? {
            let key = string(strings, cursor.int()?)?;
            attributes.insert(key, string(strings, cursor.int()?)?);
        }
        let attribute = |key: &str| attributes.get(key).copied().unwrap_or_default();
        let number = |key: &str| attribute(key).parse::<u64>().map_err(|_| Malformed("a type has no id"));
        let mut inside = class;
        match name {
            "class" => {
                let id = number("id")?;
                let is_event = attribute("superType") == "jdk.jfr.Event";
                self.classes
                    .insert(id, Class { name: attribute("name").to_owned(), is_event, fields: vec![] });
                inside = Some(id);
            }
            "field" => {
                let field = Field {
                    name: attribute("name").to_owned(),
                    class: number("class")?,
                    is_reference: attribute("constantPool") == "true",
                    is_array: attribute("dimension") == "1",
                };
                if let Some(class) = class.and_then(|id| self.classes.get_mut(&id)) {
                    class.fields.push(field);
                }
            }
            _ => {}
        }
        for _ in 0..cursor.count(3)? {
            self.element(cursor, strings, inside, depth + 1)?;
        }
        Ok(())
    }

    /// Whether async-profiler wrote the chunk.
    pub(crate) fn is_async_profiler(&self) -> bool {
        self.classes.values().any(|class| class.name.starts_with("profiler."))
    }
}

fn string(strings: &[String], index: i64) -> Result<&str> {
    let index = usize::try_from(index).ok();
    index
        .and_then(|index| strings.get(index))
        .map(String::as_str)
        .ok_or(Malformed("metadata names a string that is not there"))
}

//! The constant pools of a chunk: what events refer to by keys.

use crate::layout::{Layouts, RawFrame, Row, Slot};
use crate::metadata::Types;
use crate::wire::{Cursor, Malformed, Result, Text};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A text in the pools: characters of their own, or a key of the pool of strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PoolText {
    #[default]
    Null,
    Key(u64),
    Span {
        start: u32,
        length: u32,
    },
}

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    os_name: PoolText,
    java_name: PoolText,
    java_id: i64,
    os_id: i64,
}

/// A stack of frames, leaf first.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    frames: Range<usize>,
    /// Whether frames are missing at the root.
    pub(crate) is_truncated: bool,
}

/// All pools of a chunk that anything here needs.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    characters: String,
    /// `java.lang.String`.
    strings: FxHashMap<u64, PoolText>,
    /// `jdk.types.Symbol`.
    symbols: FxHashMap<u64, PoolText>,
    /// Class to the symbol of its name.
    classes: FxHashMap<u64, u64>,
    /// Method to its class and the symbol of its name.
    methods: FxHashMap<u64, (u64, u64)>,
    threads: FxHashMap<u64, Thread>,
    states: FxHashMap<u64, PoolText>,
    frame_types: FxHashMap<u64, PoolText>,
    stacks: FxHashMap<u64, Stack>,
    frames: Vec<RawFrame>,
}

/// The pools that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    Strings,
    Symbols,
    Classes,
    Methods,
    Threads,
    States,
    FrameTypes,
    Stacks,
}

impl Pool {
    fn of(name: &str) -> Option<Pool> {
        Some(match name {
            "java.lang.String" => Pool::Strings,
            "jdk.types.Symbol" => Pool::Symbols,
            "java.lang.Class" => Pool::Classes,
            "jdk.types.Method" => Pool::Methods,
            "java.lang.Thread" => Pool::Threads,
            "jdk.types.ThreadState" => Pool::States,
            "jdk.types.FrameType" => Pool::FrameTypes,
            "jdk.types.StackTrace" => Pool::Stacks,
            _ => return None,
        })
    }
}

/// A thread, as far as the recording knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ThreadName {
    /// `javaThreadId`; 0 for threads of the VM.
    pub(crate) java_id: u64,
    /// Id in the operating system.
    pub(crate) os_id: u64,
    /// The name when the chunk was closed: Spark renames a thread for each task.
    pub(crate) name: String,
}

impl Pools {
    /// Adds the payload of a checkpoint, after size and type; gives the way to the checkpoint before it.
    ///
    /// The caller goes from the newest checkpoint back. A key that is there already is kept.
    pub(crate) fn add(
        &mut self,
        cursor: &mut Cursor<'_>,
        types: &Types,
        layouts: &Layouts,
    ) -> (i64, Result<()>) {
        let delta = match (|| {
            cursor.long()?;
            cursor.long()?;
            let delta = cursor.long()?;
            cursor.byte()?;
            Ok(delta)
        })() {
            Ok(delta) => delta,
            Err(error) => return (0, Err(error)),
        };
        (delta, self.pools(cursor, types, layouts))
    }

    fn pools(&mut self, cursor: &mut Cursor<'_>, types: &Types, layouts: &Layouts) -> Result<()> {
        for _ in 0..cursor.count(2)? {
            let class = cursor.long()? as u64;
            let known = types.classes.get(&class).ok_or(Malformed("a pool has an unknown type"))?;
            let layout = layouts.of(class).ok_or(Malformed("a pool has an unknown type"))?;
            let pool = Pool::of(&known.name);
            for _ in 0..cursor.count(1)? {
                let key = cursor.long()? as u64;
                if pool == Some(Pool::Strings) {
                    let text = cursor.text()?;
                    let text = self.keep(&text)?;
                    self.strings.entry(key).or_insert(text);
                    continue;
                }
                let mut row = Row::new();
                let first_frame = self.frames.len();
                layouts.read(layout, cursor, &mut row, &mut self.frames)?;
                if let Some(pool) = pool {
                    self.insert(pool, key, &row, first_frame)?;
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, pool: Pool, key: u64, row: &Row<'_>, first_frame: usize) -> Result<()> {
        match pool {
            Pool::Strings => {}
            Pool::Symbols => {
                let text = self.keep(&row.text(Slot::String))?;
                self.symbols.entry(key).or_insert(text);
            }
            Pool::Classes => {
                self.classes.entry(key).or_insert(row.number(Slot::Name) as u64);
            }
            Pool::Methods => {
                let method = (row.number(Slot::Type) as u64, row.number(Slot::Name) as u64);
                self.methods.entry(key).or_insert(method);
            }
            Pool::Threads => {
                let thread = Thread {
                    os_name: self.keep(&row.text(Slot::OsName))?,
                    java_name: self.keep(&row.text(Slot::JavaName))?,
                    java_id: row.number(Slot::JavaThreadId),
                    os_id: row.number(Slot::OsThreadId),
                };
                self.threads.entry(key).or_insert(thread);
            }
            Pool::States => {
                let text = self.keep(&row.text(Slot::Name))?;
                self.states.entry(key).or_insert(text);
            }
            Pool::FrameTypes => {
                let text = self.keep(&row.text(Slot::Description))?;
                self.frame_types.entry(key).or_insert(text);
            }
            Pool::Stacks => {
                let is_truncated = row.number(Slot::Truncated) != 0;
                let frames = first_frame..self.frames.len();
                match self.stacks.contains_key(&key) {
                    true => self.frames.truncate(first_frame),
                    false => _ = self.stacks.insert(key, Stack { frames, is_truncated }),
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, text: &Text<'_>) -> Result<PoolText> {
        Ok(match text {
            Text::Null => PoolText::Null,
            Text::Key(key) => PoolText::Key(*key),
            Text::Literal(text) => {
                let too_long = |_| Malformed("the texts of a chunk take more than 4 GiB");
                let start = u32::try_from(self.characters.len()).map_err(too_long)?;
                let length = u32::try_from(text.len()).map_err(too_long)?;
                self.characters.push_str(text);
                PoolText::Span { start, length }
            }
        })
    }

    fn resolve(&self, text: PoolText) -> &str {
        let text = match text {
            PoolText::Key(key) => self.strings.get(&key).copied().unwrap_or_default(),
            other => other,
        };
        match text {
            PoolText::Span { start, length } => {
                let start = start as usize;
                self.characters.get(start..start + length as usize).unwrap_or_default()
            }
            // A string that is a key of another is none of the format's.
            PoolText::Null | PoolText::Key(_) => "",
        }
    }

    /// The characters of an event's own text.
    pub(crate) fn text<'t>(&'t self, text: &'t Text<'_>) -> &'t str {
        match text {
            Text::Null => "",
            Text::Key(key) => self.resolve(PoolText::Key(*key)),
            Text::Literal(text) => text,
        }
    }

    fn symbol(&self, key: u64) -> &str {
        self.resolve(self.symbols.get(&key).copied().unwrap_or_default())
    }

    /// A class's name in internal form.
    pub(crate) fn class(&self, key: u64) -> &str {
        self.classes.get(&key).map_or("", |symbol| self.symbol(*symbol))
    }

    /// A method's class in internal form, and its own name.
    pub(crate) fn method(&self, key: u64) -> (&str, &str) {
        self.methods.get(&key).map_or(("", ""), |(class, name)| (self.class(*class), self.symbol(*name)))
    }

    /// What kind of frame a key says.
    pub(crate) fn frame_type(&self, key: u64) -> &str {
        self.frame_types.get(&key).map_or("", |text| self.resolve(*text))
    }

    /// The state of a thread, such as `STATE_RUNNABLE`.
    pub(crate) fn state(&self, key: u64) -> &str {
        self.states.get(&key).map_or("", |text| self.resolve(*text))
    }

    /// All states of threads that the dictionary knows.
    pub(crate) fn states(&self) -> impl Iterator<Item = &str> {
        self.states.values().map(|text| self.resolve(*text))
    }

    /// A stack and its frames, leaf first.
    pub(crate) fn stack(&self, key: u64) -> Option<(&Stack, &[RawFrame])> {
        let stack = self.stacks.get(&key)?;
        Some((stack, self.frames.get(stack.frames.clone())?))
    }

    /// A thread.
    pub(crate) fn thread(&self, key: u64) -> Option<ThreadName> {
        self.threads.get(&key).map(|thread| self.thread_name(thread))
    }

    /// All threads of the dictionary.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadName> + '_ {
        self.threads.values().map(|thread| self.thread_name(thread))
    }

    fn thread_name(&self, thread: &Thread) -> ThreadName {
        let java_name = self.resolve(thread.java_name);
        let name = if java_name.is_empty() { self.resolve(thread.os_name) } else { java_name };
        ThreadName {
            java_id: u64::try_from(thread.java_id).unwrap_or(0),
            os_id: u64::try_from(thread.os_id).unwrap_or(0),
            name: name.to_owned(),
        }
    }
}

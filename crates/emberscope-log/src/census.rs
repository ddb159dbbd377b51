//! What fills a log: bytes by event type and, within a type, by field.
//!
//! Counting is pure and by block, like parsing: [`count_block`] on any thread, [`Census::add`] in any
//! order. Field sizes come from the fast cursor alone; a line that it refuses (white space, damage)
//! is counted by its type only, since shares need not be exact to the byte.

use crate::block::{Block, for_each_line};
use crate::cursor::Cursor;
use crate::event::{Kind, event_name, kind_of, short_name};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

/// A number of things and the bytes they take, undecoded JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// How many.
    pub count: u64,
    /// Bytes, keys and punctuation included.
    pub bytes: u64,
}

impl Size {
    fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
    }

    fn merge(&mut self, other: Size) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Events of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCensus {
    /// The lines.
    pub lines: Size,
    /// Fields by path, such as `Task Info.Accumulables`. Objects that are looked into are not listed
    /// themselves, so that the fields add up.
    pub fields: BTreeMap<String, Size>,
}

/// The longest line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongestLine {
    /// Bytes.
    pub bytes: u64,
    /// Name of its event.
    pub event: String,
}

/// Plan texts longer than this count as long.
pub const LONG_PLAN_BYTES: usize = 64 << 10;

/// The texts of physical plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanTexts {
    /// All texts.
    pub all: Size,
    /// The lists of operators' details that mode `formatted` adds below the tree.
    pub details: Size,
    /// What lies beyond [`LONG_PLAN_BYTES`] in the texts that are longer.
    pub excess: Size,
}

/// Text that was compressed for the sake of an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes of text.
    pub plain_bytes: u64,
    /// The same as Spark's zstd writer would store it.
    pub zstd_bytes: u64,
}

/// What fills a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By event type, without its package.
    pub events: BTreeMap<String, EventCensus>,
    /// Lines that are blank or no event.
    pub other_lines: Size,
    /// The longest line.
    pub longest: LongestLine,
    /// Accumulables of tasks and stages that repeat task metrics (`internal.metrics.*`).
    pub internal_accumulables: Size,
    /// Texts of physical plans.
    pub plan_texts: PlanTexts,
    /// Events that repeat an earlier line byte by byte, although each of their kind happens once.
    pub repeated_events: u64,
    /// For estimating compression.
    pub sample: Sample,
    once: FxHashSet<u64>,
}

/// What one block holds.
#[derive(Debug, Default)]
pub struct BlockCensus {
    census: Census,
    /// Fields by type and path, before they get names of their own.
    fields: FxHashMap<&'static str, FxHashMap<Vec<u8>, Size>>,
    /// Hashes of the lines whose events happen once.
    once: Vec<u64>,
}

/// Every so many blocks one is compressed.
const SAMPLED_BLOCKS: u64 = 8;

/// Counts what `block` holds.
pub fn count_block(block: &Block) -> BlockCensus {
    let mut counted = BlockCensus::default();
    let is_sampled = block.seq.is_multiple_of(SAMPLED_BLOCKS);
    let mut frame = Vec::new();
    for_each_line(block.bytes(), |line, _| {
        let name = if line.trim_ascii().is_empty() { None } else { event_name(line).ok() };
        let Some(name) = name else {
            counted.census.other_lines.add(line.len() + 1);
            return;
        };
        let kind = kind_of(&name);
        counted.add_line(kind, short_name(&name), line);
        if is_sampled {
            frame.extend_from_slice(line);
            frame.push(b'\n');
            if flushes(kind) {
                counted.census.sample.add(&mut frame);
            }
        }
    });
    counted.census.sample.add(&mut frame);
    counted
}

/// Whether `EventLoggingListener` flushes after the event, which closes a zstd frame: many small
/// frames compress worse than one.
fn flushes(kind: Kind) -> bool {
    !matches!(kind, Kind::TaskStart | Kind::TaskEnd | Kind::TaskGettingResult | Kind::StageSubmitted)
}

/// Whether an event of this kind, with the same content, can happen only once.
fn happens_once(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::TaskStart
            | Kind::TaskEnd
            | Kind::JobStart
            | Kind::JobEnd
            | Kind::StageSubmitted
            | Kind::StageCompleted
            | Kind::SqlStart
            | Kind::SqlEnd
            | Kind::ApplicationStart
            | Kind::ApplicationEnd
            | Kind::ExecutorAdded
            | Kind::ExecutorRemoved
    )
}

/// Types whose fields are counted, by the name the fields are filed under.
fn looked_into(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::TaskEnd => "SparkListenerTaskEnd",
        Kind::TaskStart => "SparkListenerTaskStart",
        Kind::JobStart => "SparkListenerJobStart",
        Kind::StageSubmitted => "SparkListenerStageSubmitted",
        Kind::StageCompleted => "SparkListenerStageCompleted",
        Kind::SqlStart => "SparkListenerSQLExecutionStart",
        Kind::SqlPlanUpdate => "SparkListenerSQLAdaptiveExecutionUpdate",
        Kind::EnvironmentUpdate => "SparkListenerEnvironmentUpdate",
        Kind::StreamProgress => "QueryProgressEvent",
        _ => return None,
    })
}

impl Sample {
    fn add(&mut self, frame: &mut Vec<u8>) {
        // 1 is the level Spark uses (`spark.io.compression.zstd.level`).
        if !frame.is_empty()
            && let Ok(packed) = zstd::bulk::compress(frame, 1)
        {
            self.plain_bytes += frame.len() as u64;
            self.zstd_bytes += packed.len() as u64;
        }
        frame.clear();
    }
}

impl BlockCensus {
    fn add_line(&mut self, kind: Kind, name: &str, line: &[u8]) {
        let bytes = line.len() + 1;
        match self.census.events.get_mut(name) {
            Some(event) => event.lines.add(bytes),
            None => {
                let lines = Size { count: 1, bytes: bytes as u64 };
                let event = EventCensus { lines, fields: BTreeMap::new() };
                self.census.events.insert(name.to_owned(), event);
            }
        }
        if bytes as u64 > self.census.longest.bytes {
            self.census.longest = LongestLine { bytes: bytes as u64, event: name.to_owned() };
        }
        if happens_once(kind) {
            self.once.push(XxHash3_64::oneshot(line));
        }
        if let Some(filed_under) = looked_into(kind) {
            let mut walk = Walk {
                fields: self.fields.entry(filed_under).or_default(),
                internal_accumulables: Size::default(),
                plan_texts: PlanTexts::default(),
                path: Vec::new(),
            };
            if walk.object(&mut Cursor::new(line)).is_some() {
                let (accumulables, plans) = (walk.internal_accumulables, walk.plan_texts);
                self.census.internal_accumulables.merge(accumulables);
                self.census.plan_texts.merge(plans);
            }
        }
    }
}

impl PlanTexts {
    fn merge(&mut self, other: PlanTexts) {
        self.all.merge(other.all);
        self.details.merge(other.details);
        self.excess.merge(other.excess);
    }

    fn add(&mut self, text: &[u8]) {
        self.all.add(text.len());
        // The details begin with the first operator's number after blank lines, in JSON's escapes.
        if let Some(start) = memchr::memmem::find(text, br"\n\n\n(1) ") {
            self.details.add(text.len() - start);
        }
        if text.len() > LONG_PLAN_BYTES {
            self.excess.add(text.len() - LONG_PLAN_BYTES);
        }
    }
}

/// Steps through one line.
struct Walk<'m> {
    fields: &'m mut FxHashMap<Vec<u8>, Size>,
    internal_accumulables: Size,
    plan_texts: PlanTexts,
    /// Path of the current object, with a dot at its end.
    path: Vec<u8>,
}

impl Walk<'_> {
    fn object(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.object(|cursor, key| {
            let start = cursor.position();
            // One level is enough, and a bound on it is one on the stack.
            let is_top = self.path.is_empty();
            match key {
                b"Task Info" | b"Task Metrics" | b"Stage Info" | b"progress"
                    if is_top && cursor.peek() == Some(b'{') =>
                {
                    return self.inside(key, |walk| walk.object(cursor));
                }
                b"Stage Infos" if is_top => {
                    return self.inside(key, |walk| cursor.array(|cursor| walk.object(cursor)));
                }
                b"Accumulables" => self.accumulables(cursor)?,
                b"physicalPlanDescription" => self.plan_texts.add(cursor.string()?.bytes),
                _ => cursor.skip()?,
            }
            // The key, its quotes and colon, and the comma.
            let bytes = key.len() + 4 + cursor.position() - start;
            let parent = self.path.len();
            self.path.extend_from_slice(key);
            match self.fields.get_mut(&self.path) {
                Some(size) => size.add(bytes),
                None => {
                    self.fields.insert(self.path.clone(), Size { count: 1, bytes: bytes as u64 });
                }
            }
            self.path.truncate(parent);
            Some(())
        })
    }

    fn inside(&mut self, key: &[u8], walk: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let parent = self.path.len();
        self.path.extend_from_slice(key);
        self.path.push(b'.');
        let walked = walk(self);
        self.path.truncate(parent);
        walked
    }

    fn accumulables(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.array(|cursor| {
            let element = cursor.raw_value()?;
            if memchr::memmem::find(element, br#""Name":"internal.metrics."#).is_some() {
                self.internal_accumulables.add(element.len() + 1);
            }
            Some(())
        })
    }
}

impl Census {
    /// Adds what a block holds.
    pub fn add(&mut self, block: BlockCensus) {
        let BlockCensus { census, fields, once } = block;
        for (name, event) in census.events {
            self.events.entry(name).or_default().lines.merge(event.lines);
        }
        for (name, fields) in fields {
            let event = self.events.entry(name.to_owned()).or_default();
            for (path, size) in fields {
                event.fields.entry(String::from_utf8_lossy(&path).into_owned()).or_default().merge(size);
            }
        }
        self.other_lines.merge(census.other_lines);
        // Of equally long lines the one with the first name, so that the order of blocks does not show.
        let (ours, theirs) = (&self.longest, &census.longest);
        if (theirs.bytes, std::cmp::Reverse(&theirs.event)) > (ours.bytes, std::cmp::Reverse(&ours.event)) {
            self.longest = census.longest;
        }
        self.internal_accumulables.merge(census.internal_accumulables);
        self.plan_texts.merge(census.plan_texts);
        self.sample.plain_bytes += census.sample.plain_bytes;
        self.sample.zstd_bytes += census.sample.zstd_bytes;
        for hash in once {
            self.repeated_events += u64::from(!self.once.insert(hash));
        }
    }

    /// Bytes of all lines.
    pub fn bytes(&self) -> u64 {
        self.other_lines.bytes + self.events.values().map(|event| event.lines.bytes).sum::<u64>()
    }

    /// Events of a type, by its name without package.
    pub fn events_of(&self, name: &str) -> u64 {
        self.events.get(name).map_or(0, |event| event.lines.count)
    }

    /// Bytes of a field, over all events of a type.
    pub fn field_bytes(&self, name: &str, path: &str) -> u64 {
        self.events.get(name).and_then(|event| event.fields.get(path)).map_or(0, |field| field.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(seq: u64, text: &str) -> Block {
        let buffer = text.as_bytes().to_vec();
        let len = buffer.len();
        Block { seq, member: 0, buffer, len, member_end: None, elided_lines: 0, is_overlong: false }
    }

    const TASK_END: &str = concat!(
        r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task Info":{"Task ID":1,"Accumulables":["#,
        r#"{"ID":1,"Name":"internal.metrics.x"},{"ID":2,"Name":"rows"}]},"Task Metrics":{"Updated Blocks":[]}}"#,
    );

    #[test]
    fn fields_of_a_task_end() {
        let mut census = Census::default();
        census.add(count_block(&block(0, &format!("{TASK_END}\n\n5\n"))));
        let event = &census.events["SparkListenerTaskEnd"];
        assert_eq!(event.lines, Size { count: 1, bytes: TASK_END.len() as u64 + 1 });
        let paths: Vec<&str> = event.fields.keys().map(String::as_str).collect();
        let expected = [
            "Event",
            "Stage ID",
            "Task Info.Accumulables",
            "Task Info.Task ID",
            "Task Metrics.Updated Blocks",
        ];
        assert_eq!(paths, expected);
        assert_eq!(census.internal_accumulables, Size { count: 1, bytes: 37 });
        assert_eq!(census.other_lines, Size { count: 2, bytes: 3 });
        assert_eq!(census.bytes(), TASK_END.len() as u64 + 4);
        assert!(census.sample.zstd_bytes > 0);
    }

    #[test]
    fn blocks_in_any_order() {
        let texts =
            [format!("{TASK_END}\n"), format!("{TASK_END}\n{{\"Event\":\"x.New\"}}\n"), "{\n".to_owned()];
        let census = |order: [usize; 3]| {
            let mut census = Census::default();
            for seq in order {
                census.add(count_block(&block(seq as u64, &texts[seq])));
            }
            census
        };
        let forward = census([0, 1, 2]);
        assert_eq!(forward, census([2, 1, 0]));
        assert_eq!(forward.repeated_events, 1);
        assert_eq!(forward.events_of("New"), 1);
    }

    #[test]
    fn plan_texts() {
        let mut plans = PlanTexts::default();
        plans.add(br"== Physical Plan ==\n* Scan (1)\n\n\n(1) Scan\nOutput: []");
        assert_eq!(plans.details.bytes, 26);
        plans.add(&vec![b'x'; LONG_PLAN_BYTES + 5]);
        assert_eq!(plans.excess, Size { count: 1, bytes: 5 });
    }
}

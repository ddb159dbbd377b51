//! A block of whole lines, and what parsing makes of it.
//!
//! A block is the unit that travels from the log to the model: about 1 MiB of lines of one member.
//! Parsing needs nothing but the block, so blocks are parsed in any order and on any thread, and are
//! merged in the order of `seq`.

use crate::codec::{Codec, StreamEnd};
use crate::columns::{TaskColumn, TaskStatus};
use crate::event::task::{self, Sink, TaskRow, TaskStart};
use crate::event::{self, Event, Kind, Outcome};
use std::collections::BTreeMap;

/// Whole lines of one member of a log.
#[derive(Debug)]
pub struct Block {
    /// Position among all blocks of the run, from 0.
    pub seq: u64,
    /// Position of the member in the run's list of members.
    pub member: usize,
    /// Holds the lines in its first `len` bytes; the rest is left from earlier use.
    pub buffer: Vec<u8>,
    /// Bytes of lines: each line with its end, except perhaps the last one of a member.
    pub len: usize,
    /// Set on the last block of a member: how its bytes ended, and how many there were.
    pub member_end: Option<MemberEnd>,
    /// Lines that were too long to hold and whose large values were left out.
    pub elided_lines: u32,
    /// Such a line is still too long without them, and so only its beginning is here.
    pub is_overlong: bool,
}

impl Block {
    /// The lines.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// How a member ended.
#[derive(Clone, Debug)]
pub struct MemberEnd {
    /// What the codec says.
    pub end: StreamEnd,
    /// The codec found; `None` when the member could not be opened.
    pub codec: Option<Codec>,
    /// Bytes of the file.
    pub raw_bytes: u64,
    /// Bytes after decompression.
    pub decoded_bytes: u64,
    /// Hash (xxh3) of the decoded bytes of all members up to this one's end. Copies of a log agree in
    /// it whatever their name and codec.
    pub content_hash: u64,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Line within the block, from 0.
    pub line: u32,
    /// Why.
    pub reason: String,
}

/// How many bad lines of a block are told one by one; the rest are only counted.
const TOLD_BAD_LINES: usize = 20;
/// How many names of unknown events a block tells; the rest are counted together.
const TOLD_NAMES: usize = 200;
/// Longest part of a name that is kept, bytes.
const NAME_BYTES: usize = 200;
/// What unknown events are called when there are too many names.
pub const OTHER_NAMES: &str = "(other names)";

/// What a block holds.
#[derive(Debug, Default)]
pub struct ParsedBlock {
    /// Position among all blocks.
    pub seq: u64,
    /// Position of the member.
    pub member: usize,
    /// Lines, blank ones included.
    pub lines: u32,
    /// Events, unknown ones included.
    pub events: u32,
    /// Task ends.
    pub task_ends: Vec<TaskRow>,
    /// Task starts.
    pub task_starts: Vec<TaskStart>,
    /// Strings and accumulator updates of the task rows.
    pub sink: Sink,
    /// Other events, with their line within the block, in the order of the log.
    pub others: Vec<(u32, Event)>,
    /// Names of unknown events and how often they occur.
    pub unknown_events: BTreeMap<String, u64>,
    /// The first bad lines.
    pub bad_lines: Vec<BadLine>,
    /// All bad lines.
    pub bad_line_count: u64,
    /// The member's last line was cut.
    pub truncated_tail: bool,
    /// Lines whose large values were left out.
    pub elided_lines: u32,
    /// The earliest time of any event, epoch milliseconds.
    pub first_time_ms: Option<i64>,
    /// The latest time of any event, epoch milliseconds.
    pub last_time_ms: Option<i64>,
    /// Set on the last block of a member.
    pub member_end: Option<MemberEnd>,
}

/// What to keep of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions {
    /// Keep the texts of physical plans.
    pub keep_plan_text: bool,
    /// Use serde for every line; for tests that compare the two roads.
    pub without_cursor: bool,
}

/// Gives each line of `bytes` without its end (LF or CRLF), and whether the end was there.
pub(crate) fn for_each_line<'a>(bytes: &'a [u8], mut each: impl FnMut(&'a [u8], bool)) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = &bytes[start..end];
        each(line.strip_suffix(b"\r").unwrap_or(line), true);
        start = end + 1;
    }
    if start < bytes.len() {
        each(&bytes[start..], false);
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a block.
pub fn parse_block(block: &Block, options: ParseOptions) -> ParsedBlock {
    let mut parsed = ParsedBlock {
        seq: block.seq,
        member: block.member,
        member_end: block.member_end.clone(),
        elided_lines: block.elided_lines,
        // Growing would move rows of half a kilobyte; a task end with its start takes about 4 KiB.
        task_ends: Vec::with_capacity(block.len >> 12),
        ..ParsedBlock::default()
    };
    let ends_member = parsed.member_end.is_some();
    for_each_line(block.bytes(), |line, has_end| {
        let number = parsed.lines;
        parsed.lines += 1;
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        match parsed.read_any_line(line, number, options) {
            Ok(()) => parsed.events += 1,
            // The last line of a log that is still written, or was when its driver died.
            Err(_) if !has_end && ends_member => parsed.truncated_tail = true,
            Err(mut reason) => {
                if block.is_overlong {
                    "the line is too long to hold, even without its long texts".clone_into(&mut reason);
                }
                parsed.bad_line_count += 1;
                if parsed.bad_lines.len() < TOLD_BAD_LINES {
                    parsed.bad_lines.push(BadLine { line: number, reason });
                }
            }
        }
    });
    parsed
}

impl ParsedBlock {
    /// Reads a line; where it is no UTF-8, a name or message in it is damaged, and the rest stands.
    fn read_any_line(&mut self, line: &[u8], number: u32, options: ParseOptions) -> Result<(), String> {
        let refused = match self.read_line(line, number, options) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        };
        if std::str::from_utf8(line).is_ok() {
            return Err(refused);
        }
        self.read_line(String::from_utf8_lossy(line).as_bytes(), number, options).map_err(|_| refused)
    }

    fn count_unknown(&mut self, name: &str) {
        let cut = name.floor_char_boundary(NAME_BYTES.min(name.len()));
        let name = if self.unknown_events.len() < TOLD_NAMES || self.unknown_events.contains_key(&name[..cut])
        {
            &name[..cut]
        } else {
            OTHER_NAMES
        };
        *self.unknown_events.entry(name.to_owned()).or_default() += 1;
    }

    fn read_line(&mut self, line: &[u8], number: u32, options: ParseOptions) -> Result<(), String> {
        // Two kinds of events are nearly all lines; their names are worth a look before anything else.
        if line.starts_with(br#"{"Event":"SparkListenerTaskEnd","#) {
            return self.read_task_end(line, number, options);
        }
        if line.starts_with(br#"{"Event":"SparkListenerTaskStart","#) {
            return self.read_task_start(line, options);
        }
        let name = event::event_name(line)?;
        match event::kind_of(&name) {
            Kind::TaskEnd => self.read_task_end(line, number, options),
            Kind::TaskStart => self.read_task_start(line, options),
            kind => {
                match event::read_event(kind, &name, line, options)? {
                    Outcome::Event(event) => {
                        for time in event.times_ms() {
                            self.saw_time(time);
                        }
                        self.others.push((number, event));
                    }
                    Outcome::Nothing => {}
                    Outcome::Unknown => self.count_unknown(&name),
                }
                Ok(())
            }
        }
    }

    fn read_task_start(&mut self, line: &[u8], options: ParseOptions) -> Result<(), String> {
        let fast = if options.without_cursor { None } else { task::read_task_start(line, &mut self.sink) };
        let row = match fast {
            Some(row) => row,
            None => task::task_start_with_serde(line, &mut self.sink)?,
        };
        self.saw_time(row.get(TaskColumn::LaunchTime));
        self.task_starts.push(row);
        Ok(())
    }

    fn read_task_end(&mut self, line: &[u8], number: u32, options: ParseOptions) -> Result<(), String> {
        // The row is filled where it will stay: moving it would cost as much as filling it.
        self.task_ends.push(TaskRow::new(0));
        let fast = match self.task_ends.last_mut() {
            Some(row) if !options.without_cursor => task::read_task_end(line, row, &mut self.sink),
            _ => None,
        };
        if fast.is_none() {
            self.task_ends.pop();
            let (row, reason) = task::task_end_with_serde(line, &mut self.sink)?;
            if let Some(reason) = reason {
                self.others.push((number, task_failure(&row, reason)));
            }
            self.task_ends.push(row);
        }
        if let Some(row) = self.task_ends.last() {
            // A resubmission repeats the times of the success it takes back.
            let times = [row.get(TaskColumn::LaunchTime), row.get(TaskColumn::FinishTime)];
            times.into_iter().for_each(|time| self.saw_time(time));
        }
        Ok(())
    }

    #[inline]
    fn saw_time(&mut self, time_ms: Option<i64>) {
        let Some(time_ms) = time_ms else { return };
        self.first_time_ms = Some(self.first_time_ms.map_or(time_ms, |first| first.min(time_ms)));
        self.last_time_ms = Some(self.last_time_ms.map_or(time_ms, |last| last.max(time_ms)));
    }
}

fn task_failure(row: &TaskRow, reason: event::reason::TaskEndReason) -> Event {
    debug_assert!(row.status() != TaskStatus::Success);
    Event::TaskFailure {
        task_id: row.task_id(),
        stage_id: row.stage_id,
        stage_attempt: row.stage_attempt,
        index: row.get(TaskColumn::Index).and_then(|index| u32::try_from(index).ok()),
        reason: Box::new(reason),
    }
}

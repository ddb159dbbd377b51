//! What the first and the last bytes of a log say.

use emberscope_log::codec::{Codec, Decoder};
use emberscope_log::event::app::{ApplicationEnd, ApplicationStart, LogStart};
use emberscope_log::event::stage::JobEnd;
use emberscope_log::source::{Member, RunSource};
use emberscope_model::run::{Job, JobStatus};
use memchr::memmem;
use std::sync::atomic::{AtomicI64, Ordering};

/// Decoded bytes in which the start of an application must be.
const HEAD_BYTES: usize = 2 << 20;
/// Bytes at the end in which its end must be.
const TAIL_BYTES: usize = 64 << 10;
/// A packed file up to this size is decoded whole, since its tail cannot be decoded alone.
const SMALL_BYTES: u64 = 64 << 10;
/// So is a larger one up to this size, as long as the look at all logs has bytes left for it.
const MEDIUM_BYTES: u64 = 2 << 20;
/// Bytes of packed logs beyond small ones that one look at all logs decodes.
const BUDGET_BYTES: i64 = 48 << 20;

/// What one look at all logs may still decode.
#[derive(Debug)]
pub(super) struct Budget(AtomicI64);

impl Budget {
    pub(super) fn new() -> Self {
        Budget(AtomicI64::new(BUDGET_BYTES))
    }

    fn allows(&self, member: &Member) -> bool {
        let Some(len) = member.len else { return false };
        let cost = len.saturating_sub(SMALL_BYTES) as i64;
        // What is too much for one log is left for smaller ones.
        let takes = || {
            let rest = |left: i64| (left >= cost).then(|| left - cost);
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
        };
        len <= SMALL_BYTES || (len <= MEDIUM_BYTES && takes())
    }
}

/// What is known of a run before it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glance {
    /// `App ID`, else by the file's name.
    pub(crate) application_id: Option<String>,
    /// `App Attempt ID`, else by the file's name.
    pub(crate) attempt_id: Option<String>,
    /// `App Name`.
    pub(crate) name: Option<String>,
    /// `User`.
    pub(crate) user: Option<String>,
    /// Spark's version.
    pub(crate) spark_version: Option<String>,
    /// Start, epoch milliseconds.
    pub(crate) start_ms: Option<i64>,
    /// End; `None` when the application has not ended, or where only reading the whole log would tell.
    pub(crate) end_ms: Option<i64>,
    /// `ExitCode` (Spark 4).
    pub(crate) exit_code: Option<i64>,
    /// Whether the application has ended, by its end or by the log's name.
    pub(crate) is_completed: bool,
    /// Whether the last job that was seen failed, and nobody had cancelled it.
    pub(crate) has_failed: bool,
    /// Whether there is any event in its head.
    pub(crate) has_events: bool,
}

/// Looks at the head and the tail of a log.
pub(super) fn glance(source: &RunSource, budget: &Budget) -> Glance {
    let mut glance = Glance::default();
    let is_one = source.members.len() == 1;
    let end_of_head =
        source.members.iter().take(2).find_map(|member| look_at_head(member, is_one, budget, &mut glance));
    let end = end_of_head.or_else(|| {
        // A packed log of one file was decoded whole for its head, if at all.
        look_at_tail(source.members.last()?, is_one, budget, &mut glance)
    });
    glance.application_id = glance.application_id.or_else(|| source.app_id_hint.clone());
    glance.attempt_id = glance.attempt_id.or_else(|| source.attempt_hint.clone());
    glance.is_completed = end.is_some() || source.in_progress == Some(false);
    if let Some(end) = end {
        glance.end_ms = end.timestamp.time_ms();
        glance.exit_code = end.exit_code.0;
    }
    glance
}

/// Reads on until the application's start is found. A small file shows its end on the way.
fn look_at_head(
    member: &Member,
    is_one: bool,
    budget: &Budget,
    glance: &mut Glance,
) -> Option<ApplicationEnd> {
    let mut decoder = member.open().ok()?;
    // The head of several members is not their end.
    let is_packed = decoder.codec() != Codec::Plain;
    let is_small =
        member.len.is_some_and(|len| len <= SMALL_BYTES) || (is_one && is_packed && budget.allows(member));
    let mut lines = Lines::default();
    loop {
        let has_start = glance.start_ms.is_some();
        if !is_small && (has_start || lines.seen > HEAD_BYTES) {
            return None;
        }
        let more = lines.fill(&mut decoder);
        let mut end = None;
        lines.each(!more, |line| {
            glance.has_events |= has_word(line, b"\"Event\"");
            if has_word(line, b"SparkListenerLogStart") {
                let event: LogStart = serde_json::from_slice(line).unwrap_or_default();
                glance.spark_version = event.spark_version;
            } else if has_word(line, b"SparkListenerApplicationStart") {
                let event: ApplicationStart = serde_json::from_slice(line).unwrap_or_default();
                glance.start_ms = event.timestamp.time_ms();
                glance.application_id = event.id;
                glance.attempt_id = event.attempt_id;
                glance.name = event.name;
                glance.user = event.user;
            } else {
                end = look_at_end(line, glance).or(end.take());
            }
        });
        if end.is_some() || !more {
            return end;
        }
    }
}

/// Takes from a line how the last job ended, and gives the application's end.
fn look_at_end(line: &[u8], glance: &mut Glance) -> Option<ApplicationEnd> {
    if has_word(line, b"SparkListenerJobEnd") {
        let event: JobEnd = serde_json::from_slice(line).ok()?;
        let error = event.result.exception.and_then(|exception| exception.message);
        let failed = Job { status: JobStatus::Failed, error, ..Job::default() };
        glance.has_failed = event.result.result.as_deref() == Some("JobFailed") && !failed.was_stopped();
    } else if has_word(line, b"SparkListenerApplicationEnd") {
        return serde_json::from_slice(line).ok();
    }
    None
}

/// The last lines of a plain file, or a packed one that is not too large to be decoded.
fn look_at_tail(
    member: &Member,
    is_one: bool,
    budget: &Budget,
    glance: &mut Glance,
) -> Option<ApplicationEnd> {
    let input = member.input().ok()?;
    let len = input.len()?;
    let mut decoder = Decoder::new(member.input().ok()?).ok()?;
    if decoder.codec() != Codec::Plain {
        if is_one || !budget.allows(member) {
            return None;
        }
        let (mut lines, mut end) = (Lines::default(), None);
        loop {
            let more = lines.fill(&mut decoder);
            lines.each(!more, |line| end = look_at_end(line, glance).or(end.take()));
            if !more {
                return end;
            }
        }
    }
    let start = len.saturating_sub(TAIL_BYTES as u64);
    let mut tail = vec![0; (len - start) as usize];
    let mut filled = 0;
    while filled < tail.len() {
        match input.read_at(start + filled as u64, &mut tail[filled..]) {
            Ok(0) | Err(_) => break,
            Ok(n) => filled += n,
        }
    }
    tail.truncate(filled);
    let mut end = None;
    for line in tail.split(|byte| *byte == b'\n') {
        end = look_at_end(line, glance).or(end);
    }
    end
}

/// Whether the event's name, which comes first, is this one.
fn has_word(line: &[u8], word: &[u8]) -> bool {
    memmem::find(&line[..line.len().min(80)], word).is_some()
}

/// Whole lines of a stream.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    seen: usize,
}

impl Lines {
    /// Takes more bytes; false at the end.
    fn fill(&mut self, decoder: &mut Decoder) -> bool {
        let old = self.buffer.len();
        self.buffer.resize(old + (32 << 10), 0);
        let read = decoder.read(&mut self.buffer[old..]);
        self.buffer.truncate(old + read);
        self.seen += read;
        read > 0
    }

    /// Gives every whole line, and at the end also what is left.
    fn each(&mut self, is_end: bool, mut each: impl FnMut(&[u8])) {
        let mut done = 0;
        for newline in memchr::memchr_iter(b'\n', &self.buffer) {
            each(&self.buffer[done..newline]);
            done = newline + 1;
        }
        if is_end {
            each(&self.buffer[done..]);
            done = self.buffer.len();
        }
        self.buffer.drain(..done);
    }
}

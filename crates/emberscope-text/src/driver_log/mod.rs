//! Logs of drivers, executors and Kyuubi: what they tell of a run when there is no event log.
//!
//! Lines come in any logger's layout, mixed with traces, plans and output of programs, and from several threads at
//! once; each is judged by itself. A log is streamed: what is kept grows with jobs, stages and tasks, not with lines.

mod message;
mod run;
mod texts;
mod time;
mod words;

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::Arc;
use texts::Texts;

/// What a log tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DriverLog {
    /// Application, as first named.
    pub application_id: Option<String>,
    /// Name of the application.
    pub application_name: Option<String>,
    /// Spark's version.
    pub spark_version: Option<String>,
    /// Addresses of the Spark UI, proxies first.
    pub ui_addresses: Vec<String>,
    /// Operations of Kyuubi or the Thrift server, in order.
    pub operations: Vec<Operation>,
    /// Time of the first line that has one, epoch milliseconds.
    pub first_ms: Option<i64>,
    /// Time of the last line that has one, epoch milliseconds.
    pub last_ms: Option<i64>,
    /// When the context stopped, epoch milliseconds.
    pub stopped_ms: Option<i64>,
    /// Exit code that the context stopped with.
    pub exit_code: Option<i64>,
    /// Jobs by id.
    pub jobs: BTreeMap<u32, Job>,
    /// Stage attempts by stage and attempt.
    #[serde(skip)]
    #[schemars(skip)]
    pub stages: BTreeMap<(u32, u32), Stage>,
    /// Task attempts by task id.
    #[serde(skip)]
    #[schemars(skip)]
    pub tasks: BTreeMap<u64, Task>,
    /// Task attempts that the log names.
    pub task_attempts: u64,
    /// Executors by id.
    pub executors: BTreeMap<String, Executor>,
    /// Lines that speak of memory running out: the first twenty.
    pub out_of_memory: Vec<String>,
    /// Collections of the JVM that are logged.
    pub gc: Gc,
    /// The last physical plan in the log.
    #[serde(skip)]
    #[schemars(skip)]
    pub plan: Option<String>,
    /// The job that the scheduler spoke of last; the lines about its stages do not name it.
    #[serde(skip)]
    #[schemars(skip)]
    latest_job: Option<u32>,
    /// Places of operations by id.
    #[serde(skip)]
    #[schemars(skip)]
    operation_places: FxHashMap<String, usize>,
    /// Texts that tasks share.
    #[serde(skip)]
    #[schemars(skip)]
    texts: Texts,
    /// Lines about tasks beyond those that are kept.
    #[serde(skip)]
    #[schemars(skip)]
    tasks_not_kept: u64,
    /// Lines read.
    pub lines: u64,
    /// Lines with a time.
    pub dated_lines: u64,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A statement that a server ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Operation {
    /// Id.
    pub id: String,
    /// When it was first named, epoch milliseconds.
    pub first_ms: Option<i64>,
    /// When its state last changed, epoch milliseconds.
    pub last_ms: Option<i64>,
    /// The state that it was last said to be in.
    pub state: Option<String>,
    /// The statement, where the log has it.
    pub statement: Option<String>,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Job {
    /// Call site.
    pub name: String,
    /// When it came to the scheduler, epoch milliseconds.
    pub start_ms: Option<i64>,
    /// When it ended, epoch milliseconds.
    pub end_ms: Option<i64>,
    /// Whether it failed.
    pub is_failed: bool,
    /// Its last stage.
    pub final_stage: Option<u32>,
    /// Stages the last one waits for.
    pub parents: Vec<u32>,
}

/// A stage attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Call site.
    pub name: String,
    /// Whether its tasks give results.
    pub is_result: bool,
    /// When it was submitted, epoch milliseconds.
    pub submitted_ms: Option<i64>,
    /// When it ended, epoch milliseconds.
    pub ended_ms: Option<i64>,
    /// Tasks.
    pub tasks: Option<u64>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// A task attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Stage and attempt.
    pub stage: (u32, u32),
    /// Index in the stage.
    pub index: u32,
    /// Attempt of the task.
    pub attempt: u32,
    /// Executor.
    pub executor: Option<Arc<str>>,
    /// Host.
    pub host: Option<Arc<str>>,
    /// When it was launched, epoch milliseconds.
    pub launched_ms: Option<i64>,
    /// How long it ran, milliseconds.
    pub duration_ms: Option<i64>,
    /// When its end was logged, epoch milliseconds.
    pub ended_ms: Option<i64>,
    /// Why it failed or was killed; of very many reasons only the beginning of each.
    pub failure: Option<Arc<str>>,
}

/// An executor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Executor {
    /// Host.
    pub host: Option<String>,
    /// When it registered, epoch milliseconds.
    pub added_ms: Option<i64>,
    /// When it was lost, epoch milliseconds.
    pub lost_ms: Option<i64>,
    /// Why.
    pub reason: Option<String>,
}

/// Collections, from lines of the JVM's own log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Gc {
    /// Pauses.
    pub pauses: u64,
    /// All of them, milliseconds.
    pub total_ms: f64,
    /// The longest, milliseconds.
    pub longest_ms: f64,
    /// Those of the whole heap.
    pub full: u64,
}

/// Bytes of a line that are looked at.
const LINE_BYTES: usize = 64 * 1024;
/// Bytes of a plan or statement that are kept.
const BLOCK_BYTES: usize = 1 << 20;

impl DriverLog {
    /// Reads a log to its end.
    ///
    /// # Errors
    /// Those of the reader. What cannot be understood is none.
    pub fn read(mut reader: impl BufRead) -> io::Result<Self> {
        let mut log = DriverLog::default();
        let mut block = Block::default();
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? {
            log.lines += 1;
            let text = String::from_utf8_lossy(&line);
            log.take(text.trim_end_matches(['\r', '\n']), &mut block);
        }
        block.close(&mut log);
        log.finish();
        Ok(log)
    }

    fn take(&mut self, line: &str, block: &mut Block) {
        let structured = structured(line);
        let (time, rest) = match (&structured, time::of(line)) {
            (Some((time, message)), _) => (*time, message.as_str()),
            (None, Some((time, rest))) => (Some(time), rest),
            (None, None) => (None, line),
        };
        if let Some(time) = time {
            self.dated_lines += 1;
            self.first_ms = Some(self.first_ms.map_or(time, |first| first.min(time)));
            self.last_ms = Some(self.last_ms.map_or(time, |last| last.max(time)));
            block.close(self);
        } else if block.take(line) {
            return;
        }
        message::take(self, time, rest, block);
    }

    fn finish(&mut self) {
        if self.dated_lines > 0 {
            self.notes.push("times of the log are taken as UTC unless they say otherwise".to_owned());
        }
        self.task_attempts = self.tasks.len() as u64;
        if self.tasks_not_kept > 0 {
            let (kept, lines) = (self.tasks.len(), self.tasks_not_kept);
            self.notes
                .push(format!("the first {kept} task attempts are kept: {lines} lines about more are not"));
        }
        // The address behind a proxy outlives the driver's own.
        self.ui_addresses
            .sort_by_key(|address| !(address.contains("/proxy/") || address.contains("/history/")));
    }

    /// Whether the log speaks of anything of Spark's.
    pub fn is_telling(&self) -> bool {
        self.application_id.is_some()
            || !self.jobs.is_empty()
            || !self.stages.is_empty()
            || self.plan.is_some()
    }
}

/// Spark 4 can log JSON: time, and the message behind the logger's name as in other layouts.
fn structured(line: &str) -> Option<(Option<i64>, String)> {
    #[derive(serde::Deserialize)]
    struct Line {
        ts: Option<String>,
        msg: Option<String>,
        #[serde(default)]
        logger: String,
    }
    if !line.starts_with('{') || !line.contains("\"msg\"") {
        return None;
    }
    let line: Line = serde_json::from_str(line).ok()?;
    let time = line.ts.as_deref().and_then(time::of).map(|(time, _)| time);
    Some((time, format!(" INFO {}: {}", line.logger, line.msg?)))
}

/// Reads one line, of which no more than [`LINE_BYTES`] are kept; `false` at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut is_any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(is_any);
        }
        is_any = true;
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        let room = LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// Lines without a time that belong to the one before: a plan, or a statement.
#[derive(Debug, Default)]
struct Block {
    kind: Option<BlockKind>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum BlockKind {
    Plan,
    /// Of the operation with this id.
    Statement(String),
}

impl Block {
    fn open(&mut self, kind: BlockKind, first: &str) {
        self.kind = Some(kind);
        self.text = first.to_owned();
    }

    /// Whether the line was part of the block.
    fn take(&mut self, line: &str) -> bool {
        if self.kind.is_none() {
            return false;
        }
        if self.text.len() + line.len() < BLOCK_BYTES {
            self.text.push('\n');
            self.text.push_str(line);
        }
        true
    }

    fn close(&mut self, log: &mut DriverLog) {
        let text = std::mem::take(&mut self.text);
        match self.kind.take() {
            Some(BlockKind::Plan) if crate::explain::parse(&text).is_some() => log.plan = Some(text),
            Some(BlockKind::Statement(id)) if !text.trim().is_empty() => {
                if let Some(place) = log.operation_places.get(&id) {
                    log.operations[*place].statement.get_or_insert(text.trim().to_owned());
                }
            }
            _ => {}
        }
    }
}

//! A run as a trace that Perfetto and Chrome's tracing show: SQL executions, jobs and stages as tracks, task
//! attempts on the slots of their executors, cores as counters.
//!
//! The form is the JSON of trace events: times are microseconds since the run's start.

use emberscope_analysis::views::timeline::series::series;
use emberscope_analysis::views::timeline::{Kind, STATUSES, Span, TASK_PARTS, TaskSlice, TimelineIndex};
use emberscope_model::run::Run;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Pieces of the counters.
const PIECES: usize = 2000;
/// Processes of the tracks beside executors, which come after them.
const SQL: u64 = 1;
const JOBS: u64 = 2;
const STAGES: u64 = 3;
const CORES: u64 = 4;
const FIRST_EXECUTOR: u64 = 10;

/// A trace event.
#[derive(Serialize)]
struct Event<'e> {
    name: &'e str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'e str,
    ph: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<i64>,
    pid: u64,
    tid: u64,
    /// Of an instant: who it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'e str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

/// Writes the events of a trace, one a line.
struct Trace<W> {
    out: W,
    has_events: bool,
}

impl<W: Write> Trace<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.has_events { b",\n" } else { b"\n" })?;
        self.has_events = true;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }

    /// Names a process or a thread, and puts it in its place.
    fn name(&mut self, what: &str, (pid, tid): (u64, u64), name: &str, order: u64) -> io::Result<()> {
        let meta = |kind: &str, key: &str, value: Value| (format!("{what}_{kind}"), key.to_owned(), value);
        for (event, key, value) in
            [meta("name", "name", name.into()), meta("sort_index", "sort_index", order.into())]
        {
            let args = Map::from_iter([(key, value)]);
            self.event(&Event {
                name: &event,
                cat: "",
                ph: "M",
                ts: None,
                dur: None,
                pid,
                tid,
                s: None,
                args,
            })?;
        }
        Ok(())
    }

    /// Something that lasts. What begins before the run does is cut there.
    fn slice(
        &mut self,
        (pid, tid): (u64, u64),
        (from_ms, to_ms): (i64, i64),
        (name, cat): (&str, &str),
        args: Map<String, Value>,
    ) -> io::Result<()> {
        let ts = from_ms.max(0).saturating_mul(1000);
        let dur = to_ms.max(0).saturating_mul(1000).saturating_sub(ts).max(0);
        self.event(&Event { name, cat, ph: "X", ts: Some(ts), dur: Some(dur), pid, tid, s: None, args })
    }
}

/// Writes a run as a trace.
///
/// # Errors
/// Those of `out`.
pub fn write(run: &Run, index: &TimelineIndex, out: impl Write) -> io::Result<()> {
    let mut trace = Trace { out, has_events: false };
    trace.out.write_all(b"{\"traceEvents\":[")?;
    for (pid, kind, name) in
        [(SQL, Kind::Sql, "SQL executions"), (JOBS, Kind::Jobs, "Jobs"), (STAGES, Kind::Stages, "Stages")]
    {
        band(&mut trace, pid, kind, name, index)?;
    }
    counters(&mut trace, run, index)?;
    for lane in 0..index.executors() {
        executor(&mut trace, index, lane)?;
    }
    let about = json!({
        "application_id": run.application.id,
        "application_name": run.application.name.as_deref().map(emberscope_model::redact::text),
        "spark_version": run.application.spark_version,
        "start_time_ms": index.start_time_ms(),
    });
    write!(trace.out, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{about}}}\n")?;
    trace.out.flush()
}

fn band<W: Write>(
    trace: &mut Trace<W>,
    pid: u64,
    kind: Kind,
    name: &str,
    index: &TimelineIndex,
) -> io::Result<()> {
    let (rows, spans) = index.spans(kind);
    trace.name("process", (pid, 0), name, pid)?;
    for row in 0..rows {
        let tid = u64::from(row) + 1;
        trace.name("thread", (pid, tid), &format!("{name} {tid}"), tid)?;
    }
    for span in spans {
        let place = (pid, u64::from(span.row) + 1);
        trace.slice(place, (span.from_ms, span.to_ms), (&title(kind, span), kind.key()), of_span(span))?;
    }
    Ok(())
}

fn title(kind: Kind, span: &Span) -> String {
    let id = match span.attempt {
        Some(attempt) => format!("{} {}.{attempt}", kind.key(), span.id),
        None => format!("{} {}", kind.key(), span.id),
    };
    // A statement of a thousand lines is no name.
    let label: String = span.label.lines().next().unwrap_or_default().chars().take(120).collect();
    if label.is_empty() { id } else { format!("{id}: {label}") }
}

fn of_span(span: &Span) -> Map<String, Value> {
    let mut args = Map::new();
    args.insert("status".to_owned(), span.status.into());
    if let Some(id) = span.sql_id {
        args.insert("sql_id".to_owned(), id.into());
    }
    if let Some(id) = span.job_id {
        args.insert("job_id".to_owned(), id.into());
    }
    if let Some(ms) = span.running_ms {
        args.insert("waiting_ms".to_owned(), (ms - span.from_ms).into());
    }
    args
}

/// Cores offered and held, and executors.
fn counters<W: Write>(trace: &mut Trace<W>, run: &Run, index: &TimelineIndex) -> io::Result<()> {
    trace.name("process", (CORES, 0), "Cores", CORES)?;
    let series = series(run, index, 0, index.duration_ms(), PIECES);
    for (at, (held, offered)) in series.cores_held.iter().zip(&series.cores_offered).enumerate() {
        let ts = Some((at as f64 * series.bucket_ms * 1000.0) as i64);
        let values = [
            ("cores", json!({ "held": held, "idle": (offered - held).max(0.0) })),
            ("executors", json!({ "executors": series.executors[at] })),
        ];
        for (name, values) in values {
            let Value::Object(args) = values else { continue };
            trace.event(&Event {
                name,
                cat: "",
                ph: "C",
                ts,
                dur: None,
                pid: CORES,
                tid: 0,
                s: None,
                args,
            })?;
        }
    }
    Ok(())
}

/// An executor with its slots.
fn executor<W: Write>(trace: &mut Trace<W>, index: &TimelineIndex, lane: usize) -> io::Result<()> {
    let pid = FIRST_EXECUTOR + lane as u64;
    let about = index.executor(lane);
    let host = about.host.map(|host| format!(" on {host}")).unwrap_or_default();
    trace.name("process", (pid, 0), &format!("Executor {}{host}", about.id), pid)?;
    for row in 0..about.rows {
        let tid = u64::from(row) + 1;
        trace.name("thread", (pid, tid), &format!("slot {tid}"), tid)?;
    }
    for (at_ms, name) in [(about.from_ms, "executor added"), (about.to_ms, "executor removed")] {
        if let Some(at_ms) = at_ms {
            let ts = Some(at_ms.max(0).saturating_mul(1000));
            let args = Map::new();
            trace.event(&Event {
                name,
                cat: "executor",
                ph: "i",
                ts,
                dur: None,
                pid,
                tid: 1,
                s: Some("p"),
                args,
            })?;
        }
    }
    // The driver sees the end of a task some time after its slot was taken again, and slices of one thread must
    // not overlap: each ends where the next begins at the latest.
    let mut open: Vec<Option<TaskSlice>> = vec![None; about.rows as usize];
    for task in index.tasks(lane) {
        if let Some(before) = open[task.row as usize].replace(task) {
            attempt(trace, pid, &before, before.to_ms.min(task.from_ms))?;
        }
    }
    for task in open.into_iter().flatten() {
        attempt(trace, pid, &task, task.to_ms)?;
    }
    Ok(())
}

fn attempt<W: Write>(trace: &mut Trace<W>, pid: u64, task: &TaskSlice, to_ms: i64) -> io::Result<()> {
    let mut args = Map::new();
    args.insert("task_id".to_owned(), task.task_id.into());
    args.insert("status".to_owned(), STATUSES.get(usize::from(task.status)).copied().into());
    args.insert("output_counted".to_owned(), task.is_counted.into());
    args.insert("duration_ms".to_owned(), (task.to_ms - task.from_ms).into());
    for (key, ms) in TASK_PARTS.iter().zip(task.parts).filter(|(_, ms)| *ms > 0) {
        args.insert(format!("{key}_ms"), ms.into());
    }
    let name = format!("stage {}.{}", task.stage_id, task.stage_attempt);
    trace.slice((pid, u64::from(task.row) + 1), (task.from_ms, to_ms), (&name, "task"), args)
}

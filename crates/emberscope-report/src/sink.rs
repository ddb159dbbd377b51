//! Where rows go.

use crate::ReportError;
use crate::cells::Batch;
use crate::json::JsonRows;
use crate::schema::Report;
use crate::tables::Unit;
use emberscope_model::run::Run;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// What was written of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Takes rows of any table. Tables may be written beside each other, each by one thread.
pub trait Sink: Sync {
    /// Takes some rows. They are safe with the sink, though perhaps not yet on disk.
    fn write(&self, batch: &Batch<'_>) -> Result<(), ReportError>;

    /// Says that no more rows of a table come.
    fn end(&self, report: Report) -> Result<(), ReportError> {
        _ = report;
        Ok(())
    }

    /// Makes everything final, and says what was written.
    fn close(self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError>;

    /// SQL with which Spark reads what was written; `None` where there is nothing to read.
    fn view_snippet(&self, report: Report) -> Option<String>;
}

/// A thread that panicked has been reported; what it held is not used further.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the chosen tables of a run to a sink, with more than one thread several at once. The rows of
/// each table do not depend on it.
pub fn write_run(run: &Run, reports: &[Report], sink: &dyn Sink, threads: usize) -> Result<(), ReportError> {
    let mut units = Unit::of(reports);
    if threads > 1 {
        // The longest first, so that the others fill the time beside it.
        units.sort_by_key(|unit| std::cmp::Reverse(unit.effort()));
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ReportError> {
        while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = unit
                .produce(run, &mut |batch| sink.write(batch))
                .and_then(|()| unit.reports().iter().try_for_each(|report| sink.end(*report)));
            if done.is_err() {
                // Nobody begins another table.
                next.store(units.len(), Ordering::Relaxed);
                return done;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(units.len())).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(of_other) => done = done.and(of_other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// One line per row, on a logger or any other stream of lines: `{"kind":"job","report":{…}}`.
pub struct LogSink<W> {
    state: Mutex<LogState<W>>,
}

struct LogState<W> {
    out: W,
    rows: BTreeMap<Report, JsonRows>,
    written: BTreeMap<Report, Written>,
    line: Vec<u8>,
    /// Hashes of the lines so far, where none is to be written twice; a million takes some 30 MB.
    known: Option<FxHashSet<u128>>,
}

impl<W: Write> LogSink<W> {
    /// A sink for these tables.
    pub fn new(out: W, reports: &[Report]) -> Self {
        LogSink::with(out, reports, None)
    }

    /// A sink that leaves rows out which it had before, as they are.
    pub fn of_news(out: W, reports: &[Report]) -> Self {
        LogSink::with(out, reports, Some(FxHashSet::default()))
    }

    fn with(out: W, reports: &[Report], known: Option<FxHashSet<u128>>) -> Self {
        let rows = reports.iter().map(|report| (*report, JsonRows::new(*report))).collect();
        let written = reports.iter().map(|report| (*report, Written::default())).collect();
        LogSink { state: Mutex::new(LogState { out, rows, written, line: Vec::new(), known }) }
    }
}

impl<W: Write + Send> Sink for LogSink<W> {
    fn write(&self, batch: &Batch<'_>) -> Result<(), ReportError> {
        let mut state = lock(&self.state);
        let LogState { out, rows, written, line, known } = &mut *state;
        let rows = rows.entry(batch.report).or_insert_with(|| JsonRows::new(batch.report));
        let written = written.entry(batch.report).or_default();
        for row in 0..batch.rows {
            line.clear();
            line.extend_from_slice(format!("{{\"kind\":\"{}\",\"report\":", batch.report.name()).as_bytes());
            rows.write(batch, row, line);
            line.extend_from_slice(b"}\n");
            if known.as_mut().is_some_and(|known| !known.insert(XxHash3_128::oneshot(line))) {
                continue;
            }
            out.write_all(line).map_err(log_error)?;
            written.rows += 1;
            written.bytes += line.len() as u64;
        }
        // Whoever reads a run while it goes on waits for its rows.
        if known.is_some() { out.flush().map_err(log_error) } else { Ok(()) }
    }

    fn close(self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.out.flush().map_err(log_error)?;
        Ok(state.written)
    }

    fn view_snippet(&self, _: Report) -> Option<String> {
        None
    }
}

fn log_error(source: std::io::Error) -> ReportError {
    ReportError::Io { path: PathBuf::from("log"), action: "written", source }
}

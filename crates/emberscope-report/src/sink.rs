//! Where rows go.

use crate::ReportError;
use crate::cells::Batch;
use crate::json::JsonRows;
use crate::schema::Report;
use crate::tables;
use emberscope_model::run::Run;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

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

/// Takes rows of any table.
pub trait Sink {
    /// Takes some rows. They are safe with the sink, though perhaps not yet on disk.
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), ReportError>;

    /// Makes everything final, and says what was written.
    fn close(self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError>;

    /// SQL with which Spark reads what was written; `None` where there is nothing to read.
    fn view_snippet(&self, report: Report) -> Option<String>;
}

/// Sends the chosen tables of a run to a sink.
pub fn write_run(run: &Run, reports: &[Report], sink: &mut dyn Sink) -> Result<(), ReportError> {
    for report in reports {
        tables::produce(run, *report, &mut |batch| sink.write(batch))?;
    }
    Ok(())
}

/// One line per row, on a logger or any other stream of lines: `{"kind":"job","report":{…}}`.
pub struct LogSink<W> {
    out: W,
    rows: BTreeMap<Report, JsonRows>,
    written: BTreeMap<Report, Written>,
    line: Vec<u8>,
}

impl<W: Write> LogSink<W> {
    /// A sink for these tables.
    pub fn new(out: W, reports: &[Report]) -> Self {
        LogSink {
            out,
            rows: reports.iter().map(|report| (*report, JsonRows::new(*report))).collect(),
            written: reports.iter().map(|report| (*report, Written::default())).collect(),
            line: Vec::new(),
        }
    }
}

impl<W: Write> Sink for LogSink<W> {
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), ReportError> {
        let rows = self.rows.entry(batch.report).or_insert_with(|| JsonRows::new(batch.report));
        let written = self.written.entry(batch.report).or_default();
        for row in 0..batch.rows {
            self.line.clear();
            self.line
                .extend_from_slice(format!("{{\"kind\":\"{}\",\"report\":", batch.report.name()).as_bytes());
            rows.write(batch, row, &mut self.line);
            self.line.extend_from_slice(b"}\n");
            self.out.write_all(&self.line).map_err(log_error)?;
            written.rows += 1;
            written.bytes += self.line.len() as u64;
        }
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<BTreeMap<Report, Written>, ReportError> {
        self.out.flush().map_err(log_error)?;
        Ok(self.written)
    }

    fn view_snippet(&self, _: Report) -> Option<String> {
        None
    }
}

fn log_error(source: std::io::Error) -> ReportError {
    ReportError::Io { path: PathBuf::from("log"), action: "written", source }
}

//! A file of JSON lines.

use super::{FileSinkOptions, OpenFile};
use crate::ReportError;
use crate::cells::Batch;
use crate::json::JsonRows;
use crate::schema::Report;
use std::io::Write;
use std::time::{Duration, Instant};

/// Bytes after which rows are handed to the system, however few they are: a plan may take megabytes.
const BUFFER_BYTES: usize = 1 << 20;

pub(super) struct NdjsonFile {
    open: OpenFile,
    rows: JsonRows,
    buffer: Vec<u8>,
    buffered_rows: usize,
    batch_size: usize,
    flush_every: Duration,
    flushed: Instant,
    written_rows: u64,
    written_bytes: u64,
    /// What went wrong while nobody waited for an answer.
    failed: Option<ReportError>,
}

impl NdjsonFile {
    pub(super) fn new(open: OpenFile, report: Report, options: &FileSinkOptions) -> Self {
        NdjsonFile {
            open,
            rows: JsonRows::new(report),
            buffer: Vec::new(),
            buffered_rows: 0,
            batch_size: options.batch_size.max(1),
            flush_every: options.flush_every,
            flushed: Instant::now(),
            written_rows: 0,
            written_bytes: 0,
            failed: None,
        }
    }

    /// Takes rows from `row` on, up to the next flush; gives the file's size.
    pub(super) fn write(&mut self, batch: &Batch<'_>, row: &mut usize) -> Result<u64, ReportError> {
        self.check()?;
        while *row < batch.rows {
            self.rows.write(batch, *row, &mut self.buffer);
            self.buffer.push(b'\n');
            self.buffered_rows += 1;
            *row += 1;
            if self.buffered_rows >= self.batch_size || self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
                return Ok(self.written_bytes);
            }
        }
        if self.flushed.elapsed() >= self.flush_every {
            self.flush()?;
        }
        Ok(self.written_bytes)
    }

    /// Hands the rows that wait to the system. Should that fail, the next call that can tell does.
    pub(super) fn flush_waiting(&mut self) {
        if self.buffered_rows > 0 && self.failed.is_none() {
            self.failed = self.flush().err();
        }
    }

    fn check(&mut self) -> Result<(), ReportError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        self.open
            .file
            .write_all(&self.buffer)
            .map_err(ReportError::io(&self.open.path.with_file_name(&self.open.name), "written"))?;
        self.written_rows += self.buffered_rows as u64;
        self.written_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        self.buffered_rows = 0;
        self.flushed = Instant::now();
        Ok(())
    }

    /// Name, rows and bytes; all is on disk then.
    pub(super) fn finish(mut self) -> Result<(String, u64, u64), ReportError> {
        self.check()?;
        self.flush()?;
        let target = self.open.path.with_file_name(&self.open.name);
        self.open.file.sync_all().map_err(ReportError::io(&target, "written"))?;
        Ok((self.open.name, self.written_rows, self.written_bytes))
    }
}

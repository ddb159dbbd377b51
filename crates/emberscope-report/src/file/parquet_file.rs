//! A Parquet file.

use super::OpenFile;
use crate::ReportError;
use crate::arrow;
use crate::cells::Batch;
use crate::schema::Report;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::PathBuf;

/// Rows of a row group.
const ROW_GROUP_ROWS: usize = 64 << 10;
/// Bytes after which a row group ends early: plans may take megabytes a row.
const ROW_GROUP_BYTES: usize = 32 << 20;

pub(super) struct ParquetFile {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    /// For messages.
    target: PathBuf,
    name: String,
    path: PathBuf,
    rows: u64,
}

impl ParquetFile {
    pub(super) fn new(open: OpenFile, report: Report) -> Result<Self, ReportError> {
        let schema = arrow::schema(report);
        let target = open.path.with_file_name(&open.name);
        let level = ZstdLevel::try_new(1).unwrap_or_default();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_created_by(format!("emberscope {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = ArrowWriter::try_new(open.file, schema.clone(), Some(properties))
            .map_err(|source| ReportError::Parquet { path: target.clone(), source })?;
        Ok(ParquetFile { writer, schema, target, name: open.name, path: open.path, rows: 0 })
    }

    /// Takes all rows from `row` on; gives the file's size, as far as it is known.
    pub(super) fn write(&mut self, batch: &Batch<'_>, row: &mut usize) -> Result<u64, ReportError> {
        let record_batch = arrow::record_batch(&self.schema, batch)?;
        let record_batch = record_batch.slice(*row, batch.rows - *row);
        let failed = |source| ReportError::Parquet { path: self.target.clone(), source };
        self.writer.write(&record_batch).map_err(failed)?;
        if self.writer.in_progress_size() >= ROW_GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        self.rows += record_batch.num_rows() as u64;
        *row = batch.rows;
        Ok((self.writer.bytes_written() + self.writer.in_progress_size()) as u64)
    }

    /// Name, rows and bytes.
    pub(super) fn finish(self) -> Result<(String, u64, u64), ReportError> {
        let target = self.target;
        self.writer.close().map_err(|source| ReportError::Parquet { path: target.clone(), source })?;
        let bytes = std::fs::metadata(&self.path).map_err(ReportError::io(&target, "written"))?.len();
        Ok((self.name, self.rows, bytes))
    }
}

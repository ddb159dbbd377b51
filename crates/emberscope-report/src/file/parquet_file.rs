//! A Parquet file.

use super::OpenFile;
use crate::ReportError;
use crate::arrow;
use crate::cells::Batch;
use crate::schema::{Report, Type};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
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
    rows: u64,
}

impl ParquetFile {
    pub(super) fn new(open: OpenFile, report: Report) -> Result<Self, ReportError> {
        let schema = arrow::schema(report);
        let target = open.path.with_file_name(&open.name);
        let level = ZstdLevel::try_new(1).unwrap_or_default();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            // A row group is small: pages of it need no bounds of their own.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_created_by(format!("emberscope {}", env!("CARGO_PKG_VERSION")));
        // Measurements rarely repeat, so that a dictionary of them costs time and saves nothing; Spark reads
        // differences since 3.3.
        for def in report.columns().iter().filter(|def| matches!(def.ty, Type::Int | Type::Long)) {
            let path = ColumnPath::from(def.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let properties = properties.build();
        let writer = ArrowWriter::try_new(open.file, schema.clone(), Some(properties))
            .map_err(|source| ReportError::Parquet { path: target.clone(), source })?;
        Ok(ParquetFile { writer, schema, target, name: open.name, rows: 0 })
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

    /// Name, rows and bytes; all is on disk then.
    pub(super) fn finish(self) -> Result<(String, u64, u64), ReportError> {
        let target = self.target;
        let failed = |source| ReportError::Parquet { path: target.clone(), source };
        let file = self.writer.into_inner().map_err(failed)?;
        let written = file.sync_all().and_then(|()| file.metadata());
        let bytes = written.map_err(ReportError::io(&target, "written"))?.len();
        Ok((self.name, self.rows, bytes))
    }
}

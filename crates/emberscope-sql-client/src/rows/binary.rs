//! Rows as Parquet and as an Arrow stream.

use super::{Rows, RowsError};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::io::Write;

fn renamed(schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch, RowsError> {
    Ok(RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?)
}

pub(super) struct Parquet<W: Write + Send> {
    schema: SchemaRef,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(schema: SchemaRef, output: W) -> Result<Self, RowsError> {
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))?;
        Ok(Parquet { schema, writer })
    }
}

impl<W: Write + Send> Rows<W> for Parquet<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), RowsError> {
        Ok(self.writer.write(&renamed(&self.schema, batch)?)?)
    }

    fn finish(self: Box<Self>) -> Result<W, RowsError> {
        Ok(self.writer.into_inner()?)
    }
}

pub(super) struct Arrow<W: Write> {
    schema: SchemaRef,
    writer: StreamWriter<W>,
}

impl<W: Write> Arrow<W> {
    pub(super) fn new(schema: SchemaRef, output: W) -> Result<Self, RowsError> {
        let writer = StreamWriter::try_new(output, &schema)?;
        Ok(Arrow { schema, writer })
    }
}

impl<W: Write> Rows<W> for Arrow<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), RowsError> {
        Ok(self.writer.write(&renamed(&self.schema, batch)?)?)
    }

    fn finish(mut self: Box<Self>) -> Result<W, RowsError> {
        self.writer.finish()?;
        Ok(self.writer.into_inner()?)
    }
}

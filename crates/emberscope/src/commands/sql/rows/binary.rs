//! Rows as Parquet and as an Arrow stream.

use super::Rows;
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::io::{self, Write};

/// An output as a writer.
struct Bytes(Output);

impl Write for Bytes {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write_bytes(buf).map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => error,
            Err(error) => io::Error::other(format!("{error:#}")),
        })?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn renamed(schema: &SchemaRef, batch: &RecordBatch) -> anyhow::Result<RecordBatch> {
    Ok(RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?)
}

pub(super) struct Parquet {
    schema: SchemaRef,
    writer: ArrowWriter<Bytes>,
}

impl Parquet {
    pub(super) fn new(schema: SchemaRef, output: Output) -> anyhow::Result<Self> {
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
        let writer = ArrowWriter::try_new(Bytes(output), schema.clone(), Some(properties))?;
        Ok(Parquet { schema, writer })
    }
}

impl Rows for Parquet {
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&renamed(&self.schema, batch)?)?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        self.writer.into_inner()?.0.finish()
    }
}

pub(super) struct Arrow {
    schema: SchemaRef,
    writer: StreamWriter<Bytes>,
}

impl Arrow {
    pub(super) fn new(schema: SchemaRef, output: Output) -> anyhow::Result<Self> {
        let writer = StreamWriter::try_new(Bytes(output), &schema)?;
        Ok(Arrow { schema, writer })
    }
}

impl Rows for Arrow {
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        Ok(self.writer.write(&renamed(&self.schema, batch)?)?)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        self.writer.finish()?;
        self.writer.into_inner()?.0.finish()
    }
}

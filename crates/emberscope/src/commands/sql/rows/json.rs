//! Rows as JSON objects.

use super::Rows;
use super::value;
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// What stands around the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// One array.
    Array,
    /// Nothing: one a line.
    Lines,
}

pub(super) struct Json {
    schema: SchemaRef,
    output: Output,
    frame: Frame,
    has_rows: bool,
}

impl Json {
    pub(super) fn new(schema: &SchemaRef, mut output: Output, frame: Frame) -> anyhow::Result<Self> {
        if frame == Frame::Array {
            output.write("[")?;
        }
        Ok(Json { schema: schema.clone(), output, frame, has_rows: false })
    }
}

impl Rows for Json {
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            if self.frame == Frame::Array {
                text.push_str(if self.has_rows { ",\n" } else { "\n" });
            }
            self.has_rows = true;
            let names = self.schema.fields().iter().map(|field| field.name().as_str());
            value::object(names.zip(batch.columns()), row, &mut text);
            if self.frame == Frame::Lines {
                text.push('\n');
            }
        }
        self.output.write(&text)
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        if self.frame == Frame::Array {
            self.output.write(if self.has_rows { "\n]\n" } else { "]\n" })?;
        }
        self.output.finish()
    }
}

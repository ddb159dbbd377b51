//! Rows as JSON objects.

use super::value;
use super::{Rows, RowsError};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::io::Write;

/// What stands around the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// One array.
    Array,
    /// Nothing: one a line.
    Lines,
}

pub(super) struct Json<W> {
    schema: SchemaRef,
    output: W,
    frame: Frame,
    has_rows: bool,
}

impl<W: Write> Json<W> {
    pub(super) fn new(schema: &SchemaRef, mut output: W, frame: Frame) -> Result<Self, RowsError> {
        if frame == Frame::Array {
            output.write_all(b"[")?;
        }
        Ok(Json { schema: schema.clone(), output, frame, has_rows: false })
    }
}

impl<W: Write> Rows<W> for Json<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), RowsError> {
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
        Ok(self.output.write_all(text.as_bytes())?)
    }

    fn finish(mut self: Box<Self>) -> Result<W, RowsError> {
        if self.frame == Frame::Array {
            self.output.write_all(if self.has_rows { b"\n]\n" } else { b"]\n" })?;
        }
        Ok(self.output)
    }
}

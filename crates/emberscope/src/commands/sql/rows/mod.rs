//! Rows of an answer, written as asked.

mod table;

use crate::cli::RowsFormat;
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use emberscope_sql_client::rows::{self, Form, RowsError};

/// Takes the rows of one answer.
pub(super) trait Rows {
    /// Takes some rows.
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()>;

    /// Writes the end, and puts a file in its place.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

/// Begins to write an answer of these columns.
pub(super) fn begin(format: RowsFormat, schema: &Schema, output: Output) -> anyhow::Result<Box<dyn Rows>> {
    let form = match format {
        RowsFormat::Table => return Ok(Box::new(table::Table::new(schema, output))),
        RowsFormat::Csv => Form::Csv,
        RowsFormat::Tsv => Form::Tsv,
        RowsFormat::Json => Form::Json,
        RowsFormat::Ndjson => Form::Ndjson,
        RowsFormat::Parquet => Form::Parquet,
        RowsFormat::Arrow => Form::Arrow,
    };
    Ok(Box::new(ForPrograms(rows::begin(form, schema, output).map_err(told)?)))
}

/// Rows in one of the forms for programs.
struct ForPrograms(Box<dyn rows::Rows<Output>>);

impl Rows for ForPrograms {
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        self.0.batch(batch).map_err(told)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        self.0.finish().map_err(told)?.finish()
    }
}

/// The error itself, by which a closed pipe is known.
fn told(error: RowsError) -> anyhow::Error {
    match error {
        RowsError::Io(error) => error.into(),
        error => error.into(),
    }
}

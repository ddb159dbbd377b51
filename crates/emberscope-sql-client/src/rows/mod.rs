//! Rows of an answer, written as asked.

mod binary;
mod json;
mod text;
pub mod value;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use emberscope_sql_protocol::QUALIFIED_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

/// Forms of rows for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// One array of objects.
    Json,
    /// An object a line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
    /// An Arrow stream.
    Arrow,
}

/// Why rows cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Where they go cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// They have no form as Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// They have no form as Parquet.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
}

/// Takes the rows of one answer.
pub trait Rows<W> {
    /// Takes some rows.
    ///
    /// # Errors
    /// They cannot be written.
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), RowsError>;

    /// Writes the end, and gives back where it was written.
    ///
    /// # Errors
    /// It cannot be written.
    fn finish(self: Box<Self>) -> Result<W, RowsError>;
}

/// Begins to write an answer of these columns.
///
/// # Errors
/// The beginning cannot be written.
pub fn begin<W: Write + Send + 'static>(
    form: Form,
    schema: &Schema,
    output: W,
) -> Result<Box<dyn Rows<W>>, RowsError> {
    Ok(match form {
        Form::Csv => Box::new(text::Separated::new(schema, output, text::Separator::Comma)?),
        Form::Tsv => Box::new(text::Separated::new(schema, output, text::Separator::Tab)?),
        Form::Json => Box::new(json::Json::new(&with_own_names(schema), output, json::Frame::Array)?),
        Form::Ndjson => Box::new(json::Json::new(&with_own_names(schema), output, json::Frame::Lines)?),
        Form::Parquet => Box::new(binary::Parquet::new(with_own_names(schema), output)?),
        Form::Arrow => Box::new(binary::Arrow::new(with_own_names(schema), output)?),
    })
}

/// The columns, each with a name of its own: one that is there again is called with its table, as `s.stageId`.
pub fn with_own_names(schema: &Schema) -> SchemaRef {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for field in schema.fields() {
        *counts.entry(field.name()).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let own = schema.fields().iter().map(|field| {
        let qualified = field.metadata().get(QUALIFIED_NAME);
        let is_repeated = counts.get(field.name().as_str()).is_some_and(|count| *count > 1);
        let name = qualified.filter(|_| is_repeated).unwrap_or_else(|| field.name());
        let mut own = name.clone();
        let mut n = 2;
        while !taken.insert(own.clone()) {
            own = format!("{name}_{n}");
            n += 1;
        }
        Field::new(own, field.data_type().clone(), field.is_nullable())
    });
    Arc::new(Schema::new(own.collect::<Vec<Field>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn repeated_names_are_qualified() {
        let field = |name: &str, qualified: Option<&str>| {
            let metadata = qualified.map(|name| (QUALIFIED_NAME.to_owned(), name.to_owned()));
            Field::new(name, DataType::Int32, true).with_metadata(metadata.into_iter().collect())
        };
        let schema = Schema::new(vec![
            field("jobId", Some("j.jobId")),
            field("stageId", Some("s.stageId")),
            field("stageId", Some("t.stageId")),
            field("n", None),
            field("n", None),
        ]);
        let own = with_own_names(&schema);
        let names: Vec<&str> = own.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["jobId", "s.stageId", "t.stageId", "n", "n_2"]);
    }
}

//! Rows of an answer, written as asked.

mod binary;
mod json;
mod table;
mod text;
mod value;

use crate::cli::RowsFormat;
use crate::output::Output;
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use emberscope_sql_protocol::QUALIFIED_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Takes the rows of one answer.
pub(super) trait Rows {
    /// Takes some rows.
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()>;

    /// Writes the end, and puts a file in its place.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

/// Begins to write an answer of these columns.
pub(super) fn begin(format: RowsFormat, schema: &Schema, output: Output) -> anyhow::Result<Box<dyn Rows>> {
    Ok(match format {
        RowsFormat::Table => Box::new(table::Table::new(schema, output)),
        RowsFormat::Csv => Box::new(text::Separated::new(schema, output, text::Separator::Comma)?),
        RowsFormat::Tsv => Box::new(text::Separated::new(schema, output, text::Separator::Tab)?),
        RowsFormat::Json => Box::new(json::Json::new(&with_own_names(schema), output, json::Frame::Array)?),
        RowsFormat::Ndjson => Box::new(json::Json::new(&with_own_names(schema), output, json::Frame::Lines)?),
        RowsFormat::Parquet => Box::new(binary::Parquet::new(with_own_names(schema), output)?),
        RowsFormat::Arrow => Box::new(binary::Arrow::new(with_own_names(schema), output)?),
    })
}

/// The columns, each with a name of its own: one that is there again is called with its table, as `s.stageId`.
fn with_own_names(schema: &Schema) -> SchemaRef {
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

//! `to_json` and `from_json`.

use crate::types;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::arrow::json::{LineDelimitedWriter, ReaderBuilder};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// Name of the one column by which values become rows.
const VALUE: &str = "v";

/// A list, map or struct as JSON.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToJson {
    signature: Signature,
}

impl ToJson {
    pub(super) fn new() -> Self {
        ToJson { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToJson {
    fn name(&self) -> &str {
        "to_json"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::List(_) | DataType::Struct(_) | DataType::Map(..)] => Ok(DataType::Utf8),
            _ => plan_err!("to_json takes a list, a map or a struct"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?.remove(0);
        let schema = Schema::new(vec![Field::new(VALUE, values.data_type().clone(), true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![values])?;
        let mut lines = Vec::new();
        let mut writer = LineDelimitedWriter::new(&mut lines);
        writer.write(&batch)?;
        writer.finish()?;
        let lines = String::from_utf8_lossy(&lines);
        // `{"v":…}`, and `{}` for null.
        let inner =
            lines.lines().map(|line| line.strip_prefix("{\"v\":").and_then(|line| line.strip_suffix('}')));
        Ok(ColumnarValue::Array(Arc::new(inner.collect::<StringArray>())))
    }
}

/// JSON as a value of a type; null where it is none.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FromJson {
    signature: Signature,
}

impl FromJson {
    pub(super) fn new() -> Self {
        FromJson { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for FromJson {
    fn name(&self) -> &str {
        "from_json"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            2 => Ok(vec![DataType::Utf8, DataType::Utf8]),
            _ => plan_err!("from_json takes a text and a type, such as 'MAP<STRING, STRING>'"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("from_json takes its type as a literal")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let ty = args.scalar_arguments.get(1).copied().flatten().and_then(ScalarValue::try_as_str).flatten();
        match ty.map(of_type) {
            Some(Ok(ty)) => Ok(Arc::new(Field::new(self.name(), ty, true))),
            Some(Err(reason)) => plan_err!("from_json: {reason}"),
            None => plan_err!("from_json takes its type as a literal, such as 'MAP<STRING, STRING>'"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ty = args.return_field.data_type().clone();
        let texts = ColumnarValue::values_to_arrays(&args.args[..1])?.remove(0);
        let schema = Arc::new(Schema::new(vec![Field::new(VALUE, ty, true)]));
        let texts = texts.as_string::<i32>();
        Ok(ColumnarValue::Array(values(&schema, texts)?))
    }
}

/// A type, or the columns of a struct: `a INT, b STRING`.
fn of_type(text: &str) -> std::result::Result<DataType, String> {
    types::parse(text).or_else(|reason| types::parse(&format!("STRUCT<{text}>")).map_err(|_| reason))
}

fn values(schema: &SchemaRef, texts: &StringArray) -> Result<ArrayRef> {
    let is_json = |text: &&str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let row = |text: Option<&str>| format!("{{\"v\":{}}}\n", text.filter(is_json).unwrap_or("null"));
    let rows: Vec<String> = texts.iter().map(row).collect();
    if let Ok(all) = decode(schema, &rows.concat(), texts.len()) {
        return Ok(all);
    }
    // A value of another type than the wanted one: null, and the others as they are.
    let ty = schema.field(0).data_type();
    let one_by_one: Vec<ArrayRef> =
        rows.iter().map(|row| decode(schema, row, 1).unwrap_or_else(|_| new_null_array(ty, 1))).collect();
    let arrays: Vec<&dyn Array> = one_by_one.iter().map(AsRef::as_ref).collect();
    Ok(concat(&arrays)?)
}

fn decode(schema: &SchemaRef, rows: &str, count: usize) -> Result<ArrayRef> {
    if count == 0 {
        return Ok(new_null_array(schema.field(0).data_type(), 0));
    }
    let builder = ReaderBuilder::new(Arc::clone(schema)).with_batch_size(count).with_coerce_primitive(true);
    let mut decoder = builder.build_decoder()?;
    decoder.decode(rows.as_bytes())?;
    match decoder.flush()? {
        Some(batch) if batch.num_rows() == count => Ok(Arc::clone(batch.column(0))),
        _ => exec_err!("from_json: not as many values as texts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_null() {
        let ty = of_type("MAP<STRING, STRING>").unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new(VALUE, ty, true)]));
        let texts =
            StringArray::from(vec![Some(r#"{"a":"b"}"#), None, Some("{"), Some("[1]"), Some(r#"{"n":1}"#)]);
        let maps = values(&schema, &texts).unwrap();
        let is_null: Vec<bool> = (0..maps.len()).map(|row| maps.is_null(row)).collect();
        assert_eq!(is_null, [false, true, true, true, false]);
        assert!(of_type("a INT, b STRING").is_ok());
        assert!(of_type("nonsense").is_err());
    }
}

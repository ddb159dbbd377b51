//! Values as text, as Spark's `CAST(x AS STRING)` writes them.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::fmt::Write;
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Text {
    signature: Signature,
}

impl Text {
    pub(super) fn new() -> Self {
        Text { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Text {
    fn name(&self) -> &str {
        super::TEXT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Scalar(value)] => {
                let array = of(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
            args => Ok(ColumnarValue::Array(of(&ColumnarValue::values_to_arrays(args)?[0])?)),
        }
    }
}

/// The values as text.
pub(super) fn of(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        ty if ty.is_integer() || ty.is_string() || matches!(ty, DataType::Boolean | DataType::Null) => {
            Ok(cast(array, &DataType::Utf8)?)
        }
        _ => Ok(Arc::new(texts(array)?)),
    }
}

fn texts(array: &ArrayRef) -> Result<StringArray> {
    let mut builder = StringBuilder::new();
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
        } else {
            text.clear();
            write(array.as_ref(), row, &mut text)?;
            builder.append_value(&text);
        }
    }
    Ok(builder.finish())
}

fn write(array: &dyn Array, row: usize, out: &mut String) -> Result<()> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Float64 => out.push_str(&double(array.as_primitive::<Float64Type>().value(row))),
        DataType::Float32 => {
            // Its own shortest digits, not those of the double.
            let value = array.as_primitive::<Float32Type>().value(row);
            out.push_str(&double(value.to_string().parse().unwrap_or(f64::from(value))));
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for item in 0..items.len() {
                if item > 0 {
                    out.push_str(", ");
                }
                write(items.as_ref(), item, out)?;
            }
            out.push(']');
        }
        DataType::Struct(_) => {
            out.push('{');
            for (n, column) in array.as_struct().columns().iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                write(column.as_ref(), row, out)?;
            }
            out.push('}');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            out.push('{');
            for entry in 0..entries.len() {
                if entry > 0 {
                    out.push_str(", ");
                }
                write(entries.column(0).as_ref(), entry, out)?;
                out.push_str(" -> ");
                write(entries.column(1).as_ref(), entry, out)?;
            }
            out.push('}');
        }
        DataType::Timestamp(..) => {
            let options = FormatOptions::new().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
            write!(out, "{}", ArrayFormatter::try_new(array, &options)?.value(row))?;
        }
        _ => write!(out, "{}", ArrayFormatter::try_new(array, &FormatOptions::new())?.value(row))?,
    }
    Ok(())
}

/// As Java's `Double.toString`.
fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.5, "0.5"),
            (1e7, "1.0E7"),
            (9_999_999.0, "9999999.0"),
            (12_345_678.9, "1.23456789E7"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (-1.5e-7, "-1.5E-7"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
    }
}

//! One value: as text for people, as JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::fmt::Write;

/// Whether values of a type are lined up at their right.
pub fn is_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Int32 | DataType::Int64 | DataType::Float64 | DataType::Decimal128(..))
}

/// A value that holds no others; `None` for one that does.
fn simple(array: &dyn Array, row: usize, out: &mut String) -> Option<()> {
    // Writing to a string cannot fail.
    _ = match array.data_type() {
        DataType::Boolean => write!(out, "{}", array.as_boolean().value(row)),
        DataType::Int32 => write!(out, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => write!(out, "{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => {
            write!(out, "{}", array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            write!(out, "{}", time(i64::from(days).saturating_mul(86_400_000_000), false))
        }
        DataType::Timestamp(..) => {
            write!(out, "{}", time(array.as_primitive::<TimestampMicrosecondType>().value(row), true))
        }
        DataType::Utf8 => {
            out.push_str(array.as_string::<i32>().value(row));
            Ok(())
        }
        _ => return None,
    };
    Some(())
}

/// A time, UTC; the number itself where there is none.
fn time(micros: i64, with_clock: bool) -> String {
    let Ok(time) = jiff::Timestamp::from_microsecond(micros) else { return micros.to_string() };
    if with_clock {
        time.strftime("%Y-%m-%d %H:%M:%S%.f").to_string()
    } else {
        time.strftime("%Y-%m-%d").to_string()
    }
}

/// A value as Spark shows it: `[1, 2]`, `{key -> value}`; null as `null`.
pub fn text(array: &dyn Array, row: usize, out: &mut String) {
    if array.is_null(row) {
        out.push_str("null");
        return;
    }
    if simple(array, row, out).is_some() {
        return;
    }
    match array.data_type() {
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for item in 0..items.len() {
                out.push_str(if item > 0 { ", " } else { "" });
                text(items.as_ref(), item, out);
            }
            out.push(']');
        }
        DataType::Struct(_) => {
            out.push('{');
            for (n, column) in array.as_struct().columns().iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                text(column.as_ref(), row, out);
            }
            out.push('}');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            out.push('{');
            for entry in 0..entries.len() {
                out.push_str(if entry > 0 { ", " } else { "" });
                text(entries.column(0).as_ref(), entry, out);
                out.push_str(" -> ");
                text(entries.column(1).as_ref(), entry, out);
            }
            out.push('}');
        }
        other => _ = write!(out, "({other})"),
    }
}

/// A value as JSON. A number that JSON has not, such as infinity, is null.
pub fn json(array: &dyn Array, row: usize, out: &mut String) {
    if array.is_null(row) {
        out.push_str("null");
        return;
    }
    match array.data_type() {
        DataType::Float64 if !array.as_primitive::<Float64Type>().value(row).is_finite() => {
            out.push_str("null");
        }
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float64
        | DataType::Decimal128(..) => {
            simple(array, row, out);
        }
        DataType::Utf8 => quoted(array.as_string::<i32>().value(row), out),
        DataType::Date32 | DataType::Timestamp(..) => {
            out.push('"');
            simple(array, row, out);
            out.push('"');
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for item in 0..items.len() {
                out.push_str(if item > 0 { "," } else { "" });
                json(items.as_ref(), item, out);
            }
            out.push(']');
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            object(fields.iter().map(|field| field.name().as_str()).zip(columns), row, out);
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            out.push('{');
            let mut key = String::new();
            for entry in 0..entries.len() {
                out.push_str(if entry > 0 { "," } else { "" });
                key.clear();
                text(entries.column(0).as_ref(), entry, &mut key);
                quoted(&key, out);
                out.push(':');
                json(entries.column(1).as_ref(), entry, out);
            }
            out.push('}');
        }
        _ => out.push_str("null"),
    }
}

/// An object of these columns.
pub fn object<'c>(columns: impl Iterator<Item = (&'c str, &'c ArrayRef)>, row: usize, out: &mut String) {
    out.push('{');
    for (n, (name, column)) in columns.enumerate() {
        out.push_str(if n > 0 { "," } else { "" });
        quoted(name, out);
        out.push(':');
        json(column.as_ref(), row, out);
    }
    out.push('}');
}

fn quoted(text: &str, out: &mut String) {
    // A string always has a form in JSON.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
    use arrow_array::{Float64Array, StringArray, TimestampMicrosecondArray};

    fn both(array: &dyn Array, row: usize) -> (String, String) {
        let (mut as_text, mut as_json) = (String::new(), String::new());
        text(array, row, &mut as_text);
        json(array, row, &mut as_json);
        (as_text, as_json)
    }

    #[test]
    fn values() {
        let doubles = Float64Array::from(vec![Some(256.0), Some(f64::NAN), None]);
        assert_eq!(both(&doubles, 0), ("256.0".to_owned(), "256.0".to_owned()));
        assert_eq!(both(&doubles, 1), ("NaN".to_owned(), "null".to_owned()));
        assert_eq!(both(&doubles, 2), ("null".to_owned(), "null".to_owned()));
        let texts = StringArray::from(vec!["a\"b"]);
        assert_eq!(both(&texts, 0), ("a\"b".to_owned(), r#""a\"b""#.to_owned()));
        let times = TimestampMicrosecondArray::from(vec![1_500_000]);
        assert_eq!(both(&times, 0).0, "1970-01-01 00:00:01.5");
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        maps.keys().append_value("k");
        maps.values().append_value(7);
        maps.append(true).unwrap();
        assert_eq!(both(&maps.finish(), 0), ("{k -> 7}".to_owned(), r#"{"k":7}"#.to_owned()));
    }
}

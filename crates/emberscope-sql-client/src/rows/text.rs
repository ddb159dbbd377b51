//! Rows as separated values.

use super::value;
use super::{Rows, RowsError};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use std::io::Write;

/// What stands between values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// As RFC 4180 has it: values with commas, quotes or line ends are quoted.
    Comma,
    /// Tabs and line ends within values are written `\t` and `\n`.
    Tab,
}

pub(super) struct Separated<W> {
    output: W,
    separator: Separator,
}

impl<W: Write> Separated<W> {
    pub(super) fn new(schema: &Schema, mut output: W, separator: Separator) -> Result<Self, RowsError> {
        let mut header = String::new();
        for (n, field) in schema.fields().iter().enumerate() {
            separator.between(n, &mut header);
            separator.value(field.name(), &mut header);
        }
        header.push('\n');
        output.write_all(header.as_bytes())?;
        Ok(Separated { output, separator })
    }
}

impl Separator {
    fn between(self, n: usize, out: &mut String) {
        if n > 0 {
            out.push(if self == Separator::Comma { ',' } else { '\t' });
        }
    }

    fn value(self, text: &str, out: &mut String) {
        match self {
            Separator::Comma if text.contains([',', '"', '\n', '\r']) => {
                out.push('"');
                out.push_str(&text.replace('"', "\"\""));
                out.push('"');
            }
            Separator::Tab if text.contains(['\t', '\n', '\r', '\\']) => {
                let text = text.replace('\\', "\\\\").replace('\t', "\\t");
                out.push_str(&text.replace('\n', "\\n").replace('\r', "\\r"));
            }
            _ => out.push_str(text),
        }
    }
}

impl<W: Write> Rows<W> for Separated<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), RowsError> {
        let (mut lines, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            for (n, column) in batch.columns().iter().enumerate() {
                self.separator.between(n, &mut lines);
                // Null is nothing; an empty text in CSV is a pair of quotes.
                if column.is_null(row) {
                    continue;
                }
                text.clear();
                match column.data_type() {
                    // What others read must have a form that others know.
                    DataType::List(_) | DataType::Map(..) | DataType::Struct(_) => {
                        value::json(column.as_ref(), row, &mut text);
                    }
                    _ => value::text(column.as_ref(), row, &mut text),
                }
                if text.is_empty() && self.separator == Separator::Comma {
                    lines.push_str("\"\"");
                } else {
                    self.separator.value(&text, &mut lines);
                }
            }
            lines.push('\n');
        }
        Ok(self.output.write_all(lines.as_bytes())?)
    }

    fn finish(self: Box<Self>) -> Result<W, RowsError> {
        Ok(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_apart() {
        let written = |separator: Separator, text: &str| {
            let mut out = String::new();
            separator.value(text, &mut out);
            out
        };
        assert_eq!(written(Separator::Comma, "a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(written(Separator::Comma, "plain"), "plain");
        assert_eq!(written(Separator::Tab, "a\tb\n\\"), "a\\tb\\n\\\\");
    }
}

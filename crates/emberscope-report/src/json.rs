//! Rows as JSON lines, written by hand straight into a buffer.

use crate::cells::{Batch, Cell, Cells, SqlNode};
use crate::schema::{ColumnDef, Report};

/// Writes rows of one table.
#[derive(Clone, Debug)]
pub(crate) struct JsonRows {
    /// `{"first":`, then `,"second":` and so on.
    keys: Vec<Vec<u8>>,
}

impl JsonRows {
    pub(crate) fn new(report: Report) -> Self {
        let key = |(n, def): (usize, &&ColumnDef)| {
            let before = if n == 0 { '{' } else { ',' };
            format!("{before}\"{}\":", def.name).into_bytes()
        };
        JsonRows { keys: report.columns().iter().enumerate().map(key).collect() }
    }

    /// Adds one row, without a line end.
    pub(crate) fn write(&self, batch: &Batch<'_>, row: usize, out: &mut Vec<u8>) {
        for (key, column) in self.keys.iter().zip(&batch.columns) {
            out.extend_from_slice(key);
            match column {
                Cells::Ints(values) => opt(out, values[row].as_ref(), |out, value| int(out, *value)),
                Cells::Doubles(values) => opt(out, values[row].as_ref(), |out, value| double(out, *value)),
                Cells::Bools(values) => opt(out, values[row].as_ref(), |out, value| boolean(out, *value)),
                Cells::Texts(values) => opt(out, values[row].as_ref(), |out, value| text(out, value)),
                Cells::Nested(values) => cell(out, &values[row]),
            }
        }
        out.push(b'}');
    }
}

#[inline]
fn opt<T>(out: &mut Vec<u8>, value: Option<&T>, write: impl Fn(&mut Vec<u8>, &T)) {
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

#[inline]
fn int(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn double(out: &mut Vec<u8>, value: f64) {
    // JSON has no infinities; a ratio never is one.
    if value.is_finite() {
        out.extend_from_slice(format!("{value:?}").as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// A string with its quotes.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

fn list<T>(out: &mut Vec<u8>, ends: [u8; 2], items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(ends[0]);
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(ends[1]);
}

fn cell(out: &mut Vec<u8>, value: &Cell<'_>) {
    match value {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Int(value) => int(out, *value),
        Cell::Double(value) => double(out, *value),
        Cell::Bool(value) => boolean(out, *value),
        Cell::Text(value) => text(out, value),
        Cell::Ints(values) => list(out, *b"[]", values, |out, value| int(out, *value)),
        Cell::Texts(values) => list(out, *b"[]", values, |out, value| text(out, value)),
        Cell::Map(pairs) => list(out, *b"{}", pairs, |out, (key, value)| {
            text(out, key);
            out.push(b':');
            text(out, value);
        }),
        Cell::Counts(pairs) => list(out, *b"{}", pairs, |out, (key, value)| {
            text(out, key);
            out.push(b':');
            int(out, *value);
        }),
        Cell::Nodes(nodes) => list(out, *b"[]", nodes, node),
    }
}

fn node(out: &mut Vec<u8>, node: &SqlNode<'_>) {
    out.extend_from_slice(b"{\"sqlId\":");
    int(out, node.sql_id);
    out.extend_from_slice(b",\"jobName\":");
    opt(out, node.job_name.as_ref(), |out, name| text(out, name));
    out.extend_from_slice(b",\"nodeName\":");
    text(out, &node.node_name);
    out.extend_from_slice(b",\"coordinates\":");
    text(out, &node.coordinates);
    out.extend_from_slice(b",\"metrics\":");
    list(out, *b"{}", &node.metrics, |out, (key, value)| {
        text(out, key);
        out.push(b':');
        text(out, value);
    });
    out.extend_from_slice(b",\"isLeaf\":");
    boolean(out, node.is_leaf);
    out.extend_from_slice(b",\"parentNodeName\":");
    opt(out, node.parent_node_name.as_ref(), |out, name| text(out, name));
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for plain in ["", "a\"b\\c\n\r\t\u{1}\u{7f}é日\u{2028}", "\u{0}"] {
            let mut out = Vec::new();
            text(&mut out, plain);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), plain);
        }
    }

    #[test]
    fn numbers_are_json() {
        let mut out = Vec::new();
        double(&mut out, 1.0);
        out.push(b' ');
        double(&mut out, f64::NAN);
        out.push(b' ');
        int(&mut out, i64::MIN);
        assert_eq!(out, b"1.0 null -9223372036854775808");
    }
}

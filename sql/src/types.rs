//! Types as Spark SQL writes them: those of the tables, and what `from_json` is given.

use datafusion::arrow::datatypes::{DataType, Field, Fields};
use std::sync::Arc;

/// Nesting at most: a type is written by people.
const MAX_DEPTH: usize = 32;

/// The Arrow type of `text`, such as `MAP<STRING, ARRAY<BIGINT>>`.
pub(crate) fn parse(text: &str) -> Result<DataType, String> {
    let mut parser = Parser { rest: text };
    let ty = parser.data_type(0)?;
    parser.blank();
    if parser.rest.is_empty() {
        Ok(ty)
    } else {
        Err(format!("`{text}`: not understood at `{}`", parser.rest))
    }
}

/// A type as Spark writes it in short, as `array<struct<id:bigint>>`.
pub(crate) fn name(ty: &DataType) -> String {
    let fields = |fields: &Fields| {
        let fields = fields.iter().map(|field| format!("{}:{}", field.name(), name(field.data_type())));
        fields.collect::<Vec<_>>().join(",")
    };
    match ty {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Int8 => "tinyint".to_owned(),
        DataType::Int16 => "smallint".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "bigint".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::List(item) => format!("array<{}>", name(item.data_type())),
        DataType::Struct(of) => format!("struct<{}>", fields(of)),
        DataType::Map(entry, _) => match entry.data_type() {
            DataType::Struct(entry) => {
                let types: Vec<String> = entry.iter().map(|field| name(field.data_type())).collect();
                format!("map<{}>", types.join(","))
            }
            other => name(other),
        },
        other => other.to_string().to_lowercase(),
    }
}

/// A list's field, named as Spark's Parquet files have it.
fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", item, true)))
}

fn map(key: DataType, value: DataType) -> DataType {
    let entry = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entry), false)), false)
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn word(&mut self) -> Result<&'t str, String> {
        self.blank();
        if let Some(quoted) = self.rest.strip_prefix('`') {
            let end = quoted.find('`').ok_or_else(|| "a name without its closing backtick".to_owned())?;
            let (word, rest) = quoted.split_at(end);
            self.rest = &rest[1..];
            return Ok(word);
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Err(format!("a word is missing before `{rest}`")) } else { Ok(word) }
    }

    fn takes(&mut self, c: char) -> bool {
        self.blank();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.takes(c) { Ok(()) } else { Err(format!("`{c}` is missing before `{}`", self.rest)) }
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType, String> {
        if depth > MAX_DEPTH {
            return Err("types are nested too deeply".to_owned());
        }
        let name = self.word()?;
        Ok(match name.to_ascii_uppercase().as_str() {
            "BOOLEAN" => DataType::Boolean,
            "TINYINT" | "BYTE" => DataType::Int8,
            "SMALLINT" | "SHORT" => DataType::Int16,
            "INT" | "INTEGER" => DataType::Int32,
            "BIGINT" | "LONG" => DataType::Int64,
            "FLOAT" | "REAL" => DataType::Float32,
            "DOUBLE" => DataType::Float64,
            "STRING" => DataType::Utf8,
            "DATE" => DataType::Date32,
            "ARRAY" => {
                self.expect('<')?;
                let item = self.data_type(depth + 1)?;
                self.expect('>')?;
                list(item)
            }
            "MAP" => {
                self.expect('<')?;
                let key = self.data_type(depth + 1)?;
                self.expect(',')?;
                let value = self.data_type(depth + 1)?;
                self.expect('>')?;
                map(key, value)
            }
            "STRUCT" => {
                self.expect('<')?;
                let mut fields = Vec::new();
                loop {
                    let name = self.word()?.to_owned();
                    self.takes(':');
                    fields.push(Field::new(name, self.data_type(depth + 1)?, true));
                    if !self.takes(',') {
                        break;
                    }
                }
                self.expect('>')?;
                DataType::Struct(fields.into())
            }
            _ => return Err(format!("no type is called `{name}`")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types() {
        assert_eq!(parse("BIGINT"), Ok(DataType::Int64));
        assert_eq!(parse(" array< int > "), Ok(list(DataType::Int32)));
        assert_eq!(parse("MAP<STRING, STRING>"), Ok(map(DataType::Utf8, DataType::Utf8)));
        let node = parse("ARRAY<STRUCT<sqlId: BIGINT, `is leaf` BOOLEAN, m: MAP<STRING,DOUBLE>>>");
        let short = node.as_ref().map(name);
        let expected = "array<struct<sqlId:bigint,is leaf:boolean,m:map<string,double>>>";
        assert_eq!(short.as_deref(), Ok(expected));
        for wrong in ["", "TEXT", "ARRAY<", "MAP<STRING>", "INT INT", "STRUCT<a>", "`a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse(&"ARRAY<".repeat(100)).is_err());
    }
}

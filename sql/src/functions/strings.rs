//! Texts, and logarithms, as Spark has them.

use super::simple::simple;
use super::text;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use regex::Regex;
use std::collections::HashMap;
use std::sync::Arc;

use DataType::{Float64, Int32, Int64, Utf8};

/// All of them.
pub(super) fn all() -> Vec<ScalarUDF> {
    vec![
        simple(
            "concat_ws",
            (|types| (!types.is_empty()).then(|| types.to_vec()), "a separator and texts"),
            |_| Utf8,
            concat_ws,
        ),
        simple(
            super::SUBSTRING,
            (
                |types| match types.len() {
                    2 => Some(vec![Utf8, Int64]),
                    3 => Some(vec![Utf8, Int64, Int64]),
                    _ => None,
                },
                "a text, a start and a length",
            ),
            |_| Utf8,
            substring,
        ),
        simple(
            "locate",
            (
                |types| match types.len() {
                    2 => Some(vec![Utf8, Utf8]),
                    3 => Some(vec![Utf8, Utf8, Int64]),
                    _ => None,
                },
                "what to find, a text and where to start",
            ),
            |_| Int32,
            locate,
        ),
        simple(
            "split",
            (
                |types| match types.len() {
                    2 => Some(vec![Utf8, Utf8]),
                    3 => Some(vec![Utf8, Utf8, Int64]),
                    _ => None,
                },
                "a text, a pattern and how many pieces",
            ),
            |_| DataType::List(Arc::new(Field::new_list_field(Utf8, true))),
            split,
        ),
        simple(
            "regexp_extract",
            (
                |types| match types.len() {
                    2 => Some(vec![Utf8, Utf8]),
                    3 => Some(vec![Utf8, Utf8, Int64]),
                    _ => None,
                },
                "a text, a pattern and the number of a group",
            ),
            |_| Utf8,
            regexp_extract,
        ),
        simple(
            "log",
            (
                |types| matches!(types.len(), 1 | 2).then(|| vec![Float64; types.len()]),
                "a number, or a base and a number",
            ),
            |_| Float64,
            log,
        ),
        simple("ln", (|types| (types.len() == 1).then(|| vec![Float64]), "a number"), |_| Float64, log),
        simple(
            "log10",
            (|types| (types.len() == 1).then(|| vec![Float64]), "a number"),
            |_| Float64,
            |args, _| Ok(positive(&args[0], f64::log10)),
        ),
        simple(
            "log2",
            (|types| (types.len() == 1).then(|| vec![Float64]), "a number"),
            |_| Float64,
            |args, _| Ok(positive(&args[0], f64::log2)),
        ),
    ]
}

fn positive(values: &ArrayRef, of: fn(f64) -> f64) -> ArrayRef {
    let values = values.as_primitive::<Float64Type>().iter();
    Arc::new(
        values
            .map(|value| value.filter(|value| value.is_nan() || *value > 0.0).map(of))
            .collect::<Float64Array>(),
    )
}

fn log(args: &[ArrayRef], _: usize) -> Result<ArrayRef> {
    let [base, value] = args else { return Ok(positive(&args[0], f64::ln)) };
    let (base, value) = (positive(base, f64::ln), positive(value, f64::ln));
    let pairs = value.as_primitive::<Float64Type>().iter().zip(base.as_primitive::<Float64Type>());
    Ok(Arc::new(pairs.map(|(value, base)| Some(value? / base?)).collect::<Float64Array>()))
}

/// Nulls are left out, and lists give their elements.
fn concat_ws(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let mut parts: Vec<(ArrayRef, Option<ArrayRef>)> = Vec::new();
    for arg in args {
        parts.push(match arg.data_type() {
            DataType::List(_) => (text::of(arg.as_list::<i32>().values())?, Some(Arc::clone(arg))),
            _ => (text::of(arg)?, None),
        });
    }
    let separators = parts[0].0.as_string::<i32>();
    let mut builder = StringBuilder::new();
    for row in 0..rows {
        if separators.is_null(row) {
            builder.append_null();
            continue;
        }
        let mut pieces: Vec<&str> = Vec::new();
        for (texts, list) in &parts[1..] {
            let texts = texts.as_string::<i32>();
            let range = match list {
                None => row..row + 1,
                Some(list) if list.is_null(row) => 0..0,
                Some(list) => {
                    let offsets = list.as_list::<i32>().value_offsets();
                    offsets[row] as usize..offsets[row + 1] as usize
                }
            };
            pieces.extend(range.filter(|at| texts.is_valid(*at)).map(|at| texts.value(at)));
        }
        builder.append_value(pieces.join(separators.value(row)));
    }
    Ok(Arc::new(builder.finish()))
}

/// Places count from 1, and from the end below 0; 0 is as 1.
fn substring(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (texts, starts) = (args[0].as_string::<i32>(), args[1].as_primitive::<Int64Type>());
    let lengths = args.get(2).map(|lengths| lengths.as_primitive::<Int64Type>());
    let of = |row: usize| -> Option<String> {
        if texts.is_null(row) || starts.is_null(row) || lengths.is_some_and(|lengths| lengths.is_null(row)) {
            return None;
        }
        let text = texts.value(row);
        let count = text.chars().count() as i64;
        let start = match starts.value(row) {
            start @ 1.. => start - 1,
            0 => 0,
            start => count.saturating_add(start),
        };
        let end = lengths.map_or(i64::MAX, |lengths| start.saturating_add(lengths.value(row)));
        let (start, end) = (start.clamp(0, count), end.clamp(0, count));
        Some(text.chars().skip(start as usize).take((end - start).max(0) as usize).collect())
    };
    Ok(Arc::new((0..rows).map(of).collect::<StringArray>()))
}

fn locate(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (wanted, texts) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let starts = args.get(2).map(|starts| starts.as_primitive::<Int64Type>());
    let of = |row: usize| -> Option<i32> {
        let start = match starts {
            // Without a place to start there is none to find.
            Some(starts) if starts.is_null(row) => return Some(0),
            Some(starts) => starts.value(row),
            None => 1,
        };
        if wanted.is_null(row) || texts.is_null(row) {
            return None;
        }
        let text = texts.value(row);
        let Some(skipped) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) else {
            return Some(0);
        };
        let from = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(skipped);
        let found = from.and_then(|from| Some(from + text[from..].find(wanted.value(row))?));
        Some(found.map_or(0, |at| text[..at].chars().count() as i32 + 1))
    };
    Ok(Arc::new((0..rows).map(of).collect::<Int32Array>()))
}

/// Patterns are few and rows are many.
#[derive(Default)]
struct Patterns {
    known: HashMap<String, Regex>,
}

impl Patterns {
    fn get(&mut self, pattern: &str) -> Result<&Regex> {
        if !self.known.contains_key(pattern) {
            let Ok(regex) = Regex::new(pattern) else {
                return exec_err!("the pattern `{pattern}` is not understood");
            };
            self.known.insert(pattern.to_owned(), regex);
        }
        Ok(&self.known[pattern])
    }
}

fn split(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let limits = args.get(2).map(|limits| limits.as_primitive::<Int64Type>());
    let mut known = Patterns::default();
    let mut builder = ListBuilder::new(StringBuilder::new());
    for row in 0..rows {
        if texts.is_null(row) || patterns.is_null(row) || limits.is_some_and(|limits| limits.is_null(row)) {
            builder.append_null();
            continue;
        }
        let text = texts.value(row);
        let limit = limits.map_or(-1, |limits| limits.value(row));
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let (mut from, mut pieces) = (0, 1);
        for found in known.get(patterns.value(row))?.find_iter(text) {
            if pieces == limit {
                break;
            }
            // Nothing is not cut off from either end.
            if found.is_empty() && (found.start() == 0 || found.end() == text.len()) {
                continue;
            }
            builder.values().append_value(&text[from..found.start()]);
            from = found.end();
            pieces += 1;
        }
        builder.values().append_value(&text[from..]);
        builder.append(true);
    }
    Ok(Arc::new(builder.finish()))
}

fn regexp_extract(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (texts, patterns) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let groups = args.get(2).map(|groups| groups.as_primitive::<Int64Type>());
    let mut known = Patterns::default();
    let mut builder = StringBuilder::new();
    for row in 0..rows {
        if texts.is_null(row) || patterns.is_null(row) || groups.is_some_and(|groups| groups.is_null(row)) {
            builder.append_null();
            continue;
        }
        let pattern = known.get(patterns.value(row))?;
        let group = groups.map_or(1, |groups| groups.value(row));
        let Some(group) = usize::try_from(group).ok().filter(|group| *group < pattern.captures_len()) else {
            let count = pattern.captures_len() - 1;
            return exec_err!("regexp_extract: there is no group {group}, the pattern has {count}");
        };
        let captures = pattern.captures(texts.value(row));
        builder.append_value(captures.and_then(|found| found.get(group)).map_or("", |group| group.as_str()));
    }
    Ok(Arc::new(builder.finish()))
}

//! `get_json_object`: a piece of a JSON text by a path.
//!
//! The text is walked, not read into values, so that objects keep the order of their fields and numbers their digits.

use super::simple::simple;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType::{List, Map, Struct, Utf8};
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Nesting of a text at most.
const MAX_DEPTH: usize = 256;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `.name` or `['name']`.
    Field(String),
    /// `[3]`.
    Element(usize),
    /// `[*]`.
    AllElements,
}

pub(super) fn get_json_object() -> ScalarUDF {
    simple(
        "get_json_object",
        (
            |types| match types {
                [List(_) | Struct(_) | Map(..), _] => None,
                [_, _] => Some(vec![Utf8, Utf8]),
                _ => None,
            },
            "a JSON text and a path, such as '$.a.b[0]'",
        ),
        |_| Utf8,
        call,
    )
}

fn call(args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let (texts, paths) = (args[0].as_string::<i32>(), args[1].as_string::<i32>());
    let mut known: Option<(&str, Option<Vec<Step>>)> = None;
    let mut found: Vec<Option<String>> = Vec::with_capacity(rows);
    for row in 0..rows {
        if texts.is_null(row) || paths.is_null(row) {
            found.push(None);
            continue;
        }
        let path = paths.value(row);
        if known.as_ref().is_none_or(|(known, _)| *known != path) {
            known = Some((path, steps(path)));
        }
        let steps = known.as_ref().and_then(|(_, steps)| steps.as_deref());
        found.push(steps.and_then(|steps| of_path(texts.value(row), steps)));
    }
    Ok(Arc::new(found.into_iter().collect::<StringArray>()))
}

/// The steps of a path; `None` if it is none.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, after) = named.split_at(end);
            if name.is_empty() || name == "*" {
                return None;
            }
            steps.push(Step::Field(name.to_owned()));
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']")?;
            steps.push(Step::Field(name.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match index.trim() {
                "*" => Step::AllElements,
                index => Step::Element(index.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(steps)
}

/// What a path leads to: a text without its quotes, anything else as JSON. `None` for null and for nothing.
fn of_path(text: &str, steps: &[Step]) -> Option<String> {
    let mut whole = Walk { text, at: 0 };
    whole.value(0)?;
    let mut found = Vec::new();
    find(text, steps, &mut found)?;
    let has_many = steps.contains(&Step::AllElements);
    match found.as_slice() {
        [] => None,
        [one] if !has_many || !one.starts_with('"') => match *one {
            "null" => None,
            text if text.starts_with('"') => serde_json::from_str(text).ok(),
            other => Some(compact(other)),
        },
        [one] => Some(compact(one)),
        many => Some(format!("[{}]", many.iter().map(|one| compact(one)).collect::<Vec<_>>().join(","))),
    }
}

fn find<'t>(text: &'t str, steps: &[Step], found: &mut Vec<&'t str>) -> Option<()> {
    let mut walk = Walk { text, at: 0 };
    let Some((step, rest)) = steps.split_first() else {
        found.push(walk.value(0)?);
        return Some(());
    };
    match (step, walk.peek()?) {
        (Step::Field(name), b'{') => {
            let mut is_there = false;
            walk.members(0, &mut |key, value| {
                let is_it = !is_there && serde_json::from_str::<String>(key).is_ok_and(|key| key == *name);
                is_there |= is_it;
                if is_it { find(value, rest, found) } else { Some(()) }
            })
        }
        (Step::Element(index), b'[') => {
            let mut n = 0;
            walk.elements(0, &mut |value| {
                n += 1;
                if n == index + 1 { find(value, rest, found) } else { Some(()) }
            })
        }
        (Step::AllElements, b'[') => walk.elements(0, &mut |value| find(value, rest, found)),
        _ => Some(()),
    }
}

/// A JSON text from one of its places on.
struct Walk<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Walk<'t> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// The value that begins here; `None` if none does.
    fn value(&mut self, depth: usize) -> Option<&'t str> {
        if depth > MAX_DEPTH {
            return None;
        }
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' => self.members(depth, &mut |_, _| Some(()))?,
            b'[' => self.elements(depth, &mut |_| Some(()))?,
            b'"' => self.text()?,
            _ => {
                let rest = &self.text[start..];
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
                self.at += end.unwrap_or(rest.len());
                let word = &self.text[start..self.at];
                serde_json::from_str::<serde::de::IgnoredAny>(word).ok()?;
            }
        }
        Some(&self.text[start..self.at])
    }

    fn text(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    fn members(&mut self, depth: usize, each: &mut dyn FnMut(&'t str, &'t str) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.takes(b'}') {
            return Some(());
        }
        loop {
            if self.peek()? != b'"' {
                return None;
            }
            let start = self.at;
            self.text()?;
            let key = &self.text[start..self.at];
            if !self.takes(b':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            each(key, value)?;
            if self.takes(b'}') {
                return Some(());
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn elements(&mut self, depth: usize, each: &mut dyn FnMut(&'t str) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.takes(b']') {
            return Some(());
        }
        loop {
            let value = self.value(depth + 1)?;
            each(value)?;
            if self.takes(b']') {
                return Some(());
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }
}

/// JSON without blanks between its words.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_text, mut is_escaped) = (false, false);
    for c in json.chars() {
        if in_text || !c.is_ascii_whitespace() {
            out.push(c);
        }
        in_text = if in_text { is_escaped || c != '"' } else { c == '"' };
        is_escaped = in_text && c == '\\' && !is_escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces() {
        let text = r#"{"b": {"x y": [1, 2.50, {"t": "a\"b"}], "n": null}, "a": "text", "a": 2, "e": []}"#;
        for (path, expected) in [
            ("$.a", Some("text")),
            ("$.b['x y'][1]", Some("2.50")),
            ("$.b['x y'][2].t", Some("a\"b")),
            ("$.b['x y'][2]", Some(r#"{"t":"a\"b"}"#)),
            ("$.b['x y'][*].t", Some(r#""a\"b""#)),
            ("$.b['x y'][*]", Some(r#"[1,2.50,{"t":"a\"b"}]"#)),
            ("$.b.n", None),
            ("$.b.n.m", None),
            ("$.none", None),
            ("$.e", Some("[]")),
            ("$.e[0]", None),
            ("$.a.", None),
            ("a", None),
        ] {
            let found = steps(path).and_then(|steps| of_path(text, &steps));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
        for broken in
            ["", "{", r#"{"a": }"#, r#"{"a" 1}"#, r#"{"a": "t"#, r#"{"a": 1"#, "nul", &"[".repeat(400)]
        {
            assert_eq!(of_path(broken, &[Step::Field("a".to_owned())]), None, "{broken}");
        }
    }
}

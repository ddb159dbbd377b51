//! Values for `:name` in statements.

use crate::Refused;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A parameter of a ready-made question.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// As SQL: a number, or a quoted text.
    pub default: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// Values that were given.
#[derive(Debug, Default)]
pub struct Parameters {
    values: BTreeMap<String, String>,
}

/// A file of prices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prices {
    core_hour: f64,
    gib_hour: Option<f64>,
    currency: Option<String>,
}

impl Parameters {
    /// Those of the command line, `name` and value, and those of a file of prices.
    ///
    /// # Errors
    /// The file cannot be read or is none.
    pub fn new(given: Vec<(String, String)>, prices: Option<&Path>) -> Result<Self, Refused> {
        let mut values = BTreeMap::new();
        if let Some(path) = prices {
            let wrong = |reason: String| {
                let hint = "a file of prices has core_hour = 0.05 and, if you like, gib_hour = 0.005, currency = \"EUR\"";
                Refused::new(format!("--prices {}: {reason}", path.display()), hint)
            };
            let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
            let prices: Prices = toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
            if !(prices.core_hour.is_finite() && prices.gib_hour.is_none_or(f64::is_finite)) {
                return Err(wrong("a price is no number".to_owned()));
            }
            values.insert("core_hour".to_owned(), format!("{:?}", prices.core_hour));
            if let Some(price) = prices.gib_hour {
                values.insert("gib_hour".to_owned(), format!("{price:?}"));
            }
            if let Some(currency) = prices.currency {
                values.insert("currency".to_owned(), currency);
            }
        }
        values.extend(given);
        Ok(Parameters { values })
    }

    /// The statement with its parameters' values: those given, else the defaults of `known`.
    ///
    /// # Errors
    /// A parameter has no value, a value no parameter, or it is of the wrong kind.
    pub fn apply(&self, statement: &str, known: &[Parameter]) -> Result<String, Refused> {
        let mut used = BTreeSet::new();
        let mut out = String::with_capacity(statement.len());
        for piece in pieces(statement) {
            let Piece::Parameter(name) = piece else {
                out.push_str(piece.text());
                continue;
            };
            used.insert(name.to_owned());
            let default =
                known.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.default);
            match (self.values.get(name), default) {
                (Some(value), Some(default)) if default.starts_with('\'') => out.push_str(&quoted(value)),
                (Some(value), Some(_)) if value.trim().parse::<f64>().is_err() => {
                    return Err(Refused::new(
                        format!("parameter {name} is a number, not `{value}`"),
                        "as in limit=5",
                    ));
                }
                (Some(value), _) => out.push_str(&literal(value)),
                (None, Some(default)) => out.push_str(default),
                (None, None) => {
                    let message = format!("the statement has a parameter :{name} without a value");
                    return Err(Refused::new(message, format!("add `--param {name}=VALUE`")));
                }
            }
        }
        // Prices are there for who wants them; a misspelled parameter must not pass.
        let of_prices = ["core_hour", "gib_hour", "currency"];
        if let Some(name) =
            self.values.keys().find(|name| !used.contains(*name) && !of_prices.contains(&name.as_str()))
        {
            let names: Vec<String> = used.iter().map(|name| name.to_owned()).collect();
            let hint = match names.as_slice() {
                [] => "the statement has none".to_owned(),
                names => format!("the statement has {}", names.join(", ")),
            };
            return Err(Refused::new(format!("there is no parameter {name}"), hint));
        }
        Ok(out)
    }
}

/// A number as it is, all else as a text.
fn literal(value: &str) -> String {
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => value.trim().to_owned(),
        _ => quoted(value),
    }
}

/// A text, such that both dialects read the same: Spark takes a backslash for an escape.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

enum Piece<'s> {
    Text(&'s str),
    Parameter(&'s str),
}

impl<'s> Piece<'s> {
    fn text(&self) -> &'s str {
        match self {
            Piece::Text(text) | Piece::Parameter(text) => text,
        }
    }
}

/// Cuts a statement at its parameters, which do not stand in texts, names or comments.
fn pieces(statement: &str) -> Vec<Piece<'_>> {
    let bytes = statement.as_bytes();
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let inert = inert(statement, at);
        if inert > 0 {
            at += inert;
            continue;
        }
        match bytes[at] {
            b':' if at > 0 && bytes[at - 1] == b':' => at += 1,
            b':' => {
                let name = &bytes[at + 1..];
                let length = name.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                let is_name = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
                let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
                if is_name && !after_word {
                    pieces.push(Piece::Text(&statement[from..at]));
                    pieces.push(Piece::Parameter(&statement[at + 1..at + 1 + length]));
                    from = at + 1 + length;
                }
                at += 1 + length;
            }
            _ => at += 1,
        }
    }
    pieces.push(Piece::Text(&statement[from.min(bytes.len())..]));
    pieces
}

/// Bytes of the text, quoted name or comment that begins here; 0 if none does.
fn inert(statement: &str, at: usize) -> usize {
    let bytes = &statement.as_bytes()[at..];
    match bytes {
        [quote @ (b'\'' | b'"' | b'`'), rest @ ..] => {
            rest.iter().position(|b| b == quote).unwrap_or(rest.len()) + 2
        }
        [b'-', b'-', ..] => bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len()),
        [b'/', b'*', ..] => statement[at..].find("*/").map_or(bytes.len(), |end| end + 2),
        _ => 0,
    }
}

/// The statements of a text, parted by `;`.
pub fn statements(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut found, mut from, mut at) = (Vec::new(), 0, 0);
    // Whether there is more than comments and space.
    let mut has_words = false;
    while at < bytes.len() {
        let inert = inert(text, at);
        if inert > 0 {
            has_words |= matches!(bytes[at], b'\'' | b'"' | b'`');
            at += inert;
            continue;
        }
        if bytes[at] == b';' {
            if has_words {
                found.push(&text[from..at]);
            }
            (from, has_words) = (at + 1, false);
        } else {
            has_words |= !bytes[at].is_ascii_whitespace();
        }
        at += 1;
    }
    if has_words {
        found.push(&text[from..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(statement: &str, given: &[(&str, &str)]) -> Result<String, Refused> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let known = [
            Parameter { name: "limit", default: "20", doc: "" },
            Parameter { name: "name", default: "'%'", doc: "" },
        ];
        Parameters::new(given, None)?.apply(statement, &known)
    }

    #[test]
    fn values_take_the_place_of_names() {
        assert_eq!(applied("LIMIT :limit", &[]).unwrap(), "LIMIT 20");
        assert_eq!(applied("LIMIT :limit", &[("limit", "5")]).unwrap(), "LIMIT 5");
        assert_eq!(applied("LIKE :name", &[("name", "it's")]).unwrap(), "LIKE 'it''s'");
        assert_eq!(applied("LIKE :name", &[("name", "5")]).unwrap(), "LIKE '5'");
        let untouched = "SELECT ':limit', `a:limit`, x::int, STRUCT<a:int> -- :limit\n/* :limit */";
        assert_eq!(applied(untouched, &[]).unwrap(), untouched);
        assert!(applied("LIMIT :limit", &[("limit", "1; drop")]).is_err());
        assert!(applied("SELECT :other", &[]).is_err());
        assert!(applied("SELECT 1", &[("limt", "1")]).is_err());
        for odd in ["'", "SELECT 'é :x", ":", "a:", "/*", "--", "::", "'é", "x;'", ";"] {
            _ = applied(odd, &[]);
            _ = statements(odd);
        }
    }

    #[test]
    fn statements_are_parted() {
        let text = "-- a; b\nSELECT ';' AS `;`;\n\n-- c\nSELECT 2;\n-- end;\n";
        assert_eq!(statements(text), ["-- a; b\nSELECT ';' AS `;`", "\n\n-- c\nSELECT 2"]);
        assert_eq!(statements("SELECT 1"), ["SELECT 1"]);
        assert!(statements("-- nothing\n;;").is_empty());
    }
}

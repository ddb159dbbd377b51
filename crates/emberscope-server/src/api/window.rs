//! Parts of lists, which several addresses have.

use super::Param;
use super::failure::{Failure, number};
use crate::spark_rest::Params;
use axum::body::Body;
use axum::http::{HeaderName, header};

/// Rows in an answer unless asked otherwise.
const DEFAULT: usize = 1000;
/// Most rows in an answer.
const MOST: usize = 20_000;

pub(super) const OFFSET: Param =
    Param { name: "offset", kind: "integer", doc: "Rows to leave out. [default: 0]" };
pub(super) const LIMIT: Param =
    Param { name: "limit", kind: "integer", doc: "Most rows, up to 20000. [default: 1000]" };

/// The part of the rows that was asked for, and how many there were.
pub(super) fn cut<T>(rows: Vec<T>, params: &Params) -> Result<(usize, Vec<T>), Failure> {
    let offset: usize = params.first("offset").map_or(Ok(0), number)?;
    let limit = params.first("limit").map_or(Ok(DEFAULT), number::<usize>)?.min(MOST);
    let matched = rows.len();
    Ok((matched, rows.into_iter().skip(offset).take(limit).collect()))
}

/// A number that only some rows have.
pub(super) fn only<T: std::str::FromStr>(params: &Params, name: &str) -> Result<Option<T>, Failure> {
    params.first(name).map(number).transpose()
}

/// Names that rows may have, by comma, each one of `known`; `None` where any will do.
pub(super) fn names<'p>(
    params: &'p Params,
    name: &str,
    known: &[&str],
) -> Result<Option<Vec<&'p str>>, Failure> {
    let Some(text) = params.first(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    match names.iter().find(|one| !known.contains(one)) {
        Some(unknown) => {
            Err(Failure::bad(format!("no {name} `{unknown}`"), &format!("known are {}", known.join(", "))))
        }
        None => Ok(Some(names)),
    }
}

/// Whether every word of `query` is in one of the texts, in any case.
pub(super) fn holds(query: &str, texts: &[Option<&str>]) -> bool {
    let texts: Vec<String> = texts.iter().flatten().map(|text| text.to_lowercase()).collect();
    query.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        texts.iter().any(|text| text.contains(&word))
    })
}

/// A file that is saved, not shown.
pub(super) fn attachment(
    kind: &'static str,
    name: &str,
    body: impl Into<Body>,
) -> ([(HeaderName, String); 2], Body) {
    // A name in a header must not end it.
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{safe}\"")),
    ];
    (headers, body.into())
}

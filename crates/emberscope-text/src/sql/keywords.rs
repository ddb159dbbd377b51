//! Clauses of a statement that the parser refuses, by keywords.

use super::{Fragment, FragmentKind, Place, Source};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Adds the clauses that keywords show.
pub(super) fn collect(tokens: &[TokenWithSpan], source: &Source<'_>, into: &mut Vec<Fragment>) {
    let tokens: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)).collect();
    for at in 0..tokens.len() {
        let Some((kind, words)) = opening(&tokens[at..]) else { continue };
        let body = &tokens[at + words..];
        let length = match kind {
            FragmentKind::Table => name_length(body),
            FragmentKind::Window | FragmentKind::DistinctAggregate => bracket_length(body),
            _ => clause_length(body),
        };
        let Some((first, last)) = body[..length].first().zip(body[..length].last()) else { continue };
        let place =
            |location: sqlparser::tokenizer::Location| Place { line: location.line, column: location.column };
        let (start, mut end) = (place(first.span.start), place(last.span.end));
        end.column = end.column.saturating_sub(1);
        let names = names_of(&body[..length]);
        let (columns, tables) = match kind {
            FragmentKind::Table => (Vec::new(), vec![dotted(&body[..length])]),
            FragmentKind::Join => (names, vec![dotted(&body[..name_length(body)])]),
            _ => (names, Vec::new()),
        };
        into.push(Fragment { kind, start, end, text: source.between(start, end), columns, tables });
        if kind == FragmentKind::Join {
            let table = name_length(body);
            if let (true, Some(last)) = (table > 0, body[..table].last()) {
                let mut end = place(last.span.end);
                end.column = end.column.saturating_sub(1);
                let name = dotted(&body[..table]);
                let text = source.between(start, end);
                into.push(Fragment {
                    kind: FragmentKind::Table,
                    start,
                    end,
                    text,
                    columns: Vec::new(),
                    tables: vec![name],
                });
            }
        }
    }
}

fn word(token: Option<&&TokenWithSpan>) -> String {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_uppercase(),
        _ => String::new(),
    }
}

/// The kind of the clause that begins here, and how many words announce it.
fn opening(tokens: &[&TokenWithSpan]) -> Option<(FragmentKind, usize)> {
    let (first, second) = (word(tokens.first()), word(tokens.get(1)));
    Some(match (first.as_str(), second.as_str()) {
        ("FROM", _) => (FragmentKind::Table, 1),
        ("JOIN", _) => (FragmentKind::Join, 1),
        ("WHERE" | "HAVING", _) => (FragmentKind::Filter, 1),
        ("GROUP", "BY") => (FragmentKind::GroupBy, 2),
        ("ORDER", "BY") => (FragmentKind::OrderBy, 2),
        ("DISTRIBUTE" | "CLUSTER" | "SORT", "BY") => (FragmentKind::DistributeBy, 2),
        ("SELECT", "DISTINCT") => (FragmentKind::Distinct, 2),
        ("LATERAL", "VIEW") => (FragmentKind::LateralView, 2),
        ("OVER", _) => (FragmentKind::Window, 1),
        ("LIMIT", _) => (FragmentKind::Limit, 1),
        ("DISTINCT", _) => (FragmentKind::DistinctAggregate, 1),
        ("UNION" | "EXCEPT" | "INTERSECT", _) => (FragmentKind::SetOperation, 1),
        _ => return None,
    })
}

const CLAUSES: [&str; 24] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "LEFT",
    "RIGHT",
    "INNER",
    "FULL",
    "CROSS",
    "SEMI",
    "ANTI",
    "LATERAL",
    "DISTRIBUTE",
    "CLUSTER",
    "SORT",
    "WINDOW",
    "QUALIFY",
];

/// Up to the next clause outside of brackets.
fn clause_length(tokens: &[&TokenWithSpan]) -> usize {
    let mut depth = 0i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                if depth < 0 {
                    return at;
                }
            }
            _ if depth == 0 && CLAUSES.contains(&word(Some(token)).as_str()) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// What stands in the brackets that open here, with them, or up to the ones that close.
fn bracket_length(tokens: &[&TokenWithSpan]) -> usize {
    let mut depth = 0i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                match depth {
                    0 => return at + 1,
                    _ if depth < 0 => return at,
                    _ => {}
                }
            }
            _ if depth == 0 && CLAUSES.contains(&word(Some(token)).as_str()) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// A name with dots.
fn name_length(tokens: &[&TokenWithSpan]) -> usize {
    let mut length = 0;
    while let Some(Token::Word(_)) = tokens.get(length).map(|token| &token.token) {
        length += 1;
        match tokens.get(length).map(|token| &token.token) {
            Some(Token::Period) => length += 1,
            _ => break,
        }
    }
    length
}

fn dotted(tokens: &[&TokenWithSpan]) -> String {
    tokens
        .iter()
        .map(|token| match &token.token {
            Token::Word(word) => word.value.to_lowercase(),
            other => other.to_string(),
        })
        .collect()
}

/// Names that are kept of a clause.
const MOST_NAMES: usize = 200;

/// Words that are no keywords: perhaps columns.
fn names_of(tokens: &[&TokenWithSpan]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = &token.token else { continue };
        let next = tokens.get(at + 1).map(|next| &next.token);
        let is_name = word.quote_style.is_some() || word.keyword == sqlparser::keywords::Keyword::NoKeyword;
        let name = word.value.to_lowercase();
        if is_name && !matches!(next, Some(Token::LParen | Token::Period)) && !names.contains(&name) {
            names.push(name);
            if names.len() == MOST_NAMES {
                break;
            }
        }
    }
    names
}

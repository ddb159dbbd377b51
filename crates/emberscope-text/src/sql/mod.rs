//! What a SQL text asks for, clause by clause, with where each stands.
//!
//! Statements go through a parser of Spark's dialect. One that it does not understand is read by its keywords alone,
//! which finds the clauses but not always their ends; a note says so.

mod clauses;
mod keywords;

use schemars::JsonSchema;
use serde::Serialize;
use sqlparser::dialect::SparkSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// The clauses of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outline {
    /// Clauses in the order of the text.
    pub fragments: Vec<Fragment>,
    /// Calls of functions that are none of the clauses, in the order of the text; each has its name as its table.
    #[serde(skip)]
    #[schemars(skip)]
    pub calls: Vec<Fragment>,
    /// Statements in it.
    pub statements: usize,
    /// What could not be understood.
    pub notes: Vec<String>,
}

/// What a clause does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FragmentKind {
    /// Reads a table.
    Table,
    /// Joins.
    Join,
    /// Keeps some rows.
    Filter,
    /// Groups.
    GroupBy,
    /// An aggregate over distinct values.
    DistinctAggregate,
    /// An aggregate.
    Aggregate,
    /// `SELECT DISTINCT`.
    Distinct,
    /// A window function.
    Window,
    /// Sorts all rows.
    OrderBy,
    /// Sorts within partitions, or says how to partition.
    DistributeBy,
    /// Takes the first rows.
    Limit,
    /// Unites or subtracts.
    SetOperation,
    /// Makes several rows of one.
    LateralView,
    /// Writes.
    Write,
    /// Calls a function.
    Call,
}

impl FragmentKind {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Join => "join",
            Self::Filter => "filter",
            Self::GroupBy => "GROUP BY",
            Self::DistinctAggregate => "aggregate over DISTINCT values",
            Self::Aggregate => "aggregate",
            Self::Distinct => "SELECT DISTINCT",
            Self::Window => "window function",
            Self::OrderBy => "ORDER BY",
            Self::DistributeBy => "DISTRIBUTE, CLUSTER or SORT BY",
            Self::Limit => "LIMIT",
            Self::SetOperation => "set operation",
            Self::LateralView => "LATERAL VIEW",
            Self::Write => "write",
            Self::Call => "call",
        }
    }
}

/// A place in a text; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Place {
    /// Line.
    pub line: u64,
    /// Column.
    pub column: u64,
}

/// One clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fragment {
    /// What it does.
    pub kind: FragmentKind,
    /// First character.
    pub start: Place,
    /// Last character.
    pub end: Place,
    /// The clause as written, on one line, shortened where it is long.
    pub text: String,
    /// Columns it names, without qualifiers, in lower case.
    pub columns: Vec<String>,
    /// Tables it names, in lower case; of a join the one that joins.
    pub tables: Vec<String>,
}

impl Outline {
    /// Clauses and calls.
    pub fn with_calls(&self) -> Vec<Fragment> {
        self.fragments.iter().chain(&self.calls).cloned().collect()
    }
}

/// Longest text of a fragment, characters.
const TEXT_CHARS: usize = 200;
/// Longest text that is read, bytes.
pub const MOST_BYTES: usize = 4 << 20;

/// Words and signs of a statement that can nest expressions, beyond which it is read by its keywords: each is a level
/// of the tree at worst, `a OR b OR c` as much as `((c))`.
const MOST_LEVELS: usize = 10_000;
/// Stack for trees of so many levels, bytes; only what is used becomes memory.
const STACK_BYTES: usize = 512 << 20;

/// Reads a text of one or several statements.
pub fn outline(text: &str) -> Outline {
    let on_deep_stack = || {
        let reader = std::thread::Builder::new().stack_size(STACK_BYTES);
        std::thread::scope(|scope| reader.spawn_scoped(scope, || read(text)).ok()?.join().ok())
    };
    on_deep_stack().unwrap_or_else(|| Outline {
        notes: vec!["the SQL text could not be read".to_owned()],
        ..Outline::default()
    })
}

fn read(text: &str) -> Outline {
    let mut outline = Outline::default();
    if text.len() > MOST_BYTES {
        outline.notes.push(format!("the SQL text has more than {MOST_BYTES} bytes and was not read"));
        return outline;
    }
    let tokens = match Tokenizer::new(&SparkSqlDialect, text).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(error) => {
            outline.notes.push(format!("the SQL text cannot be split into words: {error}"));
            return outline;
        }
    };
    let source = Source::of(text);
    for statement in tokens.split(|token| token.token == Token::SemiColon) {
        if statement.iter().all(|token| matches!(token.token, Token::Whitespace(_) | Token::EOF)) {
            continue;
        }
        outline.statements += 1;
        match parsed(statement) {
            Ok(statement) => clauses::collect(&statement, &source, &mut outline.fragments),
            Err(error) => {
                let first = statement.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
                let line = first.map_or(0, |token| token.span.start.line);
                outline.notes.push(format!(
                    "the statement at line {line} is read by its keywords only, since the parser of SQL says: {error}"
                ));
                keywords::collect(statement, &source, &mut outline.fragments);
            }
        }
    }
    outline.calls =
        outline.fragments.extract_if(.., |fragment| fragment.kind == FragmentKind::Call).collect();
    outline.fragments.sort_by_key(|fragment| (fragment.start, fragment.end, fragment.kind));
    outline.fragments.dedup();
    outline
}

/// Whether a token can make a tree deeper.
fn is_level(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Whitespace(_) | Token::Comma | Token::Period | Token::Number(..) => false,
        Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::RParen => false,
        _ => true,
    }
}

fn parsed(tokens: &[TokenWithSpan]) -> Result<sqlparser::ast::Statement, sqlparser::parser::ParserError> {
    if tokens.iter().filter(|token| is_level(&token.token)).count() > MOST_LEVELS {
        return Err(sqlparser::parser::ParserError::RecursionLimitExceeded);
    }
    let tokens = without_directory(tokens).unwrap_or(tokens);
    let mut parser = Parser::new(&SparkSqlDialect).with_tokens_with_locations(tokens.to_vec());
    let statement = parser.parse_statement()?;
    match parser.peek_token().token {
        Token::EOF => Ok(statement),
        rest => Err(sqlparser::parser::ParserError::ParserError(format!("`{rest}` is not expected"))),
    }
}

/// The query of `INSERT OVERWRITE [LOCAL] DIRECTORY 'place' [USING format] [OPTIONS (...)] query`, which the parser does
/// not know whole.
fn without_directory(tokens: &[TokenWithSpan]) -> Option<&[TokenWithSpan]> {
    let is = |token: &TokenWithSpan, word: &str| matches!(&token.token, Token::Word(one) if one.value.eq_ignore_ascii_case(word));
    let mut words = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let begins = words.next().is_some_and(|token| is(token, "INSERT"))
        && words.next().is_some_and(|token| is(token, "OVERWRITE"));
    if !begins || !words.take(2).any(|token| is(token, "DIRECTORY")) {
        return None;
    }
    let start = tokens
        .iter()
        .position(|token| ["SELECT", "WITH", "FROM", "VALUES"].iter().any(|word| is(token, word)))?;
    Some(&tokens[start..])
}

/// Words that statements with a plan begin with.
const FIRST_WORDS: [&str; 14] = [
    "select", "with", "insert", "create", "replace", "merge", "update", "delete", "from", "cache", "explain",
    "values", "table", "(",
];

/// Whether there is a statement in a text: one that begins as such, and has a clause.
pub fn has_statement(text: &str, outline: &Outline) -> bool {
    let begins = |part: &str| {
        let normal = normalised(part);
        FIRST_WORDS.contains(&normal.split(' ').next().unwrap_or_default())
    };
    // `create at Main.scala:12` has such a word, too, but no clause.
    !outline.fragments.is_empty() && text.split(';').any(begins)
}

/// A statement without what differs between two writings of it: comments, white space, case, the end.
pub fn normalised(text: &str) -> String {
    let Ok(tokens) = Tokenizer::new(&SparkSqlDialect, text).tokenize() else {
        return text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    };
    let words =
        tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::EOF));
    words.map(|token| token.to_string().to_lowercase()).collect::<Vec<_>>().join(" ")
}

/// A text by lines.
struct Source<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Source<'t> {
    fn of(text: &'t str) -> Self {
        Source { lines: text.split('\n').collect() }
    }

    /// What stands between two places, the last character included, on one line.
    fn between(&self, start: Place, end: Place) -> String {
        let mut words = String::new();
        for number in start.line..=end.line {
            let line = number.checked_sub(1).and_then(|at| self.lines.get(usize::try_from(at).ok()?));
            let Some(line) = line else { break };
            let from = if number == start.line { start.column.saturating_sub(1) } else { 0 };
            let to = if number == end.line { end.column } else { u64::MAX };
            let part = line.chars().enumerate().filter(|(at, _)| (from..to).contains(&(*at as u64)));
            let part: String = part.map(|(_, c)| c).collect();
            // A comment at the end of a line is none of the clause.
            let part = part.split(" --").next().unwrap_or_default();
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(part.trim());
            if words.chars().count() > TEXT_CHARS {
                break;
            }
        }
        if words.chars().count() > TEXT_CHARS {
            words = words.chars().take(TEXT_CHARS).collect::<String>() + "…";
        }
        words
    }

    /// The end of a clause that the parser's places stop short of: closing brackets on the same line.
    fn with_brackets(&self, start: Place, end: Place) -> Place {
        let text = self.between_raw(start, end);
        let open = text.chars().filter(|c| *c == '(').count();
        let closed = text.chars().filter(|c| *c == ')').count();
        let mut missing = open.saturating_sub(closed);
        let mut end = end;
        let Some(line) = end.line.checked_sub(1).and_then(|at| self.lines.get(usize::try_from(at).ok()?))
        else {
            return end;
        };
        let after = usize::try_from(end.column).unwrap_or(usize::MAX);
        for (at, character) in line.chars().enumerate().skip(after) {
            match character {
                // Of a function without columns only the name has a place.
                '(' if missing > 0 || at == after => missing += 1,
                _ if missing > 0 && character != ')' => {}
                ')' if missing > 0 => {
                    missing -= 1;
                    end.column = at as u64 + 1;
                }
                _ => break,
            }
        }
        end
    }

    fn between_raw(&self, start: Place, end: Place) -> String {
        let lines = (start.line..=end.line).filter_map(|number| {
            let line = self.lines.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
            let from = if number == start.line { start.column.saturating_sub(1) } else { 0 };
            let to = if number == end.line { end.column } else { u64::MAX };
            Some(
                line.chars()
                    .enumerate()
                    .filter(|(at, _)| (from..to).contains(&(*at as u64)))
                    .map(|(_, c)| c)
                    .collect::<String>(),
            )
        });
        lines.collect::<Vec<_>>().join(" ")
    }
}

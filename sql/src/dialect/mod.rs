//! Spark's dialect: a statement as Spark reads it becomes one that DataFusion plans to Spark's results.
//!
//! The tree of the statement is changed, never its text, so that errors keep their places.

pub(crate) mod lateral;
mod names;
pub(crate) mod pivot;
mod rewrite;
mod spark;

use crate::failure::Problem;
use datafusion::sql::sqlparser::ast::{Statement, VisitMut};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use spark::Spark;

/// Nesting of expressions at most.
const MAX_DEPTH: usize = 120;

/// The one statement of `sql`, made ready for planning. `known` are names of tables and columns, as they are
/// spelled.
pub(crate) fn parse(sql: &str, known: &[String]) -> Result<Statement, Problem> {
    let mut parser =
        Parser::new(&Spark).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens(sql)?);
    while parser.consume_token(&Token::SemiColon) {}
    if parser.peek_token().token == Token::EOF {
        return Err(Problem::statement("there is no statement", Some("write SELECT ... FROM ...")));
    }
    let mut statement = parser.parse_statement()?;
    let mut is_ended = false;
    while parser.consume_token(&Token::SemiColon) {
        is_ended = true;
    }
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("`{}` is not expected here", next.token);
        let hint = match next.token.to_string().to_ascii_uppercase().as_str() {
            _ if is_ended => Some("one statement at a time"),
            "FORM" | "FRM" | "FRON" | "FROMM" => Some("did you mean FROM?"),
            _ => None,
        };
        let problem = Problem::statement(message, hint);
        return Err(problem.at(next.span.start.line, next.span.start.column));
    }
    if !matches!(statement, Statement::Query(_) | Statement::Explain { .. }) {
        return Err(Problem::read_only());
    }
    let relations = names::Relations::of(&statement);
    rewrite::texts(&mut statement);
    names::spell(&mut statement, known);
    rewrite::titles(&mut statement, &relations);
    let mut rewriter = rewrite::Rewriter::default();
    _ = VisitMut::visit(&mut statement, &mut rewriter);
    match rewriter.problem {
        Some(problem) => Err(problem),
        None => Ok(statement),
    }
}

/// The words of a statement. Texts keep their escapes, since the engine's are not Spark's.
pub(crate) fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>, Problem> {
    let words = Tokenizer::new(&Spark, sql).with_unescape(false).tokenize_with_location();
    words.map_err(|error| Problem::from(ParserError::from(error)))
}

impl From<ParserError> for Problem {
    fn from(error: ParserError) -> Self {
        match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                Problem::statement(text, None::<&str>).place_from_text()
            }
            ParserError::RecursionLimitExceeded => {
                Problem::statement("it is nested too deeply", None::<&str>)
            }
        }
    }
}

//! Spark's words as the parser takes them, with backslashes as escapes in texts.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, SparkSqlDialect};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use std::any::TypeId;

/// The parser's own dialect of Spark lets a text end at `\'`.
#[derive(Debug)]
pub(super) struct Spark;

/// What is taken over.
macro_rules! as_spark {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            SparkSqlDialect.$name()
        })*
    };
}

impl Dialect for Spark {
    fn dialect(&self) -> TypeId {
        SparkSqlDialect.dialect()
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        true
    }

    fn is_delimited_identifier_start(&self, c: char) -> bool {
        SparkSqlDialect.is_delimited_identifier_start(c)
    }

    fn is_identifier_start(&self, c: char) -> bool {
        SparkSqlDialect.is_identifier_start(c)
    }

    fn is_identifier_part(&self, c: char) -> bool {
        SparkSqlDialect.is_identifier_part(c)
    }

    as_spark! {
        supports_filter_during_aggregation
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_lambda_functions
        supports_select_wildcard_except
        supports_struct_literal
        supports_nested_comments
        supports_create_table_using
        supports_long_type_as_bigint
        supports_values_as_table_factor
        require_interval_qualifier
        supports_bang_not_operator
        supports_select_item_multi_column_alias
        supports_cte_without_as
        supports_map_literal_with_angle_brackets
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        SparkSqlDialect.parse_infix(parser, expr, precedence)
    }
}

/// The text of a literal, its quotes taken off: backslashes are escapes, and a doubled quote is one. Before `%` and
/// `_` they stay, for LIKE.
pub(super) fn unescaped(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            // The tokenizer lets a quote through only as one of two.
            if rest.as_str().starts_with(quote) {
                rest.next();
            }
            out.push(c);
            continue;
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let after = rest.as_str();
        if let Some((c, length)) = by_number(after) {
            out.push(c);
            rest = after[length..].chars();
            continue;
        }
        match rest.next() {
            Some('0') => out.push('\0'),
            Some('b') => out.push('\u{8}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('Z') => out.push('\u{1a}'),
            Some(kept @ ('%' | '_')) => out.extend(['\\', kept]),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// A character by its code: `u0041`, `U00000041` or `101` in octal; and how long that is.
fn by_number(text: &str) -> Option<(char, usize)> {
    let (from, length, radix) = match text.bytes().next()? {
        b'u' => (1, 4, 16),
        b'U' => (1, 8, 16),
        b'0'..=b'1' => (0, 3, 8),
        _ => return None,
    };
    let digits = text.get(from..from + length)?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some((char::from_u32(u32::from_str_radix(digits, radix).ok()?)?, from + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        for (written, meant) in [
            (r"it\'s", "it's"),
            ("it''s", "it's"),
            (r#"a "word""#, r#"a "word""#),
            (r"a\tb\\n", "a\tb\\n"),
            (r"100\%\_", r"100\%\_"),
            (r"\u0041\U00000042\103\x", "ABCx"),
            (r"\0", "\0"),
            (r"\u00", "u00"),
        ] {
            assert_eq!(unescaped(written, '\''), meant, "{written}");
        }
        assert_eq!(unescaped(r#"it's ""so"" \"then\""#, '"'), r#"it's "so" "then""#);
    }
}

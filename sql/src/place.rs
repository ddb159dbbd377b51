//! Where in a statement that was planned something went wrong when it ran, as far as the words tell.

use crate::dialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The place that a message is about: a call of the function it begins with, or the text it begins with. `None` if
/// there is no such place, or more than one.
pub(crate) fn of(sql: &str, message: &str) -> Option<Location> {
    let words: Vec<TokenWithSpan> = dialect::tokens(sql)
        .ok()?
        .into_iter()
        .filter(|word| !matches!(word.token, Token::Whitespace(_)))
        .collect();
    let is_meant = |n: usize| match &words[n].token {
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => quoted(message) == Some(text),
        Token::Word(word) => {
            called(message).is_some_and(|name| name.eq_ignore_ascii_case(&word.value))
                && words.get(n + 1).is_some_and(|next| next.token == Token::LParen)
        }
        _ => false,
    };
    let mut places = (0..words.len()).filter(|n| is_meant(*n));
    let (Some(place), None) = (places.next(), places.next()) else { return None };
    Some(words[place].span.start)
}

/// `slice` of `slice: a length is not below 0`, and of `` `slice` cannot take ... ``.
fn called(message: &str) -> Option<&str> {
    let name = message.trim_start_matches('`');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = name.split_at(end);
    let is_name = !name.is_empty() && [":", " takes ", "` "].iter().any(|after| rest.starts_with(after));
    is_name.then_some(name)
}

/// `abc` of `'abc' cannot be read as DOUBLE`.
fn quoted(message: &str) -> Option<&str> {
    let text = message.strip_prefix('\'')?;
    text.find("' cannot be read").map(|end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(sql: &str, message: &str) -> Option<(u64, u64)> {
        of(sql, message).map(|place| (place.line, place.column))
    }

    #[test]
    fn places() {
        let sql = "SELECT slice,\n  SLICE(ids, 0, 1), CAST('abc' AS DOUBLE), 'slice(' FROM stage";
        assert_eq!(place(sql, "slice: places in a list count from 1"), Some((2, 3)));
        assert_eq!(place(sql, "'abc' cannot be read as DOUBLE"), Some((2, 26)));
        assert_eq!(place(sql, "sequence: steps of 0 do not lead from 1 to 2"), None);
        assert_eq!(place("SELECT slice(a), slice(b)", "slice: no"), None);
        assert_eq!(place("SELECT 'x", "slice: no"), None);
    }
}

//! `SHOW TABLES`, `SHOW COLUMNS` and `DESCRIBE` as the statements over constants that they are.

use crate::catalog::Catalog;
use crate::dialect;
use crate::failure::Problem;
use crate::types;
use datafusion::sql::sqlparser::tokenizer::Token;

/// What is asked of the tables themselves; `None` for any other statement.
pub(crate) fn statement(sql: &str, catalog: &Catalog) -> Option<Result<String, Problem>> {
    let words: Vec<Token> = dialect::tokens(sql)
        .ok()?
        .into_iter()
        .map(|word| word.token)
        .filter(|word| !matches!(word, Token::Whitespace(_) | Token::SemiColon | Token::EOF))
        .collect();
    let text = |word: &Token| match word {
        Token::Word(word) => word.value.clone(),
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => text.clone(),
        other => other.to_string(),
    };
    let words: Vec<String> = words.iter().map(text).collect();
    let small: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let small: Vec<&str> = small.iter().map(String::as_str).collect();
    let last = || words.last().cloned().unwrap_or_default();
    Some(match small.as_slice() {
        ["show", "tables" | "views"] => tables(catalog, "*"),
        ["show", "tables" | "views", "like", _] | ["show", "tables" | "views", _] => tables(catalog, &last()),
        ["show", "columns", "in" | "from", _] => columns(catalog, &last(), false),
        ["describe" | "desc", _] | ["describe" | "desc", "table" | "extended" | "formatted", _] => {
            columns(catalog, &last(), true)
        }
        ["describe" | "desc", "table", "extended" | "formatted", _] => columns(catalog, &last(), true),
        ["show" | "describe" | "desc", ..] => {
            let hint = "SHOW TABLES, SHOW COLUMNS IN table and DESCRIBE table are";
            Err(Problem::statement(format!("this {} is not answered", words[0].to_uppercase()), Some(hint)))
        }
        _ => return None,
    })
}

fn tables(catalog: &Catalog, pattern: &str) -> Result<String, Problem> {
    let rows = catalog.table_columns().filter(|(name, _)| fits(name, pattern));
    let rows = rows.map(|(name, _)| format!("({}, {}, true)", quoted(""), quoted(name)));
    Ok(values("namespace, tableName, isTemporary", "'', '', true", rows.collect()))
}

fn columns(catalog: &Catalog, table: &str, with_types: bool) -> Result<String, Problem> {
    let found = catalog.table_columns().find(|(name, _)| name.eq_ignore_ascii_case(table));
    let Some((_, schema)) = found else {
        let names: Vec<String> = catalog.table_columns().map(|(name, _)| name.to_owned()).collect();
        return Err(Problem::no_table(table, &names));
    };
    let rows = schema.fields().iter().map(|field| {
        let name = quoted(field.name());
        match with_types {
            true => format!("({name}, {}, CAST(NULL AS STRING))", quoted(&types::name(field.data_type()))),
            false => format!("({name})"),
        }
    });
    let rows = rows.collect();
    Ok(match with_types {
        true => values("col_name, data_type, comment", "'', '', ''", rows),
        false => values("col_name", "''", rows),
    })
}

/// A statement that gives these rows; `one` is a row of their types.
fn values(columns: &str, one: &str, rows: Vec<String>) -> String {
    if rows.is_empty() {
        return format!("SELECT * FROM (VALUES ({one})) AS t({columns}) WHERE false");
    }
    format!("SELECT * FROM (VALUES {}) AS t({columns})", rows.join(", "))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Whether a name is as a pattern has it, in which `*` is any text and `|` parts patterns.
fn fits(name: &str, pattern: &str) -> bool {
    fn is_like(name: &str, pattern: &str) -> bool {
        match pattern.split_once('*') {
            None => name == pattern,
            Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
                name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| is_like(&name[at..], rest))
            }),
        }
    }
    let name = name.to_lowercase();
    pattern.to_lowercase().split('|').any(|pattern| is_like(&name, pattern.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (name, pattern) in
            [("stage", "*"), ("stage", "st*"), ("stage_attempt", "S*_*t"), ("sql", "job|SQL")]
        {
            assert!(fits(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("stage", "tage"), ("stage", "*x"), ("stage", ""), ("sql", "job | task")] {
            assert!(!fits(name, pattern), "{name} {pattern}");
        }
    }
}

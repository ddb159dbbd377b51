//! The engine's errors in the words of the one who wrote the statement: Spark's names of functions and types.

use crate::functions::{CONTAINS, MODE, PARSE_TIME, PERCENTILE, SUBSTRING, TEXT, VALUES};
use regex::{Captures, Regex};
use std::sync::LazyLock;

/// What the engine says, without its names for things.
pub(crate) fn plain(text: &str) -> String {
    let text = without_prefixes(text.lines().next().unwrap_or_default());
    if let Some(told) = of_a_call(text) {
        return told;
    }
    let mut text = text.replace("table 'datafusion.public.", "table '");
    for (pattern, words) in RULES.iter() {
        text = pattern.replace_all(&text, *words).into_owned();
    }
    with_types(&text)
}

fn without_prefixes(mut text: &str) -> &str {
    let prefixes = [
        "Error during planning: ",
        "Execution error: ",
        "SQL error: ",
        "Internal error: ",
        "This feature is not implemented: ",
    ];
    while let Some(rest) = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    text
}

/// A rule of rewriting: what is found, and what is said.
type Rule = (Regex, &'static str);

/// Rules for messages; a pattern that does not compile is left out, which a test rules out.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rules = [
        (r#"Ident \{ value: "([^"]*)"[^}]*\}"#, "$1"),
        (r#"\b(?:U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean)\(([^()]*)\)"#, "$1"),
        (r#"\bUtf8(?:View)?\("([^"]*)"\)"#, "'$1'"),
        (r"^External error: regex parse error.*$", "the pattern is no regular expression"),
        (
            r"^Physical plan does not support logical expression WindowFunction.*$",
            "a window function cannot stand here: put it into a query of its own, and filter that",
        ),
        (r"^Physical plan does not support logical expression .*\{.*$", "this cannot stand here"),
        (r"^Physical plan does not support logical expression (.*)$", "this cannot stand here: $1"),
        (r"^Unsupported ast node (\w+) .*$", "$1 is not supported"),
        (r"^Unsupported ", "not supported: "),
        (r"^INTERVAL expression cannot be .*$", "this INTERVAL is not supported"),
        (r"^Parser error: .*'(.*)'.*$", "'$1' cannot be read as a date or timestamp"),
        (
            r#"^Projections require unique expression names but the expression "(.*?)(?: AS .*)?" at position.*$"#,
            "the result has `$1` twice: name one of them with AS",
        ),
        (
            r"^Schema contains duplicate qualified field name (.*)$",
            "$1 stands twice: give each table an alias",
        ),
        (
            r"^Order by column out of bounds, specified: (\d+), max: (\d+)$",
            "ORDER BY $1: the result has $2 columns",
        ),
        (
            r"^Cannot find column with position (\d+) in SELECT clause.*$",
            "GROUP BY $1: the result has fewer columns",
        ),
        (r"^\[return_type\] (\w+) not supported for (.*)$", "`$1` cannot take ($2)"),
        (r"^Function '(\w+)' failed to match any signature.*$", "`$1` cannot take these arguments"),
        (
            r"^Dot access not supported .*$",
            "no field of this can be asked for with a dot: name it in a query of its own first",
        ),
        (
            r"^Cast error: Cannot cast (?:string|value) '(.*)' to value of (\w+) type$",
            "'$1' cannot be read as $2",
        ),
        (r"^unnest\(\) can only be applied to .*$", "EXPLODE takes an array or a map"),
        (r"^Cannot coerce arithmetic expression (.*) to valid types$", "$1 cannot be computed"),
        (r"^Cannot infer common argument type for \w+ operation (.*)$", "$1 cannot be compared"),
        (
            r"^Invalid function '(row_number|rank|dense_rank|percent_rank|cume_dist|ntile|lag|lead|nth_value)'.*$",
            "`$1` needs OVER (...)",
        ),
        (
            r#"^Column in SELECT must be in GROUP BY or an aggregate function: .*column "([^"]+)" must appear.*$"#,
            "`$1` must be in GROUP BY, or in a function such as SUM or FIRST",
        ),
        (r"^Invalid function '(\w+)'\.?.*$", "there is no function `$1`"),
        (
            r"^Cannot create filter with non-boolean predicate '(.*)' returning (.*)$",
            "WHERE, HAVING and ON need a condition, and `$1` is $2",
        ),
    ];
    rules.into_iter().filter_map(|(pattern, words)| Some((Regex::new(pattern).ok()?, words))).collect()
});

static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"No function matches the given name and argument types '(\w+)\((.*)\)'").ok()
});
static OUR_REASON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"user-defined coercion failed with: (?:Error during planning: )?(.*)$").ok()
});

/// Of a call whose arguments do not fit: what our functions say of themselves, else what was given to what.
fn of_a_call(text: &str) -> Option<String> {
    let call = CALL.as_ref()?.captures(text);
    let reason = OUR_REASON.as_ref()?.captures(text).and_then(|found| {
        let reason = found.get(1)?.as_str();
        // What our functions say ends where the engine's own words begin.
        let end = [". No function matches", ",Error during planning", ", errors:"];
        let end = end.iter().filter_map(|mark| reason.find(mark)).min().unwrap_or(reason.len());
        Some(reason[..end].to_owned())
    });
    if let Some(reason) = reason {
        return Some(with_types(&spelled(&reason)));
    }
    let call = call?;
    let name = function(&call[1]);
    let given = with_types(&call[2]);
    Some(if given.is_empty() {
        format!("`{name}` needs arguments")
    } else {
        format!("`{name}` cannot take ({given})")
    })
}

/// Functions that the dialect calls by other names of the engine's, and what a statement calls them.
const FUNCTIONS: &[(&str, &str)] = &[
    ("array_has", "array_contains"),
    ("unnest", "explode"),
    (CONTAINS, "array_contains"),
    (MODE, "mode"),
    (PARSE_TIME, "to_timestamp"),
    (PERCENTILE, "percentile"),
    (VALUES, "percentile"),
    (SUBSTRING, "substring"),
    (TEXT, "cast"),
];

fn function(name: &str) -> &str {
    FUNCTIONS.iter().find(|(engine, _)| *engine == name).map_or(name, |(_, told)| told)
}

fn spelled(text: &str) -> String {
    FUNCTIONS
        .iter()
        .filter(|(engine, _)| engine.starts_with("__"))
        .fold(text.to_owned(), |text, (engine, told)| text.replace(engine, told))
}

static TYPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:Large)?(List|Struct|Map|Dictionary|Timestamp|Decimal128|Interval|FixedSizeList)\(|\b(Int8|Int16|Int32|Int64|UInt8|UInt16|UInt32|UInt64|Float32|Float64|Boolean|LargeUtf8|Utf8View|Utf8|Date32|Date64|Binary|Null)\b").ok()
});

/// Types as Spark spells them; what a compound type holds is left out.
fn with_types(text: &str) -> String {
    let Some(pattern) = TYPE.as_ref() else { return text.to_owned() };
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = pattern.captures_at(text, at) {
        let Some(whole) = found.get(0) else { break };
        out.push_str(&text[at..whole.start()]);
        out.push_str(spark_type(&found));
        at = if found.get(1).is_some() { after_bracket(text, whole.end()) } else { whole.end() };
    }
    out.push_str(&text[at..]);
    out
}

fn spark_type(found: &Captures<'_>) -> &'static str {
    let name = found.get(1).or_else(|| found.get(2)).map_or("", |name| name.as_str());
    match name {
        "List" | "FixedSizeList" => "ARRAY",
        "Struct" => "STRUCT",
        "Map" => "MAP",
        "Dictionary" | "Utf8" | "LargeUtf8" | "Utf8View" => "STRING",
        "Timestamp" => "TIMESTAMP",
        "Decimal128" => "DECIMAL",
        "Interval" => "INTERVAL",
        "Int8" | "UInt8" => "TINYINT",
        "Int16" | "UInt16" => "SMALLINT",
        "Int32" | "UInt32" => "INT",
        "Int64" | "UInt64" => "BIGINT",
        "Float32" => "FLOAT",
        "Float64" => "DOUBLE",
        "Boolean" => "BOOLEAN",
        "Date32" | "Date64" => "DATE",
        "Binary" => "BINARY",
        _ => "NULL",
    }
}

/// Behind the bracket that closes the one before `from`; the end of the text where none does.
fn after_bracket(text: &str, from: usize) -> usize {
    let mut depth = 1;
    for (at, c) in text[from..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return from + at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(RULES.len(), 26);
        assert!(CALL.is_some() && OUR_REASON.is_some() && TYPE.is_some());
    }

    #[test]
    fn engines_words() {
        let cases = [
            (
                "Cannot coerce arithmetic expression Int64 + Boolean to valid types",
                "BIGINT + BOOLEAN cannot be computed",
            ),
            (
                "Error during planning: Invalid function 'nosuch'.\nDid you mean 'x'?",
                "there is no function `nosuch`",
            ),
            ("Cast error: Cannot cast string 'a' to value of Float64 type", "'a' cannot be read as DOUBLE"),
            (
                "array_has does not support type Int64. No function matches the given name and argument types 'array_has(Int64, List(Struct(\"a\": Utf8), field: 'element'))'. You might need to add explicit type casts.",
                "`array_contains` cannot take (BIGINT, ARRAY)",
            ),
            (
                "'upper' does not support zero arguments. No function matches the given name and argument types 'upper()'. You might",
                "`upper` needs arguments",
            ),
            (
                "Function 'from_json' user-defined coercion failed with: Error during planning: from_json takes a text and a type, such as 'MAP<STRING, STRING>'. No function matches the given name and argument types 'from_json(Int64)'. You might",
                "from_json takes a text and a type, such as 'MAP<STRING, STRING>'",
            ),
        ];
        for (engine, told) in cases {
            assert_eq!(plain(engine), told);
        }
    }
}

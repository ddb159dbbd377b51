//! The grammar of plan strings: brackets, lists, named fields, attribute ids.

/// Mark that Spark leaves where it cut a text (`spark.sql.maxMetadataStringLength`) or a list of fields
/// (`spark.sql.debug.maxToStringFields`).
const CUT: &str = "...";

/// Whether Spark cut the text, so that equal texts need not mean equal things.
pub fn is_cut(text: &str) -> bool {
    text.contains(CUT) || text.contains(" more fields")
}

/// Splits at a separator outside of all brackets; parts are trimmed, empty ones left out.
pub fn split_top(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if character == separator && depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start.min(text.len())..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// What stands in the brackets that open at the start of `text`, and what follows them. A text that was
/// cut before its closing bracket ends there.
pub fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0i32;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    (depth > 0).then(|| (text.get(1..).unwrap_or_default(), ""))
}

/// The list behind `name` and `: [` or `=[`: `field("keys=[a#1, b#2]", "keys")` gives `a#1, b#2`.
pub fn list<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    for separator in [": [", "=["] {
        let label = format!("{name}{separator}");
        if let Some(at) = text.find(&label) {
            return bracketed(&text[at + label.len() - 1..]).map(|(inside, _)| inside);
        }
    }
    None
}

/// The value of a scan's metadata that is a list: `[IsNotNull(a), EqualTo(a,1)]`.
pub fn items(value: &str) -> Vec<String> {
    let inside = bracketed(value.trim()).map_or(value, |(inside, _)| inside);
    split_top(inside, ',').into_iter().map(without_ids).collect()
}

/// A text without the ids of attributes and expressions: `k#12L` is `k`, `subquery#5` is `subquery`,
/// `[plan_id=4]` and `[id=#4]` go.
pub fn without_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(tail) = rest.strip_prefix("[plan_id=").or_else(|| rest.strip_prefix("[id=#")) {
            rest = tail.find(']').map_or("", |at| &tail[at + 1..]);
            continue;
        }
        if character == '#' {
            let tail = rest[1..].trim_start_matches(|c: char| c.is_ascii_digit());
            if tail.len() < rest.len() - 1 {
                rest = tail.strip_prefix('L').unwrap_or(tail);
                continue;
            }
        }
        out.push(character);
        rest = &rest[character.len_utf8()..];
    }
    out.trim_end_matches([' ', ',']).to_owned()
}

/// The last part of a path or dotted name that says something: no empty part, no scheme.
pub fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_outside_of_brackets_only() {
        assert_eq!(split_top("a#1, f(b#2, c#3), [d]", ','), ["a#1", "f(b#2, c#3)", "[d]"]);
        assert_eq!(list("HashAggregate(keys=[a#1, b#2], functions=[])", "keys"), Some("a#1, b#2"));
        assert_eq!(list("HashAggregate(keys=[a#1, b#2], functions=[])", "functions"), Some(""));
        assert_eq!(list("PushedFilters: [In(a, [1,2]), IsNot", "PushedFilters"), Some("In(a, [1,2]), IsNot"));
        assert_eq!(bracketed("x"), None);
        assert_eq!(bracketed(""), None);
    }

    #[test]
    fn ids_go_and_names_stay() {
        for (text, expected) in [
            ("[k#12L, v#3]", "[k, v]"),
            (
                "Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=115]",
                "Exchange SinglePartition, ENSURE_REQUIREMENTS",
            ),
            ("a # b", "a # b"),
            ("Subquery subquery#921, [id=#278]", "Subquery subquery"),
        ] {
            assert_eq!(without_ids(text), expected);
        }
    }
}

//! Texts of a log within Markdown: as themselves, neither markup nor HTML, and with a backslash only where it would
//! otherwise be misread.

use crate::format::plain;

/// A text that a paragraph or an item of a list begins with.
pub(in crate::render) fn opening(text: &str) -> String {
    let text = plain(text.trim_start());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = |mark: &str| is_blank_or_none(mark[1..].chars().next());
    match text[digits..].chars().next() {
        // The number of a list.
        Some('.' | ')') if digits > 0 && is_item(&text[digits..]) => {
            format!("{}\\{}", &text[..digits], escape(&text[digits..]))
        }
        // A list, or a line across the page.
        Some('-') if digits == 0 && (is_item(&text) || text.starts_with("--")) => {
            format!("\\{}", escape(&text))
        }
        Some('+') if digits == 0 && is_item(&text) => format!("\\{}", escape(&text)),
        // A heading, a quotation.
        Some('#' | '>') if digits == 0 => format!("\\{}", escape(&text)),
        // A box to tick, where it is an item.
        Some('[') if digits == 0 => format!("\\{}", escape(&text)),
        _ => escape(&text),
    }
}

/// A text after others on its line.
pub(in crate::render) fn inside(text: &str) -> String {
    escape(&plain(text))
}

/// A text that a heading ends with.
pub(in crate::render) fn heading(text: &str) -> String {
    let text = escape(&plain(text.trim_end()));
    // Marks at the end would be the other bracket of the heading's own.
    let title = text.trim_end_matches('#');
    match text.len() > title.len() && is_blank_or_none(title.chars().next_back()) {
        true => format!("{title}\\{}", &text[title.len()..]),
        false => text,
    }
}

/// A text in a cell of a table.
pub(in crate::render) fn cell(text: &str) -> String {
    escape(&plain(text)).replace('|', "\\|")
}

/// A text in a code span, which may hold backticks.
pub(in crate::render) fn code(text: &str) -> String {
    let text = plain(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let next = rest.chars().next();
        match c {
            '`' => out.push_str("\\`"),
            // Before any other character it is itself.
            '\\' if next.is_none_or(|next| next.is_ascii_punctuation()) => out.push_str("\\\\"),
            '*' | '~' | '_' | '$' => {
                if is_mark(c, text, at) {
                    out.push('\\');
                }
                out.push(c);
            }
            // What follows makes brackets a link, an image or the definition of one.
            ']' if matches!(next, Some('(' | '[' | ':')) => out.push_str("\\]"),
            // A footnote.
            '[' if next == Some('^') => out.push_str("\\["),
            '<' if next.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next)) => {
                out.push_str("&lt;");
            }
            '&' if is_entity(rest) => out.push_str("&amp;"),
            // A mention of people in a ticket; not in the middle of an address or of an object's name.
            '@' if !before.is_some_and(is_word) && next.is_some_and(is_word) => out.push_str("@\u{200b}"),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// Whether a mark of emphasis, struck text or mathematics at `at` may be one: by what stands around all of its kind
/// that stand together. Nothing is known of what the text stands between.
fn is_mark(mark: char, text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(mark).chars().next_back();
    let after = text[at..].trim_start_matches(mark).chars().next();
    let (Some(before), Some(after)) = (before, after) else { return true };
    let is_alone = before.is_whitespace() && after.is_whitespace();
    // These do nothing within a word.
    let is_in_word = matches!(mark, '_' | '$') && before.is_alphanumeric() && after.is_alphanumeric();
    !is_alone && !is_in_word
}

/// Whether what follows `&` makes it a character of HTML.
fn is_entity(rest: &str) -> bool {
    let Some((name, _)) = rest.split_once(';') else { return false };
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_blank_or_none(c: Option<char>) -> bool {
    c.is_none_or(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that are what they are wherever they stand.
    const AS_THEY_ARE: [&str; 22] = [
        "spark.sql.shuffle.partitions",
        "max_gc_share",
        "a__b",
        "org.apache.spark.rdd.RDD$$anonfun$map$1",
        "Exchange hashpartitioning(k#12, 200)",
        "[id#1L, name#2]",
        "parts[0] of a[1]",
        "4 * 5 and a ~ b",
        "3 < 4, 5 <= 6 -> 7 => 8",
        "Tom & Jerry; R&D",
        "C:\\temp",
        "object@1f2e",
        "bob@host.example",
        "saves 1.5 s (20 %)",
        "1.5 s",
        "2.0",
        "-1",
        "+5 %",
        "!important!",
        "stage 3.0: 4 of 5",
        "a = b",
        "Ünïcode_wörd",
    ];

    #[test]
    fn what_nobody_misreads_stays() {
        for text in AS_THEY_ARE {
            assert_eq!(inside(text), text);
            assert_eq!(cell(text), text);
            assert_eq!(heading(text), text);
        }
        for text in AS_THEY_ARE.iter().filter(|text| !text.starts_with('[')) {
            assert_eq!(opening(text), *text);
        }
    }

    #[test]
    fn marks_are_escaped_where_they_would_be_marks() {
        for (text, written) in [
            ("<b>a*b_d`e", "&lt;b>a\\*b_d\\`e"),
            ("</td><!-- x --><?php", "&lt;/td>&lt;!-- x -->&lt;?php"),
            ("_all_ of __it__", "\\_all\\_ of \\_\\_it\\_\\_"),
            ("(_x_)", "(\\_x\\_)"),
            ("*", "\\*"),
            ("count(*)", "count(\\*)"),
            ("~~gone~~ ~x~", "\\~\\~gone\\~\\~ \\~x\\~"),
            ("$x$ and $$", "\\$x\\$ and \\$\\$"),
            ("[a](http://b)", "[a\\](http://b)"),
            ("![a][b]", "![a\\][b]"),
            ("[a]: http://b", "[a\\]: http://b"),
            ("[^1]", "\\[^1]"),
            ("&lt; &#60; &#x3c; &x", "&amp;lt; &amp;#60; &amp;#x3c; &x"),
            ("\\* and \\", "\\\\\\* and \\\\"),
            ("@bob and (@team-x)", "@\u{200b}bob and (@\u{200b}team-x)"),
            ("a\nb\u{202e}", "a\u{fffd}b\u{fffd}"),
        ] {
            assert_eq!(inside(text), written);
        }
    }

    #[test]
    fn each_place_has_marks_of_its_own() {
        for (text, in_opening, in_heading, in_cell) in [
            ("- a", "\\- a", "- a", "- a"),
            ("---", "\\---", "---", "---"),
            ("+ a", "\\+ a", "+ a", "+ a"),
            ("12. a", "12\\. a", "12. a", "12. a"),
            ("3) a", "3\\) a", "3) a", "3) a"),
            ("# a", "\\# a", "# a", "# a"),
            ("> a", "\\> a", "> a", "> a"),
            ("[ ] a", "\\[ ] a", "[ ] a", "[ ] a"),
            ("    a", "a", "    a", "    a"),
            ("a ##", "a ##", "a \\##", "a ##"),
            ("a#", "a#", "a#", "a#"),
            ("a|b\\|c", "a|b\\\\|c", "a|b\\\\|c", "a\\|b\\\\\\|c"),
        ] {
            assert_eq!(
                (opening(text), heading(text), cell(text)),
                (in_opening.into(), in_heading.into(), in_cell.into())
            );
        }
    }

    #[test]
    fn code_holds_backticks() {
        assert_eq!(code("a_b|c"), "`a_b|c`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
    }
}

//! Text of a log in a page: never markup, never a script.

/// Text between tags or in a quoted attribute.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Controls have no meaning here; marks of direction can make one name look like another.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// As [`text`], cut where nobody would read on.
pub fn short(long: &str, most: usize) -> String {
    match long.char_indices().nth(most) {
        Some((at, _)) => text(&long[..at]) + "…",
        None => text(long),
    }
}

/// As [`short`]; what stands between two backticks is code.
pub fn prose(long: &str, most: usize) -> String {
    let escaped = short(long, most);
    let parts: Vec<&str> = escaped.split('`').collect();
    let last = parts.len() - 1;
    let mut out = String::with_capacity(escaped.len() + 32);
    for (n, part) in parts.iter().enumerate() {
        match n % 2 {
            1 if n < last => out.extend(["<code>", part, "</code>"]),
            // A backtick without its other one is a backtick.
            1 => out.extend(["`", part]),
            _ => out.push_str(part),
        }
    }
    out
}

/// A name that can be the target of a link: what is not a letter, digit, dot or dash becomes a dash.
pub fn id(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' }).collect()
}

/// JSON in a script element: nothing in it ends the element or begins a comment.
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            // Ends of lines in scripts, and marks of direction, which make a source look like another.
            '\u{2028}'
            | '\u{2029}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(
            text("<a href=\"x\">'&\u{1b}\u{202e}"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{fffd}\u{fffd}"
        );
        assert_eq!(short("äbc", 2), "äb…");
        assert_eq!(prose("set `a<b` to `c` or `d", 40), "set <code>a&lt;b</code> to <code>c</code> or `d");
        assert_eq!(id("SKEW-1\" onload"), "SKEW-1--onload");
        let hostile = r#"{"a":"</script><!--"}"#;
        let safe = json(hostile);
        assert!(!safe.contains('<') && !safe.contains('>'), "{safe}");
        let back: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(back["a"], "</script><!--");
    }
}

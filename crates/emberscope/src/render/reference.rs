//! Pages of the reference on a terminal: Markdown, simply.

use super::join;
use super::page::{Align, Line, Tone, labelled, table, wrap};
use crate::output::Look;

/// A Markdown page as text. Knows what the reference uses: headings, paragraphs, lists, tables, fenced
/// code, `code` and **strong** words.
pub(crate) fn text(markdown: &str, look: Look) -> String {
    let mut lines = Vec::new();
    let mut source = markdown.lines().peekable();
    while let Some(line) = source.next() {
        if line.starts_with("<!--") || line.starts_with("<a id=") {
            // Only for the page in the repository; so is the blank line after it.
            source.next_if(|next| next.is_empty());
        } else if line.starts_with("```") {
            let body = source.by_ref().take_while(|line| !line.starts_with("```"));
            lines.extend(body.map(|line| Line::text(Tone::Accent, format!("    {line}"))));
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(row) = source.next_if(|line| line.starts_with('|')) {
                rows.push(row);
            }
            lines.extend(rows_of(&rows, look.width));
        } else if let Some(heading) = line.strip_prefix('#') {
            lines.push(Line::text(Tone::Strong, heading.trim_start_matches('#').trim()));
        } else if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            let more = paragraph(item, &mut source);
            lines.extend(labelled(Line::text(Tone::Plain, "  - "), Tone::Plain, &more, look.width));
        } else if line.is_empty() {
            lines.push(Line::default());
        } else {
            let whole = paragraph(line, &mut source);
            lines.extend(wrap(&whole, look.width).into_iter().map(|line| Line::text(Tone::Plain, line)));
        }
    }
    join(&lines, look, true)
}

/// A paragraph, which may go on over several lines, without its marks.
fn paragraph<'l>(first: &'l str, source: &mut std::iter::Peekable<impl Iterator<Item = &'l str>>) -> String {
    let mut text = first.to_owned();
    let starts_anew = |line: &str| line.is_empty() || line.starts_with(['#', '|', '-', '*', '`', '<']);
    while let Some(line) = source.next_if(|line| !starts_anew(line)) {
        text.push(' ');
        text.push_str(line);
    }
    inline(&text)
}

/// Words without the marks of strong text and links; code keeps its marks, which tell it apart.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (n, piece) in text.split('`').enumerate() {
        if n % 2 == 1 {
            out.push_str(&format!("`{piece}`"));
        } else {
            out.push_str(&piece.replace("**", "").replace('*', ""));
        }
    }
    // `[SKEW](SKEW.md)` is `SKEW`.
    while let Some(end) = out.find("](") {
        let (Some(start), Some(close)) = (out[..end].rfind('['), out[end..].find(')')) else { break };
        let label = out[start + 1..end].to_owned();
        out.replace_range(start..end + close + 1, &label);
    }
    out.replace("\\|", "|")
}

/// A table: narrow columns as they are, the last one wrapped below itself.
fn rows_of(rows: &[&str], width: usize) -> Vec<Line> {
    let cells = |row: &str| -> Vec<String> {
        let row = row.trim_matches('|').replace("\\|", "\u{0}");
        row.split('|').map(|cell| inline(cell.trim()).replace('\u{0}', "|").replace('`', "")).collect()
    };
    let rows: Vec<Vec<String>> =
        rows.iter().filter(|row| !row.starts_with("|---")).map(|row| cells(row)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let heads: Vec<Vec<Line>> = rows
        .iter()
        .enumerate()
        .map(|(n, row)| {
            let tone = if n == 0 { Tone::Strong } else { Tone::Accent };
            row[..columns.saturating_sub(1).min(row.len())]
                .iter()
                .map(|cell| Line::text(tone, cell))
                .collect()
        })
        .collect();
    let aligned = table(&heads, &vec![Align::Left; columns.saturating_sub(1)]);
    let at = aligned.iter().map(Line::width).max().unwrap_or(0) + 4;
    let mut lines = Vec::new();
    for (row, head) in rows.iter().zip(aligned) {
        let label = Line::text(Tone::Plain, "  ").join(head).padded(at);
        let text = row.get(columns - 1).map_or("", String::as_str);
        lines.extend(labelled(label, Tone::Plain, text, width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_reads_as_text() {
        let page = "# T: title\n\n<!-- made -->\n\n<a id=\"x\"></a>\n\n**`x`**: one\ntwo\n\n- item\n\n\
                    ```sql\nSELECT 1\n```\n\n| name | default | |\n|---|---:|---|\n| `a` | 2 | A \\| B |\n";
        let look = Look { width: 80, colour: false };
        let expected = "T: title\n\n`x`: one two\n\n  - item\n\n    SELECT 1\n\n  name  default\n  a     2        A | B\n";
        assert_eq!(text(page, look), expected);
        assert_eq!(inline("see [SKEW](SKEW.md#skew) *now*"), "see SKEW now");
    }
}

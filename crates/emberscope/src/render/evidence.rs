//! The parts of an evidence report as text and Markdown.

use super::markdown::quoted;
use crate::format::plain;
use emberscope_evidence::sections::{Block, Section};
use std::fmt::Write;

/// As plain text, below a diagnosis, which has the conclusion and the suggestions already.
pub(crate) fn text(parts: &[Section]) -> String {
    let mut out = String::new();
    for part in parts.iter().filter(|part| !matches!(part.title, "Conclusion" | "Suggestions")) {
        let _ = write!(out, "\n{}\n", part.title);
        for block in &part.blocks {
            match block {
                Block::Text(text) => {
                    let _ = writeln!(out, "  {}", plain(text));
                }
                Block::List(items) => {
                    for item in items {
                        let _ = writeln!(out, "  - {}", plain(item));
                    }
                }
                Block::Code(text) => {
                    for line in text.lines() {
                        let _ = writeln!(out, "    {}", plain(line));
                    }
                }
                Block::Table { head, rows } => table(&mut out, head, rows),
            }
        }
    }
    out
}

/// Widest column of a table on a terminal.
const WIDEST: usize = 48;

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let cell = |text: &str| -> String {
        let text = plain(text);
        match text.char_indices().nth(WIDEST) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    };
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|text| cell(text).chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(text, width)| format!("{text:width$}", width = *width));
        format!("  {}", padded.collect::<Vec<_>>().join("  "))
    };
    let _ = writeln!(out, "{}", line(head.iter().map(|name| (*name).to_owned()).collect()).trim_end());
    for row in rows {
        let _ = writeln!(out, "{}", line(row.iter().map(|text| cell(text)).collect()).trim_end());
    }
}

/// As Markdown, numbered.
pub(crate) fn markdown(out: &mut String, parts: &[Section]) {
    for (n, part) in parts.iter().enumerate() {
        let _ = write!(out, "\n## {}. {}\n\n", n + 1, part.title);
        for block in &part.blocks {
            match block {
                Block::Text(words) => {
                    let _ = writeln!(out, "{}\n", quoted::opening(words));
                }
                Block::List(items) => {
                    for item in items {
                        let _ = writeln!(out, "- {}", quoted::opening(item));
                    }
                    out.push('\n');
                }
                Block::Code(text) => {
                    let lines: Vec<String> = text.lines().map(plain).collect();
                    let _ = writeln!(out, "```sql\n{}\n```\n", lines.join("\n").replace("```", "` ` `"));
                }
                Block::Table { head, rows } => {
                    let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
                    for row in rows {
                        let cells: Vec<String> = row.iter().map(|words| quoted::cell(words)).collect();
                        let _ = writeln!(out, "| {} |", cells.join(" | "));
                    }
                    out.push('\n');
                }
            }
        }
    }
}

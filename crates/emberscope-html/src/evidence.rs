//! The parts of an evidence report.

use crate::escape;
use emberscope_evidence::sections::{Block, Section};
use std::fmt::Write;

/// Longest cell, characters.
const CELL: usize = 400;
/// Longest cell that is not broken into lines, characters.
const SHORT: usize = 24;
/// Longest cell that stays on one line where the table is scrolled sideways, characters.
const MIDDLING: usize = 90;
/// Longest text, characters.
const TEXT: usize = 2000;

/// All parts, numbered.
pub(crate) fn parts(out: &mut String, parts: &[Section]) {
    for (n, part) in parts.iter().enumerate() {
        let _ = write!(out, "<section class=\"part\"><h2>{}. {}</h2>", n + 1, escape::text(part.title));
        part.blocks.iter().for_each(|one| block(out, one));
        out.push_str("</section>\n");
    }
    if !parts.is_empty() {
        out.push_str("<div class=\"full\"><h2>The diagnosis in full</h2></div>\n");
    }
}

fn block(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) => {
            let _ = write!(out, "<p>{}</p>", escape::short(text, TEXT));
        }
        Block::List(items) => {
            out.push_str("<ul>");
            for item in items {
                let _ = write!(out, "<li>{}</li>", escape::short(item, TEXT));
            }
            out.push_str("</ul>");
        }
        Block::Code(text) => {
            let _ = write!(out, "<pre><code>{}</code></pre>", escape::text(text));
        }
        Block::Table { head, rows } => {
            out.push_str("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"ev\"><thead><tr>");
            for name in head {
                let _ = write!(out, "<th scope=\"col\">{}</th>", escape::text(name));
            }
            out.push_str("</tr></thead><tbody>");
            for row in rows {
                out.push_str("<tr>");
                for cell in row {
                    // What is short stays on one line; the rest has the room.
                    let length = cell.chars().count();
                    let class = match (length <= SHORT, length <= MIDDLING) {
                        (true, _) => " class=\"s m\"",
                        (false, true) => " class=\"m\"",
                        (false, false) => "",
                    };
                    let _ = write!(out, "<td{class}>{}</td>", escape::short(cell, CELL));
                }
                out.push_str("</tr>");
            }
            out.push_str("</tbody></table></div>");
        }
    }
}

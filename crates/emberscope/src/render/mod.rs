//! Text for people: one file for each thing shown, on top of a page of aligned, toned lines.

pub(crate) mod doctor;
pub(crate) mod page;
pub(crate) mod report;
pub(crate) mod summary;
mod trust;

use crate::output::Look;
use page::{Line, Tone};

/// Joins lines to text. Several results are set apart by a blank line.
fn join(lines: &[Line], look: Look, is_first: bool) -> String {
    let mut text = String::new();
    if !is_first {
        text.push('\n');
    }
    for line in lines {
        text.push_str(&line.render(look.colour));
        text.push('\n');
    }
    text
}

/// Name and id of an application at the left, a word about it at the right.
fn title(name: Option<&str>, id: Option<&str>, right: (Tone, &str), width: usize) -> Line {
    let right_width = page::width_of(right.1);
    let id = crate::format::plain(id.unwrap_or("(no application id)"));
    let mut line = Line::default();
    let room = width.saturating_sub(right_width + 2);
    if let Some(name) = name {
        let name_room = room.saturating_sub(page::width_of(&id) + 2).max(12);
        line = line.and(Tone::Strong, page::fit(&crate::format::plain(name), name_room));
        line = line.and(Tone::Plain, "  ");
    }
    let id_room = room.saturating_sub(line.width()).max(8);
    line = line.and(Tone::Accent, page::fit(&id, id_room));
    line.padded(width.saturating_sub(right_width)).and(right.0, right.1)
}

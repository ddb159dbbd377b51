//! Text for people: one file for each thing shown, on top of a page of aligned, toned lines.

pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod evidence;
pub(crate) mod flame;
pub(crate) mod follow;
// One diagnosis with something of everything, for the tests of all forms.
#[cfg(test)]
#[path = "../../../emberscope-html/tests/it/made.rs"]
mod made;
pub(crate) mod markdown;
pub(crate) mod page;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod summary;
mod trust;

pub(crate) use trust::{Words, gaps};

use crate::format::{plain, present, shown};
use crate::output::Look;
use page::{Line, Tone};

/// Columns of a name, version or user as the log has it; what is longer is damage or a joke.
const LONGEST_NAME: usize = 60;

/// Spark's version in words. Some vendors' versions say more than a number.
fn spark_version(version: Option<&str>) -> String {
    match present(version) {
        Some(version) if version.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("Spark {}", shown(version, LONGEST_NAME / 2))
        }
        Some(version) => shown(version, LONGEST_NAME / 2),
        None => "Spark version unknown".to_owned(),
    }
}

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
    let id = shown(present(id).unwrap_or("(no application id)"), LONGEST_NAME);
    let mut line = Line::default();
    let room = width.saturating_sub(right_width + 2);
    if let Some(name) = present(name) {
        let name_room = room.saturating_sub(page::width_of(&id) + 2).max(12);
        line = line.and(Tone::Strong, page::fit(&plain(name), name_room));
        line = line.and(Tone::Plain, "  ");
    }
    let id_room = room.saturating_sub(line.width()).max(8);
    line = line.and(Tone::Accent, page::fit(&id, id_room));
    line.padded(width.saturating_sub(right_width)).and(right.0, right.1)
}

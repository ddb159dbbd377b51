//! What is said on standard error: errors, warnings, hints.

use crate::format;
use crate::render::page::{Line, Tone};
use emberscope_log::source::{PathStatus, SkippedPath};
use std::io::Write;

/// Paths that are told one by one; a data lake's directory may hold thousands of others.
const TOLD_PATHS: usize = 20;

/// Prints an error.
pub(crate) fn error(message: &str, hint: Option<&str>) {
    say("error", Tone::Bad, message, hint);
}

/// Prints a warning.
pub(crate) fn warning(message: &str, hint: Option<&str>) {
    say("warning", Tone::Warn, message, hint);
}

/// Prints what is neither: something the reader should know and need not act on.
pub(crate) fn note(message: &str, hint: Option<&str>) {
    say("note", Tone::Accent, message, hint);
}

/// Prints lines that an error is about.
pub(crate) fn excerpt(lines: &[String]) {
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        _ = writeln!(stderr, "    {line}");
    }
}

fn say(kind: &str, tone: Tone, message: &str, hint: Option<&str>) {
    let colour = crate::output::colour_of(&std::io::stderr());
    // A message of several lines, as of a parser that points at a place, keeps them.
    let mut told = message.trim_end().lines().map(format::plain);
    let first = told.next().unwrap_or_default();
    let mut lines = vec![Line::text(tone, kind).and(Tone::Plain, format!(": {first}"))];
    lines.extend(told.map(|line| Line::text(Tone::Plain, format!("  {line}"))));
    if let Some(hint) = hint {
        lines.push(Line::text(Tone::Accent, "  hint").and(Tone::Plain, format!(": {}", format::plain(hint))));
    }
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        // With standard error closed there is nobody left to tell.
        _ = writeln!(stderr, "{}", line.render(colour));
    }
}

/// The paths to tell one by one, and how many more there are. What Hadoop leaves beside every log is among
/// neither: with it, no directory would be read without a note.
fn worth_telling(paths: &[SkippedPath]) -> (Vec<&SkippedPath>, usize) {
    let mut told: Vec<&SkippedPath> = paths.iter().filter(|path| !is_of_hadoop(path)).collect();
    let rest = told.len().saturating_sub(TOLD_PATHS);
    told.truncate(TOLD_PATHS);
    (told, rest)
}

fn is_of_hadoop(path: &SkippedPath) -> bool {
    let name = path.path.rsplit(['/', '\\']).next().unwrap_or_default();
    path.status != PathStatus::Failed && (name.ends_with(".crc") || name == "_SUCCESS")
}

/// Tells what became of the paths that gave no run.
pub(crate) fn skipped(paths: &[SkippedPath]) {
    let (told, rest) = worth_telling(paths);
    for path in told {
        let message = format!("{}: {}", path.path, path.reason);
        match path.status {
            PathStatus::Failed => warning(&message, path.hint.as_deref()),
            PathStatus::Skipped | PathStatus::Empty => {
                note(&format!("skipped {message}"), path.hint.as_deref());
            }
        }
    }
    if rest > 0 {
        note(&format!("skipped {} more", format::counted(rest as u64, "path")), None);
    }
}

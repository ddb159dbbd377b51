//! How far the numbers can be trusted, in words.

use super::page::{Line, Tone, items, labelled};
use crate::format::{bytes, count, counted, plain, share};
use emberscope_model::trust::{FileStatus, Trust};

const LABEL: &str = "Trust   ";
/// Names in a list before the rest is only counted.
const TOLD: usize = 4;

/// The lines of the trust block: one where all is well, one more for everything that is not.
pub(super) fn lines(trust: &Trust, width: usize) -> Vec<Line> {
    let concerns = concerns(trust);
    let is_whole = trust.is_complete() && trust.coverage.stages.is_empty();
    let (tone, verdict) = match (is_whole, concerns.is_empty()) {
        (true, true) => (Tone::Good, "complete"),
        (true, false) => (Tone::Warn, "with notes"),
        (false, _) => (Tone::Warn, "not whole"),
    };
    let label = Line::text(Tone::Strong, LABEL).and(tone, verdict).and(Tone::Plain, "  ");
    let mut lines = items(label, Tone::Plain, &what_was_read(trust), width);
    for concern in concerns {
        lines.extend(labelled(Line::text(Tone::Warn, "  ! "), Tone::Plain, &concern, width));
    }
    lines
}

fn what_was_read(trust: &Trust) -> Vec<String> {
    let mut codecs: Vec<&str> = trust.files.iter().map(|file| file.codec.as_str()).collect();
    codecs.sort_unstable();
    codecs.dedup();
    let stored: u64 = trust.files.iter().map(|file| file.bytes).sum();
    let decoded: u64 = trust.files.iter().map(|file| file.decoded_bytes).sum();
    let mut size = format!("{} {}", codecs.join("+"), bytes(stored as i64));
    if decoded != stored {
        size.push_str(&format!(" → {}", bytes(decoded as i64)));
    }
    let (seen, expected) = (trust.coverage.tasks_seen, trust.coverage.tasks_expected);
    let tasks = match trust.coverage.ratio {
        Some(_) if seen == expected && seen > 1 => format!("all {} tasks", count(expected)),
        Some(_) if seen == expected => "the only task".to_owned(),
        Some(ratio) => format!("{} of {} ({})", count(seen), counted(expected, "task"), share(ratio)),
        None => "no tasks".to_owned(),
    };
    vec![counted(trust.files.len() as u64, "file"), size, counted(trust.lines, "line"), tasks]
}

/// Everything that is not complete or not as the log has it.
fn concerns(trust: &Trust) -> Vec<String> {
    let mut concerns = Vec::new();
    unread(trust, &mut concerns);
    let stages = &trust.coverage.stages;
    if !stages.is_empty() {
        let names = stages.iter().map(|stage| {
            let attempt =
                if stage.stage_attempt == 0 { String::new() } else { format!(".{}", stage.stage_attempt) };
            format!(
                "{}{attempt} ({} of {})",
                stage.stage_id,
                count(stage.tasks_seen),
                count(stage.tasks_expected)
            )
        });
        concerns.push(format!("task ends are missing in stages {}", some_of(names.collect())));
    }
    if !trust.estimated.is_empty() {
        let names = trust.estimated.iter().map(|name| plain(name)).collect();
        concerns.push(format!("estimated, since the log has no such event: {}", some_of(names)));
    }
    if !trust.clamped.is_empty() {
        let names = trust.clamped.iter().map(|(name, times)| format!("{} ({})", plain(name), count(*times)));
        concerns.push(format!("clocks disagree, negative values count as 0: {}", some_of(names.collect())));
    }
    if !trust.unknown_events.is_empty() {
        let names = trust.unknown_events.iter().map(|(name, times)| {
            format!("{} ({})", plain(name.rsplit(['.', '$']).next().unwrap_or(name)), count(*times))
        });
        concerns.push(format!("events unknown here and only counted: {}", some_of(names.collect())));
    }
    concerns.extend(trust.notes.iter().map(|note| plain(note)));
    concerns
}

/// Bytes, members and lines that could not be read.
fn unread(trust: &Trust, concerns: &mut Vec<String>) {
    if let Some(cut) = &trust.truncated_at {
        let place = place(trust, &cut.file);
        concerns.push(format!(
            "the log is cut at line {}{place}: still running, or its driver was killed",
            count(cut.line)
        ));
    }
    for file in trust.files.iter().filter(|file| file.status != FileStatus::Ok) {
        let is_told = match (&trust.truncated_at, trust.bad_lines.count) {
            (Some(cut), _) if cut.file == file.path => true,
            // Their count and place follow.
            (None, bad)
                if bad > 0
                    && file.reason.as_deref().is_some_and(|reason| reason.ends_with("not be read")) =>
            {
                true
            }
            _ => false,
        };
        if !is_told {
            let (name, reason) = (plain(&file.path), file.reason.as_deref().unwrap_or("not read to its end"));
            let hint = file.hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
            concerns.push(format!("{name}: {}{}", plain(reason), plain(&hint)));
        }
    }
    if trust.bad_lines.count > 0 {
        let lines = counted(trust.bad_lines.count, "line");
        let first = trust.bad_lines.first.first().map_or_else(String::new, |bad| {
            format!(
                "; the first is line {}{}: {}",
                count(bad.line),
                place(trust, &bad.file),
                plain(&bad.reason)
            )
        });
        concerns.push(format!("{lines} could not be read{first}"));
    }
    if !trust.missing_members.is_empty() {
        let names = trust.missing_members.iter().map(|name| plain(name)).collect();
        concerns.push(format!("parts of the rolled log are missing: {}", some_of(names)));
    }
}

/// Names the file only where there are several.
fn place(trust: &Trust, file: &str) -> String {
    if trust.files.len() > 1 { format!(" of {}", plain(file)) } else { String::new() }
}

fn some_of(mut names: Vec<String>) -> String {
    let rest = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    let list = names.join(", ");
    if rest == 0 { list } else { format!("{list} and {} more", count(rest as u64)) }
}

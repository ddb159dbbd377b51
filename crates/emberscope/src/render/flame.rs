//! The hottest frames of a flame graph, and what stands above and below one.

use super::join;
use super::page::{Align, Line, Tone, bar, fit, items, labelled, table};
use crate::cli::{FlameOptions, Wanted};
use crate::format::{bytes, count, counted, instant, nanos, plain, share};
use crate::output::Look;
use emberscope_jfr::export::Caption;
use emberscope_jfr::flame_event::{FlameEvent, Unit};
use emberscope_jfr::fold::Profile;
use emberscope_jfr::frames::FrameKind;
use emberscope_jfr::hot::{HotFrame, hot_frames, whole_stages};
use emberscope_jfr::inspect::Inventory;
use emberscope_jfr::notes::{Note, NoteKind};
use emberscope_jfr::view::View;

/// Columns of a bar.
const BAR: usize = 12;
/// Stages of generated code that are told.
const TOLD_STAGES: usize = 6;

/// Event, files and selection in words.
pub(crate) fn title(options: &FlameOptions, event: FlameEvent) -> String {
    let files = match options.reading.sources.as_slice() {
        [one] => plain(one.rsplit('/').find(|part| !part.is_empty()).unwrap_or(one)),
        many => counted(many.len() as u64, "source"),
    };
    let mut title = format!("{} of {files}", event.name());
    let selection = selection(&options.wanted);
    if !selection.is_empty() {
        title = format!("{title}, {selection}");
    }
    if let Some(against) = &options.against {
        title = format!("{title}, against {}", self::selection(against));
    }
    title
}

fn selection(wanted: &Wanted) -> String {
    let mut parts = Vec::new();
    match wanted.tasks.stage {
        Some((stage, Some(attempt))) => parts.push(format!("stage {stage}.{attempt}")),
        Some((stage, None)) => parts.push(format!("stage {stage}")),
        None => {}
    }
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name} {}", plain(&value))));
    };
    add("partition", wanted.tasks.partition.map(|partition| partition.to_string()));
    add("task", wanted.tasks.task.map(|task| task.to_string()));
    add("executor", (!wanted.executors.is_empty()).then(|| wanted.executors.join(", ")));
    add("thread", wanted.thread.clone());
    add("state", wanted.state.clone());
    if wanted.from.is_some() || wanted.to.is_some() {
        parts.push("a part of the time".to_owned());
    }
    parts.join(", ")
}

/// A weight with its unit.
fn weight(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Samples => count(value.unsigned_abs()),
        Unit::Bytes => bytes(value),
        Unit::Nanoseconds => nanos(value),
    }
}

/// What a reader of the graph should know, a sentence each.
pub(crate) fn words(profile: &Profile, inventory: Option<&Inventory>) -> Vec<String> {
    let remarks = remarks(&profile.notes).into_iter().map(|remark| remark.text);
    advice(profile.event, inventory).into_iter().chain(remarks).collect()
}

/// What notes say.
#[derive(Debug)]
pub(crate) struct Remark {
    /// Whether something is missing that a whole recording would have.
    pub(crate) is_gap: bool,
    /// In words.
    pub(crate) text: String,
}

/// Notes in words: gaps file by file, what is ordinary once for all files.
pub(crate) fn remarks(notes: &[Note]) -> Vec<Remark> {
    let all =
        |kind: NoteKind| notes.iter().filter(|note| note.kind == kind).map(|note| note.count).sum::<u64>();
    let mut remarks = Vec::new();
    for note in notes {
        if matches!(note.kind, NoteKind::RepeatedChunk | NoteKind::TruncatedStack | NoteKind::NoStack) {
            continue;
        }
        let more =
            if note.count > 1 { format!(" ({} like it)", count(note.count - 1)) } else { String::new() };
        remarks.push(Remark { is_gap: true, text: format!("{}: {}{more}", plain(&note.file), note.first) });
    }
    for (kind, noun, what) in [
        (NoteKind::RepeatedChunk, "chunk", "in several files, each counted once"),
        (
            NoteKind::TruncatedStack,
            "stack",
            "deeper than the recorder keeps; a larger `stackdepth` keeps more",
        ),
        (NoteKind::NoStack, "sample", "without a stack"),
    ] {
        if all(kind) > 0 {
            remarks.push(Remark { is_gap: false, text: format!("{} {what}", counted(all(kind), noun)) });
        }
    }
    remarks
}

/// How far names can be trusted, where they cannot.
fn advice(event: FlameEvent, inventory: Option<&Inventory>) -> Option<String> {
    let is_sampled = matches!(event, FlameEvent::Cpu | FlameEvent::Wall);
    inventory.filter(|_| is_sampled).and_then(emberscope_profile::options::distortion)
}

/// The hottest frames as text.
pub(crate) fn text(
    profile: &Profile,
    view: &View,
    caption: &Caption,
    inventory: Option<&Inventory>,
    rows: usize,
    look: Look,
) -> String {
    let unit = caption.event.unit();
    let mut lines = vec![Line::text(Tone::Strong, fit(&caption.title, look.width))];
    lines.extend(items(Line::default(), Tone::Plain, &facts(profile, view, unit), look.width));
    lines.push(Line::default());
    lines.extend(hottest(view, unit, rows, look.width));
    let stages = whole_stages(view);
    if !stages.is_empty() {
        lines.push(Line::default());
        let told = stages.iter().take(TOLD_STAGES).map(|(stage, value)| {
            format!("whole-stage {stage} {}", share(*value as f64 / view.sum().max(1) as f64))
        });
        let told: Vec<String> = told.collect();
        lines.extend(items(Line::text(Tone::Faint, "Generated code  "), Tone::Plain, &told, look.width));
    }
    if let Some(word) = advice(profile.event, inventory) {
        lines.push(Line::default());
        lines.extend(labelled(Line::text(Tone::Warn, "Note  "), Tone::Plain, &word, look.width));
    }
    join(&lines, look, true)
}

fn facts(profile: &Profile, view: &View, unit: Unit) -> Vec<String> {
    let of_sum = match unit {
        Unit::Samples => counted(view.sum().unsigned_abs(), "sample"),
        _ => weight(view.sum(), unit),
    };
    let mut facts = vec![of_sum];
    if view.is_diff {
        facts.push(format!("against {}", weight(view.baseline_sum(), unit)));
    }
    facts.push(counted(profile.events, "event"));
    if let Some((first, last)) = profile.times_ns {
        let from = instant(first.div_euclid(1_000_000));
        facts.push(format!("from {from} for {}", crate::format::duration((last - first) / 1_000_000)));
    }
    let executors: Vec<&str> =
        profile.executors.iter().filter(|(_, weight)| **weight > 0).map(|(id, _)| id.as_str()).collect();
    if executors.len() > 1 {
        facts.push(counted(executors.len() as u64, "JVM"));
    }
    facts
}

fn hottest(view: &View, unit: Unit, rows: usize, width: usize) -> Vec<Line> {
    let hot = hot_frames(view);
    let head: &[&str] = match view.is_diff {
        true => &["own", "share", "before", "with callees", "before", ""],
        false => &["own", "share", "with callees", "share", ""],
    };
    let mut cells = vec![head.iter().map(|text| Line::text(Tone::Strong, *text)).collect::<Vec<Line>>()];
    for frame in hot.iter().take(rows) {
        cells.push(row(view, frame, unit));
    }
    let mut aligns = vec![Align::Right; head.len() - 1];
    aligns.push(Align::Left);
    let taken = |cells: &[Vec<Line>]| -> usize {
        (0..head.len() - 1)
            .map(|column| {
                cells.iter().filter_map(|row| row.get(column)).map(Line::width).max().unwrap_or(0) + 2
            })
            .sum()
    };
    let room = width.saturating_sub(taken(&cells)).max(24);
    for (cell, frame) in cells.iter_mut().skip(1).zip(&hot) {
        let name = plain(view.frames.name(frame.frame));
        let most = if view.is_diff { 0 } else { BAR.min(room / 4) };
        let length = (frame.own as f64 / view.sum().max(1) as f64 * most as f64).round() as usize;
        let drawn = if length > 0 { bar(1.0, length) + " " } else { String::new() };
        let rest = room.saturating_sub(length + 1);
        cell.push(
            Line::text(Tone::Accent, drawn)
                .and(Tone::Plain, short(&name, view.frames.kind(frame.frame) == FrameKind::Java, rest)),
        );
    }
    let mut lines = table(&cells, &aligns);
    if hot.len() > rows {
        lines.push(Line::text(
            Tone::Faint,
            format!("and {} more; --rows shows them", counted((hot.len() - rows) as u64, "frame")),
        ));
    }
    lines
}

fn row(view: &View, frame: &HotFrame, unit: Unit) -> Vec<Line> {
    let plain_line = |text: String| Line::text(Tone::Plain, text);
    let of = |value: i64, sum: i64| share(value as f64 / sum.max(1) as f64);
    let (sum, baseline) = (view.sum(), view.baseline_sum());
    if view.is_diff {
        return vec![
            plain_line(weight(frame.own, unit)),
            plain_line(of(frame.own, sum)),
            plain_line(of(frame.baseline_own, baseline)),
            plain_line(of(frame.total, sum)),
            plain_line(of(frame.baseline_total, baseline)),
        ];
    }
    vec![
        plain_line(weight(frame.own, unit)),
        plain_line(of(frame.own, sum)),
        plain_line(weight(frame.total, unit)),
        plain_line(of(frame.total, sum)),
    ]
}

/// A name with its packages shortened until it fits, `org.apache.spark.A.b` to `o.a.s.A.b`, then without
/// them, then without its start: methods tell more than classes.
fn short(name: &str, is_java: bool, width: usize) -> String {
    let wide = |text: &str| text.chars().count() > width;
    if !wide(name) {
        return name.to_owned();
    }
    let mut parts: Vec<&str> = name.split('.').collect();
    let packages = if is_java { parts.len().saturating_sub(2) } else { 0 };
    for at in 0..packages {
        parts[at] = parts[at].get(..1).unwrap_or_default();
        let shortened = parts.join(".");
        if !wide(&shortened) {
            return shortened;
        }
    }
    let bare = parts[packages..].join(".");
    let skip = bare.chars().count().saturating_sub(width.saturating_sub(1));
    if wide(&bare) { format!("…{}", bare.chars().skip(skip).collect::<String>()) } else { bare }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_packages_before_they_lose_their_start() {
        let name = "org.apache.spark.sql.Executor$TaskRunner.run";
        assert_eq!(short(name, true, 60), name);
        assert_eq!(short(name, true, 36), "o.a.s.sql.Executor$TaskRunner.run");
        assert_eq!(short(name, true, 23), "Executor$TaskRunner.run");
        assert_eq!(short(name, true, 12), "…kRunner.run");
        assert_eq!(short("libc.so.6.__wait4", false, 60), "libc.so.6.__wait4");
        assert_eq!(short("libc.so.6.__wait4", false, 8), "…__wait4");
    }
}

//! What fills a log and what to do about it.

use super::page::{Align, Line, Tone, bar, fit, items, labelled, table};
use super::{LONGEST_NAME, join, spark_version, title, trust};
use crate::facts::Facts;
use crate::format::{bytes, count, counted, plain, share, shown};
use crate::output::Look;
use emberscope_model::doctor::{Absent, Advice, Basis, Doctor, EventShare, LogFacts, SavedOf, Saving};

/// Event types below this share are summed up in one row.
const TOLD_SHARE: f64 = 0.005;
/// Fields below this share are left out, and so are those after the first few.
const TOLD_FIELD_SHARE: f64 = 0.02;
const TOLD_FIELDS: usize = 4;

/// A diagnosis of a log as text.
pub(crate) fn text(doctor: &Doctor, facts: &Facts, look: Look, is_first: bool) -> String {
    let application = &doctor.application;
    let version = spark_version(application.spark_version.as_deref());
    let right = (Tone::Plain, version.as_str());
    let mut lines = vec![title(application.name.as_deref(), application.id.as_deref(), right, look.width)];
    lines.extend(items(Line::default(), Tone::Plain, &size(&doctor.log), look.width));
    lines.push(Line::default());
    lines.extend(filling(doctor, look.width));
    if !doctor.absent.is_empty() {
        lines.push(Line::default());
        lines.extend(absent(&doctor.absent, look.width));
    }
    lines.push(Line::default());
    lines.extend(advice(&doctor.advice, look.width));
    lines.push(Line::default());
    lines.extend(trust::lines(&doctor.trust, facts, look.width));
    join(&lines, look, is_first)
}

fn size(log: &LogFacts) -> Vec<String> {
    let mut parts = vec![format!("{} {}", bytes(log.bytes as i64), log.codecs.join("+"))];
    if log.decoded_bytes != log.bytes
        && let Some(ratio) = log.ratio
    {
        parts.push(format!("{} of text ({ratio:.1} : 1)", bytes(log.decoded_bytes as i64)));
    }
    parts.push(counted(log.events, "event"));
    if let Some(event) = &log.longest_line_event {
        parts.push(format!("longest line {}, {}", bytes(log.longest_line_bytes as i64), short(event)));
    }
    if log.repeated_events > 0 {
        parts.push(format!("{} repeat an earlier one", counted(log.repeated_events, "event")));
    }
    parts
}

/// Event names without what they all begin with.
fn short(event: &str) -> String {
    shown(event.strip_prefix("SparkListener").unwrap_or(event), LONGEST_NAME)
}

fn filling(doctor: &Doctor, width: usize) -> Vec<Line> {
    let head = ["Filled by", "events", "bytes", "share"];
    let mut rows = vec![head.iter().map(|label| Line::text(Tone::Strong, *label)).collect::<Vec<Line>>()];
    let (told, rest): (Vec<&EventShare>, Vec<&EventShare>) =
        doctor.events.iter().partition(|event| event.share >= TOLD_SHARE);
    let name_width = width.saturating_sub(46).clamp(24, 60);
    let mut row = |tone: Tone, name: &str, number: u64, size: u64, of_all: f64| {
        rows.push(vec![
            Line::text(tone, fit(name, name_width)),
            Line::text(tone, count(number)),
            Line::text(tone, bytes(size as i64)),
            Line::text(tone, share(of_all)),
            Line::text(if tone == Tone::Plain { Tone::Accent } else { tone }, bar(of_all, 16)),
        ]);
    };
    for event in told {
        row(Tone::Plain, &format!("  {}", short(&event.event)), event.events, event.bytes, event.share);
        for field in event.fields.iter().take(TOLD_FIELDS).filter(|field| field.share >= TOLD_FIELD_SHARE) {
            let name = format!("    {}", plain(&field.field));
            row(Tone::Faint, &name, field.count, field.bytes, field.share);
        }
    }
    if !rest.is_empty() {
        let (events, size, of_all) = rest.iter().fold((0, 0, 0.0), |(events, size, of_all), event| {
            (events + event.events, size + event.bytes, of_all + event.share)
        });
        let name = format!("  {}", counted(rest.len() as u64, "other type"));
        row(Tone::Plain, &name, events, size, of_all);
    }
    table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left])
}

fn absent(absent: &[Absent], width: usize) -> Vec<Line> {
    let mut lines = vec![Line::text(Tone::Strong, "Not in the log")];
    for missing in absent {
        let label = Line::text(Tone::Plain, format!("  {}: ", short(missing.event)));
        let mut text = missing.tells.to_owned();
        if let Some(setting) = missing.setting {
            text.push_str(&format!(" ({setting})"));
        }
        lines.extend(labelled(label, Tone::Faint, &text, width));
    }
    lines
}

fn advice(advice: &[Advice], width: usize) -> Vec<Line> {
    if advice.is_empty() {
        let label = Line::text(Tone::Strong, "Settings").and(Tone::Plain, "  ");
        let text = "nothing to change: no setting of this Spark version would save 1 % or more";
        return labelled(label, Tone::Good, text, width);
    }
    let mut lines = vec![Line::text(Tone::Strong, "Settings")];
    for advice in advice {
        lines.push(
            Line::text(Tone::Plain, "  ")
                .and(Tone::Accent, format!("{}={}", advice.setting, plain(advice.proposed)))
                .and(
                    Tone::Faint,
                    match &advice.current {
                        Some(current) => format!("  (now {})", shown(current, LONGEST_NAME)),
                        None => String::new(),
                    },
                ),
        );
        if let Some(saving) = &advice.saving {
            lines.extend(labelled(Line::text(Tone::Plain, "    "), Tone::Good, &effect(saving), width));
        }
        lines.extend(labelled(Line::text(Tone::Plain, "    "), Tone::Plain, &plain(&advice.reason), width));
        if let Some(cost) = advice.cost {
            lines.extend(labelled(
                Line::text(Tone::Plain, "    "),
                Tone::Faint,
                &format!("cost: {cost}"),
                width,
            ));
        }
    }
    lines
}

fn effect(saving: &Saving) -> String {
    let of = match saving.of {
        SavedOf::StoredBytes => "of the file",
        SavedOf::DecodedBytes => "of the text",
    };
    let basis = match saving.basis {
        Basis::Measured => "saves",
        Basis::Sampled => "saves about",
        Basis::AtMost => "saves at most",
    };
    format!("{basis} {} {of} ({})", share(saving.share), bytes(saving.bytes as i64))
}

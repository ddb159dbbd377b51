//! A diagnosis on one screen: what to do, where the time went, and why that is so.

use super::page::{Align, Line, Tone, bar, beside, fit, items, labelled, table, wrap};
use super::{join, summary, trust};
use crate::facts::Facts;
use crate::format::{count, counted, plain, shown};
use crate::output::Look;
use emberscope_analysis::attribution::Sum;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::{Finding, Severity};
use emberscope_analysis::phrases;
use emberscope_analysis::words::{duration, share};

/// Findings told in full, and those told in a line, unless all are asked for.
const FULL: usize = 5;
const LISTED: usize = 8;
/// Parts of time told by name.
const PARTS: usize = 6;
/// Groups of checks that were not made.
const UNCHECKED: usize = 5;
/// Pieces of evidence.
const EVIDENCE: usize = 5;
/// Frames of a stage.
const FRAMES: usize = 3;
/// Characters of a text among the evidence.
const BRIEF: usize = 40;
/// Columns of a text that quotes the log: what is longer is in JSON and HTML.
const QUOTED: usize = 400;

/// A diagnosis as text.
pub(crate) fn text(diagnosis: &Diagnosis, facts: &Facts, look: Look, is_first: bool, all: bool) -> String {
    let width = look.width;
    let mut lines = summary::head(&diagnosis.application, facts, &diagnosis.trust, width);
    let mut block = |more: Vec<Line>| {
        if !more.is_empty() {
            lines.push(Line::default());
            lines.extend(more);
        }
    };
    block(verdict(diagnosis, width));
    block(actions(diagnosis, width));
    block(attribution(diagnosis, width, all));
    block(findings(diagnosis, width, all));
    block(checks(diagnosis, width, all));
    block(trust::lines(&diagnosis.trust, facts, width));
    join(&lines, look, is_first)
}

/// The tone of a severity; its word is always beside it.
fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Critical => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Info => Tone::Accent,
    }
}

fn verdict(diagnosis: &Diagnosis, width: usize) -> Vec<Line> {
    let headline = shown(&diagnosis.verdict.headline, QUOTED);
    let mut lines: Vec<Line> =
        wrap(&headline, width).into_iter().map(|line| Line::text(Tone::Strong, line)).collect();
    for note in &diagnosis.verdict.notes {
        lines.extend(labelled(Line::text(Tone::Faint, "  "), Tone::Faint, &shown(note, QUOTED), width));
    }
    lines
}

/// The finding an action is about.
fn finding_of<'d>(diagnosis: &'d Diagnosis, ids: &[String]) -> Option<&'d Finding> {
    diagnosis.findings.iter().find(|finding| ids.first() == Some(&finding.id))
}

fn actions(diagnosis: &Diagnosis, width: usize) -> Vec<Line> {
    let verdict = &diagnosis.verdict;
    if verdict.actions.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::text(Tone::Strong, "Do first")];
    for (n, action) in verdict.actions.iter().enumerate() {
        let label = Line::text(Tone::Strong, format!("  {}  ", n + 1));
        lines.extend(labelled(label, Tone::Plain, &shown(&action.text, QUOTED), width));
        for change in
            finding_of(diagnosis, &action.finding_ids).map_or(&[][..], |f| &f.recommendation.changes)
        {
            let text = shown(&phrases::change(change), QUOTED);
            lines.extend(labelled(Line::text(Tone::Plain, "     "), Tone::Accent, &text, width));
        }
        let mut parts = Vec::new();
        if let Some(saving) = phrases::wall_saving(&action.savings) {
            parts.push(if n == 0 { format!("saves {saving}") } else { format!("saves {saving} more") });
        }
        parts.extend(action.finding_ids.first().cloned());
        lines.extend(items(Line::text(Tone::Plain, "     "), Tone::Good, &parts, width));
    }
    if let Some(text) = phrases::all_fixes(diagnosis) {
        lines.extend(labelled(Line::text(Tone::Plain, "  "), Tone::Plain, &text, width));
    }
    lines
}

fn attribution(diagnosis: &Diagnosis, width: usize, all: bool) -> Vec<Line> {
    let sums = &diagnosis.attribution;
    let is_wide = width >= 110;
    let bars = if is_wide { 6 } else { (width - 56).min(30) };
    let wall = parts("Wall time", "", &sums.wall, bars, all);
    let core = parts("Core-time", "  cores × time", &sums.core, bars, all);
    let mut lines = match (wall.is_empty(), core.is_empty()) {
        (false, false) => beside(wall, core, width.div_ceil(2) + 1, width),
        _ => [wall, core].concat(),
    };
    let operators = phrases::operators(&sums.operators);
    if !operators.is_empty() {
        lines.push(Line::default());
        let start = Line::text(Tone::Strong, "Operators").and(Tone::Plain, "  ");
        lines.extend(items(start, Tone::Plain, &operators, width));
        let of = format!("  of {} run time of queries' tasks, added up", duration(sums.operators.total_ms));
        lines.push(Line::text(Tone::Faint, of));
    }
    lines
}

fn parts(name: &str, basis: &str, sum: &Sum, bars: usize, all: bool) -> Vec<Line> {
    let total = sum.total_ms();
    if total <= 0 {
        return Vec::new();
    }
    let (told, rest) = if all { (sum.parts(), 0) } else { phrases::main_parts(sum, 0.005, PARTS) };
    let row = |label: &str, ms: i64| {
        let of_all = ms as f64 / total as f64;
        vec![
            Line::text(Tone::Faint, format!("  {label}")),
            Line::text(Tone::Plain, duration(ms)),
            Line::text(Tone::Plain, share(of_all)),
            Line::text(Tone::Accent, bar(of_all, bars)),
        ]
    };
    let mut rows: Vec<Vec<Line>> = told.into_iter().map(|(part, ms)| row(part.def().label, ms)).collect();
    if rest > 0 {
        rows.push(row("all other parts", rest));
    }
    let head = Line::text(Tone::Strong, name).and(Tone::Plain, format!("  {}", duration(total)));
    let mut lines = vec![head.and(Tone::Faint, basis)];
    lines.extend(table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Left]));
    lines
}

fn findings(diagnosis: &Diagnosis, width: usize, all: bool) -> Vec<Line> {
    let findings = &diagnosis.findings;
    if findings.is_empty() {
        return Vec::new();
    }
    let is_part = |finding: &&Finding| finding.part_of.is_some();
    let own = || findings.iter().filter(|finding| !is_part(finding));
    let of = |severity: Severity| own().filter(|finding| finding.severity == severity).count();
    let mut counts: Vec<String> = [Severity::Critical, Severity::Warning, Severity::Info]
        .into_iter()
        .map(|severity| (of(severity), severity.name()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", count(number as u64)))
        .collect();
    let parts = findings.iter().filter(is_part).count();
    if parts > 0 {
        counts.push(format!("{} of these", counted(parts as u64, "part")));
    }
    let mut lines =
        items(Line::text(Tone::Strong, "Findings").and(Tone::Plain, "  "), Tone::Plain, &counts, width);
    let (full, listed) = if all { (findings.len(), 0) } else { (FULL, LISTED) };
    // What is only worth knowing, or a part of something larger, is told in a line, so that it does not hide
    // what is worth doing.
    let first = diagnosis.verdict.actions.first().and_then(|action| action.finding_ids.first());
    let is_short = |finding: &Finding| {
        (finding.severity == Severity::Info || finding.part_of.is_some()) && first != Some(&finding.id)
    };
    let (mut rest, mut told) = (Vec::new(), 0);
    for one in findings {
        if !all && (told == full || is_short(one)) {
            rest.push(one);
        } else {
            lines.extend(finding(diagnosis, one, width, all));
            told += 1;
        }
    }
    if !all {
        // What says the same thing from another side, with nothing of its own to save.
        rest.retain(|one| {
            !is_part(one) || phrases::wall_saving(&one.savings).is_some() || phrases::alone(one).is_some()
        });
    }
    lines.extend(rest.iter().take(listed).map(|one| short(one, width)));
    if rest.len() > listed {
        let more =
            format!("  and {}: --all shows them", counted((rest.len() - listed) as u64, "more finding"));
        lines.push(Line::text(Tone::Faint, more));
    } else if !rest.is_empty() {
        lines.push(Line::text(Tone::Faint, "  --all shows them in full"));
    }
    lines
}

/// The word of a severity, then text in a column of its own.
fn word(severity: Severity) -> Line {
    let word = severity.name().to_uppercase();
    Line::text(tone(severity), format!("  {word:<8}")).and(Tone::Plain, "  ")
}

fn short(finding: &Finding, width: usize) -> Line {
    let right =
        phrases::alone(finding).or_else(|| phrases::wall_saving(&finding.savings)).unwrap_or_default();
    let start = word(finding.severity).and(Tone::Accent, format!("{:<6} ", finding.tag));
    let room = width.saturating_sub(start.width() + right.chars().count() + 2).max(20);
    let line = start.and(Tone::Plain, fit(&plain(&finding.title), room));
    line.padded(width.saturating_sub(right.chars().count())).and(Tone::Good, right)
}

fn finding(diagnosis: &Diagnosis, finding: &Finding, width: usize, all: bool) -> Vec<Line> {
    let indent = || Line::text(Tone::Plain, " ".repeat(12));
    let start = word(finding.severity).and(Tone::Accent, format!("{} ", finding.tag));
    let mut title =
        wrap(&shown(&finding.title, QUOTED), width.saturating_sub(start.width()).max(20)).into_iter();
    let mut lines = vec![start.and(Tone::Strong, title.next().unwrap_or_default())];
    lines.extend(title.map(|line| indent().and(Tone::Strong, line)));
    let mut head: Vec<String> = phrases::place(&finding.scope).iter().map(|place| shown(place, 60)).collect();
    head.extend(phrases::wall_saving(&finding.savings).map(|saving| format!("saves {saving}")));
    head.extend(phrases::alone(finding));
    head.extend(phrases::core_saving(&finding.savings));
    lines.extend(items(indent(), Tone::Good, &head, width));
    // Numbers first: sentences among the evidence say more than fits here, and mostly what the advice says.
    let (numbers, texts): (Vec<_>, Vec<_>) = phrases::evidence_of(finding)
        .partition(|(_, value)| value.starts_with(|first: char| first.is_ascii_digit()));
    let texts = texts.into_iter().filter(|(_, value)| all || value.chars().count() <= BRIEF);
    let evidence: Vec<String> = numbers
        .into_iter()
        .chain(texts)
        .take(if all { usize::MAX } else { EVIDENCE })
        .map(|(name, value)| format!("{} {}", plain(&name), shown(&value, 60)))
        .collect();
    lines.extend(items(indent(), Tone::Faint, &evidence, width));
    lines.extend(frames(finding, width, all));
    // What the actions say is not said again.
    let is_action =
        diagnosis.verdict.actions.iter().any(|action| action.finding_ids.first() == Some(&finding.id));
    if !is_action {
        if !finding.recommendation.text.is_empty() {
            lines.extend(labelled(
                indent(),
                Tone::Plain,
                &shown(&finding.recommendation.text, QUOTED),
                width,
            ));
        }
        for change in &finding.recommendation.changes {
            lines.extend(labelled(indent(), Tone::Accent, &shown(&phrases::change(change), QUOTED), width));
        }
    }
    if all && !finding.validate.is_empty() {
        let text = format!("Check: {}", shown(&finding.validate, QUOTED));
        lines.extend(labelled(indent(), Tone::Plain, &text, width));
    }
    let mut tail = vec![finding.id.clone()];
    tail.extend(finding.part_of.as_ref().map(|other| format!("part of {other}")));
    tail.extend(phrases::sureness(finding));
    tail.push(format!("emberscope docs {}", finding.tag));
    lines.extend(items(indent(), Tone::Faint, &tail, width));
    lines
}

/// Where the tasks of its stage spent their time.
fn frames(finding: &Finding, width: usize, all: bool) -> Vec<Line> {
    let Some(profile) = &finding.profile else { return Vec::new() };
    let indent = || Line::text(Tone::Plain, " ".repeat(12));
    let mut lines = labelled(indent(), Tone::Faint, &phrases::profile_heading(profile), width);
    let most = if all { usize::MAX } else { FRAMES };
    let running = profile.frames.iter().take(most).map(|frame| {
        (format!("  {:>5} self {:>5} total  ", share(frame.own_share), share(frame.total_share)), frame)
    });
    // In the columns of those above.
    let waiting = profile.waits.iter().take(if all { usize::MAX } else { 1 });
    let waiting = waiting.map(|frame| (format!("  {:>5} waiting           ", share(frame.own_share)), frame));
    for (shares, frame) in running.chain(waiting) {
        let start = indent().and(Tone::Plain, shares);
        let room = width.saturating_sub(start.width()).max(20);
        lines.push(start.and(Tone::Accent, fit(&plain(&frame.frame), room)));
    }
    if all {
        for caution in phrases::profile_cautions(profile) {
            lines.extend(labelled(indent(), Tone::Faint, &shown(&caution, QUOTED), width));
        }
    }
    lines
}

fn checks(diagnosis: &Diagnosis, width: usize, all: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let clean = &diagnosis.clean_checks;
    if !clean.is_empty() {
        let tags = phrases::clean_tags(diagnosis).join(", ");
        let text = format!("{} found nothing: {tags}", counted(clean.len() as u64, "check"));
        let label = Line::text(Tone::Strong, "Clean").and(Tone::Plain, "  ");
        if all {
            lines.extend(labelled(label, Tone::Plain, &text, width));
        } else {
            lines.push(label.and(Tone::Plain, fit(&text, width - 7)));
        }
    }
    let unchecked = phrases::unchecked(&diagnosis.not_checked);
    if !unchecked.is_empty() {
        let number: usize = unchecked.iter().map(|group| group.kinds.len()).sum();
        let label = Line::text(Tone::Strong, "Not checked");
        lines.push(label.and(Tone::Plain, format!("  {}", counted(number as u64, "check"))));
        let most = if all { unchecked.len() } else { UNCHECKED };
        for group in unchecked.iter().take(most) {
            let mut text = format!("{}: {}", group.kinds.join(", "), shown(group.reason, QUOTED));
            if let Some(enable) = group.enable {
                text.push_str(&format!("; {} would tell", shown(enable, QUOTED)));
            }
            lines.extend(labelled(Line::text(Tone::Warn, "  ? "), Tone::Plain, &text, width));
        }
        if unchecked.len() > most {
            let more = format!(
                "  and {}: --all shows them",
                counted((unchecked.len() - most) as u64, "more reason")
            );
            lines.push(Line::text(Tone::Faint, more));
        }
    }
    if !diagnosis.tuned_thresholds.is_empty() {
        let label = Line::text(Tone::Strong, "Thresholds").and(Tone::Plain, "  ");
        let text = format!("not the defaults: {}", diagnosis.tuned_thresholds.join(", "));
        lines.extend(labelled(label, Tone::Plain, &text, width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::made::{HOSTILE, diagnosis};

    fn shown(width: usize, colour: bool, all: bool) -> String {
        let facts = Facts { is_whole: true, has_end: true, master: Some("yarn".to_owned()), cores: Some(4) };
        text(&diagnosis(), &facts, Look { width, colour }, true, all)
    }

    #[test]
    fn one_screen() {
        insta::assert_snapshot!(shown(80, false, false));
    }

    #[test]
    fn everything_on_a_wide_terminal() {
        insta::assert_snapshot!(shown(120, false, true));
    }

    #[test]
    fn lines_fit_and_nothing_moves_the_cursor() {
        for width in [60, 80, 120] {
            let text = shown(width, false, true);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
            let long: Vec<&str> =
                text.lines().filter(|line| super::super::page::width_of(line) > width).collect();
            // A word that cannot be broken may stand out: settings are there to be copied.
            assert!(
                long.iter().all(|line| line.contains("spark.") || line.contains(&HOSTILE[..9])),
                "{long:?}"
            );
        }
    }

    #[test]
    fn colour_adds_nothing_that_words_do_not_say() {
        let coloured = shown(80, true, true);
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..][rest[at..].find('m').map_or(1, |end| end + 1)..];
        }
        plain.push_str(rest);
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&plain), trimmed(&shown(80, false, true)));
    }
}

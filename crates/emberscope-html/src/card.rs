//! A finding as a card: what, where, what to do, the proof, and what it is worth on the run's own scale.

use crate::escape;
use crate::histogram;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::{Change, ChangeKind, Finding, Savings};
use emberscope_analysis::phrases;
use emberscope_analysis::plots::StageDistribution;
use emberscope_analysis::words::share;
use std::fmt::Write;

/// Characters of a text that quotes the log.
const QUOTED: usize = 1200;

/// A card to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Card<'d> {
    pub(crate) finding: &'d Finding,
    /// What it saves: as an action after those before it, else on its own.
    pub(crate) savings: &'d Savings,
    /// Its place among the actions, from 0.
    pub(crate) action: Option<usize>,
    /// Findings that the action settles beside it.
    pub(crate) settles: &'d [String],
    /// The tasks of its stage, shown with the first finding about it.
    pub(crate) distribution: Option<&'d StageDistribution>,
}

impl Card<'_> {
    pub(crate) fn write(&self, out: &mut String, diagnosis: &Diagnosis) {
        let finding = self.finding;
        let first = if self.action == Some(0) { " first" } else { "" };
        let severity = finding.severity.name();
        let _ = write!(
            out,
            "<article class=\"f{first}\" id=\"{}\"><div><h3><span class=\"sev {severity}\">{severity}</span><span class=\"tag\">{}</span>{}</h3>",
            escape::id(&finding.id),
            escape::text(finding.tag),
            escape::short(&finding.title, QUOTED)
        );
        let places = phrases::place(&finding.scope);
        if !places.is_empty() {
            let places: Vec<String> = places.iter().map(|place| escape::short(place, 80)).collect();
            let _ = write!(out, "<p class=\"where\">{}</p>", places.join(" · "));
        }
        if !finding.recommendation.text.is_empty() {
            let _ =
                write!(out, "<p class=\"do\">{}</p>", escape::prose(&finding.recommendation.text, QUOTED));
        }
        changes(out, &finding.recommendation.changes);
        self.proof(out);
        if !finding.validate.is_empty() {
            let _ = write!(out, "<p>Check: {}</p>", escape::prose(&finding.validate, QUOTED));
        }
        self.links(out, diagnosis);
        out.push_str("</div>");
        self.worth(out, diagnosis.application.duration_ms);
        out.push_str("</article>\n");
    }

    fn proof(&self, out: &mut String) {
        if let Some(stage) = self.distribution {
            let open = if self.action.is_some() { " open" } else { "" };
            let name = phrases::stage(stage.stage_id, stage.stage_attempt);
            let _ = write!(out, "<details{open}><summary>The tasks of {name}</summary>");
            histogram::plots(out, stage);
            out.push_str("</details>");
        }
        self.frames(out);
        if self.finding.evidence.is_empty() {
            return;
        }
        out.push_str("<details><summary>Evidence</summary><table class=\"rows\">");
        for (name, value) in phrases::evidence_of(self.finding) {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                escape::short(&name, 80),
                escape::short(&value, QUOTED)
            );
        }
        out.push_str("</table></details>");
    }

    /// Where the tasks of its stage spent their time.
    fn frames(&self, out: &mut String) {
        let Some(profile) = &self.finding.profile else { return };
        let open = if self.action.is_some() { " open" } else { "" };
        let heading = phrases::profile_heading(profile);
        let _ =
            write!(out, "<details{open}><summary>{}</summary><table class=\"rows\">", escape::text(&heading));
        let running = profile.frames.iter().map(|frame| (phrases::frame_shares(frame), frame));
        let waiting = profile.waits.iter().map(|frame| (phrases::wait_share(frame), frame));
        for (shares, frame) in running.chain(waiting) {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                escape::text(&shares),
                escape::short(&frame.frame, 300)
            );
        }
        out.push_str("</table>");
        for caution in phrases::profile_cautions(profile) {
            let _ = write!(out, "<p>{}</p>", escape::text(&caution));
        }
        out.push_str("</details>");
    }

    fn links(&self, out: &mut String, diagnosis: &Diagnosis) {
        let finding = self.finding;
        out.push_str("<div class=\"links\">");
        let link = |out: &mut String, before: &str, id: &str| {
            if let Some(other) = diagnosis.findings.iter().find(|other| other.id == id) {
                let _ = write!(
                    out,
                    "<span>{before} <a href=\"#{}\" title=\"{}\">{}</a></span>",
                    escape::id(id),
                    escape::short(&other.title, 200),
                    escape::text(id)
                );
            }
        };
        if let Some(headline) = &finding.part_of {
            link(out, "part of", headline);
        }
        for other in self.settles {
            link(out, "settles", other);
        }
        for other in &finding.related {
            if finding.part_of.as_ref() != Some(other) && !self.settles.contains(other) {
                link(out, "see", other);
            }
        }
        let _ = write!(
            out,
            "<span class=\"n\">{}</span><span class=\"n\">emberscope docs {}</span></div>",
            escape::text(&finding.id),
            escape::text(finding.tag)
        );
    }

    fn worth(&self, out: &mut String, wall_ms: Option<i64>) {
        let savings = self.savings;
        out.push_str("<div class=\"save\">");
        match (phrases::wall_saving(savings), savings.wall_ms) {
            (Some(words), Some(range)) => {
                let _ = write!(out, "<div class=\"big\">{}</div>", minus(&words));
                if let Some(wall) = wall_ms.filter(|wall| *wall > 0) {
                    let at = |ms: i64| (ms as f64 / wall as f64 * 100.0).clamp(0.0, 100.0);
                    let (low, high) = (at(range.low), at(range.high));
                    let label = format!("{} of the run at most", share(range.high as f64 / wall as f64));
                    let _ = write!(
                        out,
                        "<svg viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><title>{}</title><rect x=\"{:.2}\" width=\"{:.2}\" height=\"6\"/></svg>",
                        escape::text(&label),
                        escape::text(&label),
                        low.min(99.0),
                        (high - low).max(1.0)
                    );
                }
            }
            _ => match phrases::core_saving(savings) {
                Some(core) => {
                    let _ = write!(out, "<div class=\"big no-gain\">frees {core}</div>");
                }
                None => out.push_str("<div class=\"big no-gain\">no time is claimed</div>"),
            },
        }
        if let Some(core) = phrases::core_saving(savings)
            && phrases::wall_saving(savings).is_some()
        {
            let _ = write!(out, "<small>frees {core}</small>");
        }
        if let Some(alone) = phrases::alone(self.finding) {
            let _ = write!(out, "<small>{}</small>", minus(&alone));
        }
        if self.action.is_some_and(|n| n > 0) && savings.wall_ms.is_some() {
            out.push_str("<small>after the fixes above</small>");
        }
        let _ = write!(out, "<small>{}</small></div>", phrases::sureness(self.finding).join(" · "));
    }
}

/// `−21 min to −24 min`.
fn minus(words: &str) -> String {
    match words.split_once(" to ").filter(|_| !words.starts_with("up to")) {
        Some((low, high)) => format!("−{low} to −{high}"),
        None if words.starts_with("up to ") => words.replacen("up to ", "up to −", 1),
        None => format!("−{words}"),
    }
}

fn changes(out: &mut String, changes: &[Change]) {
    if changes.is_empty() {
        return;
    }
    out.push_str("<div class=\"fix\"><div>");
    for change in changes {
        out.push_str("<div>");
        if change.kind != ChangeKind::Conf {
            let _ = write!(out, "<small>{}</small> ", phrases::change_kind(change.kind));
        }
        out.push_str(&escape::short(&change.key, 300));
        match (&change.current, change.kind) {
            (Some(current), _) => {
                let _ = write!(out, " <s>{}</s>", escape::short(current, 300));
            }
            (None, ChangeKind::Conf) => out.push_str(" <s>not set</s>"),
            (None, _) => {}
        }
        if let Some(proposed) = &change.proposed {
            let _ = write!(out, " → <b>{}</b>", escape::short(proposed, 300));
        }
        out.push_str("</div>");
    }
    out.push_str("</div>");
    let arguments = phrases::submit_arguments(changes);
    if !arguments.is_empty() {
        let _ = write!(
            out,
            "<button type=\"button\" hidden data-copy=\"{}\">Copy --conf</button>",
            escape::text(&arguments.join(" "))
        );
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::minus;

    #[test]
    fn savings_have_a_sign() {
        assert_eq!(minus("21 min 00 s to 24 min 00 s"), "−21 min 00 s to −24 min 00 s");
        assert_eq!(minus("up to 3.0 s"), "up to −3.0 s");
        assert_eq!(minus("3.0 s"), "−3.0 s");
    }
}

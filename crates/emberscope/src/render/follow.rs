//! A finding of a run that goes on: two lines.

use super::join;
use super::page::{Line, Tone};
use crate::format::{duration, plain};
use crate::output::Look;
use emberscope_analysis::finding::{Finding, Severity};
use emberscope_analysis::phrases;
use emberscope_model::run::Run;

/// What was found, how far into the run, and what to change first.
pub(crate) fn finding(finding: &Finding, run: &Run, look: Look) -> String {
    let tone = if finding.severity == Severity::Critical { Tone::Bad } else { Tone::Warn };
    let at = run.application.duration_ms().map(duration).unwrap_or_default();
    let mut head = Line::text(Tone::Faint, format!("{at:>12}  "))
        .and(tone, format!("{:<8}  ", finding.severity.name()))
        .and(Tone::Accent, format!("{}  ", finding.tag))
        .and(Tone::Strong, plain(&finding.title));
    if let Some(saving) = phrases::wall_saving(&finding.savings) {
        head = head.and(Tone::Faint, format!("  ({saving})"));
    }
    let mut lines = vec![head];
    if let Some(change) = finding.recommendation.changes.first() {
        let change = plain(&phrases::change(change));
        lines.push(Line::text(Tone::Plain, format!("{:24}{change}", "")));
    }
    join(&lines, look, true)
}

//! A diagnosis as Markdown: the same content, for a ticket. Texts of a log are quoted so that they can be
//! neither markup nor HTML.

pub(super) mod quoted;

use super::trust::Words;
use crate::format::{counted, instant};
use emberscope_analysis::attribution::Sum;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::{Finding, Severity};
use emberscope_analysis::phrases;
use emberscope_analysis::words::{duration, share};
use emberscope_evidence::sections::Section;
use quoted::{cell, code, heading, inside, opening};
use std::fmt::Write;

/// A diagnosis as Markdown.
pub(crate) fn text(diagnosis: &Diagnosis, parts: &[Section], trust: &Words, is_first: bool) -> String {
    let mut out = String::new();
    if !is_first {
        out.push_str("\n---\n\n");
    }
    head(&mut out, diagnosis);
    if !parts.is_empty() {
        super::evidence::markdown(&mut out, parts);
        out.push_str("\n# The whole diagnosis\n\n");
    }
    verdict(&mut out, diagnosis);
    attribution(&mut out, diagnosis);
    findings(&mut out, diagnosis);
    checks(&mut out, diagnosis);
    trusted(&mut out, trust);
    out
}

fn head(out: &mut String, diagnosis: &Diagnosis) {
    let application = &diagnosis.application;
    let id = application.id.as_deref().unwrap_or("(no application id)");
    let name = application.name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(id);
    let _ = writeln!(out, "# {}\n", heading(name));
    let mut parts = vec![code(id)];
    parts.push(match application.status {
        emberscope_model::run::ApplicationStatus::Succeeded => "succeeded".to_owned(),
        emberscope_model::run::ApplicationStatus::Failed => "**failed**".to_owned(),
        _ if diagnosis.trust.is_running => "**still running**".to_owned(),
        emberscope_model::run::ApplicationStatus::Incomplete => "**incomplete**".to_owned(),
        emberscope_model::run::ApplicationStatus::Unknown => "**status unknown**".to_owned(),
    });
    parts.extend(application.spark_version.as_deref().map(|version| format!("Spark {}", inside(version))));
    parts.extend(application.start_time_ms.map(|at| format!("from {}", instant(at))));
    parts.extend(application.duration_ms.map(|ms| format!("for {}", duration(ms))));
    let _ = writeln!(out, "{}\n", parts.join(" · "));
}

fn verdict(out: &mut String, diagnosis: &Diagnosis) {
    let verdict = &diagnosis.verdict;
    let _ = writeln!(out, "**{}**", inside(verdict.headline.trim()));
    for note in &verdict.notes {
        let _ = writeln!(out, "\n> {}", opening(note));
    }
    if verdict.actions.is_empty() {
        return;
    }
    out.push_str("\n## Do first\n\n");
    for (n, action) in verdict.actions.iter().enumerate() {
        let id = action.finding_ids.first().map_or_else(String::new, |id| format!(" ({id})"));
        let saving = phrases::wall_saving(&action.savings);
        let saving = saving.map_or_else(String::new, |saving| {
            format!(" **Saves {saving}{}.**", if n == 0 { "" } else { " more" })
        });
        let _ = writeln!(out, "{}. {}{saving}{id}", n + 1, opening(&action.text));
        let about = diagnosis.findings.iter().find(|finding| action.finding_ids.first() == Some(&finding.id));
        for change in about.map_or(&[][..], |finding| &finding.recommendation.changes) {
            let _ = writeln!(out, "   - {}", code(&phrases::change(change)));
        }
    }
    if let Some(text) = phrases::all_fixes(diagnosis) {
        let _ = writeln!(out, "\n{text}");
    }
}

fn attribution(out: &mut String, diagnosis: &Diagnosis) {
    let sums = &diagnosis.attribution;
    if sums.wall.total_ms() <= 0 && sums.core.total_ms() <= 0 {
        return;
    }
    out.push_str("\n## Where the time went\n");
    for (name, sum) in [("Wall time", &sums.wall), ("Core-time", &sums.core)] {
        parts(out, name, sum);
    }
    let operators = phrases::operators(&sums.operators);
    if !operators.is_empty() {
        let of = duration(sums.operators.total_ms);
        let _ = writeln!(
            out,
            "\nOperators, of {of} run time of queries' tasks, added up: {}.",
            operators.join(", ")
        );
    }
}

fn parts(out: &mut String, name: &str, sum: &Sum) {
    let total = sum.total_ms();
    if total <= 0 {
        return;
    }
    let _ = writeln!(out, "\n| {name} | {} | 100 % |\n|---|---:|---:|", duration(total));
    for (part, ms) in sum.parts() {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            part.def().label,
            duration(ms),
            share(ms as f64 / total as f64)
        );
    }
}

fn findings(out: &mut String, diagnosis: &Diagnosis) {
    if diagnosis.findings.is_empty() {
        return;
    }
    out.push_str("\n## Findings\n");
    diagnosis.findings.iter().for_each(|one| finding(out, one));
}

fn finding(out: &mut String, finding: &Finding) {
    let severity = match finding.severity {
        Severity::Critical => "Critical",
        Severity::Warning => "Warning",
        Severity::Info => "Info",
    };
    let _ = writeln!(out, "\n### {severity}: {}\n", heading(&finding.title));
    let mut facts: Vec<String> = vec![code(&finding.id)];
    facts.extend(phrases::place(&finding.scope).iter().map(|place| inside(place)));
    facts.extend(phrases::wall_saving(&finding.savings).map(|saving| format!("**saves {saving}**")));
    facts.extend(phrases::alone(finding));
    facts.extend(phrases::core_saving(&finding.savings));
    facts.extend(phrases::sureness(finding));
    facts.extend(finding.part_of.as_ref().map(|other| format!("part of {}", code(other))));
    let _ = writeln!(out, "{}", facts.join(" · "));
    if !finding.recommendation.text.is_empty() {
        let _ = writeln!(out, "\n{}", opening(&finding.recommendation.text));
    }
    if !finding.recommendation.changes.is_empty() {
        out.push('\n');
    }
    for change in &finding.recommendation.changes {
        let _ = writeln!(out, "- {}", code(&phrases::change(change)));
    }
    if !finding.evidence.is_empty() {
        out.push_str("\n| evidence | |\n|---|---:|\n");
    }
    for (name, value) in phrases::evidence_of(finding) {
        let _ = writeln!(out, "| {} | {} |", cell(&name), cell(&value));
    }
    if let Some(profile) = &finding.profile {
        let _ = writeln!(out, "\n| {} | |\n|---|---:|", phrases::profile_heading(profile));
        for frame in &profile.frames {
            let _ = writeln!(out, "| {} | {} |", cell(&frame.frame), phrases::frame_shares(frame));
        }
        for frame in &profile.waits {
            let _ = writeln!(out, "| {} | {} |", cell(&frame.frame), phrases::wait_share(frame));
        }
        for caution in phrases::profile_cautions(profile) {
            let _ = writeln!(out, "\n{}", opening(&caution));
        }
    }
    if !finding.validate.is_empty() {
        let _ = writeln!(out, "\nCheck: {}", inside(&finding.validate));
    }
    let _ = writeln!(out, "\nMore: `emberscope docs {}`", finding.tag);
}

fn checks(out: &mut String, diagnosis: &Diagnosis) {
    if !diagnosis.clean_checks.is_empty() || !diagnosis.not_checked.is_empty() {
        out.push_str("\n## Checks\n");
    }
    if !diagnosis.clean_checks.is_empty() {
        let tags = phrases::clean_tags(diagnosis).join(", ");
        let number = counted(diagnosis.clean_checks.len() as u64, "check");
        let _ = writeln!(out, "\n{number} found nothing: {tags}.");
    }
    if !diagnosis.not_checked.is_empty() {
        out.push_str("\nNot checked:\n\n");
    }
    for group in phrases::unchecked(&diagnosis.not_checked) {
        let enable = group.enable.map_or_else(String::new, |enable| format!("; {} would tell", code(enable)));
        let _ = writeln!(out, "- {}: {}{enable}", group.kinds.join(", "), inside(group.reason));
    }
    if !diagnosis.tuned_thresholds.is_empty() {
        let names = diagnosis.tuned_thresholds.join(", ");
        let _ = writeln!(out, "\nThresholds that are not the defaults: {names}.");
    }
}

fn trusted(out: &mut String, trust: &Words) {
    let _ = writeln!(out, "\n## Trust\n\n**{}** · {}", trust.verdict, inside(&trust.read.join(" · ")));
    if !trust.concerns.is_empty() {
        out.push('\n');
    }
    for concern in &trust.concerns {
        let _ = writeln!(out, "- {}", opening(concern));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::made::{HOSTILE, diagnosis};

    fn words() -> Words {
        let read = vec!["1 file".to_owned()];
        Words { is_good: true, verdict: "complete", read, concerns: vec![HOSTILE.to_owned()] }
    }

    #[test]
    fn a_ticket() {
        insta::assert_snapshot!(text(&diagnosis(), &[], &words(), true));
    }

    #[test]
    fn tables_keep_their_columns() {
        let text = text(&diagnosis(), &[], &words(), true);
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let cells = row.replace("\\|", "").matches('|').count() - 1;
            assert!(cells == 2 || cells == 3, "{row}");
        }
        // In code nothing is markup.
        let prose: Vec<&str> = text.lines().filter(|line| !line.starts_with("- `")).collect();
        assert!(prose.iter().all(|line| !line.contains("<img") && !line.contains("</script")), "{prose:?}");
    }
}

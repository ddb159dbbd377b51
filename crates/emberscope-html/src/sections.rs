//! The sections of the page, from the sentence at the top to what can be trusted.

use crate::TrustWords;
use crate::bars;
use crate::card::Card;
use crate::escape;
use emberscope_analysis::attribution::ScopeAttribution;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::finding::Finding;
use emberscope_analysis::phrases;
use emberscope_analysis::plots::{Plots, StageDistribution};
use emberscope_analysis::words::{duration, grouped};
use emberscope_model::run::ApplicationStatus;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Queries and stages whose time is shown one by one.
const SCOPES: usize = 12;
const NAME: usize = 120;
/// Findings beside the actions that are shown at once.
const OPEN: usize = 12;

/// Name, outcome and size of the run.
pub(crate) fn top(out: &mut String, diagnosis: &Diagnosis, plots: &Plots) {
    let application = &diagnosis.application;
    let id = application.id.as_deref().unwrap_or("no application id");
    let name = application.name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(id);
    let (class, status) = match application.status {
        ApplicationStatus::Succeeded => ("ok", "● succeeded"),
        ApplicationStatus::Failed => ("no", "✕ failed"),
        _ if diagnosis.trust.is_running => ("so", "◐ still running"),
        ApplicationStatus::Incomplete => ("so", "◐ incomplete"),
        ApplicationStatus::Unknown => ("so", "? status unknown"),
    };
    let _ = write!(
        out,
        "<div class=\"top\"><i class=\"dot\"></i><h1>{}</h1><span class=\"{class}\">{status}</span>",
        escape::short(name, NAME)
    );
    if let Some(ms) = application.duration_ms {
        let _ = write!(out, "<span class=\"n\">{}</span>", duration(ms));
    }
    if let Some(version) = &application.spark_version {
        let _ = write!(out, "<span>Spark {}</span>", escape::short(version, 40));
    }
    let most = |value: fn(&emberscope_analysis::plots::CoreUse) -> f64| {
        plots.timeline.cores.iter().map(value).fold(0.0f64, f64::max).round() as i64
    };
    let (executors, cores) = (most(|piece| piece.executors), most(|piece| piece.offered));
    if executors > 0 {
        let plural = if executors == 1 { "" } else { "s" };
        let _ = write!(
            out,
            "<span>up to {} executor{plural}, {} cores</span>",
            grouped(executors),
            grouped(cores)
        );
    }
    if let Some(at) = application.start_time_ms.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()) {
        let _ = write!(out, "<span class=\"pill\">{}</span>", at.strftime("%Y-%m-%d %H:%M UTC"));
    }
    let _ = writeln!(
        out,
        "<span class=\"n\">{}</span><span class=\"sp\"></span><button type=\"button\" id=\"theme\" hidden>◐</button></div>",
        escape::short(id, NAME)
    );
}

/// The sentence.
pub(crate) fn verdict(out: &mut String, diagnosis: &Diagnosis) {
    let headline = &diagnosis.verdict.headline;
    // The saving is what the eye should find first.
    let shown = match headline.split_once("; fixing it saves ") {
        Some((what, saving)) => {
            format!("{}; fixing it saves <b>{}</b>.", escape::short(what, 400), escape::short(saving, 200))
        }
        None => format!("{}.", escape::short(headline.trim_end_matches('.'), 600)),
    };
    let _ = writeln!(out, "<p class=\"verdict\">{shown}</p>");
    for note in &diagnosis.verdict.notes {
        let _ = writeln!(out, "<p class=\"sub\">{}</p>", escape::short(note, 600));
    }
}

/// Where the time went.
pub(crate) fn attribution(out: &mut String, diagnosis: &Diagnosis) {
    let sums = &diagnosis.attribution;
    if sums.wall.total_ms() <= 0 && sums.core.total_ms() <= 0 {
        return;
    }
    out.push_str("<div class=\"sums\">");
    bars::explained(out, "wall", "Wall time", "what the run waited for, moment by moment", &sums.wall);
    bars::explained(out, "core", "Core-time", "what the cores of all executors were held for", &sums.core);
    out.push_str("</div>\n");
    let operators = phrases::operators(&sums.operators);
    if !operators.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"sub\">Operators, of {} run time of queries' tasks, added up: {}.</p>",
            duration(sums.operators.total_ms),
            escape::text(&operators.join(", "))
        );
    }
}

/// Findings: those to act on first, then the others.
pub(crate) fn findings(out: &mut String, diagnosis: &Diagnosis, plots: &Plots) {
    let find = |id: &String| diagnosis.findings.iter().find(|finding| &finding.id == id);
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    let mut drawn: BTreeSet<(u32, u32)> = BTreeSet::new();
    let actions = &diagnosis.verdict.actions;
    if !actions.is_empty() {
        let _ = writeln!(out, "<h2>Do this first {}</h2>", together(diagnosis));
    }
    for (n, action) in actions.iter().enumerate() {
        let Some(finding) = action.finding_ids.first().and_then(find) else { continue };
        if !shown.insert(&finding.id) {
            continue;
        }
        let card = Card {
            finding,
            savings: &action.savings,
            action: Some(n),
            settles: &action.finding_ids[1..],
            distribution: distribution_of(plots, finding, &mut drawn),
        };
        card.write(out, diagnosis);
    }
    let rest: Vec<&Finding> =
        diagnosis.findings.iter().filter(|finding| !shown.contains(finding.id.as_str())).collect();
    if rest.is_empty() {
        return;
    }
    let title = if actions.is_empty() { "Found" } else { "Also found" };
    let _ = writeln!(out, "<h2>{title} <span>{}</span></h2>", grouped(rest.len() as i64));
    for (n, finding) in rest.iter().copied().enumerate() {
        if n == OPEN {
            let _ = writeln!(out, "<details><summary>{} more</summary>", grouped((rest.len() - OPEN) as i64));
        }
        let card = Card {
            finding,
            savings: &finding.savings,
            action: None,
            settles: &[],
            distribution: distribution_of(plots, finding, &mut drawn),
        };
        card.write(out, diagnosis);
    }
    if rest.len() > OPEN {
        out.push_str("</details>\n");
    }
}

/// What all fixes save together, beside the few.
fn together(diagnosis: &Diagnosis) -> String {
    let (few, found) = (diagnosis.verdict.actions.len(), diagnosis.findings.len());
    match phrases::all_fixes(diagnosis) {
        Some(all) => format!("<span>{few} of {found} findings. {all}</span>"),
        None => format!("<span>{few} of {found} findings</span>"),
    }
}

/// The tasks of a finding's stage, unless they were drawn already.
fn distribution_of<'p>(
    plots: &'p Plots,
    finding: &Finding,
    drawn: &mut BTreeSet<(u32, u32)>,
) -> Option<&'p StageDistribution> {
    let place = (finding.scope.stage_id?, finding.scope.stage_attempt.unwrap_or(0));
    let found = plots.distributions.iter().find(|stage| (stage.stage_id, stage.stage_attempt) == place)?;
    drawn.insert(place).then_some(found)
}

/// The time of queries and stages, one by one.
pub(crate) fn scopes(out: &mut String, diagnosis: &Diagnosis, plots: &Plots) {
    let sums = &diagnosis.attribution;
    let query = |id: &str| {
        let span = plots.timeline.queries.iter().find(|span| span.sql_id.to_string() == id);
        span.map_or_else(String::new, |span| span.description.clone())
    };
    let stage = |id: &str| {
        let is_it = |span: &&emberscope_analysis::plots::StageSpan| {
            format!("{}.{}", span.stage_id, span.stage_attempt) == id
        };
        plots.timeline.stages.iter().find(is_it).map_or_else(String::new, |span| span.name.clone())
    };
    table(out, "Queries", "longest first, each over its own wall time", "SQL ", &sums.sql, &query);
    table(out, "Job groups", "longest first, each over its own wall time", "", &sums.groups, &|_| {
        String::new()
    });
    table(out, "Stages", "longest first, each over its own wall time", "stage ", &sums.stages, &stage);
}

fn table(
    out: &mut String,
    title: &str,
    note: &str,
    before: &str,
    scopes: &[ScopeAttribution],
    name: &dyn Fn(&str) -> String,
) {
    let longest = scopes.iter().map(|scope| scope.wall.total_ms()).max().unwrap_or(0);
    if longest <= 0 {
        return;
    }
    let _ = write!(out, "<h2>{title} <span>{note}</span></h2><table class=\"scopes\">");
    // What would be a hair's breadth of bar is left out.
    let is_told = |scope: &&ScopeAttribution| scope.wall.total_ms() * 200 > longest;
    for scope in scopes.iter().take(SCOPES).filter(is_told) {
        let label = format!("{before}{}", scope.id);
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{} <span>{}</span></th><td class=\"n\">{}</td><td>",
            escape::short(&label, 60),
            escape::short(&name(&scope.id), NAME),
            duration(scope.wall.total_ms())
        );
        bars::bar(out, &label, &scope.wall, longest);
        out.push_str("</td></tr>");
    }
    out.push_str("</table>\n");
}

/// What is clean and what could not be checked.
pub(crate) fn checks(out: &mut String, diagnosis: &Diagnosis) {
    let (clean, unchecked) = (&diagnosis.clean_checks, &diagnosis.not_checked);
    if clean.is_empty() && unchecked.is_empty() && diagnosis.tuned_thresholds.is_empty() {
        return;
    }
    out.push_str("<h2>Checks</h2><div class=\"chk\">");
    if !clean.is_empty() {
        let _ = write!(out, "<div><b>{} clean</b><ul class=\"many\">", grouped(clean.len() as i64));
        for check in clean {
            let _ = write!(
                out,
                "<li title=\"{}\">{} <span class=\"n\">{}</span></li>",
                escape::text(check.what),
                escape::text(check.kind),
                escape::text(check.tag)
            );
        }
        out.push_str("</ul></div>");
    }
    if !unchecked.is_empty() {
        let _ = write!(out, "<div><b>{} not checked</b><ul>", grouped(unchecked.len() as i64));
        for group in phrases::unchecked(unchecked) {
            let _ = write!(
                out,
                "<li>{}: {}",
                escape::text(&group.kinds.join(", ")),
                escape::short(group.reason, 400)
            );
            if let Some(enable) = group.enable {
                let _ = write!(out, "; <code>{}</code> would tell", escape::short(enable, 300));
            }
            out.push_str("</li>");
        }
        out.push_str("</ul></div>");
    }
    if !diagnosis.tuned_thresholds.is_empty() {
        let names = escape::text(&diagnosis.tuned_thresholds.join(", "));
        let _ = write!(out, "<div><b>Thresholds</b> that are not the defaults: {names}</div>");
    }
    out.push_str("</div>\n");
}

/// How far the numbers can be trusted.
pub(crate) fn trust(out: &mut String, trust: &TrustWords) {
    let class = if trust.is_good { "ok" } else { "so" };
    let _ = write!(
        out,
        "<div class=\"trust\"><span><b>Trust</b> <span class=\"{class}\">{}</span></span>",
        escape::text(&trust.verdict)
    );
    for one in &trust.read {
        let _ = write!(out, "<span>{}</span>", escape::short(one, 200));
    }
    if !trust.concerns.is_empty() {
        out.push_str("<ul>");
        for concern in &trust.concerns {
            let _ = write!(out, "<li>{}</li>", escape::short(concern, 600));
        }
        out.push_str("</ul>");
    }
    let _ = write!(
        out,
        "</div>\n<footer>Emberscope {}. Times are UTC. The diagnosis is in this page as JSON, too: \
         <code>#diagnosis</code>.</footer>\n",
        env!("CARGO_PKG_VERSION")
    );
}

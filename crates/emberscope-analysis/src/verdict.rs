//! What to do first: the few fixes that together save most, by joint replays.

use crate::attribution::Attribution;
use crate::context::Context;
use crate::finding::{RangeMs, SavingMethod, Savings, Severity};
use crate::materiality::FLOOR_SHARE;
use crate::notes;
use crate::pricing::{Priced, Pricer};
use crate::replay::Edit;
use crate::words::duration;
use emberscope_model::run::{ApplicationStatus, Job, JobStatus};
use schemars::JsonSchema;
use serde::Serialize;

/// Fixes that a verdict names.
const ACTIONS: usize = 3;
/// Fixes that are tried as the next one.
const TRIED: usize = 3;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Action {
    /// Findings it settles.
    pub finding_ids: Vec<String>,
    /// What to do.
    pub text: String,
    /// What it saves after the actions before it.
    pub savings: Savings,
}

/// What all fixes save together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FixAll {
    /// Of the run's wall time; `None` where it cannot be replayed.
    pub wall_ms: Option<RangeMs>,
}

/// What to do first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// One sentence.
    pub headline: String,
    /// At most three things to do, in order.
    pub actions: Vec<Action>,
    /// What all fixes save together.
    pub fix_all: FixAll,
    /// What a reader of the verdict must know.
    pub notes: Vec<String>,
}

/// Finds the verdict.
pub(crate) fn verdict(
    context: &Context<'_>,
    pricer: Option<&Pricer>,
    kept: &[Priced],
    attribution: &Attribution,
) -> Verdict {
    let chosen = pricer.map_or_else(Vec::new, |pricer| choose(context, pricer, kept));
    let has_failed = context.run.application.status == ApplicationStatus::Failed && !was_cancelled(context);
    // Of a run that came through, a failure that is a part of something else is mended with that.
    let own = failures(kept).filter(|priced| has_failed || priced.finding.part_of.is_none());
    let mut actions: Vec<Action> = own.take(1).map(failure_action).collect();
    if has_failed && actions.is_empty() {
        actions.push(look_for_the_cause());
    }
    for (n, saved) in &chosen {
        // A failure is the first action already, whatever mending it saves.
        let is_said = actions.iter().any(|action| action.finding_ids.first() == Some(&kept[*n].finding.id));
        if actions.len() < ACTIONS && !is_said {
            let mut action = action(kept, *n, *saved, pricer);
            if has_failed {
                action.text = format!("Once the run no longer fails: {}", action.text);
            }
            actions.push(action);
        }
    }
    let fix_all = FixAll { wall_ms: pricer.map(|pricer| fix_all(pricer, kept, &chosen)) };
    Verdict {
        headline: headline(context, kept, &chosen, fix_all, attribution),
        actions,
        fix_all,
        notes: notes::notes(context, pricer, attribution),
    }
}

/// What failed for good, most important first.
fn failures(kept: &[Priced]) -> impl Iterator<Item = &Priced> {
    kept.iter().filter(|priced| {
        matches!(priced.finding.tag, "SFAIL" | "JOBS" | "FAIL")
            && priced.finding.severity == Severity::Critical
    })
}

/// Where a failed run's log does not say why.
fn look_for_the_cause() -> Action {
    Action {
        finding_ids: Vec::new(),
        text: "Find out why the run failed: no task or stage in the log did, so that the driver's own log has the cause."
            .to_owned(),
        savings: Savings { wall_ms: None, core_ms: None, method: SavingMethod::None },
    }
}

fn failure_action(priced: &Priced) -> Action {
    Action {
        finding_ids: vec![priced.finding.id.clone()],
        text: priced.finding.recommendation.text.clone(),
        savings: priced.finding.savings,
    }
}

fn action(kept: &[Priced], n: usize, saved: RangeMs, pricer: Option<&Pricer>) -> Action {
    let finding = &kept[n].finding;
    let parts = kept.iter().filter(|other| other.finding.part_of.as_deref() == Some(finding.id.as_str()));
    let method =
        if pricer.is_some_and(Pricer::is_faithful) { SavingMethod::Replay } else { SavingMethod::Modelled };
    Action {
        finding_ids: std::iter::once(finding.id.clone())
            .chain(parts.map(|part| part.finding.id.clone()))
            .collect(),
        text: finding.recommendation.text.clone(),
        savings: Savings { wall_ms: Some(saved), core_ms: finding.savings.core_ms, method },
    }
}

/// Greedy: the best fix, then the one that adds most to it, and so on, each tried by a joint replay.
fn choose(context: &Context<'_>, pricer: &Pricer, kept: &[Priced]) -> Vec<(usize, RangeMs)> {
    let floor = (context.get(&FLOOR_SHARE) * context.wall_ms.unwrap_or(0) as f64) as i64;
    let middle = |range: RangeMs| (range.low + range.high) / 2;
    let mut candidates: Vec<(usize, RangeMs)> = kept
        .iter()
        .enumerate()
        .filter(|(_, priced)| priced.finding.part_of.is_none() && !priced.high.is_empty())
        .filter_map(|(n, priced)| Some((n, priced.finding.savings.wall_ms?)))
        .filter(|(_, range)| range.high >= floor.max(1))
        .collect();
    candidates.sort_by_key(|(n, range)| (std::cmp::Reverse(middle(*range)), *n));
    let mut chosen: Vec<(usize, RangeMs)> = Vec::new();
    let mut total = RangeMs::default();
    while chosen.len() < ACTIONS && !candidates.is_empty() {
        let is_first = chosen.is_empty();
        let tried = candidates.iter().take(if is_first { 1 } else { TRIED }).enumerate();
        let best = tried
            .map(|(at, (n, own))| {
                if is_first {
                    return (at, *own);
                }
                let all: Vec<usize> = chosen.iter().map(|(n, _)| *n).chain([*n]).collect();
                let joint = joint(pricer, kept, &all);
                let added =
                    RangeMs { low: (joint.low - total.low).max(0), high: (joint.high - total.high).max(0) };
                (at, RangeMs { low: added.low.min(added.high), high: added.high })
            })
            .max_by_key(|(at, added)| (middle(*added), std::cmp::Reverse(*at)));
        let Some((at, added)) = best.filter(|(_, added)| added.high >= floor.max(1)) else { break };
        let (n, _) = candidates.remove(at);
        total = RangeMs { low: total.low + added.low, high: total.high + added.high };
        chosen.push((n, added));
    }
    chosen
}

fn joint(pricer: &Pricer, kept: &[Priced], which: &[usize]) -> RangeMs {
    let low: Vec<Edit> = which.iter().flat_map(|n| kept[*n].low.iter().cloned()).collect();
    let high: Vec<Edit> = which.iter().flat_map(|n| kept[*n].high.iter().cloned()).collect();
    pricer.range(&low, &high)
}

/// All fixes save at least what the chosen ones do: of two fixes of one stage the replay may only find the
/// worse.
fn fix_all(pricer: &Pricer, kept: &[Priced], chosen: &[(usize, RangeMs)]) -> RangeMs {
    let with_edits: Vec<usize> = (0..kept.len()).filter(|n| !kept[*n].high.is_empty()).collect();
    let all = match with_edits[..] {
        [] => RangeMs::default(),
        // Replayed already, and limited to what it can be worth.
        [only] => kept[only].finding.savings.wall_ms.unwrap_or_default(),
        _ => joint(pricer, kept, &with_edits),
    };
    let (low, high) = chosen.iter().fold((0, 0), |sum, (_, range)| (sum.0 + range.low, sum.1 + range.high));
    RangeMs { low: all.low.max(low), high: all.high.max(high) }
}

/// Whether jobs failed only because somebody or a stopping query cancelled them.
fn was_cancelled(context: &Context<'_>) -> bool {
    let mut failed = context.run.jobs.iter().filter(|job| job.status == JobStatus::Failed).peekable();
    failed.peek().is_some() && failed.all(Job::was_cancelled)
}

fn headline(
    context: &Context<'_>,
    kept: &[Priced],
    chosen: &[(usize, RangeMs)],
    fix_all: FixAll,
    attribution: &Attribution,
) -> String {
    let status = context.run.application.status;
    let wall = context.wall_ms;
    let best = chosen.first().map(|(n, range)| (&kept[*n].finding, *range));
    let saving = |range: RangeMs| match wall {
        Some(wall) if range.low == 0 => format!("{} of {}", between(range), duration(wall)),
        Some(wall) => format!("about {} of {}", between(range), duration(wall)),
        None => between(range),
    };
    let failed = failures(kept).next();
    let has_failed_job = context.run.jobs.iter().any(|job| job.status == JobStatus::Failed);
    let was_cancelled = failed.is_none() && was_cancelled(context);
    if !was_cancelled && (status == ApplicationStatus::Failed || (has_failed_job && failed.is_some())) {
        let what = failed
            .map_or_else(|| "its cause is not in the log".to_owned(), |priced| priced.finding.title.clone());
        let who = if status == ApplicationStatus::Failed { "The run" } else { "A job" };
        return format!("{who} failed: {what}");
    }
    let start = match status {
        ApplicationStatus::Succeeded => "",
        _ if was_cancelled => "Its last job was cancelled; until then: ",
        _ => "So far: ",
    };
    // What is known to be wrong, though not what it costs.
    let unpriced = kept.iter().map(|priced| &priced.finding).find(|finding| {
        finding.severity >= Severity::Warning
            && finding.tag != "INCMP"
            && finding.savings.method == SavingMethod::None
            && finding.part_of.is_none()
    });
    match (best, fix_all.wall_ms) {
        (Some((finding, range)), _) if range.high > 0 => {
            format!("{start}{}; fixing it saves {}", finding.title, saving(range))
        }
        _ if unpriced.is_some() => {
            let title = unpriced.map_or("", |finding| finding.title.as_str());
            format!("{start}{title}; what that costs cannot be told")
        }
        _ if context.is_plan_only() => {
            "A plan, not a run: what it costs cannot be told before it has run".to_owned()
        }
        _ if context.stages.iter().all(|digest| digest.useful == 0) => {
            "No task has ended in this log, so there is nothing to judge".to_owned()
        }
        _ if !context.has_metrics() => {
            let longest = context.stages.iter().max_by_key(|digest| digest.running_ms());
            let longest = longest.map_or_else(String::new, |digest| {
                let wall = wall.map_or_else(String::new, |wall| format!(" of {}", duration(wall)));
                format!("; stage {} ran longest, {}{wall}", digest.id, duration(digest.running_ms()))
            });
            let none = if start.is_empty() { "No" } else { "no" };
            format!("{start}{none} cause can be told, since the log has no task metrics{longest}")
        }
        _ => {
            let nothing = if start.is_empty() { "Nothing" } else { "nothing" };
            let instead = notes::largest(attribution).map_or_else(String::new, |what| format!("; {what}"));
            format!("{start}{nothing} found that would make this run clearly faster{instead}")
        }
    }
}

/// `1 min 20 s to 2 min 10 s`, or one of them where they hardly differ.
pub(crate) fn between(range: RangeMs) -> String {
    let (low, high) = (duration(range.low), duration(range.high));
    if range.low == 0 {
        format!("up to {high}")
    } else if low == high || (range.high - range.low) * 20 < range.high {
        high
    } else {
        format!("{low} to {high}")
    }
}

//! The answer: verdict, priced findings, attribution, what is clean and what could not be checked.

use crate::attribution::{Attribution, ModelError, attribute};
use crate::context::Context;
use crate::detector::{Check, Detector, NotChecked, Sink};
use crate::detectors::DETECTORS;
use crate::finding::{Claim, Finding};
use crate::merge;
use crate::pricing::{Pricer, price};
use crate::stage_view::StageView;
use crate::thresholds::Thresholds;
use crate::verdict::{Verdict, verdict};
use emberscope_model::run::Run;
use emberscope_model::summary::{ApplicationSummary, application};
use emberscope_model::trust::Trust;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Thresholds.
    pub thresholds: Thresholds,
    /// Tags to check; empty = all.
    pub only: Vec<String>,
    /// Findings about this SQL execution alone.
    pub sql_id: Option<u64>,
    /// Findings about this stage alone: id, and attempt where one is meant.
    pub stage: Option<(u32, Option<u32>)>,
}

impl Options {
    /// What alone was asked for; `None` where everything was.
    fn restriction(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((id, attempt)) = self.stage {
            parts.push(
                attempt.map_or_else(|| format!("stage {id}"), |attempt| format!("stage {id}.{attempt}")),
            );
        }
        parts.extend(self.sql_id.map(|id| format!("query {id}")));
        if !self.only.is_empty() {
            parts.push(format!("the checks {}", self.only.join(", ").to_uppercase()));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// A check that found nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CleanCheck {
    /// Type of finding.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Tag.
    pub tag: &'static str,
    /// What it would have said.
    pub what: &'static str,
}

/// What cost the time of a run, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// Version of this shape.
    pub schema_version: u32,
    /// Where the run was read from.
    pub source: String,
    /// Identity, times and outcome.
    pub application: ApplicationSummary,
    /// What to do first.
    pub verdict: Verdict,
    /// All findings, most important first.
    pub findings: Vec<Finding>,
    /// Checks that found nothing.
    pub clean_checks: Vec<CleanCheck>,
    /// Checks that could not be made.
    pub not_checked: Vec<NotChecked>,
    /// Where the time went.
    pub attribution: Attribution,
    /// Thresholds that are not the defaults.
    pub tuned_thresholds: Vec<String>,
    /// What was read and what was not.
    pub trust: Trust,
}

/// Diagnoses a run.
pub fn diagnose(run: &Run, options: &Options) -> Diagnosis {
    diagnose_in(&Context::of(run, &options.thresholds), options)
}

/// Diagnoses a run that was looked over already, with the thresholds of `context`.
pub fn diagnose_in(context: &Context<'_>, options: &Options) -> Diagnosis {
    let run = context.run;
    let Sink { claims, mut not_checked } = look(context, options);
    let claims = claims.into_iter().filter(|claim| is_asked_for(claim, options)).collect();
    let claims = merge::fold(context, claims);
    let pricer = Pricer::of(context);
    let model_error = pricer.as_ref().map_or_else(ModelError::default, Pricer::model_error);
    let mut priced = price(context, pricer.as_ref(), claims);
    merge::failure_first(context, &mut priced);
    merge::one_headline(context, &mut priced);
    merge::settle_values(&mut priced);
    let attribution = attribute(context, model_error);
    let mut verdict = verdict(context, pricer.as_ref(), &priced, &attribution);
    if let Some(what) = options.restriction() {
        verdict.headline = match verdict.headline.strip_prefix("So far: ") {
            Some(headline) => format!("Only {what}, so far: {headline}"),
            None => format!("Only {what}: {}", verdict.headline),
        };
    }
    let findings: Vec<Finding> = priced.into_iter().map(|priced| priced.finding).collect();
    not_checked.sort_by(|a, b| (a.kind, &a.reason).cmp(&(b.kind, &b.reason)));
    let mut diagnosis = Diagnosis {
        schema_version: SCHEMA_VERSION,
        source: run.source.clone(),
        application: application(run),
        verdict,
        clean_checks: clean(&findings, &not_checked, options),
        findings,
        not_checked,
        attribution,
        tuned_thresholds: options.thresholds.tuned(),
        trust: run.trust.clone(),
    };
    crate::redaction::mask(&mut diagnosis);
    diagnosis
}

fn is_chosen(tag: &str, options: &Options) -> bool {
    options.only.is_empty() || options.only.iter().any(|only| only.eq_ignore_ascii_case(tag))
}

/// Runs all detectors.
fn look(context: &Context<'_>, options: &Options) -> Sink {
    let chosen: Vec<_> = DETECTORS.iter().filter(|detector| is_chosen(detector.tag, options)).collect();
    let mut sink = Sink::default();
    // Several detectors look at each plan: made once, by all threads.
    let queries: Vec<u64> = context.queries().iter().copied().collect();
    crate::parallel::map(&queries, |_, id| context.sql_view(*id).map(|view| view.metrics().len()));
    for detector in &chosen {
        for check in detector.checks {
            if let Check::App(check) = check {
                check(context, &mut sink);
            }
        }
    }
    let stage_checks: Vec<_> = chosen
        .iter()
        .flat_map(|detector| detector.checks)
        .filter_map(|check| if let Check::Stage(check) = check { Some(*check) } else { None })
        .collect();
    let seen = crate::parallel::map(&context.run.stages, |n, stage| {
        let mut sink = Sink::default();
        if is_beside_the_point(context, n) {
            return sink;
        }
        let view = StageView::of(stage, &context.stages[n], context.end_ms);
        stage_checks.iter().for_each(|check| check(context, &view, &mut sink));
        sink
    });
    seen.into_iter().for_each(|one| sink.extend(one));
    let sql_checks: Vec<_> = chosen
        .iter()
        .flat_map(|detector| detector.checks)
        .filter_map(|check| if let Check::Sql(check) = check { Some(*check) } else { None })
        .collect();
    let seen = crate::parallel::map(&context.run.sql_executions, |_, execution| {
        let mut sink = Sink::default();
        if context.queries().contains(&execution.id)
            && let Some(view) = context.sql_view(execution.id)
        {
            sql_checks.iter().for_each(|check| check(context, &view, &mut sink));
        }
        sink
    });
    seen.into_iter().for_each(|one| sink.extend(one));
    let coverage = &context.run.trust.coverage;
    if coverage.ratio.is_some_and(|ratio| ratio < WHOLE_ENOUGH) {
        let missing = coverage.tasks_expected - coverage.tasks_seen;
        let reason = format!("{missing} of {} task ends are not in the log", coverage.tasks_expected);
        for kind in chosen.iter().filter(|one| looks_at_stages(one)).flat_map(|detector| detector.types) {
            sink.not_checked(kind.name, reason.clone(), Some("the whole log"));
        }
    }
    if context.run.stages.iter().all(|stage| stage.tasks.useful().is_empty()) {
        need(&chosen, &NEEDS_NO_TASKS, "no task has ended in the log", &mut sink);
    } else if !context.has_metrics() {
        need(&chosen, &NEEDS_NO_METRICS, "the log has no task metrics", &mut sink);
    }
    sink
}

/// Says of all detectors but `others` that something was missing, where they said nothing themselves.
fn need(chosen: &[&&Detector], others: &[&str], reason: &str, sink: &mut Sink) {
    for kind in chosen.iter().filter(|one| !others.contains(&one.tag)).flat_map(|detector| detector.types) {
        let is_said = sink.claims.iter().any(|claim| claim.kind == kind.name)
            || sink.not_checked.iter().any(|entry| entry.kind == kind.name);
        if !is_said {
            sink.not_checked(kind.name, reason, None);
        }
    }
}

/// Share of the expected task ends below which stages cannot be called clean.
const WHOLE_ENOUGH: f64 = 0.99;

/// What can be told of a run without tasks: its log, its settings, its jobs.
const NEEDS_NO_TASKS: [&str; 5] = ["INCMP", "DRIFT", "CFG", "JOBS", "SFAIL"];

/// What can be told by when tasks ran, and how they ended.
const NEEDS_NO_METRICS: [&str; 11] =
    ["INCMP", "DRIFT", "CFG", "JOBS", "SFAIL", "FAIL", "RETRY", "SPEC", "SCHED", "DRIVER", "CHRN"];

fn looks_at_stages(detector: &Detector) -> bool {
    detector.checks.iter().any(|check| matches!(check, Check::Stage(_)))
}

/// Whether a stage attempt is too short to save anything worth saying, and nothing in it went wrong.
fn is_beside_the_point(context: &Context<'_>, position: usize) -> bool {
    let (digest, stage) = (&context.stages[position], &context.run.stages[position]);
    let span = digest.running_ms() + stage.waiting_ms().unwrap_or(0);
    let went_well = digest.useful == digest.attempts && stage.failure_reason.is_none();
    let is_small = context.allocated_core_ms.is_none_or(|all| {
        (digest.attempt_ms as f64) < context.get(&crate::materiality::FLOOR_SHARE) * all as f64
    });
    went_well && is_small && context.is_immaterial(span)
}

/// Whether a claim is about what the user asked for.
fn is_asked_for(claim: &Claim, options: &Options) -> bool {
    let of_sql = options.sql_id.is_none_or(|id| claim.scope.sql_id == Some(id));
    let of_stage = options.stage.is_none_or(|(id, attempt)| {
        let mut places = claim.stages.clone();
        places.extend(claim.scope.stage_id.map(|id| (id, claim.scope.stage_attempt.unwrap_or(0))));
        places.iter().any(|place| place.0 == id && attempt.is_none_or(|attempt| attempt == place.1))
    });
    of_sql && of_stage
}

/// Types that were checked and of which nothing is said.
fn clean(findings: &[Finding], not_checked: &[NotChecked], options: &Options) -> Vec<CleanCheck> {
    if options.stage.is_some() || options.sql_id.is_some() {
        // Of the rest of the run nothing is said, so nothing in it can be called clean.
        return Vec::new();
    }
    let is_said = |kind: &str| {
        findings.iter().any(|finding| finding.kind == kind)
            || not_checked.iter().any(|entry| entry.kind == kind)
    };
    DETECTORS
        .iter()
        .filter(|detector| is_chosen(detector.tag, options))
        .flat_map(|detector| detector.types.iter().map(|kind| (detector.tag, kind)))
        .filter(|(_, kind)| !is_said(kind.name))
        .map(|(tag, kind)| CleanCheck { kind: kind.name, tag, what: kind.what })
        .collect()
}

//! The answer: verdict, priced findings, attribution, what is clean and what could not be checked.

use crate::attribution::{Attribution, ModelError, attribute};
use crate::context::Context;
use crate::detector::{Check, NotChecked, Sink};
use crate::detectors::DETECTORS;
use crate::finding::{Claim, Finding};
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
    let context = Context::of(run, &options.thresholds);
    let Sink { claims, mut not_checked } = look(&context, options);
    let claims = claims.into_iter().filter(|claim| is_asked_for(claim, options)).collect();
    let pricer = Pricer::of(&context);
    let model_error = pricer.as_ref().map_or_else(ModelError::default, Pricer::model_error);
    let priced = price(&context, pricer.as_ref(), claims);
    let attribution = attribute(&context, model_error);
    let verdict = verdict(&context, pricer.as_ref(), &priced, &attribution);
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
        if let Some(view) = context.sql_view(execution.id) {
            sql_checks.iter().for_each(|check| check(context, &view, &mut sink));
        }
        sink
    });
    seen.into_iter().for_each(|one| sink.extend(one));
    if context.run.stages.iter().all(|stage| stage.tasks.useful().is_empty()) {
        for detector in &chosen {
            if detector.checks.iter().any(|check| matches!(check, Check::Stage(_))) {
                for kind in detector.types {
                    sink.not_checked(kind.name, "no task has ended in the log", None);
                }
            }
        }
    }
    sink
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

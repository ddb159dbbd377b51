//! `/runs/{run}/sql/{execution}/plans/{version}`, its text, and what changed between versions.

use super::super::Param;
use super::super::failure::{Failure, number};
use super::find;
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::thresholds::Thresholds;
use emberscope_analysis::views::plan::{PlanView, plan, plan_text};
use emberscope_analysis::views::plan_diff::{PlanDiff, plan_diff};
use emberscope_model::sql::SqlExecution;
use schemars::JsonSchema;
use serde::Serialize;

pub(in super::super) const DIFF_PARAMS: &[Param] = &[
    Param { name: "from", kind: "integer", doc: "The earlier version. [default: 0]" },
    Param { name: "to", kind: "integer", doc: "The later version. [default: the last]" },
];

/// The text of a version of a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in super::super) struct PlanText {
    /// Number of the version.
    version: usize,
    /// `physicalPlanDescription`; `null` where it was not kept.
    text: Option<String>,
}

/// `last` or a number.
pub(super) fn version(execution: &SqlExecution, text: &str) -> Result<usize, Failure> {
    let last = execution.versions.len().saturating_sub(1);
    let version = if text == "last" { last } else { number(text)? };
    if version >= execution.versions.len() {
        let hint = format!("there are {} versions, numbered from 0", execution.versions.len());
        return Err(Failure::not_found(format!("no version {version} of the plan"), &hint));
    }
    Ok(version)
}

pub(super) fn unreadable() -> Failure {
    Failure::not_found("the log has no readable tree of this plan", "its text may be there: …/text")
}

pub(in super::super) fn get(opened: &Opened, at: &[&str]) -> Result<PlanView, Failure> {
    let execution = find(opened, at)?;
    let version = version(execution, at[2])?;
    let thresholds = Thresholds::default();
    plan(opened.subject(), &opened.context(&thresholds), execution, version).ok_or_else(unreadable)
}

pub(in super::super) fn text(opened: &Opened, at: &[&str]) -> Result<PlanText, Failure> {
    let execution = find(opened, at)?;
    let version = version(execution, at[2])?;
    Ok(PlanText { version, text: plan_text(opened.subject(), execution, version) })
}

pub(in super::super) fn diff(opened: &Opened, at: &[&str], params: &Params) -> Result<PlanDiff, Failure> {
    let execution = find(opened, at)?;
    let from = version(execution, params.first("from").unwrap_or("0"))?;
    let to = version(execution, params.first("to").unwrap_or("last"))?;
    plan_diff(&opened.run, execution, from, to).ok_or_else(unreadable)
}

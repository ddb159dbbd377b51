//! `/runs/{run}/stages/{stage}/{attempt}/failures`.

use super::super::failure::Failure;
use super::find;
use crate::opened::Opened;
use emberscope_analysis::views::failures::{FailureRow, failures};
use schemars::JsonSchema;
use serde::Serialize;

/// Task attempts that did not succeed, by error.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in super::super) struct FailuresView {
    /// Why the stage attempt itself failed.
    stage_failure: Option<String>,
    /// Groups, the largest first.
    groups: Vec<FailureRow>,
}

pub(in super::super) fn get(opened: &Opened, at: &[&str]) -> Result<FailuresView, Failure> {
    let stage = find(opened, at)?;
    let reason = stage.failure_reason.as_deref();
    Ok(FailuresView {
        stage_failure: reason.map(|reason| emberscope_model::redact::text(reason).into_owned()),
        groups: failures(&opened.run, stage),
    })
}

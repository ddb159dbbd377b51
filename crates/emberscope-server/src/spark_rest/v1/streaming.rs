//! `/streaming`: DStreams, of which an event log holds nothing.

use super::Answer;
use crate::opened::Opened;
use crate::spark_rest::Refusal;

pub(super) fn get(run: &Opened) -> Answer {
    let name = run.run.application.name.as_deref().unwrap_or_default();
    Err(Refusal::not_found(format!("no streaming listener attached to {name}")))
}

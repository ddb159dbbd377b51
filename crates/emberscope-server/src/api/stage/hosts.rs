//! `/runs/{run}/stages/{stage}/{attempt}/hosts`.

use super::super::Param;
use super::super::failure::Failure;
use super::find;
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::hosts::{Place, PlaceRow, places};
use schemars::JsonSchema;
use serde::Serialize;

pub(in super::super) const PARAMS: &[Param] =
    &[Param { name: "by", kind: "string", doc: "host or executor. [default: host]" }];

/// Hosts or executors of a stage attempt, the one with the largest median first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in super::super) struct PlacesView {
    /// What attempts are grouped by.
    by: Place,
    /// Places.
    places: Vec<PlaceRow>,
}

pub(in super::super) fn get(opened: &Opened, at: &[&str], params: &Params) -> Result<PlacesView, Failure> {
    let stage = find(opened, at)?;
    let by = match params.first("by").unwrap_or("host") {
        "host" => Place::Host,
        "executor" => Place::Executor,
        other => {
            return Err(Failure::bad(format!("attempts are not grouped by `{other}`"), "host or executor"));
        }
    };
    Ok(PlacesView { by, places: places(&opened.run, stage, by) })
}

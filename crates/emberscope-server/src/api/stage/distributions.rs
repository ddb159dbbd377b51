//! `/runs/{run}/stages/{stage}/{attempt}/distributions`.

use super::super::Param;
use super::super::failure::{Failure, number};
use super::{find, metric_named, which};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::distributions::{Scale, Spread, Which, spread};
use emberscope_analysis::views::metric::METRICS;
use schemars::JsonSchema;
use serde::Serialize;

/// Most bars of a histogram.
const MOST: usize = 400;

pub(in super::super) const PARAMS: &[Param] = &[
    Param {
        name: "metric",
        kind: "string",
        doc: "Values by comma, such as duration_ms, records_read, bytes_read. [default: all that were measured and are not all 0]",
    },
    Param { name: "attempts", kind: "string", doc: "counted or all. [default: counted]" },
    Param { name: "scale", kind: "string", doc: "linear or log. [default: linear]" },
    Param { name: "bars", kind: "integer", doc: "Most bars, up to 400. [default: 48]" },
];

/// How values are spread over the task attempts of a stage attempt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in super::super) struct DistributionsView {
    /// Task attempts there are.
    total: usize,
    /// Which were looked at.
    attempts: Which,
    /// How histograms are divided.
    scale: Scale,
    /// A distribution for each value.
    distributions: Vec<Spread>,
}

pub(in super::super) fn get(
    opened: &Opened,
    at: &[&str],
    params: &Params,
) -> Result<DistributionsView, Failure> {
    let stage = find(opened, at)?;
    let attempts = which(params)?;
    let bars = params.first("bars").map_or(Ok(48), number::<usize>)?.clamp(1, MOST);
    let scale = match params.first("scale").unwrap_or("linear") {
        "linear" => Scale::Linear,
        "log" => Scale::Log,
        other => return Err(Failure::bad(format!("no scale `{other}`"), "linear or log")),
    };
    let one = |metric| spread(stage, metric, attempts, scale, bars);
    let distributions = match params.first("metric").filter(|names| !names.is_empty()) {
        Some(names) => names
            .split(',')
            .map(|name| Ok(one(metric_named(name.trim())?)))
            .collect::<Result<_, Failure>>()?,
        None => {
            let all = METRICS.iter().map(one);
            all.filter(|spread| spread.quantiles.last().is_some_and(|most| most.value > 0.0)).collect()
        }
    };
    Ok(DistributionsView { total: stage.tasks.rows(), attempts, scale, distributions })
}

//! `/runs/{run}/stages/{stage}/{attempt}/scatter`.

use super::super::Param;
use super::super::failure::{Failure, number};
use super::{find, metric_named, which};
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::scatter::{Scatter, scatter};

/// Most points.
const MOST: usize = 10_000;

pub(in super::super) const PARAMS: &[Param] = &[
    Param { name: "x", kind: "string", doc: "The value across. [default: records_read]" },
    Param { name: "y", kind: "string", doc: "The value upward. [default: duration_ms]" },
    Param { name: "attempts", kind: "string", doc: "counted or all. [default: counted]" },
    Param { name: "limit", kind: "integer", doc: "Most points, up to 10000. [default: 2000]" },
];

pub(in super::super) fn get(opened: &Opened, at: &[&str], params: &Params) -> Result<Scatter, Failure> {
    let stage = find(opened, at)?;
    let x = metric_named(params.first("x").unwrap_or("records_read"))?;
    let y = metric_named(params.first("y").unwrap_or("duration_ms"))?;
    let most = params.first("limit").map_or(Ok(2000), number::<usize>)?.clamp(1, MOST);
    Ok(scatter(&opened.run, stage, (x, y), which(params)?, most))
}

//! `/runs/{run}/timeline` and `/runs/{run}/series`.

use super::Param;
use super::failure::{Failure, number};
use super::window::only;
use crate::opened::Opened;
use crate::spark_rest::Params;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::timeline::series::{Series, series};
use emberscope_analysis::views::timeline::{LaneKind, Query, Timeline, timeline};

/// Most pieces of time in an answer.
const PIECES: usize = 4000;

const FROM: Param =
    Param { name: "from_ms", kind: "integer", doc: "Begin of the part, since the run's start. [default: 0]" };
const TO: Param = Param { name: "to_ms", kind: "integer", doc: "End of the part. [default: the run's end]" };

pub(super) const PARAMS: &[Param] = &[
    FROM,
    TO,
    Param { name: "width_px", kind: "integer", doc: "Width of the picture, 16 to 16384. [default: 1200]" },
    Param { name: "lanes", kind: "string", doc: "executors, hosts or stages. [default: executors]" },
    Param { name: "lane_offset", kind: "integer", doc: "Lanes to leave out. [default: 0]" },
    Param { name: "lane_limit", kind: "integer", doc: "Most lanes, up to 400. [default: 100]" },
    Param { name: "stage", kind: "integer", doc: "Only what belongs to this stage." },
    Param { name: "job", kind: "integer", doc: "Only what belongs to this job." },
    Param { name: "sql", kind: "integer", doc: "Only what belongs to this SQL execution." },
];

pub(super) const SERIES_PARAMS: &[Param] = &[
    FROM,
    TO,
    Param { name: "buckets", kind: "integer", doc: "Pieces of equal length, up to 4000. [default: 240]" },
];

/// The part that is asked for; begin before end.
fn part(opened: &Opened, params: &Params) -> Result<(i64, i64), Failure> {
    let from = only(params, "from_ms")?.unwrap_or(0);
    let to = only(params, "to_ms")?.unwrap_or_else(|| Clock::of(&opened.run).duration_ms());
    if to < from {
        return Err(Failure::bad("the part ends before it begins", "from_ms is at most to_ms"));
    }
    Ok((from, to))
}

pub(super) fn get(opened: &Opened, params: &Params) -> Result<Timeline, Failure> {
    let (from_ms, to_ms) = part(opened, params)?;
    let lanes = match params.first("lanes").unwrap_or("executors") {
        "executors" => LaneKind::Executors,
        "hosts" => LaneKind::Hosts,
        "stages" => LaneKind::Stages,
        other => return Err(Failure::bad(format!("no lanes `{other}`"), "executors, hosts or stages")),
    };
    let query = Query {
        from_ms,
        to_ms,
        width_px: params.first("width_px").map_or(Ok(1200), number)?,
        lanes,
        offset: params.first("lane_offset").map_or(Ok(0), number)?,
        limit: params.first("lane_limit").map_or(Ok(100), number)?,
        stage: only(params, "stage")?,
        job: only(params, "job")?,
        sql: only(params, "sql")?,
    };
    Ok(timeline(opened.timeline(), &query))
}

pub(super) fn get_series(opened: &Opened, params: &Params) -> Result<Series, Failure> {
    let (from_ms, to_ms) = part(opened, params)?;
    let pieces = params.first("buckets").map_or(Ok(240), number::<usize>)?.clamp(1, PIECES);
    Ok(series(&opened.run, opened.timeline(), from_ms, to_ms, pieces))
}

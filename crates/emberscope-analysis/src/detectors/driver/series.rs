//! Many small queries of one place in the program, one after another.

use crate::context::Context;
use crate::detector::{Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::{Edit, Place};
use crate::words::{core_time, duration, percent, rounded};
use emberscope_model::sql::SqlExecution;
use std::collections::BTreeMap;

pub(super) const MIN_QUERIES: Threshold = Threshold {
    tag: "DRIVER",
    name: "series_min_queries",
    default: 20.0,
    doc: "Queries of one place in the program, one after another, from which they are a series.",
};

pub(super) const MAX_QUERY_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "series_max_query_ms",
    default: 2_000.0,
    doc: "Mean time of the queries of a series, pauses included, up to which they are small, milliseconds.",
};

pub(super) const MIN_OVERHEAD: Threshold = Threshold {
    tag: "DRIVER",
    name: "series_min_overhead_share",
    default: 0.6,
    doc: "Share of a series' time that its tasks do not need on the slots that were there.",
};

pub(super) const LOW_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "series_low_saving_share",
    default: 0.6,
    doc: "Share of that time that one query instead of the series saves at least.",
};

/// Queries of one description that followed each other.
struct Series<'r> {
    queries: Vec<&'r SqlExecution>,
    /// Lengths of the queries, and of what lay between each and the next.
    total_ms: i64,
    /// What their tasks take on all slots.
    needed_ms: i64,
}

pub(super) fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.wall_ms.is_none() || !ctx.run.streams.is_empty() || super::is_session(ctx) {
        return;
    }
    for series in all_series(ctx) {
        let overhead = series.total_ms - series.needed_ms;
        let is_small = series.total_ms as f64 <= ctx.get(&MAX_QUERY_MS) * series.queries.len() as f64;
        let is_overhead = overhead as f64 >= ctx.get(&MIN_OVERHEAD) * series.total_ms as f64;
        if is_small && is_overhead && !ctx.is_immaterial(overhead) {
            sink.claim(claim(ctx, &series, overhead));
        }
    }
}

/// Root queries by description and call site. Those that ran side by side with one of their own are no series.
fn all_series<'r>(ctx: &Context<'r>) -> Vec<Series<'r>> {
    let mut by_text: BTreeMap<(&str, Option<&str>), Vec<&SqlExecution>> = BTreeMap::new();
    for execution in ctx.run.sql_executions.iter().filter(|execution| execution.is_root()) {
        if let (Some(text), Some(_), Some(_)) =
            (execution.description.as_deref(), execution.start_ms, execution.end_ms)
        {
            by_text.entry((text, execution.details.as_deref())).or_default().push(execution);
        }
    }
    let enough = by_text.into_values().filter(|queries| queries.len() as f64 >= ctx.get(&MIN_QUERIES));
    enough.filter_map(|queries| series(ctx, queries)).collect()
}

fn series<'r>(ctx: &Context<'r>, mut queries: Vec<&'r SqlExecution>) -> Option<Series<'r>> {
    /// A longer pause than this many times the mean query is something else's.
    const PAUSE: i64 = 3;
    queries.sort_by_key(|query| (query.start_ms, query.id));
    let span = |query: &SqlExecution| query.start_ms.zip(query.end_ms);
    let spans: Vec<(i64, i64)> = queries.iter().filter_map(|query| span(query)).collect();
    if spans.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return None;
    }
    let lengths: i64 = spans.iter().map(|(start, end)| end - start).sum();
    let longest_pause = PAUSE * lengths / spans.len().max(1) as i64;
    let pauses: i64 =
        spans.windows(2).map(|pair| pair[1].0 - pair[0].1).filter(|pause| *pause <= longest_pause).sum();
    let needed = queries.iter().flat_map(|query| places(ctx, query)).filter_map(|place| {
        let digest = ctx.digest_of(place.0, place.1)?;
        Some(digest.counted.run_ms as f64 / ctx.slots(digest).max(1.0))
    });
    let needed_ms = needed.sum::<f64>() as i64;
    Some(Series { queries, total_ms: lengths + pauses, needed_ms })
}

fn places(ctx: &Context<'_>, query: &SqlExecution) -> Vec<Place> {
    let mut places = Vec::new();
    for job in query.job_ids.iter().filter_map(|id| ctx.run.job(*id)) {
        let attempts = job.stage_ids.iter().flat_map(|id| ctx.run.attempts(*id));
        let of_job = |place: &Place| {
            ctx.digest_of(place.0, place.1).is_some_and(|digest| digest.job_id == Some(job.id))
        };
        places.extend(attempts.map(|stage| (stage.id, stage.attempt)).filter(of_job));
    }
    places
}

fn claim(ctx: &Context<'_>, series: &Series<'_>, overhead_ms: i64) -> Claim {
    let (first, last) = (series.queries.first(), series.queries.last());
    let count = series.queries.len();
    let text = first.and_then(|query| query.description.as_deref()).unwrap_or_default();
    let span = first.and_then(|query| query.start_ms).zip(last.and_then(|query| query.end_ms));
    let idle = span.and_then(|(from, to)| ctx.available_core_ms(from, to)).unwrap_or(0);
    let title = format!(
        "{count} queries of {text} ran one after another for {}, {} of it not for their rows",
        duration(series.total_ms),
        percent(overhead_ms as f64 / series.total_ms.max(1) as f64)
    );
    let mut claim = Claim::new("driverBound", Scope::default(), title)
        .evidence("kind", "series")
        .evidence("queries", count)
        .evidence("mean_query_ms", series.total_ms / count.max(1) as i64)
        .evidence("needed_ms", series.needed_ms)
        .evidence("beyond_needed_ms", overhead_ms)
        .evidence("overhead_share", rounded(overhead_ms as f64 / series.total_ms.max(1) as f64))
        .advice(
            "Ask for everything in one query: join or filter with all values at once and group by them, or collect \
             the small answers from one result. If the queries must stay apart, run them from several threads.",
        )
        .change(Change::code("loop of queries", "one query over all values, or several threads"));
    claim.subject = format!("series {text}");
    claim.nature = Nature::Code;
    claim.confidence = Confidence::Medium;
    claim.core_ms = Some((idle as f64 * overhead_ms as f64 / series.total_ms.max(1) as f64) as i64);
    let share = overhead_ms as f64 / series.total_ms.max(1) as f64;
    claim.worth = Worth::Replay {
        low: edits(ctx, series, share * ctx.get(&LOW_SHARE)),
        high: edits(ctx, series, share),
    };
    claim.most_ms = Some(overhead_ms);
    claim.validate = format!(
        "Run two of the {count} queries as one: if it takes as long as both together, {} of executors were needed.",
        core_time(idle)
    );
    claim
}

/// The replay with a share less of the time between jobs and of tasks.
fn edits(ctx: &Context<'_>, series: &Series<'_>, share: f64) -> Vec<Edit> {
    let mut edits = Vec::new();
    for pair in series.queries.windows(2) {
        let end_of_last = pair[0].job_ids.iter().filter_map(|id| ctx.run.job(*id)?.end_ms).max();
        let first = pair[1].job_ids.iter().filter_map(|id| ctx.run.job(*id)).min_by_key(|job| job.start_ms);
        if let (Some(end), Some(job)) = (end_of_last.or(pair[0].end_ms), first)
            && let Some(start) = job.start_ms
        {
            let by_ms = ((start - end) as f64 * share) as i64;
            edits.extend((by_ms > 0).then_some(Edit::JobSooner { job: job.id, by_ms }));
        }
        let factor = 1.0 - share;
        edits.extend(places(ctx, pair[1]).into_iter().map(|place| Edit::ScaleAll { place, factor }));
    }
    edits
}

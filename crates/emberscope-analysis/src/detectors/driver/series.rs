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
    doc: "Small queries, one after another, of few places in the program, from which they are a series.",
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
    default: 0.4,
    doc: "Share of a series' time that its tasks do not need on the slots that were there.",
};

pub(super) const LOW_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "series_low_saving_share",
    default: 0.75,
    doc: "Share of that time that one query instead of the series saves at least.",
};

/// Queries of few places in the program that followed each other.
struct Series<'r> {
    queries: Vec<&'r SqlExecution>,
    /// What they are called, the most frequent first.
    names: Vec<&'r str>,
    /// Lengths of the queries, and of what lay between each and the next.
    total_ms: i64,
    /// What their tasks take on all slots.
    needed_ms: i64,
    /// What the tasks of one query over all values would take at best: where all queries read the same rows,
    /// those of the longest one.
    needed_once_ms: i64,
}

impl Series<'_> {
    /// Of the series' time the rest, beyond one of its queries or what tasks need, whichever is longer.
    fn beyond_ms(&self, needed_ms: i64) -> i64 {
        let one = self.total_ms / self.queries.len().max(1) as i64;
        (self.total_ms - one.max(needed_ms)).max(0)
    }
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

/// Small root queries that followed each other without a pause, cut where a long one, a pause or one beside
/// it comes; of each those whose place in the program comes often.
fn all_series<'r>(ctx: &Context<'r>) -> Vec<Series<'r>> {
    let small_ms = ctx.get(&MAX_QUERY_MS) as i64;
    let mut roots: Vec<(i64, i64, &SqlExecution)> = ctx
        .run
        .sql_executions
        .iter()
        .filter(|execution| execution.is_root())
        .filter_map(|execution| Some((execution.start_ms?, execution.end_ms?, execution)))
        .collect();
    roots.sort_by_key(|(start, _, execution)| (*start, execution.id));
    let mut cuts: Vec<Vec<(i64, i64, &SqlExecution)>> = vec![Vec::new()];
    for root in roots {
        let last = cuts.last().and_then(|cut| cut.last());
        // A few of many may take longer than all of them do on average.
        let follows = last.is_none_or(|last| (0..=small_ms).contains(&(root.0 - last.1)));
        let is_small = root.1 - root.0 <= 2 * small_ms;
        if !follows || !is_small {
            cuts.push(Vec::new());
        }
        if let Some(cut) = cuts.last_mut().filter(|_| is_small) {
            cut.push(root);
        }
    }
    cuts.into_iter().filter_map(|cut| series(ctx, &cut)).collect()
}

fn series<'r>(ctx: &Context<'r>, cut: &[(i64, i64, &'r SqlExecution)]) -> Option<Series<'r>> {
    /// What comes as often as this is a step of the loop, and no chance.
    const OFTEN: usize = 5;
    let place =
        |query: &'r SqlExecution| (query.description.as_deref().unwrap_or("?"), query.details.as_deref());
    let mut times: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    cut.iter().for_each(|(_, _, query)| *times.entry(place(query)).or_default() += 1);
    let is_often = |query: &'r SqlExecution| times.get(&place(query)).is_some_and(|times| *times >= OFTEN);
    let own: Vec<&(i64, i64, &SqlExecution)> = cut.iter().filter(|(_, _, query)| is_often(query)).collect();
    if (own.len() as f64) < ctx.get(&MIN_QUERIES) {
        return None;
    }
    // One line of the program may be reached in several ways.
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    times.iter().filter(|(_, times)| **times >= OFTEN).for_each(|((name, _), times)| {
        *by_name.entry(name).or_default() += times;
    });
    let mut names: Vec<(usize, &str)> = by_name.into_iter().map(|(name, times)| (times, name)).collect();
    names.sort_by_key(|(times, name)| (std::cmp::Reverse(*times), *name));
    let total_ms = own.last()?.1 - own.first()?.0;
    let queries: Vec<&SqlExecution> = own.iter().map(|(_, _, query)| *query).collect();
    let works: Vec<(f64, i64)> = queries.iter().map(|query| work(ctx, query)).collect();
    let needed_ms = works.iter().map(|(needed, _)| needed).sum::<f64>() as i64;
    let longest = works.iter().map(|(needed, _)| *needed).fold(0.0, f64::max) as i64;
    let needed_once_ms = if read_the_same(&works) { longest } else { needed_ms };
    let names = names.into_iter().map(|(_, name)| name).collect();
    Some(Series { queries, names, total_ms, needed_ms, needed_once_ms })
}

/// What a query's tasks take on all slots, milliseconds, and the records they read as input.
fn work(ctx: &Context<'_>, query: &SqlExecution) -> (f64, i64) {
    let digests = places(ctx, query).into_iter().filter_map(|place| ctx.digest_of(place.0, place.1));
    digests.fold((0.0, 0), |(needed, records), digest| {
        let own = digest.counted.run_ms as f64 / ctx.slots(digest).max(1.0);
        (needed + own, records + digest.counted.input_records)
    })
}

/// Whether nearly all queries read as many input records as each other: one query would read them once.
fn read_the_same(works: &[(f64, i64)]) -> bool {
    const NEARLY_ALL: f64 = 0.9;
    let mut records: Vec<i64> = works.iter().map(|(_, records)| *records).collect();
    records.sort_unstable();
    let median = records.get(records.len() / 2).copied().unwrap_or(0);
    let same = records.iter().filter(|records| **records == median).count();
    median > 0 && same as f64 >= NEARLY_ALL * works.len() as f64
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
    let text = series.names.iter().take(3).copied().collect::<Vec<&str>>().join(", ");
    let span = first.and_then(|query| query.start_ms).zip(last.and_then(|query| query.end_ms));
    let idle = span.and_then(|(from, to)| ctx.available_core_ms(from, to)).unwrap_or(0);
    let title = format!(
        "{count} queries of {text} ran one after another for {}, {} of it not for their rows",
        duration(series.total_ms),
        percent(
            series.beyond_ms(series.needed_once_ms).max(overhead_ms) as f64 / series.total_ms.max(1) as f64
        )
    );
    let mut claim = Claim::new("driverBound", Scope::default(), title)
        .evidence("kind", "series")
        .evidence("queries", count)
        .evidence("mean_query_ms", series.total_ms / count.max(1) as i64)
        .evidence("needed_ms", series.needed_ms)
        .evidence("needed_once_ms", series.needed_once_ms)
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
    let at_most = series.beyond_ms(series.needed_once_ms);
    let at_least = (at_most as f64 * ctx.get(&LOW_SHARE)) as i64;
    claim.worth = Worth::Replay { low: edits(ctx, series, at_least), high: edits(ctx, series, at_most) };
    claim.most_ms = Some(at_most);
    claim.stages = series.queries.iter().flat_map(|query| places(ctx, query)).collect();
    claim.validate = format!(
        "Run two of the {count} queries as one: if it takes as long as both together, {} of executors were needed.",
        core_time(idle)
    );
    claim
}

/// As many of the queries do not happen as took the time that is saved, dealt out evenly.
fn edits(ctx: &Context<'_>, series: &Series<'_>, saved_ms: i64) -> Vec<Edit> {
    let count = series.queries.len();
    let gone = (saved_ms as f64 / series.total_ms.max(1) as f64 * count as f64).round() as usize;
    // Of `count` queries, number n goes where the running total of `gone / count` passes a whole number.
    let goes = |n: usize| n > 0 && (n * gone) / (count - 1).max(1) > ((n - 1) * gone) / (count - 1).max(1);
    let job = |id: &u32| ctx.run.job(*id);
    let mut edits = Vec::new();
    for n in (1..count).filter(|n| goes(*n)) {
        let (before, query) = (series.queries[n - 1], series.queries[n]);
        let end_of_last = before.job_ids.iter().filter_map(|id| job(id)?.end_ms).max().or(before.end_ms);
        let first = query.job_ids.iter().filter_map(job).min_by_key(|job| job.start_ms);
        if let (Some(end), Some((job, start))) =
            (end_of_last, first.and_then(|job| Some((job, job.start_ms?))))
        {
            let by_ms = start - end;
            edits.extend((by_ms > 0).then_some(Edit::JobSooner { job: job.id, by_ms }));
        }
        edits.extend(query.job_ids.iter().filter_map(job).map(|job| Edit::DropJob { job: job.id }));
    }
    edits
}

//! Gaps between jobs, and what lay around them.

use super::kind::Kind;
use crate::capacity;
use crate::context::Context;
use crate::detector::Threshold;
use crate::plan::{OperatorClass, SqlView};
use crate::replay::Edit;
use emberscope_log::event::plan::MetricKind;
use emberscope_model::sql::SqlExecution;
use serde_json::Value;
use std::collections::BTreeSet;

/// From the end of a query to a piece that handles its result, at most.
pub(super) const RIGHT_AFTER_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "right_after_ms",
    default: 100.0,
    doc: "Time from the end of a query with a large result to driver-only time that counts as handling it, at most.",
};

/// Share of a gap in a query that its plan's own metrics must explain.
pub(super) const CAUSE_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "cause_share",
    default: 0.5,
    doc: "Share of a gap within a query that listing, or collecting and building broadcasts, must take by the plan's own \
          metrics for the gap to be called so.",
};

/// A part of a gap in which the driver did one thing.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// Number of its gap, in order.
    pub(super) gap: usize,
    pub(super) from_ms: i64,
    pub(super) length_ms: i64,
    /// What of it is beyond the normal.
    pub(super) excess_ms: i64,
    /// The job that starts after the gap; `None` after the last one.
    pub(super) job: Option<u32>,
    pub(super) sql_id: Option<u64>,
    pub(super) is_before_first_job: bool,
}

impl Piece {
    /// What can be saved of it at best: all but what is needed, where that was not far more at the start.
    pub(super) fn at_best_ms(&self, needed_ms: i64) -> i64 {
        if self.is_before_first_job { self.excess_ms } else { self.excess_ms.max(self.length_ms - needed_ms) }
    }

    /// The replay with less of it.
    pub(super) fn edit(&self, by_ms: i64) -> Option<Edit> {
        match self.job {
            _ if by_ms <= 0 => None,
            Some(job) => Some(Edit::JobSooner { job, by_ms }),
            None => Some(Edit::EndSooner { by_ms }),
        }
    }
}

/// The gaps of a run, in order, cut where queries start and end. Gaps in queries are named `planning`
/// until [`look_closer`] has looked at their plans.
pub(super) fn pieces(ctx: &Context<'_>) -> Vec<Piece> {
    let mut jobs: Vec<(i64, i64, u32)> = ctx
        .run
        .jobs
        .iter()
        .filter_map(|job| Some((job.start_ms?, job.end_ms.unwrap_or(ctx.end_ms), job.id)))
        .collect();
    jobs.sort_unstable();
    let queries = Queries::of(ctx);
    let first_start = jobs.first().map(|job| job.0);
    let mut pieces = Vec::new();
    let spans = jobs.iter().map(|(start, end, _)| (*start, *end));
    for (gap, (from, to)) in capacity::gaps(spans, ctx.start_ms, ctx.end_ms).into_iter().enumerate() {
        let next = jobs.get(jobs.partition_point(|job| job.0 < to)).map(|job| job.2);
        let is_before_first_job = first_start == Some(to);
        for (from_ms, to_ms, execution) in queries.cut(from, to) {
            let piece = |kind, from_ms, to_ms| Piece {
                kind,
                gap,
                from_ms,
                length_ms: to_ms - from_ms,
                excess_ms: 0,
                job: next,
                sql_id: execution,
                is_before_first_job,
            };
            // Until an executor came the program waited for it, or had no session yet.
            let ready = last_arrival(ctx, from_ms, to_ms);
            match (execution, ready) {
                (Some(_), _) => pieces.push(piece(Kind::Planning, from_ms, to_ms)),
                (None, None) if is_before_first_job => pieces.push(piece(Kind::Startup, from_ms, to_ms)),
                (None, Some(ready)) if is_before_first_job => {
                    pieces.push(piece(Kind::Startup, from_ms, ready));
                    pieces.push(piece(Kind::Code, ready, to_ms));
                }
                (None, _) if next.is_none() => pieces.push(piece(Kind::End, from_ms, to_ms)),
                (None, ready) => pieces.push(piece(Kind::Code, ready.unwrap_or(from_ms), to_ms)),
            }
        }
    }
    pieces
}

/// When the last executor came in a span of time.
fn last_arrival(ctx: &Context<'_>, from: i64, to: i64) -> Option<i64> {
    let added = ctx.run.executors.iter().filter_map(|executor| executor.added_ms);
    added.filter(|added| (from..=to).contains(added)).max()
}

/// Time right after a query with a large result is its handling: rows become objects of the program.
pub(super) fn name_results(ctx: &Context<'_>, pieces: &mut [Piece], large_bytes: f64) {
    let right_after_ms = ctx.get(&RIGHT_AFTER_MS) as i64;
    for piece in pieces.iter_mut().filter(|piece| matches!(piece.kind, Kind::Code | Kind::End)) {
        let ended = ctx.run.sql_executions.iter().filter(|execution| {
            execution.end_ms.is_some_and(|end| (0..=right_after_ms).contains(&(piece.from_ms - end)))
        });
        let large = ended.max_by_key(|execution| result_bytes(ctx, execution));
        if let Some(execution) = large.filter(|large| result_bytes(ctx, large) as f64 >= large_bytes) {
            (piece.kind, piece.sql_id) = (Kind::Collect, Some(execution.id));
        }
    }
}

/// Names what the driver did in queries, by their plans.
pub(super) fn look_closer(ctx: &Context<'_>, pieces: &mut [Piece]) {
    for piece in pieces.iter_mut().filter(|piece| piece.kind == Kind::Planning) {
        if let Some(execution) = piece.sql_id.and_then(|id| ctx.run.sql_execution(id)) {
            piece.kind = kind_in_query(ctx, execution, piece.from_ms, piece.from_ms + piece.length_ms);
        }
    }
}

/// Root queries by start, each with the latest end of all up to it.
struct Queries(Vec<Query>);

struct Query {
    start_ms: i64,
    end_ms: i64,
    latest_end_ms: i64,
    id: u64,
}

impl Queries {
    fn of(ctx: &Context<'_>) -> Self {
        let mut queries: Vec<Query> = ctx
            .run
            .sql_executions
            .iter()
            .filter(|execution| execution.is_root())
            .filter_map(|execution| {
                let (start_ms, end_ms) = (execution.start_ms?, execution.end_ms.unwrap_or(ctx.end_ms));
                Some(Query { start_ms, end_ms, latest_end_ms: end_ms, id: execution.id })
            })
            .collect();
        queries.sort_by_key(|query| (query.start_ms, query.id));
        let mut latest = i64::MIN;
        for query in &mut queries {
            latest = latest.max(query.end_ms);
            query.latest_end_ms = latest;
        }
        Queries(queries)
    }

    /// Cuts a span at the starts and ends of queries; where several run, the one that started last counts.
    fn cut(&self, from: i64, to: i64) -> Vec<(i64, i64, Option<u64>)> {
        let before = &self.0[..self.0.partition_point(|query| query.start_ms < to)];
        let inside: Vec<&Query> = before
            .iter()
            .rev()
            .take_while(|query| query.latest_end_ms > from)
            .filter(|query| query.end_ms > from)
            .collect();
        let mut times: Vec<i64> = inside.iter().flat_map(|query| [query.start_ms, query.end_ms]).collect();
        times.retain(|time| *time > from && *time < to);
        times.extend([from, to]);
        times.sort_unstable();
        times.dedup();
        // Newest first, so that the first that covers a part started last.
        let at = |start: i64, end: i64| {
            inside.iter().find(|query| query.start_ms <= start && query.end_ms >= end).map(|query| query.id)
        };
        times.windows(2).map(|pair| (pair[0], pair[1], at(pair[0], pair[1]))).collect()
    }
}

fn kind_in_query(ctx: &Context<'_>, execution: &SqlExecution, from: i64, to: i64) -> Kind {
    let later = execution.job_ids.iter().filter_map(|id| ctx.run.job(*id)?.start_ms).any(|start| start >= to);
    let earlier =
        execution.job_ids.iter().filter_map(|id| ctx.run.job(*id)?.start_ms).any(|start| start < from);
    let view = ctx.queries().contains(&execution.id).then(|| ctx.sql_view(execution.id)).flatten();
    let much = ((to - from) as f64 * ctx.get(&CAUSE_SHARE)) as i64;
    if !later && earlier {
        let writes = view.as_ref().is_some_and(|view| has(view, OperatorClass::Write));
        return if writes { Kind::Commit } else { Kind::Collect };
    }
    let Some(view) = view else { return Kind::Planning };
    if driver_ms(&view, &["metadata time"]) > much {
        Kind::Listing
    } else if driver_ms(&view, &["time to collect", "time to build"]) > much {
        Kind::Broadcast
    } else {
        Kind::Planning
    }
}

fn has(view: &SqlView<'_>, class: OperatorClass) -> bool {
    view.nodes.iter().any(|node| node.class == class)
}

/// Time that operators of a plan say the driver took for something, milliseconds.
fn driver_ms(view: &SqlView<'_>, metrics: &[&str]) -> i64 {
    let mut sum = 0;
    for node in &view.nodes {
        for (name, kind, id) in &node.metrics {
            if metrics.contains(&name.as_str()) {
                let total = view.metrics().get(id).and_then(|metric| metric.total).unwrap_or(0).max(0);
                sum += if *kind == MetricKind::NsTiming { total / 1_000_000 } else { total };
            }
        }
    }
    sum
}

fn result_bytes(ctx: &Context<'_>, execution: &SqlExecution) -> i64 {
    let own = ctx.stages.iter().filter(|digest| digest.sql_id == Some(execution.id));
    own.map(|digest| digest.all.result_bytes).sum()
}

/// Bytes of the results of the queries in which gaps lie.
pub(super) fn results_of(ctx: &Context<'_>, pieces: &[&Piece]) -> i64 {
    let queries: BTreeSet<u64> = pieces.iter().filter_map(|piece| piece.sql_id).collect();
    queries.iter().filter_map(|id| ctx.run.sql_execution(*id)).map(|one| result_bytes(ctx, one)).sum()
}

/// What the log tells beside the gaps themselves.
pub(super) fn facts(ctx: &Context<'_>, kind: Kind, pieces: &[&Piece]) -> Vec<(&'static str, Value)> {
    let mut queries: Vec<u64> = pieces.iter().filter_map(|piece| piece.sql_id).collect();
    queries.sort_unstable();
    queries.dedup();
    let over_queries = |of: &dyn Fn(u64) -> i64| queries.iter().map(|id| of(*id)).sum::<i64>();
    let metric = |names: &'static [&'static str]| {
        over_queries(&|id| {
            let view = ctx.queries().contains(&id).then(|| ctx.sql_view(id)).flatten();
            view.map_or(0, |view| driver_ms(&view, names))
        })
    };
    let mut facts: Vec<(&'static str, Value)> = match kind {
        Kind::Startup => first_executor(ctx),
        Kind::Listing => vec![("metadata_time_ms", metric(&["metadata time"]).into())],
        Kind::Broadcast => {
            vec![
                ("collect_ms", metric(&["time to collect"]).into()),
                ("build_ms", metric(&["time to build"]).into()),
            ]
        }
        Kind::Commit => vec![
            ("task_commit_ms", metric(&["task commit time"]).into()),
            ("job_commit_ms", metric(&["job commit time"]).into()),
        ],
        Kind::Collect => vec![("result_bytes", results_of(ctx, pieces).into())],
        Kind::Planning | Kind::Code | Kind::End => Vec::new(),
    };
    if !queries.is_empty() {
        facts.push(("queries", queries.len().into()));
    }
    facts
}

/// When the first executor came: until then nothing could have run.
fn first_executor(ctx: &Context<'_>) -> Vec<(&'static str, Value)> {
    let first = ctx.run.executors.iter().filter_map(|executor| executor.added_ms).min();
    first.map(|added| ("first_executor_after_ms", (added - ctx.start_ms).max(0).into())).into_iter().collect()
}

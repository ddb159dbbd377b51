//! Time in which only the driver worked.

mod gaps;
mod kind;
mod one_by_one;
mod series;

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::replay::Edit;
use crate::words::{core_time, count, duration, rounded};
use gaps::{Piece, pieces};
use kind::Kind;
use std::collections::BTreeMap;

const NORMAL_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_gap_ms",
    default: 3_000.0,
    doc: "Part of a gap inside queries that planning and schema inference take in healthy runs; only what exceeds it counts.",
};

const CODE_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_code_ms",
    default: 1_000.0,
    doc: "Time outside queries between two jobs, or after the last one, that analysis and stopping take in healthy runs; \
          as much as the session took to come, if that is more, up to `normal_gap_ms`: then the machine is slow.",
};

const LAUNCH_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_launch_ms",
    default: 3_000.0,
    doc: "Time from the session, with the executors that came before the first query, to that query that a program needs; \
          what exceeds it is priced.",
};

const LONG_LAUNCH_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "long_launch_ms",
    default: 7_000.0,
    doc: "The same time, from which it counts at all.",
};

const LAUNCH_RATIO: Threshold = Threshold {
    tag: "DRIVER",
    name: "long_launch_ratio",
    default: 12.0,
    doc: "Times what the session took to come, up to its first executor, that this time must take besides: on a slow \
          machine both are long.",
};

const STARTUP_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_startup_ms",
    default: 30_000.0,
    doc: "Time from the run's start to its first job that is normal.",
};

const FIRST_QUERY_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_first_query_ms",
    default: 10_000.0,
    doc: "Part of the gap in which the first query is planned that is normal: the driver loads and compiles its own code.",
};

const BUDGET_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_gaps_ms",
    default: 15_000.0,
    doc: "Most that is taken for normal over all gaps beside the first, inside queries and outside, however many there are; in long runs it \
          is `normal_gaps_share` of the wall time, in short ones `normal_gaps_short_share`.",
};

const BUDGET_SHORT: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_gaps_short_share",
    default: 0.15,
    doc: "Share of the wall time that is taken for normal over all gaps at most, where it is less than `normal_gaps_ms`.",
};

const BUDGET_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_gaps_share",
    default: 0.05,
    doc: "Share of the wall time that is taken for normal over all gaps, where it is more than `normal_gaps_ms`.",
};

const BUDGET_SESSIONS: Threshold = Threshold {
    tag: "DRIVER",
    name: "normal_gaps_sessions",
    default: 5.0,
    doc: "The same as a multiple of what the session took to come, where that is more: the machine is slow.",
};

const MIN_EXCESS_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "min_excess_ms",
    default: 5_000.0,
    doc: "Driver-only time of one kind beyond what is normal, from which it is reported.",
};

const MIN_SHORT_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "min_short_excess_ms",
    default: 2_000.0,
    doc: "The same in a short run, where it takes `short_excess_share` of the wall time. In any run the fix must save that much at best.",
};

const SHORT_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "short_excess_share",
    default: 0.1,
    doc: "Share of the wall time from which `min_short_excess_ms` is enough.",
};

const RESULT_BYTES: Threshold = Threshold {
    tag: "DRIVER",
    name: "large_result_bytes",
    default: 10_485_760.0,
    doc: "Result of a query from which the time right after it counts as handling of the result.",
};

const MIN_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "min_excess_share",
    default: 0.05,
    doc: "Share of the wall time that driver-only time of all kinds beyond what is normal must reach.",
};

const ONE_QUERY_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "one_query_share",
    default: 0.9,
    doc: "Share of a kind's time that must lie in one query, for the finding to name it.",
};

const LOW_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "low_saving_share",
    default: 0.5,
    doc: "Share of the excess that a fix saves at least, where the log tells what the driver did.",
};

const LOW_RESULT_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "low_result_saving_share",
    default: 0.75,
    doc: "The same for handling of results: an aggregate or a written file takes next to nothing of it.",
};

const LOW_CODE_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "low_code_saving_share",
    default: 0.75,
    doc: "The same for time outside queries, if the program can do without it: what it did is not in the log.",
};

const NEEDED_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "needed_gap_ms",
    default: 300.0,
    doc: "What is left of a gap at best, of one that is longer than normal.",
};

/// Time in which only the driver worked.
pub static DRIVER: Detector = Detector {
    tag: "DRIVER",
    title: "Driver-bound time",
    types: &[FindingType {
        name: "driverBound",
        what: "No job ran for a large part of the run: the driver planned, listed, committed, collected or ran its own \
               code.",
    }],
    thresholds: &[
        NORMAL_MS,
        CODE_MS,
        LAUNCH_MS,
        LONG_LAUNCH_MS,
        LAUNCH_RATIO,
        STARTUP_MS,
        FIRST_QUERY_MS,
        BUDGET_MS,
        BUDGET_SHARE,
        BUDGET_SHORT,
        BUDGET_SESSIONS,
        MIN_EXCESS_MS,
        MIN_SHORT_MS,
        SHORT_SHARE,
        RESULT_BYTES,
        MIN_SHARE,
        ONE_QUERY_SHARE,
        LOW_SHARE,
        LOW_RESULT_SHARE,
        LOW_CODE_SHARE,
        NEEDED_MS,
        series::MIN_QUERIES,
        series::MAX_QUERY_MS,
        series::MIN_OVERHEAD,
        series::LOW_SHARE,
        one_by_one::MIN_JOBS,
        one_by_one::MIN_MS,
        one_by_one::LOW_SHARE,
        gaps::RIGHT_AFTER_MS,
        gaps::CAUSE_SHARE,
    ],
    checks: &[Check::App(check), Check::App(series::check), Check::App(one_by_one::check)],
    what: "For a large part of the run no job was active: executors waited for the driver. The evidence tells what lay \
           around such gaps, one finding for each kind:\n\n* `startup`: before the session and its executors were there.\n* `planning`: in a query, \
           before a job of it.\n* `listing`: the same, with the scan's own `metadata time` as long.\n* `broadcast`: the \
           same, with collecting and building of a broadcast as long.\n* `commit`: after the last job of a query that \
           writes.\n* `collect`: after the last job of a query that does not write, or right after a query with a large result: results \
           become rows or frames.\n* `code`: outside any query: the program's own code, analysis of queries, waiting for \
           others. Time up to the coming of an executor is a wait for it and does not count.\n* `end`: after the last job.\n* `series`: many queries \
           of one place in the program, one after another, each far too small for the cluster.\n* `oneByOne`: jobs of one task \
           each, one after another, of one query or RDD: `toLocalIterator` and loops over partitions.",
    rule: "Gaps are what the union of all jobs leaves of the run. Of start-up `normal_startup_ms`, of the gap with the first query \
           `normal_first_query_ms` inside and `normal_gap_ms` more outside, inside queries of every other gap `normal_gap_ms`, outside `normal_code_ms` are taken for normal, largest gaps \
           first, up to `normal_gaps_ms` (or `normal_gaps_share` of a long run, `normal_gaps_short_share` of a short one, or `normal_gaps_sessions`) in \
           all. From the session to the first query only `long_launch_ms` and `long_launch_ratio` \
           count, and then what exceeds `normal_launch_ms`. A kind is reported when the rest of its gaps reaches \
           `min_excess_ms` (or `min_short_excess_ms` and `short_excess_share` of the wall time), and that of all kinds \
           `min_excess_share`. Start-up is a fact to know and no saving. At best `needed_gap_ms` is left of a gap that is longer than normal.\n\n\
           A series is `series_min_queries` or more root queries of few places in the program (each comes five times or more), one after \
           another without a pause, that take `series_max_query_ms` or less on average, whose \
           time, beyond what their tasks need on the slots that were there, is at least `series_min_overhead_share` of it. \
           One query instead of them needs their tasks' time, or, where all of them read equally many rows, that of one: \
           then it reads once what each of them read again.\n\n\
           Jobs go one by one where `one_by_one_min_jobs` or more of one query (or of none) and one call site ran a single \
           task each, none beside another, and all slots would have done the same work `one_by_one_min_ms` sooner.",
    why: "Every core of the cluster is idle in such a gap. More executors do not help; they only wait too.",
    fix: "* planning, listing: give the schema, prune partitions, keep table statistics in a catalog or table format, do \
          not build plans in loops.\n* commit: fewer files and partitions, a committer made for the storage.\n* collect: \
          write large results instead of collecting them.\n* code: run independent queries at the same time.\n* series: one \
          query over all values instead of a query for each.\n\n```python\n\
          df = spark.read.schema(\"id LONG, day DATE\").parquet(path)   # no inference job\ndf.write.parquet(out)         \
          # instead of df.toPandas()\nwith ThreadPoolExecutor(4) as pool:\n    list(pool.map(run_report, reports))\n```\n\n\
          ```sql\n-- read partitions of a catalog table, not a directory tree\nSELECT * FROM sales WHERE day = DATE \
          '2026-01-31'\n```",
    limits: "What the driver did outside queries is not in the log. In notebooks and servers such time is mostly a \
             person's: there only time inside queries counts. Streaming queries wait between triggers by design: runs \
             with streams are not judged. Work that executors do for listing is a job, and no gap.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.run.jobs.is_empty() {
        return;
    }
    let Some(wall) = ctx.wall_ms else {
        sink.not_checked("driverBound", "the length of the run is not known", None);
        return;
    };
    if !ctx.run.streams.is_empty() {
        sink.not_checked("driverBound", "streaming queries wait between triggers by design", None);
        return;
    }
    let mut pieces = pieces(ctx);
    if !is_session(ctx) {
        gaps::name_results(ctx, &mut pieces, ctx.get(&RESULT_BYTES));
    }
    allow_what_is_normal(ctx, wall, &mut pieces);
    pieces.retain(|piece| piece.excess_ms > 0);
    gaps::look_closer(ctx, &mut pieces);
    if is_session(ctx) {
        pieces.retain(|piece| !matches!(piece.kind, Kind::Code | Kind::End | Kind::Startup));
        sink.not_checked("driverBound", "in a session, time outside queries may be a person's", None);
    }
    let total: i64 = pieces.iter().map(|piece| piece.excess_ms).sum();
    if (total as f64) < ctx.get(&MIN_SHARE) * wall as f64 {
        return;
    }
    for kind in Kind::ALL {
        let own: Vec<&Piece> = pieces.iter().filter(|piece| piece.kind == kind).collect();
        let excess: i64 = own.iter().map(|piece| piece.excess_ms).sum();
        let is_large_for_the_run =
            excess as f64 >= ctx.get(&MIN_SHORT_MS) && excess as f64 >= ctx.get(&SHORT_SHARE) * wall as f64;
        let is_long = excess as f64 >= ctx.get(&MIN_EXCESS_MS);
        if (is_long || is_large_for_the_run) && !ctx.is_immaterial(excess) {
            sink.claim(claim(ctx, kind, &own, excess));
        }
    }
}

/// Takes from every gap what healthy runs need too, inside queries and outside.
fn allow_what_is_normal(ctx: &Context<'_>, wall: i64, pieces: &mut [Piece]) {
    let first_query = pieces.iter().find(|piece| piece.sql_id.is_some());
    let gap_of_first = first_query.filter(|piece| is_first_planning(ctx, piece)).map(|piece| piece.gap);
    let part_of = |piece: &Piece| (piece.gap, piece.kind.is_in_query());
    let mut parts: BTreeMap<(usize, bool), Part> = BTreeMap::new();
    for piece in pieces.iter().filter(|piece| !piece.is_before_session()) {
        let part = parts.entry(part_of(piece)).or_default();
        part.length += piece.length_ms as f64;
        part.is_first |= piece.is_before_first_job;
    }
    let session = session_ms(ctx) as f64;
    let long_launch = ctx.get(&LONG_LAUNCH_MS).max(ctx.get(&LAUNCH_RATIO) * session);
    let code = session.min(ctx.get(&NORMAL_MS)).max(ctx.get(&CODE_MS));
    let short = (ctx.get(&BUDGET_SHORT) * wall as f64).max(ctx.get(&BUDGET_SESSIONS) * session);
    let of_short = ctx.get(&BUDGET_MS).min(short);
    let mut budget = of_short.max(ctx.get(&BUDGET_SHARE) * wall as f64);
    let mut largest_first: Vec<(&(usize, bool), &mut Part)> = parts.iter_mut().collect();
    largest_first.sort_by(|a, b| b.1.length.total_cmp(&a.1.length).then(a.0.cmp(b.0)));
    for ((gap, is_in_query), part) in largest_first {
        let normal = match is_in_query {
            true if part.is_first => ctx.get(&STARTUP_MS),
            true if gap_of_first == Some(*gap) => ctx.get(&FIRST_QUERY_MS),
            false if part.is_first && part.length < long_launch => part.length,
            false if part.is_first => ctx.get(&LAUNCH_MS),
            // After jobs on rows alone, the first query loads what SQL needs: catalog, analyzer, generated code.
            false if gap_of_first == Some(*gap) => ctx.get(&NORMAL_MS) + code,
            _ => {
                let most = if *is_in_query { ctx.get(&NORMAL_MS) } else { code };
                let normal = most.min(budget).min(part.length);
                budget -= normal;
                normal
            }
        };
        part.excess_share = (part.length - normal).max(0.0) / part.length.max(1.0);
    }
    for piece in pieces {
        let length = piece.length_ms as f64;
        let excess = match parts.get(&part_of(piece)) {
            Some(part) if !piece.is_before_session() => length * part.excess_share,
            _ => length - ctx.get(&STARTUP_MS),
        };
        piece.excess_ms = excess.max(0.0) as i64;
    }
}

/// From the start of the run to its first executor: how fast the machine starts things.
fn session_ms(ctx: &Context<'_>) -> i64 {
    let first = ctx.run.executors.iter().filter_map(|executor| executor.added_ms).min();
    first.map_or(0, |added| (added - ctx.start_ms).max(0))
}

/// What of a gap lies inside queries, or outside.
#[derive(Default)]
struct Part {
    length: f64,
    is_first: bool,
    excess_share: f64,
}

impl Piece {
    fn is_before_session(&self) -> bool {
        self.kind == Kind::Startup
    }
}

/// Whether no query had a job before this part of a gap.
fn is_first_planning(ctx: &Context<'_>, piece: &Piece) -> bool {
    let in_query = ctx.run.jobs.iter().filter(|job| job.sql_execution_id.is_some());
    in_query.filter_map(|job| job.start_ms).all(|start| start > piece.from_ms)
}

/// Whether people or clients type queries into this application: time between queries is theirs.
fn is_session(ctx: &Context<'_>) -> bool {
    let name = ctx.run.application.name.as_deref().unwrap_or("").to_ascii_lowercase();
    !ctx.run.connect.is_empty()
        || is_typed(ctx)
        || [
            "thrift jdbc",
            "databricks shell",
            "spark shell",
            "spark-shell",
            "pysparkshell",
            "zeppelin",
            "jupyter",
            "livy",
            "kyuubi",
            "sparkr",
        ]
        .iter()
        .any(|text| name.contains(text))
}

/// Whether lines are typed into an interpreter: Scala's has a place for the classes that it compiles, and call sites
/// name what is no file.
fn is_typed(ctx: &Context<'_>) -> bool {
    const PROMPTS: [&str; 3] = ["<stdin>", "<console>", "<ipython-input"];
    let has_repl = ["spark.repl.class.uri", "spark.repl.class.outputDir"]
        .iter()
        .any(|key| ctx.run.spark_property(key).is_some());
    let is_typed = |text: &str| PROMPTS.iter().any(|prompt| text.contains(prompt));
    has_repl || ctx.run.jobs.iter().any(|job| job.call_site.as_deref().is_some_and(is_typed))
}

fn claim(ctx: &Context<'_>, kind: Kind, pieces: &[&Piece], excess: i64) -> Claim {
    let length: i64 = pieces.iter().map(|piece| piece.length_ms).sum();
    let idle: i64 = pieces
        .iter()
        .filter_map(|piece| ctx.available_core_ms(piece.from_ms, piece.from_ms + piece.length_ms))
        .sum();
    let longest = pieces.iter().max_by_key(|piece| piece.length_ms);
    // What a small result leaves the driver to do is not its handling.
    let result_bytes = gaps::results_of(ctx, pieces) as f64;
    let is_small = kind == Kind::Collect && result_bytes > 0.0 && result_bytes < ctx.get(&RESULT_BYTES);
    let title = format!(
        "{}: {} without a job{}",
        if is_small { kind::SMALL_RESULT.title } else { kind.title() },
        duration(length),
        if idle > 0 { format!(", {} of executors idle", core_time(idle)) } else { String::new() }
    );
    let scope = Scope { sql_id: only_query(ctx, pieces), ..Scope::default() };
    let mut claim = Claim::new("driverBound", scope, title)
        .evidence("kind", kind.name())
        .evidence("driver_only_ms", length)
        .evidence("beyond_normal_ms", excess)
        .evidence("gaps", pieces.len())
        .evidence("longest_gap_ms", longest.map_or(0, |piece| piece.length_ms))
        .evidence("idle_core_ms", idle)
        .evidence("wall_share", rounded(ctx.share_of_wall(length).unwrap_or(0.0)))
        .advice(format!(
            "{} The time lies in {}{}.",
            if is_small { kind::SMALL_RESULT.advice } else { kind.advice() },
            count(pieces.len(), "gap"),
            longest
                .and_then(|piece| piece.job)
                .map_or(String::new(), |job| format!(", the longest before job {job}"))
        ))
        .change(if is_small {
            Change::code(kind::SMALL_RESULT.place, kind::SMALL_RESULT.change)
        } else {
            kind.change()
        });
    for (name, value) in gaps::facts(ctx, kind, pieces) {
        claim = claim.evidence(name, value);
    }
    claim.subject = kind.name().to_owned();
    claim.nature = Nature::Code;
    claim.confidence = kind.confidence();
    claim.core_ms = Some((idle as f64 * excess as f64 / length.max(1) as f64) as i64);
    let needed = ctx.get(&NEEDED_MS) as i64;
    let high: Vec<Edit> = pieces.iter().filter_map(|piece| piece.edit(piece.at_best_ms(needed))).collect();
    let edits = |share: f64| {
        let by = |piece: &&&Piece| (piece.excess_ms as f64 * share) as i64;
        pieces.iter().filter_map(|piece| piece.edit(by(&piece))).collect::<Vec<Edit>>()
    };
    let low = match kind {
        _ if kind.confidence() == Confidence::Low => ctx.get(&LOW_CODE_SHARE),
        Kind::Collect => ctx.get(&LOW_RESULT_SHARE),
        _ => ctx.get(&LOW_SHARE),
    };
    claim.worth = Worth::Replay { low: edits(low), high };
    // Of what is beyond normal only that counts which the run can be shorter by.
    claim.least_ms = ctx.get(&MIN_SHORT_MS) as i64;
    if kind == Kind::Startup {
        // Mostly the cluster's and the machine's time: a fact to know, with nothing in the log to price it by.
        claim.worth = Worth::None;
        claim.severity = Some(Severity::Info);
    }
    claim.validate = kind.validate().to_owned();
    claim
}

/// The query that nearly all of the time lies in, if there is one.
fn only_query(ctx: &Context<'_>, pieces: &[&Piece]) -> Option<u64> {
    let mut by_query: BTreeMap<Option<u64>, i64> = BTreeMap::new();
    for piece in pieces {
        *by_query.entry(piece.sql_id).or_default() += piece.length_ms;
    }
    let total: i64 = by_query.values().sum();
    let (query, most) = by_query.into_iter().max_by_key(|(_, ms)| *ms)?;
    query.filter(|_| most as f64 >= total as f64 * ctx.get(&ONE_QUERY_SHARE))
}

//! Streaming queries that do not keep up, grow without end, or stand still.

mod series;
mod slowing;

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{count, duration, percent, rounded, size};
use emberscope_model::distribution::Distribution;
use emberscope_model::streaming::StreamRun;
use series::{Batch, batches};

const MIN_BATCHES: Threshold = Threshold {
    tag: "STREAM",
    name: "min_batches",
    default: 12.0,
    doc: "Batches with input that a query must have had.",
};

const SHORT_BATCHES: Threshold = Threshold {
    tag: "STREAM",
    name: "min_batches_behind",
    default: 3.0,
    doc: "Batches with input, all of a query that had less than `min_batches`, that show a backlog or an overrun when none \
          of them kept up.",
};

const SHORT_RATIO: Threshold = Threshold {
    tag: "STREAM",
    name: "short_behind_ratio",
    default: 1.25,
    doc: "Rows that arrive per second over rows processed per second, that each batch of such a query must reach.",
};

const STATE_BATCHES: Threshold = Threshold {
    tag: "STREAM",
    name: "min_state_batches",
    default: 8.0,
    doc: "Batches with input from which state that grows evenly, without any watermark, or a watermark that stood still in all of them, is a fact to know.",
};

const STATE_ROWS_UNBOUNDED: Threshold = Threshold {
    tag: "STREAM",
    name: "min_state_rows_unbounded",
    default: 10_000.0,
    doc: "Rows of state from which its growth without any watermark is a fact to know.",
};

const WARM_UP: Threshold = Threshold {
    tag: "STREAM",
    name: "warm_up_batches",
    default: 2.0,
    doc: "First batches that are left out: they start the JVM's code, and may hold a backlog of before the start.",
};

const BEHIND_RATIO: Threshold = Threshold {
    tag: "STREAM",
    name: "behind_ratio",
    default: 1.1,
    doc: "Rows that arrive per second over rows processed per second, from which a batch falls behind.",
};

const BEHIND_SHARE: Threshold = Threshold {
    tag: "STREAM",
    name: "behind_share",
    default: 0.6,
    doc: "Share of batches that must fall behind, for a backlog.",
};

const GROWTH_RATIO: Threshold = Threshold {
    tag: "STREAM",
    name: "backlog_growth_ratio",
    default: 1.5,
    doc: "Median rows per batch in the last third over the first third, from which batches grow.",
};

const OVERRUN_SHARE: Threshold = Threshold {
    tag: "STREAM",
    name: "overrun_share",
    default: 0.2,
    doc: "Share of batches that must take longer than the trigger interval.",
};

const STATE_RATIO: Threshold = Threshold {
    tag: "STREAM",
    name: "state_growth_ratio",
    default: 1.5,
    doc: "State at the end over state a third into the run, from which it grows.",
};

const STATE_BYTES: Threshold = Threshold {
    tag: "STREAM",
    name: "min_state_bytes",
    default: 67_108_864.0,
    doc: "Memory of the state at the end from which its growth matters.",
};

const STATE_ROWS: Threshold = Threshold {
    tag: "STREAM",
    name: "min_state_rows",
    default: 500_000.0,
    doc: "Rows of state at the end from which its growth matters, whatever memory they take.",
};

const STUCK_BATCHES: Threshold = Threshold {
    tag: "STREAM",
    name: "stuck_batches",
    default: 10.0,
    doc: "Batches in a row with input and rows of state over which the watermark did not move.",
};

/// Streaming queries that do not keep up, grow without end, or stand still.
pub static STREAM: Detector = Detector {
    tag: "STREAM",
    title: "Streaming",
    types: &[
        FindingType {
            name: "batchBacklog",
            what: "A streaming query takes in rows faster than it processes them.",
        },
        FindingType {
            name: "stateGrowth",
            what: "The state of a streaming query grows without levelling off.",
        },
        FindingType {
            name: "watermarkStuck",
            what: "The watermark stands still while rows come in: state is never freed.",
        },
        FindingType {
            name: "triggerOverrun",
            what: "Batches take longer than the trigger interval, or longer and longer for the same rows.",
        },
    ],
    thresholds: &[
        MIN_BATCHES,
        SHORT_BATCHES,
        SHORT_RATIO,
        STATE_BATCHES,
        STATE_ROWS_UNBOUNDED,
        WARM_UP,
        BEHIND_RATIO,
        BEHIND_SHARE,
        GROWTH_RATIO,
        OVERRUN_SHARE,
        STATE_RATIO,
        STATE_BYTES,
        STATE_ROWS,
        STUCK_BATCHES,
        slowing::SLOWING_RATIO,
    ],
    checks: &[Check::App(check)],
    what: "Micro-batches as the query's progress reports them. `batchBacklog`: rows arrive faster than they are processed, \
           and batches grow. `triggerOverrun`: batches take longer than the interval at which they are triggered. \
           `stateGrowth`: rows of state grow through the whole run. `watermarkStuck`: the watermark does not move although \
           rows arrive, so that no state is ever dropped and no window is ever closed.",
    rule: "After `warm_up_batches` a query needs `min_batches` with input. Backlog: in `behind_share` of them the input rate is \
           `behind_ratio` times the processing rate, and the median of rows per batch grew `backlog_growth_ratio`-fold \
           from the first to the last third. A query with fewer batches must have `min_batches_behind`, each with more rows than \
           the one before, and each behind by `short_behind_ratio`. Overrun: the trigger interval is read off the pauses \
           between batches, and `overrun_share` of the batches take longer; with few pauses it is the longest interval that \
           fits when batches started, and at least `min_batches_behind` batches, all of them, take longer. Without pauses no interval \
           is known: then at least `min_batches_behind` batches of about the same rows must each take longer than the one before, and \
           the last of them `slowing_ratio` times as long as the first (variant `slowing`). State: it never \
           shrank noticeably, grew `state_growth_ratio`-fold \
           since a third into the run, still grows in the last third, and holds `min_state_bytes` or `min_state_rows`; without \
           any watermark `min_state_batches` and `min_state_rows_unbounded` make it a fact to know. \
           Watermark: unchanged over the last `stuck_batches` batches with input, with rows in the state and the largest \
           event time moving on; where event time itself was the same in all batches, at least `min_state_batches`, and state \
           never shrank, it is a fact to know (variant `eventTime`).",
    why: "A backlog grows until batches fail or data expires at the source. State without a bound ends in memory or \
          checkpoint trouble. Idle time between triggers is by design and is no finding.",
    fix: "Limit what a batch takes, give it cores, bound the state:\n\n```python\n(events.withWatermark(\"ts\", \"10 \
          minutes\")\n    .groupBy(window(\"ts\", \"5 minutes\"), \"key\").count()\n    .writeStream.trigger(processingTime=\
          \"30 seconds\")\n    .option(\"checkpointLocation\", path).start())\n```\n\n```sql\nSET \
          spark.sql.streaming.stateStore.providerClass=\
          org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;\n```\n\nA watermark that stands still \
          is mostly an input without new rows: the slowest of several inputs decides.",
    limits: "Progress events are kept as the log has them; rates are null in batches without input. The trigger is not in the \
             log: without pauses between batches it cannot be told from an endless run of batches, and batches whose rows grow as \
             fast as their time are a backlog at most. Whether more cores help \
             depends on the number of source partitions.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    for (n, stream) in ctx.run.streams.iter().enumerate() {
        let all = batches(stream);
        let warm = all.get(ctx.get(&WARM_UP) as usize..).unwrap_or_default();
        let fed: Vec<&Batch> = warm.iter().filter(|batch| batch.rows > 0).collect();
        let subject = subject(stream, n);
        let claims = if (fed.len() as f64) < ctx.get(&MIN_BATCHES) {
            // The first batch starts the code; every one after it counts.
            let few: Vec<&Batch> = all.iter().skip(1).filter(|batch| batch.rows > 0).collect();
            [short_backlog(ctx, &few), short_overrun(ctx, &all), state_growth(ctx, &fed), frozen(ctx, &fed)]
        } else {
            let stuck = watermark_stuck(ctx, &fed).or_else(|| frozen(ctx, &fed));
            [backlog(ctx, &fed), overrun(ctx, warm), state_growth(ctx, &fed), stuck]
        };
        let mut claims: Vec<Claim> = claims.into_iter().flatten().collect();
        let keeps_up = |claim: &Claim| !matches!(claim.kind, "batchBacklog" | "triggerOverrun");
        if claims.iter().all(keeps_up) {
            claims.extend(slowing::slowing(ctx, &all));
        }
        let is_late = claims.iter().any(|claim| claim.kind == "triggerOverrun");
        if fed.len() as f64 >= ctx.get(&SHORT_BATCHES) && !is_late && !series::has_pauses(&all) {
            let reason = "batches followed each other without a pause: whether a trigger has an interval is not in the log";
            sink.not_checked("triggerOverrun", reason, None);
        }
        for mut claim in claims {
            claim.title = format!("{}: {}", label(stream), claim.title);
            claim.subject.clone_from(&subject);
            claim = claim.evidence("query", label(stream));
            sink.claim(claim);
        }
    }
}

/// The same in every run of the job: the name, else the place among the queries.
fn subject(stream: &StreamRun, n: usize) -> String {
    stream.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("query {n}"))
}

fn label(stream: &StreamRun) -> String {
    let id = stream.query_id.as_deref().unwrap_or(&stream.run_id);
    let short: String = id.chars().take(8).collect();
    match stream.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => format!("query {name}"),
        None => format!("query {short}"),
    }
}

fn backlog(ctx: &Context<'_>, fed: &[&Batch]) -> Option<Claim> {
    let rated: Vec<(f64, f64)> =
        fed.iter().filter_map(|batch| batch.input_rate.zip(batch.processed_rate)).collect();
    if (rated.len() as f64) < ctx.get(&MIN_BATCHES) {
        return None;
    }
    let is_behind = |(input, processed): &&(f64, f64)| *input > *processed * ctx.get(&BEHIND_RATIO);
    let behind = rated.iter().filter(is_behind).count() as f64 / rated.len() as f64;
    let third = fed.len() / 3;
    let rows = |batches: &[&Batch]| Distribution::of(batches.iter().map(|batch| batch.rows)).median();
    let (first, last) = (rows(&fed[..third])?, rows(&fed[fed.len() - third..])?);
    let growth = if first > 0.0 { last / first } else { return None };
    if behind < ctx.get(&BEHIND_SHARE) || growth < ctx.get(&GROWTH_RATIO) {
        return None;
    }
    Some(backlog_claim(&rated, behind, first, last))
}

/// A short query none of whose batches kept up: each has more rows than the one before, for it took longer
/// than these took to come.
fn short_backlog(ctx: &Context<'_>, fed: &[&Batch]) -> Option<Claim> {
    let rated: Vec<(f64, f64)> =
        fed.iter().filter_map(|batch| batch.input_rate.zip(batch.processed_rate)).collect();
    let is_behind = |(input, processed): &(f64, f64)| *input >= *processed * ctx.get(&SHORT_RATIO);
    let grows = fed.windows(2).all(|pair| pair[1].rows > pair[0].rows);
    let (first, last) = (fed.first()?.rows as f64, fed.last()?.rows as f64);
    if (fed.len() as f64) < ctx.get(&SHORT_BATCHES)
        || rated.len() < fed.len()
        || !rated.iter().all(is_behind)
        || !grows
        || last < first * ctx.get(&GROWTH_RATIO)
    {
        return None;
    }
    let mut claim = backlog_claim(&rated, 1.0, first, last);
    claim.confidence = Confidence::Low;
    Some(claim)
}

fn backlog_claim(rated: &[(f64, f64)], behind: f64, first: f64, last: f64) -> Claim {
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| rated.iter().map(of).sum::<f64>() / rated.len() as f64;
    let (input, processed) = (mean(&|rate| rate.0), mean(&|rate| rate.1));
    let title = format!(
        "{input:.0} rows arrive per second and {processed:.0} are processed; batches grew from {first:.0} to {last:.0} rows"
    );
    let mut claim = base("batchBacklog", title)
        .evidence("input_rows_per_second", rounded(input))
        .evidence("processed_rows_per_second", rounded(processed))
        .evidence("behind_share", rounded(behind))
        .evidence("first_third_rows", first)
        .evidence("last_third_rows", last)
        .evidence("batches", rated.len())
        .advice(
            "Give the query more cores (and the source as many partitions), do less for each row, or limit what a batch \
             takes so that batches stay even.",
        )
        .change(Change::resource("cores", None, "more, with as many source partitions"));
    claim.nature = Nature::Resource;
    claim.validate = "Rates that meet again after a peak of input refute it.".to_owned();
    claim
}

fn overrun(ctx: &Context<'_>, batches: &[Batch]) -> Option<Claim> {
    let interval = series::trigger_interval(batches)?;
    let timed: Vec<i64> = batches.iter().filter(|batch| batch.rows > 0).map(|batch| batch.took_ms).collect();
    let over = timed.iter().filter(|took| **took > interval).count();
    let share = over as f64 / timed.len().max(1) as f64;
    if over == 0 || share < ctx.get(&OVERRUN_SHARE) {
        return None;
    }
    Some(overrun_claim(&timed, interval, false))
}

/// A short query all of whose batches take longer than the longest interval that it can have.
fn short_overrun(ctx: &Context<'_>, batches: &[Batch]) -> Option<Claim> {
    let interval = series::longest_interval(batches)?;
    let fed = batches.iter().skip(1).filter(|batch| batch.rows > 0);
    let timed: Vec<i64> = fed.map(|batch| batch.took_ms).collect();
    let is_enough = timed.len() as f64 >= ctx.get(&SHORT_BATCHES);
    if !is_enough || timed.iter().any(|took| *took <= interval) {
        return None;
    }
    let mut claim = overrun_claim(&timed, interval, true);
    claim.confidence = Confidence::Low;
    Some(claim)
}

fn overrun_claim(timed: &[i64], interval: i64, is_at_most: bool) -> Claim {
    let over = timed.iter().filter(|took| **took > interval).count();
    let share = over as f64 / timed.len().max(1) as f64;
    let median = Distribution::of(timed.iter().copied()).median().unwrap_or(0.0);
    let longest = timed.iter().copied().max().unwrap_or(0);
    let title = format!(
        "{over} of {} took longer than the trigger interval of {}{} (longest {})",
        count(timed.len(), "batch"),
        if is_at_most { "at most " } else { "" },
        duration(interval),
        duration(longest)
    );
    let mut claim = base("triggerOverrun", title)
        .evidence("trigger_interval_ms", interval)
        .evidence("overrun_batches", over)
        .evidence("batches", timed.len())
        .evidence("overrun_share", rounded(share))
        .evidence("median_batch_ms", median)
        .evidence("longest_batch_ms", longest)
        .advice("Make batches faster, or the interval longer: batches that run over start late and take in more each time.")
        .change(Change::code("trigger", "a longer processing time, or none"));
    claim.nature = Nature::Code;
    claim.confidence = Confidence::Medium;
    claim.validate =
        "A trigger without an interval refutes it: it is read off the pauses between batches.".to_owned();
    claim
}

fn state_growth(ctx: &Context<'_>, fed: &[&Batch]) -> Option<Claim> {
    let rows: Vec<i64> = fed.iter().map(|batch| batch.state_rows).collect();
    let (early, late) = (*rows.get(rows.len() / 3)?, *rows.last()?);
    let last_third = *rows.get(rows.len() - rows.len() / 3)?;
    let memory = fed.last()?.state_bytes;
    let never_shrank = rows.windows(2).all(|pair| pair[1] >= pair[0]);
    let ratio = if early > 0 { late as f64 / early as f64 } else { return None };
    // Still growing: the last third added about as much as it would if growth were steady.
    let still_grows = (late - last_third) as f64 * 3.0 >= (late - early) as f64 * HALF;
    let has_watermark = fed.iter().any(|batch| batch.watermark_ms.is_some_and(|watermark| watermark > 0));
    let is_long = rows.len() as f64 >= ctx.get(&MIN_BATCHES);
    let matters = is_long && (memory as f64 >= ctx.get(&STATE_BYTES) || late as f64 >= ctx.get(&STATE_ROWS));
    // Nothing will ever bound it: a fact to know while it is small.
    let is_unbounded = rows.len() as f64 >= ctx.get(&STATE_BATCHES)
        && !has_watermark
        && late as f64 >= ctx.get(&STATE_ROWS_UNBOUNDED);
    if !never_shrank || ratio < ctx.get(&STATE_RATIO) || !still_grows || !(matters || is_unbounded) {
        return None;
    }
    let title = format!("state grew from {early} to {late} rows ({}) and never shrank", size(memory));
    let advice = if has_watermark {
        "The watermark does not free the state: check that the stateful operator groups or joins on the event-time column, \
         and that the delay is not longer than the run."
    } else {
        "Bound the state with a watermark (or a timeout), or it grows with every new key."
    };
    let mut claim = base("stateGrowth", title)
        .evidence("state_rows_early", early)
        .evidence("state_rows", late)
        .evidence("state_bytes", memory)
        .evidence("growth_ratio", rounded(ratio))
        .evidence("has_watermark", has_watermark)
        .evidence("batches", rows.len())
        .advice(advice)
        .change(Change::code("stateful operator", "a watermark on the event time it groups by"));
    claim.nature = Nature::Code;
    if !matters {
        claim.severity = Some(Severity::Info);
    }
    claim.validate =
        "State that levels off in a longer run refutes it: all keys were just not seen yet.".to_owned();
    Some(claim)
}

/// Share of steady growth that still counts as growing.
const HALF: f64 = 0.5;

fn watermark_stuck(ctx: &Context<'_>, fed: &[&Batch]) -> Option<Claim> {
    let needed = ctx.get(&STUCK_BATCHES) as usize;
    let last = fed.last()?;
    let watermark = last.watermark_ms?;
    let still = fed.iter().rev().take_while(|batch| batch.watermark_ms == Some(watermark)).count();
    if still < needed.max(1) || last.state_rows == 0 {
        return None;
    }
    let tail = &fed[fed.len() - still..];
    // Event time has to move on through the whole of it: the watermark follows one batch behind, and events
    // that do not move on leave it where it is, rightly.
    let times: Vec<i64> = tail.iter().filter_map(|batch| batch.max_event_ms).collect();
    let (before, after) = times.split_at(times.len() / 2);
    let (first, middle, latest) = (*before.first()?, *before.iter().max()?, *after.iter().max()?);
    if latest <= middle {
        return None;
    }
    let moved = latest - first;
    let title = format!(
        "the watermark stood still for {} with input, while event time moved on by {}",
        count(still, "batch"),
        duration(moved)
    );
    let share = still as f64 / fed.len() as f64;
    let mut claim = base("watermarkStuck", title)
        .evidence("batches_without_move", still)
        .evidence("batches", fed.len())
        .evidence("stuck_share", rounded(share))
        .evidence("event_time_moved_ms", moved)
        .evidence("state_rows", last.state_rows)
        .advice(format!(
            "Over {} of the batches no state could be freed. With several inputs the slowest one holds the watermark: look \
             for an input without new rows, or set spark.sql.streaming.multipleWatermarkPolicy to max if late rows may \
             be dropped.",
            percent(share)
        ))
        .changes(ctx.conf(None).propose("spark.sql.streaming.multipleWatermarkPolicy", "max"));
    claim.nature = Nature::Data;
    claim.validate = "A watermark that moves in later batches refutes it.".to_owned();
    Some(claim)
}

/// Event time that is the same in every batch: the watermark follows it and stands still, and the state that waits
/// for it stays. That may be right (the days of a calendar), so that it is a fact and no fault.
fn frozen(ctx: &Context<'_>, fed: &[&Batch]) -> Option<Claim> {
    let (first, last) = (fed.first()?, fed.last()?);
    let (watermark, event) = (last.watermark_ms?, last.max_event_ms?);
    let is_still =
        |batch: &&Batch| batch.watermark_ms == Some(watermark) && batch.max_event_ms == Some(event);
    let never_shrank = fed.windows(2).all(|pair| pair[1].state_rows >= pair[0].state_rows);
    let is_enough = fed.len() as f64 >= ctx.get(&STATE_BATCHES);
    if !is_enough || !fed.iter().all(is_still) || !never_shrank || last.state_rows == 0 {
        return None;
    }
    let title = format!(
        "event time was the same in {} with input: the watermark stood still, and {} of state were never freed",
        count(fed.len(), "batch"),
        count(usize::try_from(last.state_rows).unwrap_or(0), "row"),
    );
    let mut claim = base("watermarkStuck", title)
        .evidence("batches_without_move", fed.len())
        .evidence("batches", fed.len())
        .evidence("event_time_moved_ms", 0)
        .evidence("passed_ms", last.trigger_ms - first.trigger_ms)
        .evidence("state_rows", last.state_rows)
        .advice(
            "Look at the column that the watermark is on: a constant, a default or a date cut to its day never moves it on. Take \
             the time at which the event happened.",
        )
        .change(Change::code("withWatermark", "a column of event time that moves on"));
    claim.variant = Some("eventTime");
    claim.nature = Nature::Data;
    claim.confidence = Confidence::Low;
    claim.severity = Some(Severity::Info);
    claim.validate =
        "Event time that moves on in later batches (the next day, the next file) refutes it.".to_owned();
    Some(claim)
}

fn base(kind: &'static str, title: String) -> Claim {
    let mut claim = Claim::new(kind, Scope::default(), title);
    claim.confidence = Confidence::Medium;
    claim.worth = Worth::None;
    claim.severity = Some(Severity::Warning);
    claim
}

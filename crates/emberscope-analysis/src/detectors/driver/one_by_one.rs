//! Jobs of one task, one after another: a result that is fetched partition by partition.

use crate::context::{Context, StageDigest};
use crate::detector::{Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::words::{core_time, duration, rounded};
use emberscope_model::run::Job;
use std::collections::BTreeMap;

pub(super) const MIN_JOBS: Threshold = Threshold {
    tag: "DRIVER",
    name: "one_by_one_min_jobs",
    default: 8.0,
    doc: "Jobs of one task from one place in the program, one after another, from which they are looked at.",
};

pub(super) const MIN_MS: Threshold = Threshold {
    tag: "DRIVER",
    name: "one_by_one_min_ms",
    default: 3_000.0,
    doc: "Time beside what all slots would have needed for their tasks that such jobs must take, milliseconds.",
};

pub(super) const LOW_SHARE: Threshold = Threshold {
    tag: "DRIVER",
    name: "one_by_one_low_saving_share",
    default: 0.75,
    doc: "Share of that time that running the tasks beside each other saves at least.",
};

/// Jobs of one query, or of none, from one place in the program, with the stage of one task that each ran.
struct Row<'r> {
    sql_id: Option<u64>,
    place: &'r str,
    jobs: Vec<(&'r Job, &'r StageDigest)>,
}

pub(super) fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.wall_ms.is_none() || !ctx.run.streams.is_empty() {
        return;
    }
    for row in rows(ctx) {
        let alone_ms: i64 = row.jobs.iter().map(|(_, digest)| digest.running_ms()).sum();
        let longest_ms = row.jobs.iter().map(|(_, digest)| digest.running_ms()).max().unwrap_or(0);
        let slots = row.jobs.iter().map(|(_, digest)| ctx.slots(digest)).fold(1.0, f64::max);
        let together_ms = ((alone_ms as f64 / slots) as i64).max(longest_ms);
        let saved_ms = alone_ms - together_ms;
        let is_row = row.jobs.len() as f64 >= ctx.get(&MIN_JOBS);
        if is_row && saved_ms as f64 >= ctx.get(&MIN_MS) && !ctx.is_immaterial(saved_ms) {
            sink.claim(claim(ctx, &row, alone_ms, together_ms));
        }
    }
}

/// Jobs by query and place, without those that ran more than one task or beside another of the same place.
fn rows<'r>(ctx: &'r Context<'_>) -> Vec<Row<'r>> {
    let mut by_job: BTreeMap<u32, Vec<&StageDigest>> = BTreeMap::new();
    for digest in ctx.stages.iter().filter(|digest| digest.attempts > 0) {
        by_job.entry(digest.job_id.unwrap_or(u32::MAX)).or_default().push(digest);
    }
    let mut rows: BTreeMap<(Option<u64>, &str), Row<'_>> = BTreeMap::new();
    for job in &ctx.run.jobs {
        let (Some(place), Some([digest])) =
            (job.call_site.as_deref(), by_job.get(&job.id).map(Vec::as_slice))
        else {
            continue;
        };
        if digest.attempts != 1 || digest.useful != 1 {
            continue;
        }
        let empty = || Row { sql_id: job.sql_execution_id, place, jobs: Vec::new() };
        let row = rows.entry((job.sql_execution_id, place)).or_insert_with(empty);
        let follows = row.jobs.last().is_none_or(|(last, _)| last.end_ms <= job.start_ms);
        if follows && job.start_ms.is_some() && job.end_ms.is_some() {
            row.jobs.push((job, digest));
        }
    }
    rows.into_values().collect()
}

/// Whether the jobs read files for their schema: they come from a reader's call and belong to no query.
fn is_inference(row: &Row<'_>) -> bool {
    const READERS: [&str; 6] = ["load at ", "parquet at ", "orc at ", "json at ", "csv at ", "avro at "];
    row.sql_id.is_none() && READERS.iter().any(|reader| row.place.starts_with(reader))
}

fn claim(ctx: &Context<'_>, row: &Row<'_>, alone_ms: i64, together_ms: i64) -> Claim {
    let saved_ms = alone_ms - together_ms;
    let count = row.jobs.len();
    let span = row
        .jobs
        .first()
        .and_then(|(job, _)| job.start_ms)
        .zip(row.jobs.last().and_then(|(job, _)| job.end_ms));
    let idle = span.and_then(|(from, to)| ctx.available_core_ms(from, to)).unwrap_or(0) - alone_ms;
    let is_iterator = row.place.starts_with("toLocalIterator");
    let title = format!(
        "{count} jobs of one task each ran one after another for {} ({})",
        duration(alone_ms),
        row.place
    );
    let scope = Scope { sql_id: row.sql_id, ..Scope::default() };
    let mut claim = Claim::new("driverBound", scope, title)
        .evidence("kind", "oneByOne")
        .evidence("jobs", count)
        .evidence("one_by_one_ms", alone_ms)
        .evidence("together_ms", together_ms)
        .evidence("idle_core_ms", idle.max(0))
        .evidence("speed_up_ratio", rounded(alone_ms as f64 / together_ms.max(1) as f64))
        .advice(if is_inference(row) {
            "Each of them reads files for their schema, before any query runs: give the schema (`.schema(...)`), or read \
             tables of a catalog, which has it. Where that cannot be, start the reads from several threads."
        } else if is_iterator {
            "`toLocalIterator` computes one partition at a time, each when the program asks for it. Write the result, or \
             collect it where it fits into the driver; or persist it and count it first, so that all partitions are \
             computed at once and the iterator only fetches them. `prefetchPartitions=True` computes one ahead."
        } else {
            "Ask for all of it in one job, or start the jobs from several threads: their tasks need not wait for each \
             other."
        })
        .change(if is_inference(row) {
            Change::code("schemas", "given, not inferred")
        } else {
            let what = if is_iterator { "toLocalIterator" } else { "jobs of one task" };
            Change::code(what, "one job over all partitions")
        });
    claim.subject = format!("one by one {}", row.place);
    claim.nature = Nature::Code;
    claim.confidence = if is_iterator { Confidence::High } else { Confidence::Medium };
    claim.core_ms = Some(idle.max(0));
    let share = saved_ms as f64 / alone_ms.max(1) as f64;
    let edits = |share: f64| -> Vec<Edit> {
        let edit = |(_, digest): &(&Job, &StageDigest)| Edit::ScaleAll {
            place: (digest.id, digest.attempt),
            factor: 1.0 - share,
        };
        row.jobs.iter().map(edit).collect()
    };
    claim.worth = Worth::Replay { low: edits(share * ctx.get(&LOW_SHARE)), high: edits(share) };
    claim.most_ms = Some(saved_ms);
    claim.stages = row.jobs.iter().map(|(_, digest)| (digest.id, digest.attempt)).collect();
    claim.validate = format!(
        "Compute the partitions in one job: if it takes as long as the {count} jobs, {} were not idle.",
        core_time(idle.max(0))
    );
    claim
}

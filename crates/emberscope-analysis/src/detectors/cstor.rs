//! Caches that did not hold what they should, or that nobody read.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::replay::{Edit, Place};
use crate::stage_view::{StageView, Task};
use crate::words::{percent, rounded, size};
use emberscope_model::run::StageAttempt;
use emberscope_model::storage::CachedRdd;
use std::collections::BTreeSet;

const MIN_PARTITIONS_SHARE: Threshold = Threshold {
    tag: "CSTOR",
    name: "min_cached_share",
    default: 0.9,
    doc: "Share of its partitions that a persisted RDD must have had in the cache.",
};

const LOW_PARTITIONS_SHARE: Threshold = Threshold {
    tag: "CSTOR",
    name: "low_cached_share",
    default: 0.5,
    doc: "Share of cached partitions below which the finding is a warning.",
};

const DISK_SHARE: Threshold = Threshold {
    tag: "CSTOR",
    name: "disk_share",
    default: 0.15,
    doc: "Share of a cache's bytes on disk, for levels that use memory, from which it does not fit.",
};

const PRESSURE_SHARE: Threshold = Threshold {
    tag: "CSTOR",
    name: "pressure_share",
    default: 0.5,
    doc: "Share of the executors' storage memory that the cache must have filled, where no block was evicted, before \
          missing partitions are put down to lack of room: partitions that no action asked for are not missing.",
};

const MIN_BYTES: Threshold = Threshold {
    tag: "CSTOR",
    name: "min_bytes",
    default: 16_777_216.0,
    doc: "Bytes of a cache from which its not being read is worth a word.",
};

const MIN_FILL_SHARE: Threshold = Threshold {
    tag: "CSTOR",
    name: "min_fill_share",
    default: 0.05,
    doc: "Share of the run's wall time that a count must have taken to fill a smaller cache for its not being read to be worth a \
          word.",
};

/// Caches that did not hold what they should, or that nobody read.
pub static CSTOR: Detector = Detector {
    tag: "CSTOR",
    title: "Cache utilization",
    types: &[
        FindingType {
            name: "cacheUtilization",
            what: "A persisted RDD did not fit: parts were evicted or went to disk.",
        },
        FindingType {
            name: "cacheUnused",
            what: "A persisted RDD was filled, and read by nothing but what filled it.",
        },
    ],
    thresholds: &[
        MIN_PARTITIONS_SHARE,
        LOW_PARTITIONS_SHARE,
        DISK_SHARE,
        PRESSURE_SHARE,
        MIN_BYTES,
        MIN_FILL_SHARE,
    ],
    checks: &[Check::App(check)],
    what: "Data was persisted (`cache`, `persist`, `CACHE TABLE`), and the cache did not do its work: it was too large for \
           the memory there was, so that partitions were computed again or read from disk; or nothing read it after it was \
           filled. What was in the cache is known from block updates: the most it ever held counts, not what was left at \
           the end.",
    rule: "`cacheUtilization`: fewer than `min_cached_share` of the partitions were ever cached at a time, with evictions or \
           with `pressure_share` of the storage memory filled; or, for levels that use memory, more than `disk_share` of \
           its bytes lay on disk. `cacheUnused`: the cache held at least `min_bytes`, or a count that filled it took at least \
           `min_fill_share` of the run (without block updates in the log: any action that filled it), and nothing read it but the query that filled it, once. Adaptive execution fills a \
           cache in a stage of its own; that stage and the one that reads it for the same action count as one.",
    why: "A cache that does not fit pays twice: for storing, and for computing what was evicted. A partly cached RDD also \
          looks like skew, because tasks with cached input are faster than those that compute. A cache that nobody reads \
          takes memory from execution.",
    fix: "Cache less (columns and rows that are read again), in a form that takes less room, or not at all; unpersist what \
          is done:\n\n```python\nhot = df.select(\"id\", \"amount\").where(\"day = '2026-01-31'\")\n\
          hot.persist(StorageLevel.MEMORY_AND_DISK)\n...\nhot.unpersist()\n```\n\n```sql\nCACHE LAZY TABLE hot AS SELECT id, \
          amount FROM sales WHERE day = DATE '2026-01-31';\nUNCACHE TABLE hot;\n```",
    limits: "What a cache held needs `spark.eventLog.logBlockUpdates.enabled`, which is off by default; the sizes in Spark's \
             stage events are always 0. Outside of SQL a cache that is filled by one job and read by a stage of another counts as read, \
             however useless. Where the action was a count, the optimistic saving is that it was made for the cache's sake \
             alone and goes with it; whether its number was wanted is not in the log. \
             Executors that were lost took their blocks along, which is no eviction.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let storage = &ctx.run.storage;
    let persisted = storage.cached.iter().filter(|(_, cached)| {
        let level = cached.storage_level;
        level.use_memory || level.use_disk || cached.ever_cached_partitions > 0
    });
    let persisted = persisted.filter(|(id, _)| !is_of_library(ctx, **id));
    if storage.block_updates == 0 {
        without_updates(ctx, persisted, sink);
        return;
    }
    for (id, cached) in persisted {
        if let Some(claim) = unused(ctx, *id, cached).or_else(|| utilization(ctx, *id, cached)) {
            sink.claim(claim);
        }
    }
}

/// Whether a library cached it for itself: Delta Lake does so with the state of its tables
/// (`spark.databricks.delta.snapshotCache`), and no program can take that out.
fn is_of_library(ctx: &Context<'_>, id: u32) -> bool {
    ctx.run.rdd_name(id).is_some_and(|name| name.starts_with("Delta Table State"))
}

/// Without block updates it is not known what a cache held, but the stages still tell who used it: one that took
/// long to fill and was used once was in vain. How large the others were, nobody knows.
fn without_updates<'r>(
    ctx: &Context<'_>,
    persisted: impl Iterator<Item = (&'r u32, &'r CachedRdd)>,
    sink: &mut Sink,
) {
    let (mut some, mut unknown) = (false, false);
    for (id, cached) in persisted {
        some = true;
        match unused(ctx, *id, cached) {
            Some(claim) => sink.claim(claim),
            None => unknown |= !is_read_again(ctx, *id),
        }
    }
    let kinds = [("cacheUtilization", some), ("cacheUnused", unknown)];
    for (kind, _) in kinds.into_iter().filter(|(_, is_unchecked)| *is_unchecked) {
        let setting = Some("spark.eventLog.logBlockUpdates.enabled");
        sink.not_checked(kind, "data was persisted, but the log has no block updates", setting);
    }
}

fn utilization(ctx: &Context<'_>, id: u32, cached: &CachedRdd) -> Option<Claim> {
    let partitions = ctx.run.storage.rdds.get(&id).map_or(0, |rdd| rdd.num_partitions);
    let most = cached.peak_cached_partitions.min(partitions.max(cached.peak_cached_partitions));
    let share = if partitions > 0 { f64::from(most) / f64::from(partitions) } else { 1.0 };
    let bytes = cached.peak_memory_bytes + cached.peak_disk_bytes;
    let disk = if bytes > 0 { cached.peak_disk_bytes as f64 / bytes as f64 } else { 0.0 };
    let pressure = pressure(ctx, cached);
    let is_tight = cached.evictions > 0 || pressure >= ctx.get(&PRESSURE_SHARE);
    let is_partial = share < ctx.get(&MIN_PARTITIONS_SHARE) && is_tight;
    let is_on_disk = cached.storage_level.use_memory && disk > ctx.get(&DISK_SHARE);
    if !is_partial && !is_on_disk {
        return None;
    }
    let title = if is_partial {
        format!(
            "{} fit into memory only in part: {most} of {partitions} partitions were cached",
            named(ctx, id)
        )
    } else {
        format!(
            "{} of the cache of {} lay on disk ({})",
            percent(disk),
            named(ctx, id),
            size(cached.peak_disk_bytes)
        )
    };
    let mut claim = base("cacheUtilization", ctx, id, title)
        .evidence("cached_partitions", most)
        .evidence("partitions", partitions)
        .evidence("cached_share", rounded(share))
        .evidence("memory_bytes", cached.peak_memory_bytes)
        .evidence("disk_bytes", cached.peak_disk_bytes)
        .evidence("disk_share", rounded(disk))
        .evidence("evictions", cached.evictions)
        .evidence("storage_memory_share", rounded(pressure))
        .advice(
            "Cache only the columns and rows that are read again, persist serialised or with MEMORY_AND_DISK, or give \
             executors more memory.",
        )
        .change(Change::code("persisted data", "fewer columns and rows, or another storage level"));
    claim.nature = Nature::Code;
    claim.confidence = if cached.evictions > 0 || is_on_disk { Confidence::High } else { Confidence::Medium };
    let (places, worth) = recomputed(ctx, id);
    if is_partial && !places.is_empty() {
        // What its readers computed again is what it costs.
        claim.stages = places;
        claim.worth = worth;
    } else {
        let is_low = is_partial && share < ctx.get(&LOW_PARTITIONS_SHARE);
        claim.severity = Some(if is_low { Severity::Warning } else { Severity::Info });
    }
    claim.validate =
        "Partitions that no action asked for refute it: they were not evicted but never made.".to_owned();
    Some(claim)
}

/// The stage attempts that read a cache of which partitions were missing, and what they would take had these been
/// there: tasks far beyond the median of their stage computed what others read.
fn recomputed(ctx: &Context<'_>, id: u32) -> (Vec<Place>, Worth) {
    /// Times the median from which a task is taken to have computed its partition.
    const COMPUTED: f64 = 2.0;
    let (mut places, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
    for stage in uses_of(ctx, id).into_iter().skip(1) {
        let Some(digest) = ctx.digest_of(stage.id, stage.attempt) else { continue };
        let view = StageView::of(stage, digest, ctx.end_ms);
        let median = view.spread(Task::duration_ms).median().unwrap_or(0.0);
        let is_computed = |task: &Task| task.duration_ms() as f64 > COMPUTED * median;
        if median <= 0.0 || !view.useful().any(is_computed) {
            continue;
        }
        let scaled = |share: f64| {
            let factors = view.factors_to(|task| match task.duration_ms() as f64 {
                ms if is_computed(task) => ms - share * (ms - median),
                ms => ms,
            });
            Edit::Scale { place: view.place(), factors }
        };
        places.push(view.place());
        low.push(scaled(0.5));
        high.push(scaled(1.0));
    }
    (places, Worth::Replay { low, high })
}

/// Share of the storage memory of all executors that a cache filled.
fn pressure(ctx: &Context<'_>, cached: &CachedRdd) -> f64 {
    let memory: i64 = ctx.run.executors.iter().filter_map(|executor| executor.maximum_memory_bytes).sum();
    if memory > 0 { cached.peak_memory_bytes as f64 / memory as f64 } else { 0.0 }
}

fn unused(ctx: &Context<'_>, id: u32, cached: &CachedRdd) -> Option<Claim> {
    let bytes = cached.peak_memory_bytes + cached.peak_disk_bytes;
    if !ctx.run.application.has_end {
        return None;
    }
    let uses = uses_of(ctx, id);
    let fill = *uses.first()?;
    let stage = fill.id;
    if !is_one_use(ctx, fill, &uses) {
        return None;
    }
    let is_measured = ctx.run.storage.block_updates > 0;
    let fill_ms = ctx.digest_of(fill.id, fill.attempt).map_or(0, |digest| digest.running_ms());
    let is_long = ctx.share_of_wall(fill_ms).is_some_and(|share| share >= ctx.get(&MIN_FILL_SHARE));
    let is_for_cache = is_long && bytes > 0 && is_count(ctx, fill);
    let is_large = if is_measured { bytes as f64 >= ctx.get(&MIN_BYTES) } else { is_long };
    if !is_large && !is_for_cache {
        return None;
    }
    let size = if is_measured { format!(" ({})", size(bytes)) } else { String::new() };
    let title = format!("{} was cached{size} by stage {stage} and read by nothing else", named(ctx, id));
    let mut claim = base("cacheUnused", ctx, id, title)
        .evidence("memory_bytes", is_measured.then_some(cached.peak_memory_bytes))
        .evidence("disk_bytes", is_measured.then_some(cached.peak_disk_bytes))
        .evidence("stage", stage)
        .evidence("fill_ms", fill_ms)
        .advice("Take this persist or cache out of the program: storing costs time and memory, and nothing else reads the copy.")
        .change(Change::code("persist or cache", "remove it"));
    claim.nature = Nature::Code;
    claim.confidence = if is_measured { Confidence::Medium } else { Confidence::Low };
    claim.severity = Some(Severity::Info);
    claim.validate =
        "A later use of the same data in the program, even in another branch, refutes it.".to_owned();
    if is_for_cache {
        let places: Vec<Place> = uses.iter().map(|stage| (stage.id, stage.attempt)).collect();
        let high = places.iter().map(|place| Edit::Drop { place: *place }).collect();
        // Without the action that fills the cache its stages do not run; a part of their work may move elsewhere.
        let low = places.iter().map(|place| Edit::ScaleAll { place: *place, factor: 0.5 }).collect();
        claim.worth = Worth::Replay { low, high };
        claim.stages = places;
    }
    Some(claim)
}

/// The stages that ran with an RDD, the first one first.
fn uses_of<'r>(ctx: &Context<'r>, id: u32) -> Vec<&'r StageAttempt> {
    ctx.run.stages.iter().filter(|stage| stage.rdd_ids.contains(&id) && stage.tasks.rows() > 0).collect()
}

/// Whether more than the use that filled it is in the log.
fn is_read_again(ctx: &Context<'_>, id: u32) -> bool {
    let uses = uses_of(ctx, id);
    uses.first().is_some_and(|fill| !is_one_use(ctx, fill, &uses))
}

/// Whether all stages with a cached RDD are one use of it: that which filled it, and, where adaptive
/// execution filled it beforehand (the stage has nothing but what leads to the cache), the one for which it
/// did so.
fn is_one_use(ctx: &Context<'_>, fill: &StageAttempt, uses: &[&StageAttempt]) -> bool {
    let rdds = |stage: &StageAttempt| stage.rdd_ids.iter().copied().collect::<BTreeSet<u32>>();
    let filled = rdds(fill);
    let mut readers: Vec<u32> =
        uses.iter().filter(|stage| rdds(stage) != filled).map(|stage| stage.id).collect();
    readers.dedup();
    let mut fills: Vec<u32> =
        uses.iter().filter(|stage| rdds(stage) == filled).map(|stage| stage.id).collect();
    fills.dedup();
    let queries: BTreeSet<Option<u64>> = uses.iter().map(|stage| query(ctx, stage)).collect();
    match readers[..] {
        [] => fills.len() == 1,
        [_] => fills.len() == 1 && queries.len() == 1 && !queries.contains(&None),
        _ => false,
    }
}

/// The root execution of a stage's job.
fn query(ctx: &Context<'_>, stage: &StageAttempt) -> Option<u64> {
    let id = ctx.run.job(*stage.job_ids.first()?)?.sql_execution_id?;
    Some(ctx.run.sql_execution(id).and_then(|execution| execution.root_id).unwrap_or(id))
}

/// Whether the action that filled a cache only counted.
fn is_count(ctx: &Context<'_>, fill: &StageAttempt) -> bool {
    let execution = query(ctx, fill).and_then(|id| ctx.run.sql_execution(id));
    let name = execution.and_then(|execution| execution.description.as_deref());
    let name = name.or_else(|| ctx.run.job(*fill.job_ids.first()?)?.call_site.as_deref());
    name.is_some_and(|name| name.starts_with("count at "))
}

fn base(kind: &'static str, ctx: &Context<'_>, id: u32, title: String) -> Claim {
    let level = ctx.run.storage.cached.get(&id).map(|cached| cached.storage_level).unwrap_or_default();
    let mut claim = Claim::new(kind, Scope::default(), title)
        .evidence("rdd", id)
        .evidence("uses_memory", level.use_memory)
        .evidence("uses_disk", level.use_disk);
    // Ids of RDDs change between runs; names of cached tables do not.
    claim.subject = ctx.run.rdd_name(id).unwrap_or("rdd").chars().take(120).collect();
    claim.worth = Worth::Resource;
    claim
}

/// What a person would call an RDD. Names of cached plans are whole plans: what they read is told.
fn named(ctx: &Context<'_>, id: u32) -> String {
    let whole = ctx.run.rdd_name(id).unwrap_or("");
    if let Some(relation) = read_by(whole) {
        return format!("RDD {id} ({relation})");
    }
    let name = whole.lines().next().unwrap_or("").trim();
    if name.is_empty() || name.chars().count() > 60 || name.ends_with("RDD") {
        let short: String = name.chars().take(40).collect();
        if short.is_empty() || name.ends_with("RDD") {
            format!("RDD {id}")
        } else {
            format!("RDD {id} ({short}...)")
        }
    } else {
        format!("RDD {id} ({name})")
    }
}

/// What the plan in a cached RDD's name reads, where it is one file scan: `parquet orders`.
fn read_by(plan: &str) -> Option<String> {
    let mut scans = plan.split("FileScan ").skip(1);
    let (scan, None) = (scans.next()?, scans.next()) else { return None };
    let head = scan.split('[').next()?.trim();
    let (format, table) = head.split_once(' ').unwrap_or((head, ""));
    let paths =
        scan.split_once("Location: ").and_then(|(_, place)| place.split_once('[')).map(|(_, paths)| paths);
    let path = paths.and_then(|paths| paths.split([',', ']']).next()).unwrap_or("");
    let last = path.trim_end_matches("...").trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let name = if table.is_empty() { last } else { table.rsplit('.').next().unwrap_or(table) };
    (!name.is_empty() && !format.is_empty()).then(|| format!("{format} {name}"))
}

#[cfg(test)]
mod tests {
    use super::read_by;

    #[test]
    fn what_a_cached_plan_reads() {
        let plan = "*(1) ColumnarToRow\n+- FileScan parquet [a#1,b#2] Batched: true, Location: InMemoryFileIndex(1 paths)[file:/data/orders], PushedFilters: []";
        assert_eq!(read_by(plan).as_deref(), Some("parquet orders"));
        assert_eq!(
            read_by("FileScan orc spark_catalog.default.t[a#1] Batched: true").as_deref(),
            Some("orc t")
        );
        assert_eq!(read_by("*(1) Range (0, 10, step=1, splits=2)"), None);
        assert_eq!(read_by("Join\n:- FileScan csv [a#1]\n+- FileScan csv [b#1]"), None);
    }
}

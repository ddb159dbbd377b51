//! The same RDDs computed by several jobs without a plan.

use crate::context::{Context, StageDigest};
use crate::detector::{Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::words::{count, duration};
use emberscope_log::columns::TaskColumn;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const MIN_JOBS: Threshold = Threshold {
    tag: "CACHE",
    name: "rdd_min_jobs",
    default: 3.0,
    doc: "Jobs that must compute the same RDDs from the start.",
};

pub(super) const MIN_SHARE: Threshold = Threshold {
    tag: "CACHE",
    name: "rdd_min_share",
    default: 0.1,
    doc: "Share of the run's task time that all of them but the first must take.",
};

/// Stages that begin with one RDD.
#[derive(Default)]
struct Group<'c> {
    stages: Vec<&'c StageDigest>,
    /// RDDs that all of them have.
    shared: BTreeSet<u32>,
}

pub(super) fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<u32, Group<'_>> = BTreeMap::new();
    for digest in ctx.stages.iter().filter(|digest| digest.sql_id.is_none() && digest.useful > 0) {
        let stage = &ctx.run.stages[digest.position];
        let is_kept = |id: &u32| ctx.run.storage.cached.contains_key(id);
        // A stage that failed or ran again is not another use.
        if digest.attempt > 0 || stage.rdd_ids.iter().any(is_kept) {
            continue;
        }
        for source in stage.rdd_ids.iter().filter(|id| is_source(ctx, **id)) {
            let group = groups.entry(*source).or_default();
            let own: BTreeSet<u32> = stage.rdd_ids.iter().copied().collect();
            group.shared = if group.stages.is_empty() { own } else { &group.shared & &own };
            group.stages.push(digest);
        }
    }
    for (source, group) in groups {
        sink.claims.extend(claim(ctx, source, group));
    }
}

/// Whether an RDD reads data from outside: it has no parents. One without a name is known by its number alone, as
/// the monitoring API tells it, and parents are not.
fn is_source(ctx: &Context<'_>, id: u32) -> bool {
    let has_name = ctx.run.rdd_name(id).is_some_and(|name| !name.is_empty());
    has_name && ctx.run.storage.rdds.get(&id).is_some_and(|rdd| rdd.parent_ids.is_empty())
}

/// The stages that compute what earlier ones had computed: `take` and `toLocalIterator` go through the partitions of
/// one RDD job by job, and compute none of them twice.
fn computed_again<'c>(ctx: &Context<'_>, stages: &[&'c StageDigest]) -> Vec<&'c StageDigest> {
    let mut computed: BTreeSet<i64> = BTreeSet::new();
    let mut again = Vec::new();
    for digest in stages {
        let tasks = &ctx.run.stages[digest.position].tasks;
        let partitions =
            tasks.column(TaskColumn::PartitionId).into_iter().zip(tasks.column(TaskColumn::Index));
        // Before Spark 3.3 only the task's number in its stage was logged.
        let own: BTreeSet<i64> = partitions.filter_map(|(partition, index)| partition.or(index)).collect();
        let known = own.intersection(&computed).count();
        if known * 2 > own.len() {
            again.push(*digest);
        }
        computed.extend(own);
    }
    again
}

fn claim(ctx: &Context<'_>, source: u32, mut group: Group<'_>) -> Option<Claim> {
    let jobs: BTreeSet<u32> = group.stages.iter().filter_map(|digest| digest.job_id).collect();
    if (jobs.len() as f64) < ctx.get(&MIN_JOBS) {
        return None;
    }
    // The first use, and every job's first one only: within a job a stage may be shared on purpose.
    group.stages.sort_by_key(|digest| (digest.job_id, digest.id));
    group.stages.dedup_by_key(|digest| digest.job_id);
    let least = group.stages.iter().map(|digest| digest.counted.run_ms).min()?;
    let all: i64 = ctx.stages.iter().map(|digest| digest.attempt_ms).sum();
    let again = computed_again(ctx, &group.stages);
    if ((again.len() + 1) as f64) < ctx.get(&MIN_JOBS) {
        return None;
    }
    let repeated = least * again.len() as i64;
    let spans: i64 = again.iter().map(|digest| digest.running_ms()).sum();
    if (repeated as f64) < ctx.get(&MIN_SHARE) * all as f64 || ctx.is_immaterial(spans) {
        return None;
    }
    let name = ctx.run.rdd_name(source).unwrap_or("").lines().next().unwrap_or("").to_owned();
    // Beyond the source itself the log shows what is computed again.
    let computed = group.shared.iter().filter(|id| !is_source(ctx, **id)).count();
    let title = format!(
        "{} compute RDD {source} ({name}) and what follows from the start",
        count(again.len() + 1, "job")
    );
    let mut claim = Claim::new("cachingOpportunity", Scope::default(), title)
        .evidence("jobs", again.len() + 1)
        .evidence("rdd", source)
        .evidence("shared_rdds", group.shared.len())
        .evidence("shortest_task_ms", least)
        .evidence("repeated_core_ms", repeated)
        .advice(format!(
            "If these jobs begin with the same steps, persist the RDD after the last common one before the first action: \
             each job would then read it. The shortest of them takes {} of task time.",
            duration(least)
        ))
        .change(Change::code("persist", "persist the common RDD before the first action"));
    claim.variant = Some("rdd");
    claim.subject = format!("rdd {name}");
    claim.nature = Nature::Code;
    claim.confidence = if computed > 0 { Confidence::Medium } else { Confidence::Low };
    claim.core_ms = Some(repeated);
    claim.validate = "The RDD's lineage (`toDebugString`) in the jobs must be the same up to the persisted one; with the copy in \
place the storage page shows it."
        .to_owned();
    let edits = |share: f64| -> Vec<Edit> {
        let edit = |digest: &&StageDigest| {
            let gone = (share * least as f64 / digest.attempt_ms.max(1) as f64).clamp(0.0, 0.95);
            Edit::ScaleAll { place: (digest.id, digest.attempt), factor: 1.0 - gone }
        };
        again.iter().map(edit).collect()
    };
    let low = if computed > 0 { edits(0.5) } else { Vec::new() };
    claim.worth = Worth::Replay { low, high: edits(1.0) };
    claim.stages = again.iter().map(|digest| (digest.id, digest.attempt)).collect();
    Some(claim)
}

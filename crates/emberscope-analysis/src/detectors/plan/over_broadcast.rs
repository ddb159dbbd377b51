//! Broadcasts that are too large.

use super::{TAG, conf, scope, threshold};
use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Severity, Worth};
use crate::plan::exchange::exchange_below;
use crate::plan::price::subtree;
use crate::plan::stage_ops::scans_below;
use crate::plan::{OperatorClass, SqlView};
use crate::replay::Edit;
use crate::words;

const KIND: &str = "overBroadcast";

const MAX_BYTES: Threshold = threshold(
    "over_broadcast_bytes",
    1073741824.0,
    "Size from which a broadcast is too large in any case, bytes.",
);
const SLOW_BYTES: Threshold = threshold(
    "over_broadcast_slow_bytes",
    134217728.0,
    "Size from which a broadcast is too large if it also took long, bytes.",
);
const SLOW_SHARE: Threshold = threshold(
    "over_broadcast_slow_share",
    0.1,
    "Share of the query's time that building and sending a broadcast must take for it to have taken long.",
);
const SHUFFLE_SHARE: Threshold = threshold(
    "over_broadcast_shuffle_share",
    0.5,
    "Share of the driver's time for the broadcast that shuffling instead is taken to cost at most.",
);

/// Broadcasts that are too large.
pub static OVER_BROADCAST: Detector = Detector {
    tag: TAG,
    title: "Broadcasts that are too large",
    types: &[FindingType {
        name: KIND,
        what: "A join sends a side to all executors that is too large for that.",
    }],
    thresholds: &[MAX_BYTES, SLOW_BYTES, SLOW_SHARE, SHUFFLE_SHARE],
    checks: &[Check::Sql(check)],
    what: "A broadcast exchange carried very much data, or much data whose collecting, hashing and sending took a good \
part of the query. Sizes and times are the exchange's own metrics: `data size`, `time to collect`, `time to build`, \
`time to broadcast`.",
    rule: "`data size` of at least `over_broadcast_bytes`; or of at least `over_broadcast_slow_bytes` where `time to build` \
and `time to broadcast` together take `over_broadcast_slow_share` of the query's duration.",
    why: "The driver collects the rows, builds one hash table in a single thread while executors wait, and sends it to \
every executor, where it takes memory from execution and caching until the query ends. At a few gigabytes the driver \
dies or the broadcast times out (`spark.sql.broadcastTimeout`).",
    fix: "Let the join shuffle: remove the hint (`F.broadcast(...)`, `/*+ BROADCAST(t) */`) or lower \
`spark.sql.autoBroadcastJoinThreshold`. Or make the side smaller before the join: select fewer columns, filter it, \
aggregate it to the join key: `small = dim.where(\"active\").select(\"k\", \"name\")`.",
    limits: "What the shuffle of both sides would cost instead is not known: the saving ranges from the driver's time for \
building and sending less `over_broadcast_shuffle_share` of it, to all of it and what the tasks took to hand their rows over. Whether a hint or a threshold chose the broadcast is told only by \
comparing sizes with the threshold.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    for (node, it) in view.nodes.iter().enumerate() {
        if it.class == OperatorClass::Broadcast && !it.in_cached_plan {
            check_broadcast(context, view, node as u32, sink);
        }
    }
}

fn check_broadcast(context: &Context<'_>, view: &SqlView<'_>, node: u32, sink: &mut Sink) {
    let total = |name: &str| view.total(node, name).or_else(|| view.total(node, &format!("{name} (ms)")));
    let Some(bytes) = view.total(node, "data size").or_else(|| view.total(node, "data size (bytes)")) else {
        return;
    };
    let serial_ms = total("time to build").unwrap_or(0) + total("time to broadcast").unwrap_or(0);
    let query_ms = view.execution.duration_ms().unwrap_or(0);
    let is_slow = bytes as f64 >= context.get(&SLOW_BYTES)
        && query_ms > 0
        && serial_ms as f64 >= context.get(&SLOW_SHARE) * query_ms as f64;
    if bytes as f64 <= context.get(&MAX_BYTES) && !is_slow {
        return;
    }
    let conf = conf(context, view);
    let limit = conf.bytes("spark.sql.autoBroadcastJoinThreshold");
    // The planner goes by its estimate, which is seldom above the measured size by much.
    let is_hinted = limit.is_some_and(|limit| bytes > limit);
    // Adaptive execution made it from a side it had shuffled; then its own threshold chose it.
    let is_adaptive = view.nodes[node as usize]
        .children
        .first()
        .is_some_and(|child| exchange_below(view, *child).is_some());
    let relation = scans_below(view, node).iter().find_map(|scan| scan.relation.clone());
    let what = relation.clone().unwrap_or_else(|| "one side of a join".to_owned());
    let mut claim = Claim::new(
        KIND,
        scope(view, node),
        format!(
            "{} of {what} are broadcast, {} of it in the driver alone",
            words::size(bytes),
            words::duration(serial_ms)
        ),
    )
    .evidence("broadcast_bytes", bytes)
    .evidence("rows", view.total(node, "number of output rows").unwrap_or(0))
    .evidence("collect_ms", total("time to collect").unwrap_or(0))
    .evidence("build_ms", total("time to build").unwrap_or(0))
    .evidence("broadcast_ms", total("time to broadcast").unwrap_or(0))
    .evidence("is_hinted", is_hinted && !is_adaptive)
    .advice(format!(
        "Let this join shuffle instead, or cut {what} down before it: fewer columns, fewer rows."
    ));
    claim = match (is_hinted, limit) {
        (false, Some(limit)) if limit > 0 => {
            let lower = format!("{}MB", (bytes / 2 / 1048576).max(10));
            claim.changes(conf.propose("spark.sql.autoBroadcastJoinThreshold", lower))
        }
        _ => claim.change(Change::code(
            "broadcast hint",
            format!("remove the broadcast hint on {what}, or make it smaller"),
        )),
    };
    claim.nature = if is_hinted { Nature::Code } else { Nature::Configuration };
    claim.subject = relation.unwrap_or_default();
    claim.confidence = if is_slow { Confidence::Medium } else { Confidence::Low };
    claim.severity = (bytes as f64 > context.get(&MAX_BYTES)).then_some(Severity::Warning);
    claim.validate = "Run the query with the join shuffled (hint `SHUFFLE_HASH` or `MERGE`): if it is slower, the broadcast was right and only its memory matters.".to_owned();
    let share = context.get(&SHUFFLE_SHARE);
    let low = sooner(context, view, node, (serial_ms as f64 * (1.0 - share)) as i64);
    let mut high = sooner(context, view, node, serial_ms);
    high.extend(uncollected(context, view, node));
    claim.worth = Worth::Replay { low, high };
    sink.claim(claim);
}

/// The stage attempts that collected a broadcast.
fn collecting<'c>(
    context: &'c Context<'_>,
    view: &SqlView<'_>,
    node: u32,
) -> impl Iterator<Item = &'c StageDigest> {
    let nodes = subtree(view, node);
    let stages = nodes.iter().flat_map(|node| view.nodes[*node as usize].stages.stages.iter().copied());
    // The last one; what lies below it shuffled.
    let last = stages.max();
    last.and_then(|place| context.digest_of(place.0, place.1)).into_iter()
}

/// The driver builds and sends the table after the job that collected it: the query's first job from then on
/// waited for that. A table that no job collected was there before the query's first one.
fn sooner(context: &Context<'_>, view: &SqlView<'_>, node: u32, by_ms: i64) -> Vec<Edit> {
    let job = |id: u32| context.run.job(id);
    let collected_ms = collecting(context, view, node)
        .filter_map(|digest| job(digest.job_id?)?.end_ms)
        .max()
        .or(view.execution.start_ms);
    let started = view.execution.job_ids.iter().filter_map(|id| Some((job(*id)?.start_ms?, *id)));
    let next = started.filter(|(start, _)| Some(*start) >= collected_ms).min();
    next.filter(|_| by_ms > 0).map(|(_, job)| Edit::JobSooner { job, by_ms }).into_iter().collect()
}

/// Tasks that need not hand their rows to the driver end when they have run.
fn uncollected(context: &Context<'_>, view: &SqlView<'_>, node: u32) -> Vec<Edit> {
    let edit = |digest: &StageDigest| {
        let worked = digest.counted.run_ms + digest.counted.deserialize_ms;
        let factor = worked as f64 / digest.attempt_ms.max(1) as f64;
        (factor < 1.0).then_some(Edit::ScaleAll { place: (digest.id, digest.attempt), factor })
    };
    collecting(context, view, node).filter_map(edit).collect()
}

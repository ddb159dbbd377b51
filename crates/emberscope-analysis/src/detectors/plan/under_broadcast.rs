//! Joins that shuffle although one side is small.

use super::{TAG, conf, is_immaterial, is_native, rounded, scope, threshold};
use crate::config::{Conf, Version, parse_bytes};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::exchange::{Exchange, Place, exchange_below};
use crate::plan::join::{Join, Side, Strategy, joins};
use crate::plan::stage_ops::scans_below;
use crate::plan::time::{MOVED, operators_time};
use crate::plan::{OperatorClass, SqlView};
use crate::replay::Edit;
use crate::words;
use std::collections::BTreeMap;

const KIND: &str = "underBroadcast";

const SMALL_BYTES: Threshold = threshold(
    "under_broadcast_small_bytes",
    32.0 * 1048576.0,
    "Measured size up to which a side is small, bytes.",
);
const LARGE_BYTES: Threshold = threshold(
    "under_broadcast_large_bytes",
    512.0 * 1048576.0,
    "Measured size up to which a side may be broadcast where the other one is very much larger, bytes.",
);
const MIN_LARGE_BYTES: Threshold = threshold(
    "under_broadcast_min_large_bytes",
    1048576.0,
    "Size that the larger side must have: less is shuffled in no time, bytes.",
);
const RATIO: Threshold =
    threshold("under_broadcast_ratio", 4.0, "How many times as large the other side must be.");
const LARGE_RATIO: Threshold = threshold(
    "under_broadcast_large_ratio",
    100.0,
    "How many times as large the other side must be for a side that is not small.",
);
const MEMORY_SHARE: Threshold = threshold(
    "under_broadcast_memory_share",
    0.1,
    "Share of the memory of an executor, and of the driver, that the hashed side may take.",
);
const EXPANSION: Threshold = threshold(
    "under_broadcast_expansion",
    2.0,
    "How many times its measured size a hashed side takes in memory.",
);

const UNEVEN_RATIO: Threshold = threshold(
    "under_broadcast_uneven_ratio",
    1.5,
    "How many times the median the longest task of the join must take for levelling to be counted.",
);
const UNTIMED_SHARE: Threshold = threshold(
    "under_broadcast_untimed_share",
    0.5,
    "Share of the time that no timer measured, and that exchange, sort and merge have by their rows, that is counted in any \
case: serializing, compressing and copying rows is not timed.",
);

/// Joins that shuffle although one side is small.
pub static UNDER_BROADCAST: Detector = Detector {
    tag: TAG,
    title: "Joins that could be broadcast",
    types: &[FindingType {
        name: KIND,
        what: "A join shuffles both sides although one is small enough to send to all executors.",
    }],
    thresholds: &[
        SMALL_BYTES,
        LARGE_BYTES,
        MIN_LARGE_BYTES,
        RATIO,
        LARGE_RATIO,
        MEMORY_SHARE,
        EXPANSION,
        UNEVEN_RATIO,
        UNTIMED_SHARE,
        MOVED,
    ],
    checks: &[Check::Sql(check)],
    what: "A sort-merge or shuffled hash join shuffled both sides, and the measured `data size` of one side's exchange \
is small: a broadcast join would leave the large side where it is. Also reported is a join that adaptive execution \
turned into a broadcast join only after it had shuffled the large side: a hint saves that shuffle.",
    rule: "One side that the join type lets be broadcast (not the outer side of an outer join, no side of a full outer \
join) measures up to `under_broadcast_small_bytes` and the other at least `under_broadcast_ratio` times as much; or up to \
`under_broadcast_large_bytes` and `under_broadcast_large_ratio` times. Hashed, `under_broadcast_expansion` times as large, \
it must fit into `under_broadcast_memory_share` of the memory of an executor and of the driver. The other side has at least `under_broadcast_min_large_bytes`. Sizes are those of the \
rows in the exchange, which adaptive execution goes by too, never the input bytes of scans.",
    why: "The shuffle writes every row of the large side, sends it over the network, reads it, and (sort-merge) sorts it, \
only to bring it next to a few rows. It also makes skew: all rows of a hot key meet in one task, while a broadcast join \
leaves them spread as they were read.",
    fix: "Say which side is small. PySpark: `big.join(F.broadcast(small), \"k\")`. Spark SQL: \
`SELECT /*+ BROADCAST(s) */ ... FROM big b JOIN small s ON b.k = s.k`. A hint works whatever the planner estimates. \
The thresholds `spark.sql.autoBroadcastJoinThreshold` (estimated size, before the query runs) and \
`spark.sql.adaptive.autoBroadcastJoinThreshold` (measured size, while it runs, after the shuffle was written) do it for \
all joins; statistics (`ANALYZE TABLE s COMPUTE STATISTICS`) make the estimate right.",
    limits: "The price is that of the removed exchange and sort on both sides: measured write, fetch and sort times \
and `under_broadcast_untimed_share` of the rest of the operators' shares at least, their whole shares, and that of the merge, \
at most; where the join's tasks were uneven, also their levelling. What building and \
sending the small side costs (mostly well under a second at these sizes) is not subtracted. A merge hint in the program \
cannot be seen. Tables grow: a hint on a side that will not stay small ends in driver memory.",
};

/// Why Spark did not broadcast.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The threshold is negative.
    SwitchedOff,
    /// The side is above the threshold.
    AboveThreshold,
    /// It is below; the planner's estimate was not.
    Estimate,
    /// It is below, and adaptive execution saw that and kept the join.
    KeptByAdaptive,
    /// Adaptive execution did, after the shuffle.
    Late,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Self::SwitchedOff => "switchedOff",
            Self::AboveThreshold => "aboveThreshold",
            Self::Estimate => "estimate",
            Self::KeptByAdaptive => "keptByAdaptive",
            Self::Late => "late",
        }
    }
}

struct Case<'j> {
    join: &'j Join,
    build: Side,
    small: Exchange,
    large: Exchange,
    small_bytes: i64,
    large_bytes: i64,
    cause: Cause,
}

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    if is_native(context, view, KIND, sink) {
        return;
    }
    let conf = conf(context, view);
    for join in joins(view) {
        let case = match join.strategy {
            Strategy::SortMerge | Strategy::ShuffledHash => shuffled(context, view, &conf, &join),
            Strategy::BroadcastHash => late(view, &join),
            Strategy::NestedLoop | Strategy::Cartesian => None,
        };
        if let Some(case) = case.filter(|case| case.large_bytes as f64 >= context.get(&MIN_LARGE_BYTES)) {
            claim(context, view, &conf, &case, sink);
        }
    }
}

/// The exchange of a side; one the program asked for is there for its own sake.
fn side(view: &SqlView<'_>, join: &Join, side: Side) -> Option<Exchange> {
    let child = *view.nodes[join.node as usize].children.get(side.index())?;
    exchange_below(view, child).filter(|exchange| !exchange.is_user && !exchange.is_rebalance)
}

fn shuffled<'j>(
    context: &Context<'_>,
    view: &SqlView<'_>,
    conf: &Conf<'_>,
    join: &'j Join,
) -> Option<Case<'j>> {
    let join_type = join.join_type?;
    let sides = [side(view, join, Side::Left)?, side(view, join, Side::Right)?];
    let bytes = [sides[0].data_bytes?, sides[1].data_bytes?];
    let build = if bytes[0] < bytes[1] { Side::Left } else { Side::Right };
    let (small_bytes, large_bytes) = (bytes[build.index()], bytes[build.other().index()]);
    if !join_type.may_build(build)
        || !is_small(context, small_bytes, large_bytes)
        || !fits(context, conf, small_bytes)
    {
        return None;
    }
    let [left, right] = sides;
    let (small, large) = if build == Side::Left { (left, right) } else { (right, left) };
    Some(Case { join, build, small, large, small_bytes, large_bytes, cause: cause(view, conf, small_bytes) })
}

fn is_small(context: &Context<'_>, small: i64, large: i64) -> bool {
    let (small, large) = (small as f64, large as f64);
    let is = |bytes: &Threshold, ratio: &Threshold| {
        small <= context.get(bytes) && large >= small * context.get(ratio)
    };
    is(&SMALL_BYTES, &RATIO) || is(&LARGE_BYTES, &LARGE_RATIO)
}

/// Whether the hashed side fits into executors and driver. Defaults are 1 GiB each.
fn fits(context: &Context<'_>, conf: &Conf<'_>, bytes: i64) -> bool {
    let memory = |name: &str| conf.text(name).and_then(|text| parse_bytes(&text, 1 << 20)).unwrap_or(1 << 30);
    let executor = memory("spark.executor.memory");
    let driver = memory("spark.driver.memory");
    let room = if context.is_local { driver } else { executor.min(driver) };
    bytes as f64 * context.get(&EXPANSION) <= room as f64 * context.get(&MEMORY_SHARE)
}

fn is_adaptive(view: &SqlView<'_>) -> bool {
    view.nodes.iter().any(|node| node.name == "AdaptiveSparkPlan")
}

/// The threshold that decided: while the query runs adaptive execution's own, if set, else the planner's.
fn broadcast_threshold(view: &SqlView<'_>, conf: &Conf<'_>) -> Option<i64> {
    let own = conf.bytes("spark.sql.adaptive.autoBroadcastJoinThreshold").filter(|_| is_adaptive(view));
    own.or_else(|| conf.bytes("spark.sql.autoBroadcastJoinThreshold"))
}

fn cause(view: &SqlView<'_>, conf: &Conf<'_>, bytes: i64) -> Cause {
    match broadcast_threshold(view, conf) {
        Some(threshold) if threshold < 0 => Cause::SwitchedOff,
        Some(threshold) if bytes > threshold => Cause::AboveThreshold,
        _ if is_adaptive(view) => Cause::KeptByAdaptive,
        _ => Cause::Estimate,
    }
}

/// A broadcast join whose large side was shuffled before adaptive execution knew better.
fn late<'j>(view: &SqlView<'_>, join: &'j Join) -> Option<Case<'j>> {
    let build = join.build?;
    let children = &view.nodes[join.node as usize].children;
    let large = side(view, join, build.other())?;
    // Below the broadcast is the shuffle that it was made of.
    let mut at = *children.get(build.index())?;
    while view.nodes.get(at as usize)?.class != OperatorClass::Broadcast {
        at = *view.nodes[at as usize].children.first()?;
    }
    let small = exchange_below(view, *view.nodes[at as usize].children.first()?)?;
    let (small_bytes, large_bytes) = (small.data_bytes?, large.data_bytes?);
    (large_bytes > small_bytes).then_some(Case {
        join,
        build,
        small,
        large,
        small_bytes,
        large_bytes,
        cause: Cause::Late,
    })
}

fn claim(context: &Context<'_>, view: &SqlView<'_>, conf: &Conf<'_>, case: &Case<'_>, sink: &mut Sink) {
    let readers = case.large.readers.clone();
    let places: Vec<Place> = case.large.writers.iter().chain(&readers).copied().collect();
    if is_immaterial(context, &places) {
        return;
    }
    let (low, high, core_ms) = edits(context, view, case);
    let scans = scans_below(view, view.nodes[case.join.node as usize].children[case.build.index()]);
    let relation = scans.iter().find_map(|scan| scan.relation.clone());
    let small = relation.as_ref().map_or_else(|| format!("the {} side", case.build.name()), Clone::clone);
    let size = words::size(case.small_bytes);
    let title = match case.cause {
        Cause::Late => format!(
            "Join on {} was broadcast only after {} had been shuffled",
            case.join.keys_label(),
            words::size(case.large_bytes)
        ),
        _ => format!(
            "Join on {} shuffles {} to meet {size} of {small}",
            case.join.keys_label(),
            words::size(case.large_bytes)
        ),
    };
    let broadcast = broadcast_threshold(view, conf);
    let mut claim = Claim::new(KIND, scope(view, case.join.node), title)
        .evidence("strategy", case.join.strategy.name())
        .evidence("small_side", case.build.name())
        .evidence("small_side_bytes", case.small_bytes)
        .evidence("large_side_bytes", case.large_bytes)
        .evidence("size_ratio", rounded(case.large_bytes as f64 / case.small_bytes.max(1) as f64))
        .evidence("keys", case.join.keys_label())
        .evidence("cause", case.cause.name())
        .advice(advice(case, &small))
        .change(Change::code(
            "broadcast",
            format!("broadcast {small} in the join on {}", case.join.keys_label()),
        ))
        .changes(setting(view, conf, case));
    if let Some(broadcast) = broadcast.filter(|bytes| *bytes >= 0) {
        claim = claim.evidence("broadcast_threshold_bytes", broadcast);
    }
    claim.nature = Nature::Code;
    claim.subject = case.join.keys_label();
    claim.confidence = match case.cause {
        // Adaptive execution keeps a join most of whose partitions are empty: that is mostly right.
        Cause::KeptByAdaptive => Confidence::Low,
        Cause::Late => Confidence::Medium,
        _ => Confidence::High,
    };
    claim.validate = format!(
        "Run the query with the hint: the plan must show BroadcastHashJoin without an Exchange on the large side, and the small side must stay near {size} on other days."
    );
    claim.core_ms = Some(core_ms);
    claim.worth = Worth::Replay { low, high };
    claim.stages = places;
    sink.claim(claim);
}

fn advice(case: &Case<'_>, small: &str) -> String {
    let why = match case.cause {
        Cause::SwitchedOff => "Automatic broadcast joins are switched off here",
        Cause::AboveThreshold => "Its measured size is above the threshold for automatic broadcasts",
        Cause::Estimate => {
            "It is below the threshold, but the planner estimated more, or a hint asked for this join"
        }
        Cause::KeptByAdaptive => {
            "It is below the threshold; adaptive execution kept the join, which it does when most shuffle partitions are empty or a hint asked for it"
        }
        Cause::Late => "Adaptive execution found its size only after the shuffle",
    };
    format!("Broadcast {small}: {why}. A hint in the query decides it before the large side is shuffled.")
}

/// The setting that lets Spark choose the broadcast by itself, where one stood against it.
fn setting(view: &SqlView<'_>, conf: &Conf<'_>, case: &Case<'_>) -> Option<Change> {
    if !matches!(case.cause, Cause::SwitchedOff | Cause::AboveThreshold) {
        return None;
    }
    // Room for a half more, in whole mebibytes.
    let mebibytes = (case.small_bytes as f64 * 1.5 / 1048576.0).ceil().max(10.0);
    let adaptive = "spark.sql.adaptive.autoBroadcastJoinThreshold";
    let name = match is_adaptive(view) && conf.version() >= Version(3, 2) && conf.is_set(adaptive) {
        true => adaptive,
        false => "spark.sql.autoBroadcastJoinThreshold",
    };
    conf.propose(name, format!("{mebibytes}MB"))
}

/// What goes: measured times of exchange and sort at least, their shares of the stages at most.
fn edits(context: &Context<'_>, view: &SqlView<'_>, case: &Case<'_>) -> (Vec<Edit>, Vec<Edit>, i64) {
    let mut low: BTreeMap<Place, f64> = BTreeMap::new();
    let mut high: BTreeMap<Place, f64> = BTreeMap::new();
    let mut core_ms = 0.0;
    let sorts = sorts_below(view, case.join.node);
    let exchanges = [case.small.node, case.large.node];
    for place in case.large.writers.iter().chain(&case.large.readers) {
        let Some(digest) = context.digest_of(place.0, place.1) else { continue };
        // Of a sort-merge join the merging goes too: looking a row up in a hash table costs next to nothing.
        let is_merge = case.join.strategy == Strategy::SortMerge;
        let gone = |node: u32| {
            exchanges.contains(&node) || sorts.contains(&node) || is_merge && node == case.join.node
        };
        let share: f64 = operators_time(context, view, digest)
            .iter()
            .filter(|time| gone(time.node))
            .map(|time| time.share)
            .sum();
        let run = digest.counted.run_ms as f64;
        let is_reader = case.large.readers.contains(place);
        let measured = if is_reader {
            digest.counted.fetch_wait_ms as f64 + sort_ms(view, &sorts, *place)
        } else {
            digest.counted.shuffle_write_ms as f64
        };
        let attempts = digest.attempt_ms.max(1) as f64;
        let measured_share = (measured.min(run) / attempts).clamp(0.0, 1.0);
        let dealt_share = (share * run / attempts).clamp(measured_share, 1.0);
        // Timers miss serializing, compressing and copying rows, so that some of the rest is sure as well.
        let sure = (dealt_share - measured_share) * context.get(&UNTIMED_SHARE);
        low.insert(*place, measured_share + sure);
        // What else the reading stage did is done in the writing one, without what its tasks took to start and end.
        let beside = if is_reader { (1.0 - run / attempts).clamp(0.0, 1.0 - dealt_share) } else { 0.0 };
        high.insert(*place, dealt_share + beside);
        core_ms += measured.min(run) * digest.task_cpus;
    }
    let edits = |shares: &BTreeMap<Place, f64>| -> Vec<Edit> {
        let some = shares.iter().filter(|(_, share)| **share > 0.0);
        some.map(|(place, share)| Edit::ScaleAll { place: *place, factor: 1.0 - share }).collect()
    };
    let (low, mut high) = (edits(&low), edits(&high));
    high.extend(levelled(context, case));
    (low, high, core_ms as i64)
}

/// Broadcast, rows of a hot key stay in the tasks that read them: as many, as even as the large side's.
fn levelled(context: &Context<'_>, case: &Case<'_>) -> Option<Edit> {
    let writer =
        case.large.writers.iter().filter_map(|place| context.digest_of(place.0, place.1)).next_back()?;
    let place = *case.large.readers.last()?;
    let reader = context.digest_of(place.0, place.1)?;
    let tasks = u32::try_from(writer.useful).ok()?;
    let is_uneven = reader.longest_ms as f64 > context.get(&UNEVEN_RATIO) * reader.median_ms
        || reader.useful < writer.useful;
    (is_uneven && tasks > 1).then_some(Edit::Resize { place, tasks, overhead_ms: 0.0 })
}

fn sorts_below(view: &SqlView<'_>, join: u32) -> Vec<u32> {
    let mut sorts = Vec::new();
    for child in &view.nodes[join as usize].children {
        let mut at = Some(*child);
        while let Some(node) = at.filter(|node| !view.nodes[*node as usize].name.contains("Exchange")) {
            if view.nodes[node as usize].name == "Sort" {
                sorts.push(node);
            }
            at = view.nodes[node as usize].children.first().copied();
        }
    }
    sorts
}

fn sort_ms(view: &SqlView<'_>, sorts: &[u32], place: Place) -> f64 {
    let of = |node: &u32| {
        let metric = view.metric(*node, "sort time")?;
        metric.by_stage.iter().find(|(stage, _)| *stage == place).map(|(_, sum)| *sum)
    };
    sorts.iter().filter_map(of).sum::<i64>() as f64
}

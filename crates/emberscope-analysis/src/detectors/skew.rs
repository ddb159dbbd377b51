//! One partition, or a few, with much more data than the others.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature};
use crate::plan::OperatorClass;
use crate::stage_plan::{AqeSplit, StagePlan};
use crate::stage_view::{StageView, Task};
use crate::tail::{self, Cause, Tail};
use crate::tail_worth;
use crate::words::{self, rounded};

const RATIO: Threshold = Threshold {
    tag: "SKEW",
    name: "ratio",
    default: 2.0,
    doc: "Times the median of its peers that the longest task must take.",
};
const KEYED_RATIO: Threshold = Threshold {
    tag: "SKEW",
    name: "keyed_ratio",
    default: 2.5,
    doc: "The same where the data was shuffled by keys: hashing alone makes the fullest partition more than twice as large as its peers, and a salt leaves it so.",
};
const KEYED_VOLUME_RATIO: Threshold = Threshold {
    tag: "SKEW",
    name: "keyed_volume_ratio",
    default: 4.0,
    doc: "Times the median volume that the slow tasks must have for `ratio` to be enough after a shuffle by keys all the same: \
          hashing does not do that.",
};
const VOLUME_RATIO: Threshold = Threshold {
    tag: "SKEW",
    name: "volume_ratio",
    default: 1.5,
    doc: "Times the median volume (bytes or records, whichever stands out more) that the slow tasks must have.",
};
const SURE_SHARE: Threshold = Threshold {
    tag: "SKEW",
    name: "sure_share",
    default: 0.7,
    doc: "Share of the excess that data explains from which the finding is sure.",
};
const CARRIED_SHARE: Threshold = Threshold {
    tag: "SKEW",
    name: "carried_share",
    default: 0.8,
    doc: "The partitions that together carry this share of the excess are counted as hot.",
};

/// The detector.
pub static SKEW: Detector = Detector {
    tag: "SKEW",
    title: "Data skew",
    types: &[FindingType {
        name: "skew",
        what: "A few tasks of a stage have much more data than the others, and the stage waits for them.",
    }],
    thresholds: &[RATIO, KEYED_RATIO, KEYED_VOLUME_RATIO, VOLUME_RATIO, SURE_SHARE, CARRIED_SHARE],
    checks: &[Check::Stage(check)],
    what: "A stage ends when its last task does. Here one task, or a few, got much more data than the \
others, and while they work the other cores idle. The finding says how much more (in bytes **and** in \
records: a compressible key may hold most of the records in few bytes), how many partitions carry the \
excess (one hot key, or many), at which operator and by which keys the data was shuffled, and what \
adaptive query execution (AQE) did about it and why. The variant `inputFiles` means that the data came \
from files of very different sizes rather than from a shuffle.",
    rule: "Slow tasks are found as described under `STRAG`: at least `STRAG.slow_ratio` times the median \
of their peers, and beyond what the noise of the peers explains. The excess is split by cause; data is \
charged in proportion to the larger of the ratios of bytes and records. The finding is made where data is the \
largest part, the longest task takes at least `ratio` times the median (`keyed_ratio` times after a shuffle by keys, unless the slow tasks have `keyed_volume_ratio` times the volume) and the slow tasks have at least \
`volume_ratio` times the median volume. Tasks without any data are left out of the comparison, so that \
few keys in many partitions are no skew. Slow tasks with ordinary records and a long deserialization are a cold \
executor, no skew.",
    why: "All rows with one key go to one partition, and one partition is one task. While that task \
runs alone, the stage uses one core. More shuffle partitions do not help a single hot key: the other \
partitions shrink, the hot one keeps its size.",
    fix: "Find the key first: `SELECT key, count(*) FROM t GROUP BY key ORDER BY 2 DESC LIMIT 10`. If it is \
null or a placeholder, filter it or give it a key of its own.\n\n\
**Join, small other side**: broadcast it, then nothing is shuffled.\n\n\
```sql\nSELECT /*+ BROADCAST(d) */ * FROM facts f JOIN dim d ON f.k = d.k\n```\n\n\
```python\nfrom pyspark.sql.functions import broadcast\nfacts.join(broadcast(dim), \"k\")\n```\n\n\
**Join, both sides large**: salt the key, so that the hot rows spread over several partitions.\n\n\
```sql\nSELECT * FROM (SELECT *, floor(rand() * 16) AS salt FROM facts) f\n\
JOIN (SELECT *, explode(sequence(0, 15)) AS salt FROM dim) d ON f.k = d.k AND f.salt = d.salt\n```\n\n\
**AQE** splits partitions of joins by their *compressed bytes*: lower \
`spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes` where the partition stands out by bytes; it cannot see \
one that stands out by records only.\n\n\
**Aggregation or window**: aggregate in two steps (by key and salt, then by key), or partition the window more finely.\n\n\
```python\nfrom pyspark.sql.functions import floor, rand, sum\nstep = df.groupBy(\"k\", floor(rand() * 16).alias(\"salt\")).agg(sum(\"v\").alias(\"v\"))\nstep.groupBy(\"k\").agg(sum(\"v\"))\n```\n\n\
**Files**: write them evenly and in a format that can be split (Parquet, ORC, not gzip text).",
    limits: "The log has no keys, so that *one hot key* is a conclusion from one hot partition. Cached data \
counts its records in batches of rows. On native engines volumes may be missing. If tasks also write or \
produce much more than they read, the excess counts as data too.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    if view.digest.useful > 0 && view.useful().next().is_none() {
        for kind in ["skew", "straggler"] {
            sink.not_checked(kind, "the log has no task metrics", None);
        }
        return;
    }
    let Some((tail, plan)) = tail::find(context, view) else { return };
    let volume_ratio = tail.records_ratio.unwrap_or(0.0).max(tail.bytes_ratio.unwrap_or(0.0));
    if context.is_native && tail.records_ratio.is_none() && tail.bytes_ratio.is_none() {
        let reason = format!("{} does not report what its tasks read", context.run.trust.engine);
        sink.not_checked("skew", reason, None);
        return;
    }
    if tail.cause() != Cause::Data
        || tail.ratio() < context.get(&RATIO)
        || volume_ratio < context.get(&VOLUME_RATIO)
    {
        return;
    }
    // Tasks that read cached data count it in batches, those that compute what does not fit in rows.
    if crate::caches::partly_cached(context, view.stage).is_some() {
        return;
    }
    let plan = plan.unwrap_or_default();
    let slow: Vec<&Task> = tail.slow.iter().map(|slow| &view.tasks[slow.at]).collect();
    if reads_shuffle(&slow, &plan)
        && tail.ratio() < context.get(&KEYED_RATIO)
        && volume_ratio < context.get(&KEYED_VOLUME_RATIO)
    {
        return;
    }
    sink.claim(claim(context, view, &tail, &plan));
}

fn claim(context: &Context<'_>, view: &StageView<'_>, tail: &Tail, plan: &StagePlan) -> Claim {
    let hot = tail.carriers(context.get(&CARRIED_SHARE)).max(1);
    let slowest: Vec<&Task> = tail.slow.iter().take(hot).map(|slow| &view.tasks[slow.at]).collect();
    let reads_files = !reads_shuffle(&slowest, plan);
    let records_share = share(view, &slowest, Task::read_records);
    let bytes_share = share(view, &slowest, Task::read_bytes);
    let longest_ms = view.tasks[tail.slow[0].at].duration_ms();
    let data_share = tail.share(Cause::Data);
    let place = plan.place_words();
    let mut claim = Claim::new("skew", context.stage_scope(view.digest), {
        let carriers = format!("{hot} of {}", words::count(tail.peers + tail.slow.len(), "partition"));
        let what = match (records_share, bytes_share) {
            (Some(records), bytes) if records >= bytes.unwrap_or(0.0) => {
                format!("{} of the records", words::percent(records))
            }
            (_, Some(bytes)) => format!("{} of the bytes", words::percent(bytes)),
            _ => "most of the output".to_owned(),
        };
        let at = match (&place, reads_files) {
            (_, true) => " of the input".to_owned(),
            (Some(place), false) => format!(" of {place}"),
            (None, false) => String::new(),
        };
        let verb = if hot == 1 { "has" } else { "have" };
        format!(
            "{carriers} {verb} {what}{at}: {} where the others take {}",
            words::duration(longest_ms),
            words::duration(tail.median_ms.round() as i64),
        )
    });
    claim.scope.node_id = plan.node_id;
    claim.variant = reads_files.then_some("inputFiles");
    claim.nature = Nature::Data;
    claim.confidence = match data_share {
        share if share >= context.get(&SURE_SHARE) && tail.ratio() >= 3.0 => Confidence::High,
        share if share >= 0.5 => Confidence::Medium,
        _ => Confidence::Low,
    };
    claim.worth = tail_worth::spread(context, view, tail, plan);
    claim = claim
        .evidence("tasks", view.digest.useful)
        .evidence("slow_tasks", tail.slow.len())
        .evidence("hot_partitions", hot)
        .evidence("hot_partition_ids", slowest.iter().take(10).map(|task| task.partition).collect::<Vec<_>>())
        .evidence("longest_ms", longest_ms)
        .evidence("median_ms", tail.median_ms.round() as i64)
        .evidence("time_ratio", rounded(tail.ratio()))
        .evidence("records_ratio", tail.records_ratio.map(rounded))
        .evidence("bytes_ratio", tail.bytes_ratio.map(rounded))
        .evidence("records_share", records_share.map(rounded))
        .evidence("bytes_share", bytes_share.map(rounded))
        .evidence("data_share", rounded(data_share));
    for cause in tail::CAUSES.into_iter().filter(|cause| *cause != Cause::Data && tail.share(*cause) >= 0.05)
    {
        claim = claim.evidence(&format!("{}_share", cause.name()), rounded(tail.share(cause)));
    }
    match reads_files {
        true => with_input_fix(claim, plan),
        false => with_shuffle_fix(context, view, tail, plan, hot, claim),
    }
}

/// Whether most of what the slow tasks read came through a shuffle.
fn reads_shuffle(slow: &[&Task], plan: &StagePlan) -> bool {
    let sum = |value: fn(&Task) -> i64| slow.iter().map(|task| value(task)).sum::<i64>();
    let (shuffle, input) = (sum(|task| task.shuffle_read_records), sum(|task| task.input_records));
    match shuffle + input {
        0 => {
            let (shuffle, input) = (sum(|task| task.shuffle_read_bytes), sum(|task| task.input_bytes));
            plan.reads_shuffle || shuffle >= input
        }
        _ => shuffle >= input,
    }
}

fn share(view: &StageView<'_>, some: &[&Task], value: fn(&Task) -> i64) -> Option<f64> {
    let all: i64 = view.useful().map(value).sum();
    (all > 0).then(|| some.iter().map(|task| value(task)).sum::<i64>() as f64 / all as f64)
}

fn with_input_fix(mut claim: Claim, plan: &StagePlan) -> Claim {
    if let Some(scan) = &plan.scan {
        claim = claim.evidence("scan", scan.clone());
    }
    claim.validate =
        "Compare the sizes of the files the slow tasks read with those of the others: if they are equal, the data is not the cause."
            .to_owned();
    let scan = plan.scan.as_deref().unwrap_or("").to_ascii_lowercase();
    if ["parquet", "orc", "iceberg", "delta"].iter().any(|format| scan.contains(format)) {
        // Cut at row groups and stripes: a split within one has nothing to read.
        return claim
            .advice(
                "Write the input in files of similar size with smaller row groups (stripes), of which each goes to one task whole, or repartition right after reading where the work per row is large.",
            )
            .change(Change::data("input files", "similar sizes, smaller row groups"));
    }
    claim
        .advice(
            "Write the input in files of similar size, in a format that can be split, or repartition right after reading where the work per row is large.",
        )
        .change(Change::data("input files", "similar sizes, a format that can be split"))
}

fn with_shuffle_fix(
    context: &Context<'_>,
    view: &StageView<'_>,
    tail: &Tail,
    plan: &StagePlan,
    hot: usize,
    mut claim: Claim,
) -> Claim {
    let largest = tail.slow.iter().map(|slow| view.tasks[slow.at].shuffle_read_bytes).max().unwrap_or(0);
    let median = view.spread(|task| task.shuffle_read_bytes).median().unwrap_or(0.0) as i64;
    let conf = context.conf_of_stage(view.digest);
    let aqe = match view.digest.sql_id {
        Some(_) => plan.aqe_split(&conf, largest, median),
        None => AqeSplit {
            verdict: "notSql",
            reason: "AQE does not see RDD code".to_owned(),
            ..AqeSplit::default()
        },
    };
    let keys = if plan.keys.is_empty() { "the key".to_owned() } else { plan.keys.join(", ") };
    if let Some(operator) = &plan.operator {
        claim = claim.evidence("operator", operator.clone());
    }
    if !plan.keys.is_empty() {
        claim = claim.evidence("keys", plan.keys.clone());
    }
    claim = claim
        .evidence("aqe_split", aqe.verdict)
        .evidence("aqe_reason", aqe.reason.clone())
        .evidence("largest_partition_bytes", largest)
        .evidence("median_partition_bytes", median)
        .evidence("partial_aggregation", plan.has_partial_aggregation);
    let one_key =
        if hot == 1 { "Most likely one key is hot" } else { "Several keys, or ranges of keys, are hot" };
    let code = match plan.class {
        Some(OperatorClass::Join) => {
            Change::code("join", format!("salt {keys} on both sides, or broadcast the smaller side"))
        }
        Some(OperatorClass::Window) => {
            Change::code("window", format!("partition more finely than by {keys}"))
        }
        Some(OperatorClass::Aggregation) if plan.is_distinct => Change::code(
            "count(DISTINCT)",
            format!("the rows of {keys} repeat: remove the duplicates before, or use approx_count_distinct"),
        ),
        // Sums and counts of a hot key are combined before the shuffle; what is left are lists and the like.
        Some(OperatorClass::Aggregation) if plan.has_partial_aggregation => Change::code(
            "aggregation",
            format!(
                "the hot group of {keys} stays large although it is combined before the shuffle (collect_list, collect_set): cut its size or split it"
            ),
        ),
        Some(OperatorClass::Aggregation) => {
            Change::code("aggregation", format!("aggregate by {keys} and a salt first, then by {keys}"))
        }
        _ => Change::code("partitioning", format!("spread {keys} with a salt before the shuffle")),
    };
    let what = code.proposed.clone().unwrap_or_default();
    claim.validate = format!(
        "Count the rows of each value of {keys}: if no value holds much more than its share, this is not the cause."
    );
    claim
        .advice(format!("{one_key}: {what}. More shuffle partitions would not divide it. {}.", aqe.reason))
        .change(code)
        .changes(aqe.changes)
}

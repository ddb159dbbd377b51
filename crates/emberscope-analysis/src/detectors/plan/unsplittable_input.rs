//! Files, and database reads, that cannot be cut into tasks.

use super::{TAG, conf, scope, slots, threshold};
use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::SqlView;
use crate::plan::scan::{Format, Scan, scans};
use crate::replay::Edit;
use crate::words;

const KIND: &str = "unsplittableInput";

const MIN_TASK_MS: Threshold = threshold(
    "unsplittable_min_task_ms",
    2000.0,
    "Time that the longest task of the scan must take, milliseconds.",
);
const MISSING_RATIO: Threshold = threshold(
    "unsplittable_missing_ratio",
    2.0,
    "How many times the tasks there were Spark would have made of files that can be split.",
);
const MIN_BYTES: Threshold = threshold(
    "unsplittable_min_bytes",
    8.0 * 1048576.0,
    "Mean size of the files that must be reached, bytes.",
);
const SLOW_TASK_MS: Threshold = threshold(
    "unsplittable_slow_task_ms",
    5000.0,
    "Time that the median task of a scan of smaller files must take, milliseconds: then it is not their bytes that it \
works on.",
);

/// What opening a file counts for when Spark cuts files into tasks (`spark.sql.files.openCostInBytes`).
const OPEN_COST: i64 = 4 << 20;

/// Files, and database reads, that cannot be cut into tasks.
pub static UNSPLITTABLE_INPUT: Detector = Detector {
    tag: TAG,
    title: "Input that cannot be split",
    types: &[FindingType {
        name: KIND,
        what: "A large input is read by fewer tasks than could run, because it cannot be split.",
    }],
    thresholds: &[MIN_TASK_MS, MISSING_RATIO, MIN_BYTES, SLOW_TASK_MS],
    checks: &[Check::Sql(check)],
    what: "A scan of large text files ran in as few tasks as there are files, although Spark cuts files that can be split into \
more: they are compressed with gzip, or read with `multiLine` or `wholetext`. Or a JDBC read ran through one connection, \
because it was given no partition column.",
    rule: "Text, CSV or JSON files of at least `unsplittable_min_bytes` on average, not more tasks than files, and at least \
`unsplittable_missing_ratio` times as many tasks would have come out of `spark.sql.files.maxPartitionBytes`, \
`openCostInBytes` and the cores; the longest task takes `unsplittable_min_task_ms` or more. Smaller \
files, each of which is one task, count where the median task takes `unsplittable_slow_task_ms` or more: compressed or not, \
the work behind them hangs on the number of files. For JDBC: one task, taking as \
long, where more could run.",
    why: "A gzip stream can only be read from its start: one file is one task, however large it is and however many cores \
wait. Everything up to the next exchange runs in those few tasks too.",
    fix: "Convert the files once to Parquet or another format that can be split, or compress them with zstd or bzip2 in blocks, \
or have them written as more, smaller files (about 100 MB). Where they must stay: repartition right after the read, so that \
at least the rest is parallel: `spark.read.json(path).repartition(64)`. Use one JSON object a line instead of `multiLine`. \
For JDBC: `.option(\"partitionColumn\", \"id\").option(\"lowerBound\", 1).option(\"upperBound\", 1000000)\
.option(\"numPartitions\", 16)`, and `fetchsize`.",
    limits: "File names are not in the log; that the files cannot be split is concluded from the number of tasks. A stage that \
reads several inputs is not judged. The optimistic estimate takes all cores for the read, the pessimistic one half of them.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    let all = scans(view);
    for scan in &all {
        let Some(place) = view.nodes[scan.node as usize].stages.stages.last() else { continue };
        let Some(digest) = context.digest_of(place.0, place.1) else { continue };
        let shares_stage = all.iter().any(|other| {
            other.node != scan.node && view.nodes[other.node as usize].stages.stages.contains(place)
        });
        if !shares_stage
            && digest.longest_ms as f64 >= context.get(&MIN_TASK_MS)
            && !context.is_immaterial(digest.running_ms())
        {
            check_scan(context, view, scan, digest, sink);
        }
    }
}

fn check_scan(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, digest: &StageDigest, sink: &mut Sink) {
    let slots = slots(digest);
    let tasks = digest.useful.max(1);
    let expected = match scan.format {
        Format::Jdbc if scan.jdbc_partitions.unwrap_or(1) == 1 && tasks == 1 => u64::from(slots),
        format if format.is_text() => {
            let files = u64::try_from(scan.files.unwrap_or(0)).unwrap_or(0).max(1);
            let is_slow = tasks == files && digest.median_ms >= context.get(&SLOW_TASK_MS);
            match expected_tasks(context, view, scan, slots) {
                Some(expected) if tasks <= files => expected,
                None if is_slow => u64::from(slots),
                _ => return,
            }
        }
        _ => return,
    };
    if (expected as f64) < context.get(&MISSING_RATIO) * tasks as f64 || u64::from(slots) <= tasks {
        return;
    }
    let is_jdbc = scan.format == Format::Jdbc;
    let amount = match scan.bytes {
        Some(bytes) => format!(" of {}", words::size(bytes)),
        None => String::new(),
    };
    let in_tasks = if tasks == 1 { "one task".to_owned() } else { format!("{tasks} tasks") };
    let place = (digest.id, digest.attempt);
    let mut scope = scope(view, scan.node);
    (scope.stage_id, scope.stage_attempt, scope.job_id) = (Some(place.0), Some(place.1), digest.job_id);
    let mut claim = Claim::new(
        KIND,
        scope,
        format!("{}{amount} is read by {in_tasks} for {} while {slots} could run", scan.label(), words::duration(digest.longest_ms)),
    )
    .evidence("format", scan.format.name())
    .evidence("relation", scan.relation.clone().unwrap_or_default())
    .evidence("files", scan.files.unwrap_or(0))
    .evidence("read_bytes", scan.bytes.unwrap_or(0))
    .evidence("tasks", tasks)
    .evidence("expected_tasks", expected)
    .evidence("slots", slots)
    .evidence("longest_task_ms", digest.longest_ms)
    .advice(if is_jdbc {
        "Give the read a partition column with bounds and a number of partitions, so that several connections read at once."
    } else {
        "Each file comes in one piece (gzip, multiLine, wholetext, or too small to be cut): repartition right after the read, or convert the input to Parquet or to more and smaller files."
    })
    .change(if is_jdbc {
        Change::code("numPartitions", slots.to_string())
    } else {
        Change::data("files", format!("a format that can be split, or at least {slots} files"))
    });
    claim.nature = if is_jdbc { Nature::Code } else { Nature::Data };
    claim.subject = scan.relation.clone().unwrap_or_default();
    claim.confidence = Confidence::Medium;
    claim.validate = if is_jdbc {
        "Read with several partitions: if it takes as long, the database or the network is the limit."
    } else {
        "Look at the files' names and the read options: if they can be split (no gzip, one record a line), the reason is another."
    }
    .to_owned();
    let to = u32::try_from(expected).unwrap_or(u32::MAX).min(slots);
    // Pieces are seldom equal: at worst they are as good as half of the tasks that could run beside these.
    let half = u32::try_from(tasks).unwrap_or(u32::MAX).midpoint(to).max(1);
    let resize = |tasks: u32| vec![Edit::Resize { place, tasks, overhead_ms: 5.0 }];
    let low = if u64::from(half) > tasks { resize(half) } else { Vec::new() };
    claim.worth = Worth::Replay { low, high: resize(to.max(2)) };
    claim.stages = vec![place];
    sink.claim(claim);
}

/// The tasks that Spark makes of files that can be split (`FilePartition.maxSplitBytes`).
fn expected_tasks(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, slots: u32) -> Option<u64> {
    let (files, bytes) = (scan.files.filter(|files| *files > 0)?, scan.bytes?);
    if (bytes as f64) < context.get(&MIN_BYTES) * files as f64 {
        return None;
    }
    let conf = conf(context, view);
    let most = conf.bytes("spark.sql.files.maxPartitionBytes").unwrap_or(128 << 20);
    let open = conf.bytes("spark.sql.files.openCostInBytes").unwrap_or(OPEN_COST);
    let parallelism = conf.number("spark.default.parallelism").map_or(i64::from(slots), |n| n as i64).max(1);
    let by_core = (bytes + files * open) / parallelism;
    let split = most.min(open.max(by_core)).max(1);
    u64::try_from((bytes / split).max(1)).ok()
}

//! Many small files, read or written.

use super::{TAG, count_text, is_immaterial, rounded, scope, small_batches, threshold};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::exchange::Place;
use crate::plan::scan::{Scan, scans};
use crate::plan::text::last_part;
use crate::plan::write::{WriteTarget, writes};
use crate::plan::{OperatorClass, SqlView};
use crate::replay::Edit;
use crate::words;

pub(super) const KIND: &str = "smallFiles";

pub(super) const MIN_FILES: Threshold = threshold(
    "small_files_min_count",
    100.0,
    "Files that a scan must read, or a write make, to be looked at.",
);
pub(super) const MAX_MEAN_BYTES: Threshold = threshold(
    "small_files_max_mean_bytes",
    3.0 * 1048576.0,
    "Mean size of the files below which they are small, bytes.",
);
const TARGET_BYTES: Threshold =
    threshold("small_files_target_bytes", 128.0 * 1048576.0, "Size of the files that is proposed, bytes.");
const OPEN_LOW_MS: Threshold = threshold(
    "small_files_open_low_ms",
    2.0,
    "Task time that a file that is read costs beside its data at least, milliseconds.",
);
const OPEN_LOCAL_MS: Threshold = threshold(
    "small_files_open_local_ms",
    25.0,
    "Task time that a file costs beside its data at most, on local and HDFS storage, milliseconds.",
);
const OPEN_STORE_MS: Threshold = threshold(
    "small_files_open_store_ms",
    80.0,
    "Task time that a file costs beside its data at most, in an object store, milliseconds.",
);
const MERGED_RATIO: Threshold = threshold(
    "small_files_merged_ratio",
    4.0,
    "Files read by file written from which a query that copies all rows of one scan is what merges them.",
);
const SCAN_SHARE: Threshold = threshold(
    "small_files_scan_share",
    0.75,
    "Share of the measured scan time that opening files is taken to be at least, where they hold next to nothing.",
);
const NOTHING_BYTES: Threshold = threshold(
    "small_files_nothing_bytes",
    262_144.0,
    "Mean size of files up to which reading what they hold takes next to no time, bytes.",
);
pub(super) const WRITE_LOW_MS: Threshold = threshold(
    "small_files_write_low_ms",
    30.0,
    "Task time that a file that is written costs beside its data at least, milliseconds.",
);
pub(super) const WRITE_HIGH_MS: Threshold = threshold(
    "small_files_write_high_ms",
    100.0,
    "Task time that a file that is written costs beside its data at most, milliseconds.",
);
const MAX_SHARE: Threshold = threshold(
    "small_files_max_share",
    0.95,
    "Share of a stage's time that opening files is taken to cost at most.",
);

/// Many small files, read or written.
pub static SMALL_FILES: Detector = Detector {
    tag: TAG,
    title: "Small files",
    types: &[FindingType { name: KIND, what: "A query reads or writes many files of little data." }],
    thresholds: &[
        MIN_FILES,
        MAX_MEAN_BYTES,
        TARGET_BYTES,
        OPEN_LOW_MS,
        OPEN_LOCAL_MS,
        OPEN_STORE_MS,
        MERGED_RATIO,
        SCAN_SHARE,
        NOTHING_BYTES,
        WRITE_LOW_MS,
        WRITE_HIGH_MS,
        MAX_SHARE,
        small_batches::MIN_BATCH_FILES,
    ],
    checks: &[Check::Sql(check), Check::App(small_batches::check)],
    what: "A scan read (variant `read`), or a write made (variant `write`), many files whose mean size is small. \
Numbers come from the operator's own metrics (`number of files read`, `size of files read`, `number of written \
files`, `written output`), which are right also where the tasks' input bytes are not. Small files do not show as \
many tasks: Spark packs them, so that 1 500 files may be 47 tasks.",
    rule: "More than `small_files_min_count` files of less than `small_files_max_mean_bytes` on average; the batches of a \
streaming query that write to one place are counted together, where each makes `small_files_min_batch_files` more than it needs. A query \
that reads the rows of one scan and writes all of them in the same format into `small_files_merged_ratio` times fewer files is the \
repair, and its reading is no finding.",
    why: "Every file has a price beside its data: a listing entry in the driver, an open, a footer or header to read \
and decode, a stream to close, and in object stores a request or two of tens of milliseconds. Compression and column \
statistics work worse in small files, and every later reader pays again.",
    fix: "For what is read: compact it once. Plain Parquet: `spark.read.parquet(src).repartition(n).write.parquet(dst)`; \
Delta: `OPTIMIZE t`; Iceberg: `CALL cat.system.rewrite_data_files('db.t')`. For what is written: give the writer fewer, \
larger partitions. Spark SQL: `INSERT INTO t SELECT /*+ REBALANCE(day) */ ...`; PySpark: \
`df.repartition(\"day\").write.partitionBy(\"day\")...` or `df.coalesce(n).write...`. With dynamic partitions, \
repartition by the partition columns first, so that not every task writes into every partition.",
    limits: "What a file costs is not measured by Spark; the estimate for reading ranges between \
`small_files_open_low_ms` (or `small_files_scan_share` of the scan time, where Spark measured it and the files hold next to \
nothing) and `small_files_open_local_ms` or `small_files_open_store_ms` by file, for writing between \
`small_files_write_low_ms` and `small_files_write_high_ms` by file and the files' share of the commit. It never exceeds \
`small_files_max_share` of the stage. What later readers of written files save is not counted: they are other runs.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    let targets = writes(view);
    let scans = scans(view);
    for scan in scans.iter().filter(|scan| scan.format.is_stored() && !scan.is_bookkeeping) {
        let is_merged = scans.len() == 1 && targets.iter().any(|target| merges(context, view, scan, target));
        if !is_merged {
            check_read(context, view, scan, sink);
        }
    }
    for target in &targets {
        check_write(context, view, target, sink);
    }
}

/// Whether a query only copies the rows of a scan into far fewer files of the same format.
fn merges(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, target: &WriteTarget) -> bool {
    let (Some(read), Some(written)) = (scan.files, target.files) else { return false };
    let copies = |class: OperatorClass| {
        use OperatorClass::{Other, Scan, Shuffle, Sort, Write};
        matches!(class, Scan | Shuffle | Sort | Write | Other)
    };
    read as f64 >= context.get(&MERGED_RATIO) * written.max(1) as f64
        && scan.rows.is_some()
        && scan.rows == target.rows
        && target.format.as_deref() == Some(scan.format.name())
        && view.nodes.iter().all(|node| copies(node.class))
}

/// Whether so many files of so many bytes are small; then their mean size.
fn small(context: &Context<'_>, files: Option<i64>, bytes: Option<i64>) -> Option<(i64, i64)> {
    let (files, bytes) = (files?, bytes?);
    let mean = bytes as f64 / files.max(1) as f64;
    (files as f64 > context.get(&MIN_FILES) && mean < context.get(&MAX_MEAN_BYTES))
        .then_some((files, mean as i64))
}

fn check_read(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, sink: &mut Sink) {
    let Some((files, mean)) = small(context, scan.files, scan.bytes) else { return };
    let places = view.nodes[scan.node as usize].stages.stages.clone();
    if is_immaterial(context, &places) {
        return;
    }
    let target = target_files(context, scan.bytes.unwrap_or(0));
    let is_store = scan.location.as_deref().is_some_and(is_object_store);
    let mut claim = Claim::new(
        KIND,
        scope(view, scan.node),
        format!("{} reads {} files of {} on average", scan.label(), count_text(files), words::size(mean)),
    )
    .evidence("files", files)
    .evidence("mean_file_bytes", mean)
    .evidence("read_bytes", scan.bytes.unwrap_or(0))
    .evidence("listing_ms", scan.metadata_ms.unwrap_or(0))
    .evidence("is_object_store", is_store)
    .advice(format!(
        "Compact {} into about {} of {}; every query that reads it gains.",
        scan.label(),
        words::count(target as usize, "file"),
        words::size(context.get(&TARGET_BYTES) as i64)
    ))
    .change(Change::data("files", format!("compact to about {}", words::count(target as usize, "file"))));
    claim.variant = Some("read");
    claim.nature = Nature::Data;
    claim.subject = scan.relation.clone().unwrap_or_default();
    claim.confidence = Confidence::Medium;
    claim.validate = "Read a compacted copy with the same query: if the scan's stage takes as long, opening files was not its cost.".to_owned();
    // What the merged files would cost remains.
    let fewer = (files - target).max(0);
    let at_least = context.get(&OPEN_LOW_MS).max(scan_ms_per_file(context, view, scan, mean));
    let at_most = context.get(if is_store { &OPEN_STORE_MS } else { &OPEN_LOCAL_MS });
    worth(context, &mut claim, &places, fewer, (at_least.min(at_most), at_most));
    sink.claim(claim);
}

fn check_write(context: &Context<'_>, view: &SqlView<'_>, target: &WriteTarget, sink: &mut Sink) {
    let Some((files, mean)) = small(context, target.files, target.bytes) else { return };
    let places = writing_stages(view, target.node);
    let proposed = target_files(context, target.bytes.unwrap_or(0)).max(target.partitions.unwrap_or(0));
    // One file for each partition of the table is all there can be.
    if proposed >= files {
        return;
    }
    let written = words::count(proposed as usize, "file");
    let name = target.target.as_deref().map_or("the output", last_part).to_owned();
    let mut claim = Claim::new(
        KIND,
        scope(view, target.node),
        format!("Writing {name} makes {} files of {} on average", count_text(files), words::size(mean)),
    )
    .evidence("files", files)
    .evidence("mean_file_bytes", mean)
    .evidence("written_bytes", target.bytes.unwrap_or(0))
    .evidence("table_partitions", target.partitions.unwrap_or(0))
    .evidence("commit_ms", target.commit_ms.unwrap_or(0))
    .evidence("files_per_partition_ratio", rounded(files as f64 / target.partitions.unwrap_or(1).max(1) as f64))
    .advice(if target.partitions.unwrap_or(0) > 1 {
        format!("Repartition by the table's partition columns before the write, so that each partition gets one file instead of one from every task: about {written}.")
    } else {
        format!("Write about {written}: coalesce or rebalance before the write.")
    })
    .change(Change::code("files", format!("about {written}: REBALANCE hint, repartition or coalesce before the write")));
    claim.variant = Some("write");
    claim.nature = Nature::Code;
    claim.subject = name;
    claim.confidence = Confidence::Medium;
    claim.validate = "Write with fewer partitions and compare the writing stage and the commit; fewer files must not leave cores idle.".to_owned();
    let per_file = (context.get(&WRITE_LOW_MS), context.get(&WRITE_HIGH_MS));
    worth(context, &mut claim, &places, files - proposed, per_file);
    let commit_ms = target.commit_ms.unwrap_or(0) as f64 * (files - proposed) as f64 / files.max(1) as f64;
    if let (Worth::Replay { low, high }, Some(edit)) =
        (&mut claim.worth, committed(context, view, commit_ms as i64))
    {
        low.push(edit.clone());
        high.push(edit);
    }
    sink.claim(claim);
}

pub(super) fn target_files(context: &Context<'_>, bytes: i64) -> i64 {
    ((bytes as f64 / context.get(&TARGET_BYTES)).ceil() as i64).max(1)
}

/// Scan time by file where the files hold so little that reading it takes no time; else 0.
fn scan_ms_per_file(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, mean: i64) -> f64 {
    let scan_ms = view.total(scan.node, "scan time").unwrap_or(0);
    if mean as f64 > context.get(&NOTHING_BYTES) {
        return 0.0;
    }
    context.get(&SCAN_SHARE) * scan_ms as f64 / scan.files.unwrap_or(1).max(1) as f64
}

/// The driver commits after the query's last job: what comes next starts sooner.
fn committed(context: &Context<'_>, view: &SqlView<'_>, by_ms: i64) -> Option<Edit> {
    let end = view.execution.job_ids.iter().filter_map(|id| context.run.job(*id)?.end_ms).max()?;
    let later =
        context.run.jobs.iter().filter_map(|job| Some((job.start_ms.filter(|start| *start >= end)?, job.id)));
    (by_ms > 0).then(|| match later.min() {
        Some((_, job)) => Edit::JobSooner { job, by_ms },
        None => Edit::EndSooner { by_ms },
    })
}

/// `(low, high)` milliseconds of task time by file.
pub(super) fn worth(
    context: &Context<'_>,
    claim: &mut Claim,
    places: &[Place],
    fewer: i64,
    per_file: (f64, f64),
) {
    let (low, at_most) = per_file;
    let task_ms: i64 = places
        .iter()
        .filter_map(|place| context.digest_of(place.0, place.1))
        .map(|digest| digest.attempt_ms)
        .sum();
    let share =
        |per_file: f64| (fewer as f64 * per_file / task_ms.max(1) as f64).min(context.get(&MAX_SHARE));
    let edits = |per_file: f64| {
        let factor = 1.0 - share(per_file);
        places.iter().map(|place| Edit::ScaleAll { place: *place, factor }).collect()
    };
    claim.core_ms = Some((share(low) * task_ms as f64) as i64);
    claim.worth = Worth::Replay { low: edits(low), high: edits(at_most) };
    claim.stages = places.to_vec();
}

/// The stages that ran the operators right below a write command.
pub(super) fn writing_stages(view: &SqlView<'_>, node: u32) -> Vec<Place> {
    let mut at = Some(node);
    while let Some(node) = at.and_then(|at| view.nodes.get(at as usize)) {
        if !node.stages.stages.is_empty() {
            return node.stages.stages.clone();
        }
        at = node.children.first().copied();
    }
    Vec::new()
}

fn is_object_store(location: &str) -> bool {
    ["s3", "gs:", "abfs", "wasb", "oss:", "cos", "obs:", "dbfs:"]
        .iter()
        .any(|scheme| location.starts_with(scheme))
}

//! Partitioned tables that are read whole for a few rows.

use super::{TAG, count_text, filter_above, is_immaterial, percent, rounded, same_filter, scope, threshold};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::scan::{Format, Scan, scans};
use crate::plan::text::without_ids;
use crate::plan::{SqlView, price};
use crate::words;
use std::collections::BTreeSet;

pub(super) const KIND: &str = "missingPruning";

const MIN_PARTITIONS: Threshold = threshold(
    "pruning_min_partitions",
    4.0,
    "Partitions, or files of a table without them, that must have been read.",
);
const MIN_BYTES: Threshold = threshold(
    "pruning_min_bytes",
    1_048_576.0,
    "Bytes that must have been read where they are known: less is read in no time, whole or in part.",
);
const MAX_KEPT_SHARE: Threshold = threshold(
    "pruning_max_kept_share",
    0.25,
    "Share of the rows read that the filter right above the scan may keep at most.",
);
const KEPT_PARTITIONS: Threshold = threshold(
    "pruning_kept_partitions",
    2.0,
    "How many partitions' worth of rows the filter keeps at most where it is taken to want whole partitions, and at least \
one part of how many of a partition's: far fewer rows may lie anywhere.",
);

/// Partitioned tables that are read whole for a few rows.
pub static MISSING_PRUNING: Detector = Detector {
    tag: TAG,
    title: "Missing partition pruning",
    types: &[FindingType {
        name: KIND,
        what: "A query reads all partitions of a table and throws most rows away.",
    }],
    thresholds: &[MIN_PARTITIONS, MIN_BYTES, MAX_KEPT_SHARE, KEPT_PARTITIONS],
    checks: &[Check::Sql(check)],
    what: "A scan of a partitioned table has no filter on a partition column, reads every partition, and the filter right \
above it keeps few of the rows. Where that filter names a partition column, Spark could not use it for pruning: it is \
hidden in a Python function or tied to other columns by `OR`. For Iceberg tables: no file was skipped although the scan \
had filters.",
    rule: "The relation has partition columns, `PartitionFilters` is empty, at least `pruning_min_partitions` partitions and \
`pruning_min_bytes` were read, and the filter above keeps at most `pruning_max_kept_share` of the rows. A scan without a filter wants the table; \
it is not reported.",
    why: "Pruned partitions are neither listed nor opened nor read. A day of a table that holds three years is a thousandth of \
the work.",
    fix: "Filter on the partition column as well: `WHERE ts >= '2024-05-01' AND day = '2024-05-01'`. Compare the column \
itself, not a Python function of it; built-in functions of it are fine. Join with the filtered dimension instead of \
filtering after: dynamic partition pruning needs a filter on the other side and the partition column as join key. \
`a OR b` across columns prunes nothing: write a `UNION`. PySpark: `df.where((F.col(\"day\") == \"2024-05-01\") & (...))`. For \
Iceberg and Delta sort or cluster the files by what is filtered: `CALL cat.system.rewrite_data_files(table => 'db.t', \
strategy => 'sort', sort_order => 'ts')`, `OPTIMIZE t ZORDER BY (ts)`.",
    limits: "Whether the filter follows from a partition (a timestamp from its day) is for a reader to say: the saving ranges \
from nothing to the share of rows that were thrown away, with all that worked on them before the filter. Where as many rows \
are kept as one partition has, `pruning_kept_partitions` times more or fewer, half of that is the least. Formats that do not log partitions are not checked.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    for scan in scans(view) {
        check_scan(context, view, &scan, sink);
    }
}

/// Whether a scan could have been pruned and was not.
pub(super) fn is_unpruned(scan: &Scan) -> bool {
    if scan.is_bookkeeping {
        return false;
    }
    match scan.format {
        Format::Iceberg => !scan.pushed_filters.is_empty(),
        _ => scan.is_partitioned == Some(true) && scan.partition_filters.is_empty(),
    }
}

fn check_scan(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, sink: &mut Sink) {
    let skipped = view.total(scan.node, "number of skipped data files").unwrap_or(0)
        + view.total(scan.node, "number of skipped data manifests").unwrap_or(0);
    let parts_read = if scan.format == Format::Iceberg { scan.files } else { scan.partitions }.unwrap_or(0);
    let is_tiny = scan.bytes.is_some_and(|bytes| (bytes as f64) < context.get(&MIN_BYTES));
    if !is_unpruned(scan) || is_tiny || skipped > 0 || (parts_read as f64) < context.get(&MIN_PARTITIONS) {
        return;
    }
    let (Some((filter, kept)), Some(rows)) =
        (filter_above(view, scan.node), scan.rows.filter(|rows| *rows > 0))
    else {
        return;
    };
    let kept_share = kept as f64 / rows as f64;
    let parts = price::parts_of(context, view, &between(view, scan.node, filter));
    let places = price::places(&parts);
    if kept_share > context.get(&MAX_KEPT_SHARE) || is_immaterial(context, &places) {
        return;
    }
    let condition = without_ids(view.nodes[filter as usize].detail.trim_start_matches("Filter "));
    let hidden = scan.partition_columns().into_iter().find(|column| names_column(&condition, column));
    let pieces = if scan.format == Format::Iceberg { "files" } else { "partitions" };
    let kept_partitions = kept_share * parts_read as f64;
    let factor = context.get(&KEPT_PARTITIONS).max(1.0);
    let is_few = scan.format != Format::Iceberg && (1.0 / factor..=factor).contains(&kept_partitions);
    let mut claim = Claim::new(
        KIND,
        scope(view, scan.node),
        format!(
            "{} is read whole ({} {pieces}, {}) and {} of its rows are kept",
            scan.label(),
            count_text(parts_read),
            words::size(scan.bytes.unwrap_or(0)),
            percent(kept_share)
        ),
    )
    .evidence("relation", scan.relation.clone().unwrap_or_default())
    .evidence(if scan.format == Format::Iceberg { "files_read" } else { "partitions_read" }, parts_read)
    .evidence("read_bytes", scan.bytes.unwrap_or(0))
    .evidence("rows_read", rows)
    .evidence("kept_share", rounded(kept_share))
    .evidence("filter", condition.clone())
    .evidence("partition_columns", scan.partition_columns().join(", "))
    .advice(match hidden {
        Some(column) => format!("The filter names the partition column {column} in a way that Spark cannot prune by: compare the column itself."),
        None if scan.format == Format::Iceberg => "No file could be skipped: sort or partition the table by the columns that are filtered.".to_owned(),
        None => "Filter on the partition column too, if the rows that are wanted lie in few partitions.".to_owned(),
    })
    .change(Change::code("filter", format!("a filter on the partition column of {}", scan.label())));
    claim.nature = if scan.format == Format::Iceberg { Nature::Data } else { Nature::Code };
    claim.subject = scan.relation.clone().unwrap_or_default();
    claim.cause = Some(same_filter(scan, &condition));
    claim.confidence = match (hidden.is_some(), is_few) {
        (true, _) => Confidence::High,
        (false, true) => Confidence::Medium,
        (false, false) => Confidence::Low,
    };
    claim.validate =
        "Count in how many partitions the kept rows lie: if in most, pruning saves little.".to_owned();
    let gone = price::without(&parts, 1.0 - kept_share);
    let low = if hidden.is_some() || is_few {
        price::without(&parts, (1.0 - kept_share) / 2.0)
    } else {
        Vec::new()
    };
    claim.core_ms = hidden.map(|_| (price::core_ms(context, &parts) as f64 * (1.0 - kept_share)) as i64);
    claim.worth = Worth::Replay { low, high: gone };
    claim.stages = places;
    sink.claim(claim);
}

/// A scan, the filter above it, and what works on the rows between them.
fn between(view: &SqlView<'_>, scan: u32, filter: u32) -> BTreeSet<u32> {
    let mut nodes = BTreeSet::from([scan]);
    let mut at = scan;
    while let Some(parent) = view.nodes.get(at as usize).and_then(|it| it.parent).filter(|_| at != filter) {
        nodes.insert(parent);
        at = parent;
    }
    nodes
}

/// Whether a condition names a column as a whole word.
fn names_column(condition: &str, column: &str) -> bool {
    condition.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == column)
}

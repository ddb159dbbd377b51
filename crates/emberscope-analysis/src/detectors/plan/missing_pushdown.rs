//! Filters that the reader or the database could have applied.

use super::{
    TAG, count_text, filter_above, is_immaterial, missing_pruning, percent, rounded, same_filter, scope,
    threshold,
};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::scan::{Format, Scan, scans};
use crate::plan::text::without_ids;
use crate::plan::{SqlView, price};
use std::collections::BTreeSet;

const KIND: &str = "missingPushdown";

const MIN_ROWS: Threshold =
    threshold("pushdown_min_rows", 100_000.0, "Rows that the scan must give to be looked at.");
const MAX_KEPT_SHARE: Threshold = threshold(
    "pushdown_max_kept_share",
    0.1,
    "Share of the rows read that the filter right above the scan may keep at most.",
);

/// Filters that the reader or the database could have applied.
pub static MISSING_PUSHDOWN: Detector = Detector {
    tag: TAG,
    title: "Missing filter pushdown",
    types: &[FindingType {
        name: KIND,
        what: "A selective filter is applied after the read although its source could apply it.",
    }],
    thresholds: &[MIN_ROWS, MAX_KEPT_SHARE],
    checks: &[Check::Sql(check)],
    what: "A scan of a columnar format or of a database gave all rows to a filter right above it that keeps few, and the scan \
itself was given no filter but null checks: a cast, a function or a Python function stands around the column, so that the \
source cannot use the condition.",
    rule: "At least `pushdown_min_rows` rows read, at most `pushdown_max_kept_share` kept by the filter right above, and \
`PushedFilters` empty but for null checks (for JDBC: nothing marked as applied by the database).",
    why: "Parquet, ORC, Delta and Iceberg keep minima and maxima (and Bloom filters) of each block and skip blocks that hold no \
match, if the filter compares a plain column with a value. A database applies a condition by its indexes; without one the \
whole table goes through one or a few connections.",
    fix: "Compare the column itself: `ts >= timestamp'2024-05-01' AND ts < timestamp'2024-05-02'` instead of \
`to_date(ts) = '2024-05-01'`; a literal of the column's own type instead of `cast(id AS string) = '7'`; in PySpark \
`df.where(F.col(\"name\").startswith(\"ab\"))` instead of a UDF. For JDBC put the condition into the query: \
`.option(\"query\", \"SELECT ... WHERE lower(name) = 'x'\")`. Sort or cluster the table by the filtered column, so that blocks \
can be skipped: `OPTIMIZE t ZORDER BY (ts)` or `df.sort(\"ts\").write...`.",
    limits: "How many blocks could be skipped depends on how the data is sorted, which the log does not say: the saving ranges \
from nothing to the share of rows thrown away. Text formats have no blocks to skip and are not reported.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    for scan in scans(view) {
        // What pruning would spare need not be pushed down.
        let is_other = scan.format == Format::Iceberg
            || (missing_pruning::is_unpruned(&scan) && scan.partitions.unwrap_or(0) > 1);
        if (scan.format.is_columnar() || scan.format == Format::Jdbc) && !scan.is_bookkeeping && !is_other {
            check_scan(context, view, &scan, sink);
        }
    }
}

fn check_scan(context: &Context<'_>, view: &SqlView<'_>, scan: &Scan, sink: &mut Sink) {
    let pushed = scan.pushed_filters.iter().any(|filter| does_skip(filter, scan.format));
    let (Some((filter, kept)), Some(rows)) = (filter_above(view, scan.node), scan.rows) else { return };
    let kept_share = kept as f64 / rows.max(1) as f64;
    if pushed || (rows as f64) < context.get(&MIN_ROWS) || kept_share > context.get(&MAX_KEPT_SHARE) {
        return;
    }
    let parts = price::parts_of(context, view, &BTreeSet::from([scan.node, filter]));
    let places = price::places(&parts);
    if is_immaterial(context, &places) {
        return;
    }
    let condition = without_ids(view.nodes[filter as usize].detail.trim_start_matches("Filter "));
    if !has_condition(&condition) {
        return;
    }
    let is_jdbc = scan.format == Format::Jdbc;
    let mut claim = Claim::new(
        KIND,
        scope(view, scan.node),
        format!(
            "{} gives {} rows of which {} pass the filter that it was not given",
            scan.label(),
            count_text(rows),
            percent(kept_share)
        ),
    )
    .evidence("relation", scan.relation.clone().unwrap_or_default())
    .evidence("format", scan.format.name())
    .evidence("rows_read", rows)
    .evidence("kept_share", rounded(kept_share))
    .evidence("filter", condition.clone())
    .evidence("pushed_filters", scan.pushed_filters.join(", "))
    .advice(if is_jdbc {
        "Write the condition so that the database can apply it, or put it into the query that is read."
    } else {
        "Compare the column itself with a value of its own type, without cast, function or UDF around it; sort the table by it, so that blocks can be skipped."
    })
    .change(Change::code("filter", format!("a condition that can be pushed down instead of {condition}")));
    claim.nature = Nature::Code;
    claim.subject = scan.relation.clone().unwrap_or_default();
    claim.cause = Some(same_filter(scan, &condition));
    claim.confidence = if is_jdbc { Confidence::Medium } else { Confidence::Low };
    claim.validate = "After the change `PushedFilters` must name the condition and the scan give fewer rows; if it gives as many, the table is not sorted by the column.".to_owned();
    claim.worth = Worth::Replay { low: Vec::new(), high: price::without(&parts, 1.0 - kept_share) };
    claim.stages = places;
    sink.claim(claim);
}

/// Whether a filter has a condition that the query asked for: null checks, and the Bloom filters that
/// Spark derives from joins while it runs, are none.
fn has_condition(filter: &str) -> bool {
    let own = |part: &str| {
        let part = part.trim_start_matches(['(', ' ']);
        !part.starts_with("isnotnull(")
            && !part.starts_with("might_contain(")
            && !part.starts_with("dynamicpruning")
    };
    filter.split(" AND ").any(own)
}

/// Whether a pushed filter spares rows: null checks do not, and a database says by `*` what it applies.
fn does_skip(filter: &str, format: Format) -> bool {
    let applied = filter.strip_prefix('*');
    let name = applied.unwrap_or(filter);
    if name.starts_with("IsNotNull") || name.ends_with("IS NOT NULL") {
        return false;
    }
    format != Format::Jdbc || applied.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_the_query() {
        assert!(!has_condition(
            "((isnotnull(a) AND isnotnull(b)) AND might_contain(Subquery subquery, , cast(b as bigint)))"
        ));
        assert!(has_condition("(isnotnull(id) AND (cast(id as string) = 7))"));
    }

    #[test]
    fn filters_that_spare_rows() {
        for (filter, format, skips) in [
            ("IsNotNull(id)", Format::Parquet, false),
            ("GreaterThan(id,100)", Format::Parquet, true),
            ("*GreaterThan(ID,50)", Format::Jdbc, true),
            ("GreaterThan(ID,50)", Format::Jdbc, false),
            ("*IsNotNull(ID)", Format::Jdbc, false),
        ] {
            assert_eq!(does_skip(filter, format), skips, "{filter}");
        }
    }
}

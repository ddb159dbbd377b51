//! Joins that give many more rows than come in.

use super::{TAG, collapsed, count_text, is_immaterial, rounded, scope, short, threshold, up_to_exchange};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::join::{Join, joins};
use crate::plan::{SqlView, price};
use crate::words;

const KIND: &str = "joinExplosion";

const RATIO: Threshold =
    threshold("join_explosion_ratio", 5.0, "Rows that come out of a join for each row of its larger side.");
const MIN_ROWS: Threshold =
    threshold("join_explosion_min_rows", 1e6, "Rows that must come out of a join to be looked at.");
const SURE_SHARE: Threshold = threshold(
    "join_explosion_sure_share",
    0.5,
    "Share of the saving that is counted in any case where the rows are put together again right above.",
);

/// Joins that give many more rows than come in.
pub static JOIN_EXPLOSION: Detector = Detector {
    tag: TAG,
    title: "Join explosion",
    types: &[FindingType { name: KIND, what: "A join gives many more rows than either side has." }],
    thresholds: &[RATIO, MIN_ROWS, SURE_SHARE],
    checks: &[Check::Sql(check)],
    what: "A join by equal keys gave many times as many rows as its larger side has: keys repeat on both sides, so that \
every pair of rows with the same key comes out. A fact table joined with its dimension gives as many rows as the fact \
table; that is not an explosion, however slow it is.",
    rule: "Output rows are at least `join_explosion_ratio` times the rows of the larger side, both measured, and at least \
`join_explosion_min_rows`.",
    why: "All operators above the join work on rows that the join multiplied; its shuffle partitions grow beyond what the \
planner and adaptive execution expected, and spill. Often a distinct or an aggregate right above removes the copies again.",
    fix: "Find the keys that repeat: `SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 1 ORDER BY 2 DESC`. Make one \
side unique before the join, by the row that counts (PySpark: `dim.withColumn(\"n\", F.row_number().over(Window.partitionBy(\"k\")\
.orderBy(F.desc(\"updated\")))).where(\"n = 1\")`), or aggregate before joining instead of after, or add the missing part of \
the key. Where only existence is asked, use a semi join: `WHERE EXISTS (...)`, `df.join(other, \"k\", \"left_semi\")`. Null or \
placeholder keys (`''`, `-1`) that match each other belong filtered out.",
    limits: "Whether the pairs are wanted is not in the log: the saving ranges from nothing to what the multiplied rows \
cost up to the next exchange. Where an aggregate right above puts most of them together again, and no condition beside \
the keys picks among the pairs, they are most likely not, and `join_explosion_sure_share` of it is the least. Work further up is not counted.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    // Without an equality it is the nested loop that is the cause.
    for join in joins(view).iter().filter(|join| !join.left_keys.is_empty()) {
        check_join(context, view, join, sink);
    }
}

/// A condition beside the keys shows that pairs are wanted, and which: then it is the rest of them that is in vain.
fn advice(keys: &str, condition: Option<&str>, is_collapsed: bool) -> String {
    const LONGEST: usize = 80;
    match (condition, is_collapsed) {
        (_, true) => {
            "Keys repeat on both sides, and right above most of the rows are put together again: aggregate or deduplicate one side before the join.".to_owned()
        }
        (Some(condition), false) => format!(
            "{keys} repeats on both sides, and {} leaves many pairs of it: where a later join or filter picks among them (a date, a range), let it act before this join, or make it one more key. If all pairs are wanted, nothing is to be saved.",
            words::cut(condition, LONGEST)
        ),
        (None, false) => format!(
            "Keys repeat on both sides: look for repeated values of {keys} and make one side unique before the join."
        ),
    }
}

fn check_join(context: &Context<'_>, view: &SqlView<'_>, join: &Join, sink: &mut Sink) {
    let (Some(rows), [Some(left), Some(right)]) = (join.rows, join.rows_in) else { return };
    let larger = left.max(right);
    let ratio = rows as f64 / larger.max(1) as f64;
    if larger == 0 || ratio < context.get(&RATIO) || (rows as f64) < context.get(&MIN_ROWS) {
        return;
    }
    let nodes = up_to_exchange(view, join.node);
    let parts = price::parts_of(context, view, &nodes);
    let join_places = &view.nodes[join.node as usize].stages.stages;
    let parts: Vec<price::Part> =
        parts.into_iter().filter(|part| join_places.contains(&part.place)).collect();
    let places = price::places(&parts);
    if is_immaterial(context, &places) {
        return;
    }
    let keys = join.keys_label();
    let collapse = collapsed(view, join.node, rows);
    let mut claim = Claim::new(
        KIND,
        scope(view, join.node),
        format!(
            "Join on {keys} makes {} rows of {} and {} ({} for each)",
            count_text(rows),
            count_text(left),
            count_text(right),
            short(ratio)
        ),
    )
    .evidence("keys", keys.clone())
    .evidence("output_rows", rows)
    .evidence("left_rows", left)
    .evidence("right_rows", right)
    .evidence("growth_ratio", rounded(ratio))
    .advice(advice(&keys, join.condition.as_deref(), collapse.is_some()))
    .change(match join.condition {
        Some(_) => Change::code("join keys", "fewer rows for each before the join, or one more key"),
        None => Change::code("join keys", format!("make one side unique by {keys} before the join")),
    });
    if let Some(after) = collapse {
        claim = claim.evidence("rows_after_aggregate", after);
    }
    claim.nature = Nature::Code;
    claim.subject = keys;
    claim.confidence = if collapse.is_some() { Confidence::High } else { Confidence::Medium };
    claim.validate = "Count the rows of each key on both sides: if no key repeats on both, the rows come from elsewhere; if all pairs are wanted, nothing is to be saved.".to_owned();
    let gone = 1.0 - 1.0 / ratio;
    // A condition beside the keys picks pairs: then they are keys to find candidates by, such as buckets.
    let is_sure = collapse.is_some() && join.condition.is_none();
    let sure = if is_sure { context.get(&SURE_SHARE) } else { 0.0 };
    claim.worth =
        Worth::Replay { low: price::without(&parts, gone * sure), high: price::without(&parts, gone) };
    claim.core_ms = Some((price::core_ms(context, &parts) as f64 * gone) as i64);
    claim.stages = places;
    sink.claim(claim);
}

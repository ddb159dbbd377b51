//! Operators that make many rows of one.

use super::{TAG, collapsed, count_text, is_immaterial, is_native};
use super::{rounded, scope, short, threshold, up_to_exchange};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::rows::{counted, rows_into};
use crate::plan::{SqlView, price};

const KIND: &str = "expandExplosion";

const RATIO: Threshold =
    threshold("expand_ratio", 4.0, "Rows that must come out of an operator for each one that goes in.");
const MIN_ROWS: Threshold =
    threshold("expand_min_rows", 1e6, "Rows that must come out of an operator to be looked at.");
const SURE_SHARE: Threshold = threshold(
    "expand_sure_share",
    0.5,
    "Share of the saving that is counted in any case where the copies are put together again right above.",
);

/// Operators that make many rows of one.
pub static EXPAND_EXPLOSION: Detector = Detector {
    tag: TAG,
    title: "Expand and explode",
    types: &[FindingType {
        name: KIND,
        what: "Grouping sets, several distinct counts or an explode multiply the rows.",
    }],
    thresholds: &[RATIO, MIN_ROWS, SURE_SHARE],
    checks: &[Check::Sql(check)],
    what: "An `Expand` or `Generate` operator gave several times the rows that it took. `Expand` is how Spark runs `CUBE`, \
`ROLLUP`, `GROUPING SETS` and several `count(DISTINCT ...)` in one aggregate: every row is copied once for each. `Generate` \
is `explode` and its kin: one row for each element.",
    rule: "Rows out are at least `expand_ratio` times the rows in, and at least `expand_min_rows`.",
    why: "Everything between the operator and the next exchange works on the copies, and what partial aggregation does not \
put together again is shuffled. A cube over five columns copies every row 32 times.",
    fix: "Ask for fewer grouping sets: `GROUP BY GROUPING SETS ((a, b), (a), ())` instead of `CUBE (a, b, c)`; or aggregate to \
the finest level first and build the others from that small result (sums, counts, minima; not distinct counts). For several \
distinct counts use `approx_count_distinct(x)` or one query for each. Filter and select before `explode`, and use functions \
on arrays where they do: `aggregate(xs, 0, (s, x) -> s + x)`, `size(array_distinct(xs))` need no explode.",
    limits: "Whether all rows are wanted is not in the log: the saving ranges from nothing to what the copies cost up to the \
next exchange. Where partial aggregation puts most copies together again right above, aggregating to the finest level first \
would have spared most of them, and `expand_sure_share` is the least.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    if is_native(context, view, KIND, sink) {
        return;
    }
    for (node, it) in view.nodes.iter().enumerate() {
        if matches!(it.name.as_str(), "Expand" | "Generate") && !it.in_cached_plan {
            check_node(context, view, node as u32, sink);
        }
    }
}

fn check_node(context: &Context<'_>, view: &SqlView<'_>, node: u32, sink: &mut Sink) {
    let it = &view.nodes[node as usize];
    let incoming = it.children.first().and_then(|child| rows_into(view, *child));
    let (Some(out), Some(incoming)) = (counted(view, node), incoming) else { return };
    let ratio = out as f64 / incoming.max(1) as f64;
    if incoming == 0 || ratio < context.get(&RATIO) || (out as f64) < context.get(&MIN_ROWS) {
        return;
    }
    let stages = &it.stages.stages;
    let mut parts = price::parts_of(context, view, &up_to_exchange(view, node));
    parts.retain(|part| stages.contains(&part.place));
    let places = price::places(&parts);
    if is_immaterial(context, &places) {
        return;
    }
    let is_expand = it.name == "Expand";
    let what = if is_expand { "Grouping sets or distinct counts make" } else { "An explode makes" };
    let mut claim = Claim::new(
        KIND,
        scope(view, node),
        format!("{what} {} rows of {} ({} for each)", count_text(out), count_text(incoming), short(ratio)),
    )
    .evidence("operator", it.name.clone())
    .evidence("input_rows", incoming)
    .evidence("output_rows", out)
    .evidence("growth_ratio", rounded(ratio))
    .advice(if is_expand {
        "Ask for fewer grouping sets, aggregate to the finest level first, or count distinct values approximately."
    } else {
        "Filter and project before the explode, or use functions on arrays instead of it."
    })
    .change(Change::code(if is_expand { "grouping sets" } else { "explode" }, "make fewer copies of each row"));
    claim.nature = Nature::Code;
    claim.subject = it.name.clone();
    claim.confidence = Confidence::Medium;
    claim.validate =
        "Check that the result needs all the copies: if it does, only less input helps.".to_owned();
    let gone = 1.0 - 1.0 / ratio;
    claim.core_ms = Some((price::core_ms(context, &parts) as f64 * gone) as i64);
    let sure = collapsed(view, node, out).map_or(0.0, |_| context.get(&SURE_SHARE));
    claim.worth =
        Worth::Replay { low: price::without(&parts, gone * sure), high: price::without(&parts, gone) };
    claim.stages = places;
    sink.claim(claim);
}

//! Joins that compare every row with every row.

use super::{TAG, collapsed, count_text, is_immaterial, rounded, scope, threshold, up_to_exchange};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::join::{Join, JoinType, joins};
use crate::plan::price::{self, Part};
use crate::plan::time::PAIR;
use crate::plan::{SqlView, names};
use std::collections::BTreeSet;

const KIND: &str = "nestedLoopJoin";

const MIN_PAIRS: Threshold =
    threshold("nested_loop_min_pairs", 1e8, "Pairs of rows that a join must compare to be looked at.");
const MIN_SIDE_ROWS: Threshold = threshold(
    "nested_loop_min_side_rows",
    10.0,
    "Rows that the smaller side must have: below, a nested loop is as good as any join.",
);
const MIN_OUTPUT: Threshold = threshold(
    "nested_loop_min_output_rows",
    1e7,
    "Rows that a join whose input is not known must give to be looked at.",
);
const MIN_GROWTH: Threshold = threshold(
    "nested_loop_min_growth_ratio",
    10.0,
    "Rows for each row of the larger side that a join with fewer pairs must give to be looked at by the time it takes.",
);
const MIN_GROWN_ROWS: Threshold =
    threshold("nested_loop_min_grown_rows", 1e6, "Rows that such a join must give.");
const MIN_SHARE: Threshold = threshold(
    "nested_loop_min_share",
    0.5,
    "Share of its stages' time that such a join, and what works on its rows up to the next exchange, must take.",
);
const SURE_SHARE: Threshold = threshold(
    "nested_loop_sure_share",
    0.5,
    "Share of the saving that is counted in any case where there is no condition and the pairs are put together \
again right above.",
);
const BUCKETS: Threshold = threshold(
    "nested_loop_bucket_gain",
    8.0,
    "How many times fewer pairs a join on ranges is taken to compare once both sides are cut into buckets, at least.",
);

/// Joins that compare every row with every row.
pub static NESTED_LOOP_JOIN: Detector = Detector {
    tag: TAG,
    title: "Nested loop joins",
    types: &[FindingType {
        name: KIND,
        what: "A join without an equality compares every row of one side with every row of the other.",
    }],
    thresholds: &[
        MIN_PAIRS,
        MIN_SIDE_ROWS,
        MIN_OUTPUT,
        MIN_GROWTH,
        MIN_GROWN_ROWS,
        MIN_SHARE,
        SURE_SHARE,
        BUCKETS,
        PAIR,
    ],
    checks: &[Check::Sql(check)],
    what: "A `BroadcastNestedLoopJoin` or `CartesianProduct` compared very many pairs of rows. Spark uses them where the \
join condition has no equality between the sides: ranges, `OR`, functions of both sides, no condition at all, or `NOT IN` \
with a column that may be null.",
    rule: "Rows of the left side times rows of the right side are at least `nested_loop_min_pairs`, and the smaller side has \
at least `nested_loop_min_side_rows`. Where the rows of a side are not known: at least `nested_loop_min_output_rows` come \
out. With fewer pairs time is the judge: the join gives `nested_loop_min_growth_ratio` times the rows of its larger side, \
`nested_loop_min_grown_rows` at least, and with the operators that work on them it takes `nested_loop_min_share` of its \
stages. Pairs are the work; few output rows do not make such a join cheap.",
    why: "A hash join looks at every row once, this one at the product. Twice the data is four times the work.",
    fix: "Give it an equality. A range join can be cut into buckets: add `floor(ts / 3600)` to both sides, explode the side \
with the ranges over the hours it touches, and join on the hour and the range. `a.k = b.k OR a.x = b.x` is two joins and a \
union: `SELECT ... JOIN b ON a.k = b.k UNION SELECT ... JOIN b ON a.x = b.x`. `NOT IN (SELECT k ...)` becomes \
`NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)`. Normalise strings before the join instead of comparing functions of them: \
in PySpark `a.withColumn(\"key\", F.lower(\"name\")).join(b.withColumn(\"key\", F.lower(\"title\")), \"key\")`. A forgotten \
condition is best found by reading the query.",
    limits: "Whether the condition can be rewritten is for a reader of the query to say: the pessimistic estimate is that \
of buckets (`nested_loop_bucket_gain`) where there is a condition. Where there is none it is nothing, or \
`nested_loop_sure_share` of the optimistic one if an aggregate right above puts most of the pairs together again. A \
cartesian product reads its right side again for every partition of the left one, and those rows are counted again too.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    let all = joins(view);
    for join in all.iter().filter(|join| join.is_loop()) {
        if join.rows_in.contains(&None) && (context.is_native || names::has_native(&view.nodes)) {
            sink.not_checked(KIND, "rows of operators of a native engine are not measured", None);
        } else {
            check_join(context, view, join, sink);
        }
    }
}

fn check_join(context: &Context<'_>, view: &SqlView<'_>, join: &Join, sink: &mut Sink) {
    let pairs = pairs(join);
    let condition = join.condition.clone().unwrap_or_default();
    let parts = parts(context, view, join, &condition);
    let is_much = match pairs {
        Some((pairs, fewest)) => {
            fewest as f64 >= context.get(&MIN_SIDE_ROWS)
                && (pairs >= context.get(&MIN_PAIRS) || is_slow(context, join, &parts))
        }
        None => join.rows.is_some_and(|rows| rows as f64 >= context.get(&MIN_OUTPUT)),
    };
    let places = price::places(&parts);
    if !is_much || is_immaterial(context, &places) {
        return;
    }
    let rows = join.rows.unwrap_or(0);
    let sides = join.rows_in.map(|rows| rows.map_or_else(|| "an unknown number of".to_owned(), count_text));
    let mut claim = Claim::new(
        KIND,
        scope(view, join.node),
        format!("{} compares {} with {} rows pair by pair", join.strategy.name(), sides[0], sides[1]),
    )
    .evidence("strategy", join.strategy.name())
    .evidence("condition", condition.clone())
    .evidence("output_rows", rows)
    .advice(advice(join, &condition))
    .change(Change::code("join condition", "join on an equality"));
    if let Some((pairs, _)) = pairs {
        claim = claim
            .evidence("pairs", pairs)
            .evidence("left_rows", join.rows_in[0].unwrap_or(0))
            .evidence("right_rows", join.rows_in[1].unwrap_or(0))
            .evidence("pairs_per_output_row_ratio", rounded(pairs / rows.max(1) as f64));
    }
    claim.nature = Nature::Code;
    claim.subject = condition.clone();
    claim.confidence = if pairs.is_some() { Confidence::High } else { Confidence::Medium };
    claim.validate =
        "Read the condition: if the result really needs every pair, or most of them, no other join helps."
            .to_owned();
    claim.core_ms = Some(price::core_ms(context, &parts));
    let (low, high) = if condition.is_empty() {
        let gone = 1.0 - 1.0 / growth(join).max(1.0);
        let sure = collapsed(view, join.node, rows).map_or(0.0, |_| context.get(&SURE_SHARE));
        (gone * sure, gone)
    } else {
        // With an equality the rows in and out remain; pairs that come out cost what they cost.
        let needed = pairs.map_or(1.0, |(pairs, _)| {
            let moved: i64 = join.rows_in.iter().flatten().sum::<i64>() + rows;
            (moved as f64 / pairs).min(1.0)
        });
        (1.0 - needed.max(1.0 / context.get(&BUCKETS).max(1.0)), 1.0 - needed)
    };
    let without = |gone: f64| price::without(&shares(&parts), gone);
    claim.worth = Worth::Replay { low: without(low), high: without(high) };
    claim.stages = places;
    sink.claim(claim);
}

/// What a condition would spare: the comparing; where there is none, all that works on the pairs as well.
fn parts(context: &Context<'_>, view: &SqlView<'_>, join: &Join, condition: &str) -> Vec<Part> {
    let nodes = match condition.is_empty() {
        true => up_to_exchange(view, join.node),
        false => BTreeSet::from([join.node]),
    };
    let stages = &view.nodes[join.node as usize].stages.stages;
    let parts = price::parts_of(context, view, &nodes);
    parts.into_iter().filter(|part| stages.contains(&part.place)).collect()
}

/// Rows that come out for each row of the larger side.
fn growth(join: &Join) -> f64 {
    let larger = join.rows_in.iter().flatten().max().copied().unwrap_or(0);
    join.rows.unwrap_or(0) as f64 / larger.max(1) as f64
}

/// Whether a join of few pairs is what its stages spend their time on.
fn is_slow(context: &Context<'_>, join: &Join, parts: &[Part]) -> bool {
    let places = price::places(parts);
    let all: f64 = places
        .iter()
        .filter_map(|place| context.digest_of(place.0, place.1))
        .map(|digest| digest.attempt_ms as f64 * digest.task_cpus)
        .sum();
    growth(join) >= context.get(&MIN_GROWTH)
        && join.rows.unwrap_or(0) as f64 >= context.get(&MIN_GROWN_ROWS)
        && price::core_ms(context, parts) as f64 >= context.get(&MIN_SHARE) * all
}

/// A join's stage remains even where nothing else runs in it.
fn shares(parts: &[Part]) -> Vec<Part> {
    parts.iter().map(|part| Part { share: part.share.min(0.99), ..*part }).collect()
}

/// Pairs compared, and the rows of the smaller side.
fn pairs(join: &Join) -> Option<(f64, i64)> {
    Some((join.pairs()?, join.rows_in[0]?.min(join.rows_in[1]?)))
}

fn advice(join: &Join, condition: &str) -> String {
    if join.join_type == Some(JoinType::LeftAnti) {
        return "NOT IN with a column that may be null compares every row; NOT EXISTS with an equality does not.".to_owned();
    }
    if condition.is_empty() {
        return "The join has no condition. If one was forgotten, add it; if every pair is wanted, filter and aggregate both sides before.".to_owned();
    }
    "Rewrite the condition so that it has an equality: buckets for ranges, a union for OR, a prepared key for functions of columns.".to_owned()
}

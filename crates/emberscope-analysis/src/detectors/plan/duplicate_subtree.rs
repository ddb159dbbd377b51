//! The same work twice within one query.

use super::{TAG, conf, is_immaterial, is_native, rounded, scope, threshold};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::exchange::exchange;
use crate::plan::fingerprint::{Fingerprint, fingerprints, is_transparent};
use crate::plan::price::{self, Part};
use crate::plan::rows::rows_into;
use crate::plan::stage_ops::scans_below;
use crate::plan::{OperatorClass, SqlView};
use std::collections::{BTreeMap, BTreeSet};

const KIND: &str = "duplicatePlanSubtree";

const MIN_OPERATORS: Threshold = threshold(
    "duplicate_min_operators",
    3.0,
    "Operators a repeated part of a plan must have, wrappers not counted.",
);
const MIN_WITH_CODE: Threshold = threshold(
    "duplicate_min_operators_with_code",
    2.0,
    "The same where the part calls functions of the program: one such operator may be all of a query's work.",
);
const CACHE_READ_SHARE: Threshold = threshold(
    "duplicate_cache_read_share",
    0.3,
    "Share of the time of a repeated part that reading a kept copy is taken to need at most.",
);
const CACHE_LEAST_SHARE: Threshold = threshold(
    "duplicate_cache_least_share",
    0.05,
    "Share of the time of a repeated part that reading a kept copy is taken to need in any case, in the pessimistic \
estimate.",
);
const CACHE_ROW_US: Threshold = threshold(
    "duplicate_cache_row_us",
    5.0,
    "Task time that a row of a kept copy is taken to need in the pessimistic estimate, microseconds.",
);

const COLUMNAR_GAIN: Threshold = threshold(
    "duplicate_columnar_gain",
    0.5,
    "Share of its time that a cached copy saves at most where a repeated part only reads and filters columnar files.",
);

/// The same work twice within one query.
pub static DUPLICATE_SUBTREE: Detector = Detector {
    tag: TAG,
    title: "Duplicate plan subtrees",
    types: &[FindingType {
        name: KIND,
        what: "A query computes the same intermediate result several times.",
    }],
    thresholds: &[
        MIN_OPERATORS,
        MIN_WITH_CODE,
        CACHE_READ_SHARE,
        CACHE_LEAST_SHARE,
        CACHE_ROW_US,
        COLUMNAR_GAIN,
    ],
    checks: &[Check::Sql(check), Check::App(check_plans)],
    what: "Two or more parts of one query's final plan read the same data and do the same with it, and all of them \
ran. Parts are compared by a fingerprint of operators, arguments and literals without the ids that Spark gives \
attributes and expressions; wrappers such as code generation and query stages are looked through. What Spark \
itself reused (`ReusedExchange`, reused subqueries, cached data) ran once and is not reported, nor is what Spark repeats \
on purpose to make a Bloom filter for a join.",
    rule: "Subtrees of at least `duplicate_min_operators` operators (`duplicate_min_operators_with_code` where functions of the program are called) with equal fingerprints, every text in them whole \
(not cut by Spark), every leaf naming what it reads, no random expressions, equal measured row counts, and tasks \
of their own. The largest repeated subtree counts; repeats inside it do not count again.",
    why: "Spark reuses an exchange only when the plans below are equal after canonicalisation. Other columns, another \
order of conditions, `spark.sql.exchange.reuse=false` or a repeat without an exchange on top (a scan with a filter \
under two broadcast joins, say) make it run everything again: scan, joins, shuffle and all.",
    fix: "Compute the part once. In PySpark keep the data frame: `totals = df.groupBy(\"k\").agg(F.sum(\"v\")).cache()` \
and use `totals` in both places, then `totals.unpersist()`. In Spark SQL write it to a temporary view that is cached: \
`CACHE TABLE totals AS SELECT k, sum(v) FROM t GROUP BY k`. A common table expression (`WITH`) alone does not help: \
Spark inlines it, unless its body is not deterministic. Where both sides differ only in their columns, selecting \
the same columns in both lets Spark reuse the exchange by itself. If `spark.sql.exchange.reuse` was switched off, \
switch it on.",
    limits: "A cached copy costs memory and the time to write it; the pessimistic estimate allows for that with \
`duplicate_cache_row_us` a row, between `duplicate_cache_least_share` and `duplicate_cache_read_share` of the part's time. Where the part only reads and filters columnar files, a copy saves \
`duplicate_columnar_gain` of it at most, and perhaps nothing. Plans whose texts Spark cut (`... 12 more fields`) are not compared; raise \
`spark.sql.debug.maxToStringFields` to have them checked.",
};

/// Says for all types of this tag that queries without a plan were not looked at.
fn check_plans(context: &Context<'_>, sink: &mut Sink) {
    let executions = context.run.sql_executions.iter().filter(|execution| !execution.job_ids.is_empty());
    let without =
        executions.filter(|execution| execution.versions.iter().all(|version| version.nodes == 0)).count();
    if without == 0 {
        return;
    }
    let types = crate::detectors::DETECTORS.iter().filter(|detector| detector.tag == TAG);
    for kind in types.flat_map(|detector| detector.types) {
        sink.not_checked(kind.name, format!("{without} queries have no plan in the log"), None);
    }
}

struct Group {
    hash: u64,
    nodes: Vec<u32>,
}

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    if is_native(context, view, KIND, sink) {
        return;
    }
    let prints = fingerprints(view);
    let mut covered: BTreeSet<u32> = BTreeSet::new();
    for group in groups(context, view, &prints) {
        let own = |node: &u32| !covered.contains(node) && !feeds_bloom_filter(view, *node);
        let nodes: Vec<u32> = group.nodes.into_iter().filter(own).collect();
        if nodes.len() < 2 {
            continue;
        }
        let trees: Vec<BTreeSet<u32>> = nodes.iter().map(|node| price::subtree(view, *node)).collect();
        if !all_ran_alone(view, &trees) || !same_rows(view, &nodes) {
            continue;
        }
        trees.iter().for_each(|tree| covered.extend(tree));
        claim(context, view, &prints[nodes[0] as usize], (&nodes, &trees, group.hash), sink);
    }
}

/// Whether a node computes a Bloom filter that Spark itself added to spare rows of a join.
fn feeds_bloom_filter(view: &SqlView<'_>, node: u32) -> bool {
    let mut at = Some(node);
    while let Some(it) = at.and_then(|at| view.nodes.get(at as usize)) {
        if it.detail.contains("bloom_filter_agg(") {
            return true;
        }
        at = it.parent;
    }
    false
}

/// Subtrees by fingerprint, the largest first.
fn groups(context: &Context<'_>, view: &SqlView<'_>, prints: &[Fingerprint]) -> Vec<Group> {
    let mut by_hash: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (node, print) in prints.iter().enumerate() {
        let it = &view.nodes[node];
        let least = if print.calls_foreign_code { &MIN_WITH_CODE } else { &MIN_OPERATORS };
        let counts = print.is_whole
            && print.is_anchored
            && f64::from(print.operators) >= context.get(least)
            && print.is_costly
            && !it.in_cached_plan
            && !is_transparent(&it.name);
        if counts {
            by_hash.entry(print.hash).or_default().push(node as u32);
        }
    }
    let mut groups: Vec<Group> = by_hash
        .into_iter()
        .filter(|(_, nodes)| nodes.len() > 1)
        .map(|(hash, nodes)| Group { hash, nodes })
        .collect();
    groups
        .sort_by_key(|group| (std::cmp::Reverse(prints[group.nodes[0] as usize].operators), group.nodes[0]));
    groups
}

/// Whether every copy ran, with metrics of its own: shared accumulators are one operator shown twice.
fn all_ran_alone(view: &SqlView<'_>, trees: &[BTreeSet<u32>]) -> bool {
    let mut seen = BTreeSet::new();
    trees.iter().all(|tree| {
        let nodes = || tree.iter().map(|node| &view.nodes[*node as usize]);
        let ids: BTreeSet<u64> =
            nodes().flat_map(|node| node.metrics.iter().map(|metric| metric.2)).collect();
        let ran = nodes().any(|node| {
            node.metrics
                .iter()
                .any(|(_, _, id)| view.metrics().get(id).is_some_and(|metric| !metric.by_stage.is_empty()))
        });
        let own = ids.is_disjoint(&seen);
        seen.extend(ids);
        ran && own
    })
}

/// Whether all copies gave equally many rows, where that is known.
fn same_rows(view: &SqlView<'_>, nodes: &[u32]) -> bool {
    let mut rows: Vec<i64> = nodes.iter().filter_map(|node| rows_into(view, *node)).collect();
    rows.dedup();
    rows.len() < 2
}

fn claim(
    context: &Context<'_>,
    view: &SqlView<'_>,
    print: &Fingerprint,
    (nodes, trees, hash): (&[u32], &[BTreeSet<u32>], u64),
    sink: &mut Sink,
) {
    // The first copy is the one that is kept.
    let mut again: Vec<Part> =
        trees[1..].iter().flat_map(|tree| price::parts_of(context, view, tree)).collect();
    again.retain(|part| part.share > 0.0);
    let places = price::places(&again);
    if is_immaterial(context, &places) {
        return;
    }
    let conf = conf(context, view);
    let relations: BTreeSet<String> =
        scans_below(view, nodes[0]).iter().filter_map(|scan| scan.relation.clone()).collect();
    let relations = relations.into_iter().take(3).collect::<Vec<String>>().join(", ");
    let of = if relations.is_empty() { String::new() } else { format!(" over {relations}") };
    let switched_on = conf
        .propose("spark.sql.exchange.reuse", "true")
        .filter(|_| conf.is_set("spark.sql.exchange.reuse") && exchange_on_top(view, nodes));
    // With reuse on, Spark keeps the shuffled data: no copy is written. Otherwise a cached one is.
    let read_share = if switched_on.is_some() { 0.0 } else { read_share(context, view, nodes, &again) };
    let advice = if switched_on.is_some() {
        "Reuse of exchanges was switched off; switched on, Spark shuffles this part once and reads it several times."
    } else {
        "Compute this part once, cache it, and use it in all places; where the copies differ only in the columns \
they hand on, select the same ones, so that Spark reuses the exchange."
    };
    let mut claim = Claim::new(
        KIND,
        scope(view, nodes[0]),
        format!("The same {} operators{of} run {} times in one query", print.operators, nodes.len()),
    )
    .evidence("occurrences", nodes.len())
    .evidence("operators", print.operators)
    .evidence("root", view.nodes[nodes[0] as usize].name.clone())
    .evidence("relations", relations.clone())
    .evidence("stages", places.iter().map(|place| place.0).collect::<Vec<u32>>())
    .evidence("repeated_share_of_stages", again.iter().map(|part| rounded(part.share)).collect::<Vec<f64>>())
    .advice(advice);
    claim = match switched_on {
        Some(change) => claim.change(change),
        None => claim.change(Change::code(
            "cache",
            format!("cache the {} operators{of} and use them {} times", print.operators, nodes.len()),
        )),
    };
    claim.nature = Nature::Code;
    claim.subject = format!("{hash:016x}");
    claim.confidence = if nodes.iter().all(|node| rows_into(view, *node).is_some()) {
        Confidence::High
    } else {
        Confidence::Medium
    };
    claim.validate = "Compare the two subtrees in the plan: if they read other data or filter by other values, \
they are not the same; after the change the plan shows `ReusedExchange` or `InMemoryTableScan` and the stages are gone."
        .to_owned();
    claim.core_ms = Some(price::core_ms(context, &again));
    let is_read_only = !print.is_heavy
        && scans_below(view, nodes[0]).iter().all(|scan| scan.format.is_columnar())
        && read_share > 0.0;
    claim.worth = if is_read_only {
        Worth::Replay { low: Vec::new(), high: price::without(&again, context.get(&COLUMNAR_GAIN)) }
    } else {
        Worth::Replay { low: price::without(&again, 1.0 - read_share), high: price::without(&again, 1.0) }
    };
    claim.stages = places;
    sink.claim(claim);
}

/// Share of the repeated parts' time that reading a copy instead takes at most.
fn read_share(context: &Context<'_>, view: &SqlView<'_>, nodes: &[u32], again: &[Part]) -> f64 {
    let rows = rows_into(view, nodes[0]).map(|rows| rows.saturating_mul(nodes.len() as i64 - 1));
    let (least, most) = (context.get(&CACHE_LEAST_SHARE), context.get(&CACHE_READ_SHARE));
    price::copy_share(rows, price::core_ms(context, again), context.get(&CACHE_ROW_US), least, most)
}

fn exchange_on_top(view: &SqlView<'_>, nodes: &[u32]) -> bool {
    nodes.iter().all(|node| {
        let it = &view.nodes[*node as usize];
        exchange(view, *node).is_some() || it.class == OperatorClass::Broadcast
    })
}

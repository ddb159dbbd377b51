//! What is done twice, in one query and in several.

use crate::made::{fixture, of_kind, said};
use crate::planned::{MIB, Query, count, diagnosed, node, one, scan, tasks};
use emberscope_analysis::detector::Sink;
use emberscope_analysis::finding::{Severity, Worth};
use emberscope_analysis::replay::Edit;
use serde_json::{Value, json};

/// An aggregate over a scan; `id` numbers its accumulators.
fn grouped(path: &str, filter: &str, functions: &str, id: u64) -> Value {
    let scan = scan("JSON", path, "PartitionFilters: [], PushedFilters: []", id);
    let filter = node("Filter", filter, &[("number of output rows", "sum", id + 4)], vec![scan]);
    let partial = node(
        "HashAggregate",
        &format!("(keys=[k#1], functions=[partial_{functions}])"),
        &[("number of output rows", "sum", id + 5)],
        vec![filter],
    );
    node(
        "HashAggregate",
        &format!("(keys=[k#1], functions=[{functions}])"),
        &[("number of output rows", "sum", id + 6)],
        vec![partial],
    )
}

fn rows(id: u64) -> Vec<(u64, i64)> {
    vec![(id, 8000), (id + 4, 800), (id + 5, 80), (id + 6, 80)]
}

#[test]
fn the_same_part_twice_in_one_query() {
    let run = |right: Value, second: u64| {
        let plan = node("Union", "", &[], vec![grouped("t", "(v#2 > 5)", "sum(v#2)", 100), right]);
        one(plan, vec![tasks(8, 2000, &rows(100)), tasks(8, 2000, &rows(second))], Vec::new())
    };
    let sink = run(grouped("t", "(v#7 > 5)", "sum(v#7)", 200), 200);
    let claim = of_kind(&sink, "duplicatePlanSubtree")[0];
    assert_eq!(claim.title, "The same 4 operators over t run 2 times in one query");
    assert!(
        matches!(&claim.worth, Worth::Replay { high, .. } if *high == vec![Edit::Drop { place: (1, 0) }])
    );
    // Other data, another literal, the same operator shown twice, a random function.
    assert_eq!(count(&run(grouped("u", "(v#7 > 5)", "sum(v#7)", 200), 200), "duplicatePlanSubtree"), 0);
    assert_eq!(count(&run(grouped("t", "(v#7 > 6)", "sum(v#7)", 200), 200), "duplicatePlanSubtree"), 0);
    assert_eq!(count(&run(grouped("t", "(v#7 > 5)", "sum(v#7)", 100), 100), "duplicatePlanSubtree"), 0);
    assert_eq!(
        count(
            &run(node("ReusedExchange", "[k#1], Exchange SinglePartition", &[], Vec::new()), 200),
            "duplicatePlanSubtree"
        ),
        0
    );
    let random = |id| grouped("t", "(rand(5) > 5)", "sum(v#7)", id);
    let plan = node("Union", "", &[], vec![random(100), random(200)]);
    assert_eq!(
        count(
            &one(plan, vec![tasks(8, 2000, &rows(100)), tasks(8, 2000, &rows(200))], Vec::new()),
            "duplicatePlanSubtree"
        ),
        0
    );
}

#[test]
fn one_operator_of_the_programs_own_code_twice() {
    let run = |call: &str| {
        let rated = |id: u64| {
            let scan = scan("JSON", "t", "PartitionFilters: [], PushedFilters: []", id);
            let project = node("Project", &format!("[{call} AS rated#3]"), &[], vec![scan]);
            // Each use keeps other rows of it.
            node(
                "Filter",
                &format!("(rated#3 > {id})"),
                &[("number of output rows", "sum", id + 4)],
                vec![project],
            )
        };
        let plan = node("Union", "", &[], vec![rated(100), rated(200)]);
        let of = |id: u64| vec![(id, 8000), (id + 4, id as i64)];
        one(plan, vec![tasks(8, 2000, &of(100)), tasks(8, 2000, &of(200))], Vec::new())
    };
    let sink = run("UDF(v#2)");
    assert_eq!(
        of_kind(&sink, "duplicatePlanSubtree")[0].title,
        "The same 2 operators over t run 2 times in one query"
    );
    assert_eq!(count(&run("(v#2 + 1)"), "duplicatePlanSubtree"), 0);
}

/// Queries that do something of their own with a part.
fn cached(parts: Vec<(Value, u64)>, above: &str) -> Sink {
    let queries: Vec<Query> = parts
        .into_iter()
        .enumerate()
        .map(|(n, (part, id))| {
            let plan = if above.is_empty() {
                part
            } else {
                node(
                    "Project",
                    &format!("[{above}{n}]"),
                    &[],
                    vec![node("TakeOrderedAndProject", &format!("(limit={n})"), &[], vec![part])],
                )
            };
            Query { plan, stages: vec![tasks(8, 2000, &rows(id))], driver: Vec::new() }
        })
        .collect();
    diagnosed("CACHE", &[], &queries)
}

#[test]
fn several_queries_compute_the_same() {
    let parts = || {
        vec![
            (grouped("t", "(v#2 > 5)", "sum(v#2)", 100), 100),
            (grouped("t", "(v#9 > 5)", "max(v#9)", 200), 200),
        ]
    };
    let sink = cached(parts(), "use");
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.variant, claim.title.as_str()),
        (Some("composite"), "2 queries compute the same aggregation (4 operators) over t")
    );
    assert_eq!(claim.evidence["sql_ids"], json!([0, 1]));
    // Another filter, other data.
    for (path, filter) in [("t", "(v#9 > 6)"), ("u", "(v#9 > 5)")] {
        let mut parts = parts();
        parts[1].0 = grouped(path, filter, "sum(v#9)", 200);
        assert_eq!(count(&cached(parts, "use"), "cachingOpportunity"), 0, "{path} {filter}");
    }
}

#[test]
fn a_query_that_is_run_again_is_noted_only() {
    let parts = vec![
        (grouped("t", "(v#2 > 5)", "sum(v#2)", 100), 100),
        (grouped("t", "(v#9 > 5)", "sum(v#9)", 200), 200),
    ];
    let sink = cached(parts, "");
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.severity, claim.title.as_str()),
        (Some(Severity::Info), "The same query over t runs 2 times")
    );
    assert!(matches!(claim.worth, Worth::None));
}

#[test]
fn a_relation_that_many_queries_read() {
    let run = |count: u64, bytes: i64| {
        let queries: Vec<Query> = (0..count)
            .map(|n| Query {
                plan: node(
                    "Filter",
                    &format!("(id#1 > {n})"),
                    &[("number of output rows", "sum", n * 100 + 5)],
                    vec![scan("CSV", "wide", "", n * 100 + 10)],
                ),
                stages: vec![tasks(8, 2000, &[(n * 100 + 10, 8000), (n * 100 + 5, 800)])],
                driver: vec![(n * 100 + 11, 10), (n * 100 + 12, bytes)],
            })
            .collect();
        diagnosed("CACHE", &[], &queries)
    };
    let sink = run(3, 900 * MIB);
    let claim = of_kind(&sink, "cachingOpportunity")[0];
    assert_eq!(
        (claim.variant, claim.title.as_str()),
        (Some("relation"), "3 queries read csv wide (900 MiB)")
    );
    assert_eq!(count(&run(2, 900 * MIB), "cachingOpportunity"), 0);
    assert_eq!(count(&run(3, MIB), "cachingOpportunity"), 0);
}

#[test]
fn data_that_changes_in_between_is_not_cached() {
    let sink = said(&fixture("delta-3.5.9"), "CACHE");
    assert_eq!(count(&sink, "cachingOpportunity"), 0, "{:?}", sink.claims());
    // What is read from a cache, and micro-batches of a stream.
    for name in ["cache-3.5.9", "cache-4.3.0", "nested-sql-4.3.0", "streaming-3.5.9", "streaming-4.3.0"] {
        let sink = said(&fixture(name), "CACHE");
        assert_eq!(count(&sink, "cachingOpportunity"), 0, "{name}: {:?}", sink.claims());
    }
}

#[test]
fn a_query_that_filters_what_others_compute_would_filter_their_copy() {
    // An aggregate over a scan; `filter` of the last query, whether all others have one too, and whether it counts.
    let part = |filter: Option<&str>, id: u64| {
        let scan = scan("JSON", "t", "PartitionFilters: [], PushedFilters: []", id);
        let below = match filter {
            Some(filter) => node("Filter", filter, &[("number of output rows", "sum", id + 4)], vec![scan]),
            None => node("Project", "[k#1, v#2]", &[], vec![scan]),
        };
        let partial = node("HashAggregate", "(keys=[k#1], functions=[partial_sum(v#2)])", &[], vec![below]);
        let rows = [("number of output rows", "sum", id + 6)];
        node("HashAggregate", "(keys=[k#1], functions=[sum(v#2)])", &rows, vec![partial])
    };
    let highs = |own: Option<&str>, last: Option<&str>| {
        let parts = vec![(part(own, 100), 100), (part(own, 200), 200), (part(last, 300), 300)];
        let sink = cached(parts, "k#1 + ");
        let claim = of_kind(&sink, "cachingOpportunity")[0];
        let Worth::Replay { high, .. } = &claim.worth else { panic!("{claim:?}") };
        (high.len(), claim.evidence.get("filtering_executions").and_then(Value::as_i64))
    };
    assert_eq!(highs(None, Some("(k#1 > 3)")), (2, Some(1)));
    // The copy has other rows than the last query wants.
    assert_eq!(highs(Some("(k#1 > 5)"), Some("(k#1 > 3)")), (1, None));
    assert_eq!(highs(Some("(k#1 > 5)"), None), (1, None));
}

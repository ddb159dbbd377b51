//! The same data read or computed by several queries.

mod filtered;

use super::plan::python_udf::functions;
use super::plan::{is_immaterial, rounded};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::plan::fingerprint::{aliases, fingerprints, is_transparent};
use crate::plan::join::joins;
use crate::plan::names::python_kind;
use crate::plan::price::{self, Part};
use crate::plan::rows::rows_into;
use crate::plan::scan::{Format, scans};
use crate::plan::write::writes;
use crate::plan::{OperatorClass, SqlView, names};
use crate::words;
use std::collections::{BTreeMap, BTreeSet};

const KIND: &str = "cachingOpportunity";
const TAG: &str = "CACHE";

const fn threshold(name: &'static str, default: f64, doc: &'static str) -> Threshold {
    Threshold { tag: TAG, name, default, doc }
}

const MIN_EXECUTIONS: Threshold =
    threshold("min_executions", 2.0, "Queries that must read or compute the same data.");
const MIN_READERS: Threshold = threshold(
    "min_readers",
    3.0,
    "Queries that must read the same relation, if nothing else of them is the same.",
);
const MIN_RELATION_BYTES: Threshold = threshold(
    "min_relation_bytes",
    16.0 * 1048576.0,
    "Bytes that each of them must read of it; databases, whose bytes are not known, count in any case.",
);
const COLUMNAR_GAIN: Threshold = threshold(
    "columnar_gain",
    0.5,
    "Share of a scan's time that a cached copy saves at most where the data is columnar already.",
);
const MIN_OPERATORS: Threshold =
    threshold("min_operators", 4.0, "Operators that a repeated computation must have, wrappers not counted.");
const CACHE_READ_SHARE: Threshold = threshold(
    "cache_read_share",
    0.3,
    "Share of the repeated time that reading the cached copy is taken to need at most.",
);
const LEAST_SHARE: Threshold = threshold(
    "cache_least_share",
    0.05,
    "Share of the repeated time that reading the cached copy, and of the first time that filling it, is taken to need \
in any case, in the pessimistic estimate.",
);
const ROW_US: Threshold = threshold(
    "cache_row_us",
    5.0,
    "Task time that reading a cached row, or caching one, is taken to need in the pessimistic estimate, microseconds.",
);
const FILL_SHARE: Threshold = threshold(
    "cache_fill_share",
    0.3,
    "What filling the cache is taken to cost at most, as a share of computing the data once.",
);
const EXPANSION: Threshold = threshold(
    "cache_expansion",
    3.0,
    "How many times their size on disk rows read from files take in the cache.",
);
const MEMORY_SHARE: Threshold = threshold(
    "cache_memory_share",
    0.5,
    "Share of the executors' storage memory that the cached data may take.",
);

/// The same data read or computed by several queries.
pub static CACHING_OPPORTUNITY: Detector = Detector {
    tag: TAG,
    title: "Caching opportunities",
    types: &[FindingType {
        name: KIND,
        what: "Several queries of the application read or compute the same data.",
    }],
    thresholds: &[
        MIN_EXECUTIONS,
        MIN_READERS,
        MIN_RELATION_BYTES,
        COLUMNAR_GAIN,
        MIN_OPERATORS,
        CACHE_READ_SHARE,
        LEAST_SHARE,
        ROW_US,
        FILL_SHARE,
        EXPANSION,
        MEMORY_SHARE,
        super::caching_rdd::MIN_JOBS,
        super::caching_rdd::MIN_SHARE,
    ],
    checks: &[Check::App(check), Check::App(super::caching_rdd::check)],
    what: "Several queries of one application scan the same relation (variant `relation`), or compute the same intermediate \
result from the same relations: the same joins, aggregates, windows or Python functions with the same literals (variant \
`composite`). Queries that compute it too, but of the rows that a filter leaves, would filter the copy: at best they are \
saved as well. What is read from a cache already is left out, and so are micro-batches of a streaming query and data that \
the application itself wrote in between. Outside SQL: several jobs compute the same RDDs from the start (variant `rdd`).",
    rule: "Equal fingerprints (columns and functions that a query does not need are left out, as Spark prunes them) of at least `min_operators` operators (fewer where one is Python) with a join, aggregate, window, union, explode or Python \
operator in them in at least `min_executions` queries with jobs of their own and equal row counts; or the same format and \
place of a scan of `min_relation_bytes` in at least `min_readers` queries. A whole query that is run again is only noted. Only the largest repeated part counts, and a relation only for queries that no \
repeated computation covers. The data must fit: `cache_expansion` times its size on disk within `cache_memory_share` of the \
executors' storage memory. Of RDDs: stages of at least `rdd_min_jobs` jobs without SQL that begin with the same RDD, in which \
no RDD is persisted, which compute partitions that others had computed and which together, without the first, take `rdd_min_share` of the run's task time.",
    why: "Every action runs its plan from the sources again: two writes and a count of one data frame are three reads and three \
joins. Only data that is cached or checkpointed is kept between queries.",
    fix: "PySpark: `df = build().persist()` before the first action, `df.unpersist()` after the last. Spark SQL: \
`CACHE TABLE t AS SELECT ...`, `UNCACHE TABLE t`. If memory is short, `persist(StorageLevel.DISK_ONLY)` or writing the \
intermediate result to a table still saves the computation. Actions that only look (`count`, `show`, `isEmpty`) before the \
real one are often not needed at all.",
    limits: "The price is the time that the stages of all but the first query spent on it: all of it at most; at least that \
less `cache_row_us` a row for reading the copy and for writing it, which is taken for `cache_least_share` of the time at \
least, and for `cache_read_share` and `cache_fill_share` at most. Of a columnar relation \
a cached copy saves `columnar_gain` of the scan at most. Queries in other applications are not \
seen. Python merges its transformations into one RDD for each action, so that the log does not tell which of them jobs \
have in common: at best all of the shortest stage, perhaps nothing.",
};

/// One occurrence: an execution's plan node.
struct Seen {
    execution: u64,
    root: u64,
    start_ms: i64,
    node: u32,
    rows: Option<i64>,
    /// Whether it is all that the query does.
    is_query: bool,
    /// Fingerprint with columns and functions.
    hash: u64,
    /// Fingerprint without filters, and whether it has any.
    unfiltered: u64,
    is_filtered: bool,
}

#[derive(Default)]
struct Found {
    composites: BTreeMap<u64, (u32, Vec<Seen>)>,
    relations: BTreeMap<String, Relation>,
    /// Places that were written, and when; `None` where the log does not name the place.
    written: Vec<(Option<String>, i64)>,
}

/// A relation and where it is read.
struct Relation {
    label: String,
    format: Format,
    bytes: i64,
    seen: Vec<Seen>,
}

fn check(context: &Context<'_>, sink: &mut Sink) {
    let found = collect(context);
    let mut covered: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut composites: Vec<(&u64, &(u32, Vec<Seen>))> = found.composites.iter().collect();
    composites.sort_by_key(|(hash, (operators, _))| (std::cmp::Reverse(*operators), **hash));
    let lone = filtered::lone(&found);
    for (hash, (operators, seen)) in composites {
        let seen: Vec<&Seen> =
            seen.iter().filter(|seen| !covered.contains(&(seen.execution, seen.node))).collect();
        let seen = one_by_root(seen);
        if !is_repeated(context, &seen) || !same_rows(&seen) || !same_columns(context, &seen) {
            continue;
        }
        let behind = filtered::behind_filters(context, &lone, &seen);
        if composite(context, &found, (*hash, *operators), (&seen, &behind), sink) {
            cover(context, &seen, &mut covered);
            cover(context, &behind, &mut covered);
        }
    }
    for (identity, relation) in &found.relations {
        let seen: Vec<&Seen> =
            relation.seen.iter().filter(|seen| !covered.contains(&(seen.execution, seen.node))).collect();
        let seen = one_by_root(seen);
        let is_large =
            relation.format == Format::Jdbc || relation.bytes as f64 >= context.get(&MIN_RELATION_BYTES);
        let is_often = seen.len() as f64 >= context.get(&MIN_READERS).max(2.0);
        let is_stale = is_written_between(&found, identity, relation.format, &seen);
        if is_large && is_often && !is_stale && fits(context, relation.bytes) {
            claim_relation(context, (identity, relation), &seen, sink);
        }
    }
}

/// One look at every plan of the run.
fn collect(context: &Context<'_>) -> Found {
    let mut found = Found::default();
    let looked_at = context.run.sql_executions.iter().filter(|one| context.queries().contains(&one.id));
    for execution in looked_at.filter(|execution| !execution.job_ids.is_empty()) {
        let is_streaming = execution
            .job_ids
            .iter()
            .filter_map(|id| context.run.job(*id))
            .any(|job| job.streaming_batch_id.is_some() || job.streaming_query_id.is_some());
        if is_streaming {
            continue;
        }
        let Some(view) = context.sql_view(execution.id) else { continue };
        if names::has_native(&view.nodes) {
            continue;
        }
        let start_ms = execution.start_ms.unwrap_or(context.start_ms);
        let written = writes(&view).into_iter().map(|write| (write.target.as_deref().map(place), start_ms));
        found.written.extend(written);
        collect_plan(context, &view, start_ms, &mut found);
    }
    found
}

/// Whether Python code runs in what is at a node or below it.
fn runs_python(view: &SqlView<'_>, node: u32) -> bool {
    let it = &view.nodes[node as usize];
    it.class == OperatorClass::Python || it.children.iter().any(|child| runs_python(view, *child))
}

fn collect_plan(context: &Context<'_>, view: &SqlView<'_>, start_ms: i64, found: &mut Found) {
    let prints = fingerprints(view);
    let seen = |node: u32| Seen {
        execution: view.execution.id,
        root: view.execution.root_id.unwrap_or(view.execution.id),
        start_ms,
        node,
        rows: rows_into(view, node),
        is_query: is_query(view, node),
        hash: prints[node as usize].hash,
        unfiltered: prints[node as usize].unfiltered,
        is_filtered: prints[node as usize].unfiltered != prints[node as usize].loose,
    };
    let ran = |node: u32| !view.nodes[node as usize].stages.stages.is_empty();
    let mut in_this = BTreeSet::new();
    for node in 0..view.nodes.len() as u32 {
        let print = prints[node as usize];
        let is_it = print.is_whole
            && print.is_anchored
            && (f64::from(print.operators) >= context.get(&MIN_OPERATORS) || runs_python(view, node))
            && print.is_heavy
            && !view.is_cached_plan(node)
            && ran(node)
            && !is_transparent(&view.nodes[node as usize].name)
            && view.nodes[node as usize].class != OperatorClass::Write;
        if is_it && in_this.insert(print.loose) {
            found
                .composites
                .entry(print.loose)
                .or_insert_with(|| (print.operators, Vec::new()))
                .1
                .push(seen(node));
        }
    }
    for scan in scans(view)
        .into_iter()
        .filter(|scan| scan.format.is_stored() && !scan.is_bookkeeping && ran(scan.node))
    {
        let Some(identity) = scan.identity() else { continue };
        let relation = found.relations.entry(identity).or_insert_with(|| Relation {
            label: scan.label(),
            format: scan.format,
            bytes: 0,
            seen: Vec::new(),
        });
        relation.bytes = relation.bytes.max(scan.bytes.unwrap_or(0));
        relation.seen.push(seen(scan.node));
    }
}

/// Whether nothing but wrappers stands above a node.
fn is_query(view: &SqlView<'_>, node: u32) -> bool {
    let mut at = view.nodes[node as usize].parent;
    while let Some(parent) = at.and_then(|at| view.nodes.get(at as usize)) {
        if !is_transparent(&parent.name) {
            return false;
        }
        at = parent.parent;
    }
    true
}

/// The first occurrence in each root execution: an execution and those below it show one query.
fn one_by_root(seen: Vec<&Seen>) -> Vec<&Seen> {
    let mut roots = BTreeSet::new();
    let mut kept: Vec<&Seen> = seen.into_iter().filter(|seen| roots.insert(seen.root)).collect();
    kept.sort_by_key(|seen| (seen.start_ms, seen.execution));
    kept
}

fn is_repeated(context: &Context<'_>, seen: &[&Seen]) -> bool {
    seen.len() as f64 >= context.get(&MIN_EXECUTIONS).max(2.0)
}

fn same_rows(seen: &[&Seen]) -> bool {
    let mut rows: Vec<i64> = seen.iter().filter_map(|seen| seen.rows).collect();
    rows.dedup();
    rows.len() < 2
}

/// Whether columns of the same name are computed in the same way in all occurrences.
fn same_columns(context: &Context<'_>, seen: &[&Seen]) -> bool {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    seen.iter().filter_map(|seen| Some((context.sql_view(seen.execution)?, seen.node))).all(|(view, node)| {
        let own = aliases(&view, &price::subtree(&view, node));
        let is_same =
            own.iter().all(|(name, expression)| all.get(name).is_none_or(|other| other == expression));
        all.extend(own);
        is_same
    })
}

fn cover(context: &Context<'_>, seen: &[&Seen], covered: &mut BTreeSet<(u64, u32)>) {
    for seen in seen {
        if let Some(view) = context.sql_view(seen.execution) {
            covered.extend(price::subtree(&view, seen.node).into_iter().map(|node| (seen.execution, node)));
        }
    }
}

/// A path or table without scheme and authority, so that a write's target and a scan's place compare.
fn place(text: &str) -> String {
    let path = text.split_once(':').map_or(text, |(_, path)| path);
    path.trim_end_matches('/').trim_start_matches('/').to_owned()
}

/// Whether the application wrote to a relation after the first query read it and before the last did. A
/// write to a place that is not known may have been to any table that can be written in place.
fn is_written_between(found: &Found, identity: &str, format: Format, seen: &[&Seen]) -> bool {
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return false };
    let here = place(identity.split_once(' ').map_or(identity, |(_, place)| place));
    let is_mutable =
        matches!(format, Format::Delta | Format::Iceberg | Format::Hudi | Format::Jdbc | Format::Hive);
    found.written.iter().filter(|(_, at)| *at >= first.start_ms && *at <= last.start_ms).any(|(target, _)| {
        match target.as_deref() {
            None | Some("") => is_mutable,
            Some(target) => here.starts_with(target) || here.ends_with(target),
        }
    })
}

/// Whether data fits into the executors' storage memory; unknown memory does not speak against it.
fn fits(context: &Context<'_>, bytes: i64) -> bool {
    let memory: i64 = context.run.executors.iter().filter_map(|executor| executor.maximum_memory_bytes).sum();
    memory == 0 || bytes as f64 * context.get(&EXPANSION) <= memory as f64 * context.get(&MEMORY_SHARE)
}

/// The stages that ran it again, and what its first run took.
fn parts(
    context: &Context<'_>,
    seen: &[&Seen],
    nodes: impl Fn(&SqlView<'_>, u32) -> BTreeSet<u32>,
) -> (Vec<Part>, i64) {
    let (mut again, mut first_ms) = (Vec::new(), 0);
    for (n, seen) in seen.iter().enumerate() {
        let Some(view) = context.sql_view(seen.execution) else { continue };
        let parts = price::parts_of(context, &view, &nodes(&view, seen.node));
        if n == 0 {
            first_ms = price::core_ms(context, &parts);
        } else {
            again.extend(parts);
        }
    }
    (again, first_ms)
}

/// Claims a repeated computation; whether it was material.
fn composite(
    context: &Context<'_>,
    found: &Found,
    (hash, operators): (u64, u32),
    (seen, behind): (&[&Seen], &[&Seen]),
    sink: &mut Sink,
) -> bool {
    let Some(view) = context.sql_view(seen[0].execution) else { return false };
    let sources = crate::plan::stage_ops::scans_below(&view, seen[0].node);
    let is_stale = sources.iter().any(|scan| {
        scan.identity().is_some_and(|identity| is_written_between(found, &identity, scan.format, seen))
    });
    let (again, first_ms) = parts(context, seen, price::subtree);
    let places = price::places(&again);
    if is_stale || is_immaterial(context, &places) {
        return false;
    }
    let relations: BTreeSet<String> = sources.iter().filter_map(|scan| scan.relation.clone()).collect();
    let names = relations.iter().take(3).cloned().collect::<Vec<String>>().join(", ");
    let of = if names.is_empty() { String::new() } else { format!(" over {names}") };
    let root = view.nodes[seen[0].node as usize].name.clone();
    let steps = steps(&view, seen[0].node);
    let what = match steps.is_empty() {
        true => format!("{operators} operators"),
        false => format!("{} ({operators} operators)", steps.join(", ")),
    };
    let mut claim = new_claim(seen, format!("{} queries compute the same {what}{of}", seen.len()))
        .evidence("operators", operators)
        .evidence("root", root)
        .evidence("relations", names)
        .evidence("rows", seen[0].rows.unwrap_or(0))
        .advice("Build this intermediate result once, persist it before the first of these queries and unpersist it after the last; or drop actions that only look at it.")
        .change(Change::code("persist", format!("the result of {what}{of}")));
    claim.variant = Some("composite");
    claim.subject = format!("{hash:016x}");
    let is_equal = seen.iter().all(|other| other.hash == seen[0].hash);
    claim.confidence = if is_equal && seen.iter().all(|seen| seen.rows.is_some()) {
        Confidence::High
    } else {
        Confidence::Medium
    };
    priced(context, &mut claim, seen, &again, first_ms);
    filtered::add(context, &mut claim, behind);
    // A query that is simply run again, in a loop or to look at its result, is a fact: what would be
    // kept is its result, and whether the program may do so is not in the log.
    if is_equal && seen.iter().all(|seen| seen.is_query) {
        claim.title = format!("The same query{of} runs {} times", seen.len());
        claim.recommendation.text =
            "If the program does not need to ask again, keep the result of the first run.".to_owned();
        claim.severity = Some(Severity::Info);
        claim.worth = Worth::None;
    }
    sink.claim(claim);
    true
}

/// What is computed at a node and below it, as a person would call it: `score in Python`, `join on k`; the last
/// step first, and no more than three of them.
fn steps(view: &SqlView<'_>, node: u32) -> Vec<String> {
    const TOLD: usize = 3;
    let joins = joins(view);
    let mut steps: Vec<String> = Vec::new();
    for at in price::subtree(view, node) {
        let it = &view.nodes[at as usize];
        let step = match (it.class, python_kind(&it.name)) {
            (_, Some(kind)) => match functions(kind, &it.detail).join(", ") {
                names if names.is_empty() => "Python function".to_owned(),
                names => format!("{names} in Python"),
            },
            (OperatorClass::Join, _) => match joins.iter().find(|join| join.node == at) {
                Some(join) => format!("join on {}", join.keys_label()),
                None => "join".to_owned(),
            },
            (OperatorClass::Aggregation, _) => "aggregation".to_owned(),
            (OperatorClass::Window, _) => "window".to_owned(),
            _ => continue,
        };
        if !steps.contains(&step) && steps.len() < TOLD {
            steps.push(step);
        }
    }
    steps
}

fn claim_relation(
    context: &Context<'_>,
    (identity, relation): (&str, &Relation),
    seen: &[&Seen],
    sink: &mut Sink,
) {
    let (label, bytes) = (relation.label.as_str(), relation.bytes);
    let (mut again, first_ms) = parts(context, seen, |_, node| BTreeSet::from([node]));
    if relation.format.is_columnar() {
        again.iter_mut().for_each(|part| part.share *= context.get(&COLUMNAR_GAIN));
    }
    if is_immaterial(context, &price::places(&again)) {
        return;
    }
    let mut claim = new_claim(seen, format!("{} queries read {label} ({})", seen.len(), words::size(bytes)))
        .evidence("relation", label)
        .evidence("read_bytes", bytes)
        .evidence("rows", seen[0].rows.unwrap_or(0))
        .advice(format!("Cache {label} with the columns that these queries need before the first of them, if it fits into memory; reading fewer columns or a better format may do as well."))
        .change(Change::code("persist", format!("persist {label}")));
    claim.variant = Some("relation");
    claim.subject = crate::plan::text::last_part(identity).to_owned();
    claim.confidence = Confidence::Low;
    priced(context, &mut claim, seen, &again, first_ms);
    sink.claim(claim);
}

fn new_claim(seen: &[&Seen], title: String) -> Claim {
    let ids: Vec<u64> = seen.iter().map(|seen| seen.execution).collect();
    let scope = Scope { sql_id: ids.first().copied(), ..Scope::default() };
    let mut claim = Claim::new(KIND, scope, title)
        .evidence("executions", ids.len())
        .evidence("sql_ids", ids.iter().take(20).copied().collect::<Vec<u64>>());
    claim.nature = Nature::Code;
    claim.validate = "Compare the queries' plans: they must read the same state of the data; with the copy in place they show InMemoryTableScan and the storage page shows it whole in memory.".to_owned();
    claim
}

fn priced(context: &Context<'_>, claim: &mut Claim, seen: &[&Seen], again: &[Part], first_ms: i64) {
    let total = price::core_ms(context, again);
    let share = |rows: Option<i64>, ms: i64, most: &Threshold| {
        let (least, most) = (context.get(&LEAST_SHARE), context.get(most));
        price::copy_share(rows, ms, context.get(&ROW_US), least, most)
    };
    let rows = seen[0].rows;
    let read = share(rows.map(|rows| rows.saturating_mul(seen.len() as i64 - 1)), total, &CACHE_READ_SHARE);
    // Filling the cache costs a part of the first computation, dealt out over what is saved.
    let fill = share(rows, first_ms, &FILL_SHARE) * first_ms as f64 / total.max(1) as f64;
    let kept = (read + fill).min(1.0);
    claim.evidence.insert("repeated_core_ms".to_owned(), total.into());
    claim.evidence.insert("saved_at_least_share".to_owned(), rounded(1.0 - kept).into());
    claim.core_ms = Some((total as f64 * (1.0 - kept)) as i64);
    claim.worth = Worth::Replay { low: price::without(again, 1.0 - kept), high: price::without(again, 1.0) };
    claim.stages = price::places(again);
}

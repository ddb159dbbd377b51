//! Python functions that are called row by row.

use super::{TAG, conf, count_text, is_immaterial, percent, rounded, scope, threshold};
use crate::config::Version;
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Severity, Worth};
use crate::plan::names::{PythonKind, python_kind};
use crate::plan::price::{self, Part};
use crate::plan::rows::rows_into;
use crate::plan::text::{list, split_top, without_ids};
use crate::plan::time::{FOREIGN_CODE, OperatorTime, TimeMethod, operators_time};
use crate::plan::{SqlView, text};
use crate::replay::Place;
use crate::words;
use std::collections::{BTreeMap, BTreeSet};

const KIND: &str = "pythonUdf";

const MIN_SHARE: Threshold =
    threshold("python_min_share", 0.25, "Share of its stages' run time that Python must take.");
const MIN_ROWS: Threshold = threshold(
    "python_min_rows",
    10_000.0,
    "Rows that must go through Python. With fewer, its time is that of starting workers.",
);
const ARROW_GAIN: Threshold = threshold(
    "python_arrow_gain",
    0.4,
    "Share of Python's time that handing rows over in Arrow batches is taken to save at most.",
);
const BUILTIN_GAIN: Threshold = threshold(
    "python_builtin_gain",
    0.8,
    "Share of Python's time that a built-in function is taken to save at most.",
);

const ONCE_SURE_SHARE: Threshold = threshold(
    "python_once_sure_share",
    0.75,
    "Share of the repeated evaluations of a function whose time is saved at least when it is called once: keeping its result costs too.",
);
const MIN_ARROW_SHARE: Threshold = threshold(
    "python_min_arrow_share",
    0.5,
    "Share of the run time of its stages that a function over Arrow batches must take to be told: a fact to know.",
);

/// Python functions that are called row by row.
pub static PYTHON_UDF: Detector = Detector {
    tag: TAG,
    title: "Python UDFs",
    types: &[FindingType {
        name: KIND,
        what: "A Python function is called row by row and takes a good part of its stages' time.",
    }],
    thresholds: &[
        MIN_SHARE,
        MIN_ARROW_SHARE,
        MIN_ROWS,
        ARROW_GAIN,
        BUILTIN_GAIN,
        ONCE_SURE_SHARE,
        FOREIGN_CODE,
    ],
    checks: &[Check::Sql(check)],
    what: "A `BatchEvalPython` operator handed every row, pickled, to a Python worker and back, and its stages spent a good \
part of their time waiting for that. Functions that already take Arrow batches (scalar pandas UDFs) are told as a fact (variant `arrow`) where they take \
most of the time, those of whole groups or partitions (`applyInPandas`, `mapInPandas`) among them.",
    rule: "At least `python_min_rows` rows go through Python, and it takes at least `python_min_share` (a function over Arrow batches `python_min_arrow_share`) of the run time of its stages: by Spark 4's own metric (`time to run Python \
workers`), before that by what the task threads spent neither on the CPU nor collecting, fetching or writing. CPU time of \
tasks does not hold Python's.",
    why: "Every row is converted, pickled, sent through a pipe, unpickled, computed by the interpreter, and sent back. The \
function also hides from the optimizer: filters are not pushed through it, and code generation ends there.",
    fix: "Best is a built-in: `F.upper`, `F.regexp_extract`, `F.transform(arr, lambda x: x + 1)`, `CASE WHEN ... END`, a join \
with a small table instead of a dictionary in Python. Otherwise hand rows over in batches: \
`@pandas_udf(\"double\") def f(s: pd.Series) -> pd.Series: ...`, or, unchanged, \
`@udf(returnType=\"int\", useArrow=True)` and `spark.sql.execution.pythonUDF.arrow.enabled=true` (Spark 3.5 and later). Filter \
before the function runs.",
    limits: "What remains when the function is replaced depends on what it computes: built-ins have been measured slower than \
the Python they replaced, and Arrow helps little where the function itself is slow. The saving therefore starts at nothing. \
Before Spark 4 Python's time includes other waiting in the same tasks, such as storage.",
};

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    // A function that a filter and a later step call is evaluated in both.
    let mut by_functions: BTreeMap<(bool, String), Vec<u32>> = BTreeMap::new();
    for (node, it) in view.nodes.iter().enumerate().filter(|(_, it)| !it.in_cached_plan) {
        let kind = python_kind(&it.name);
        if let Some(kind) = kind {
            let key = (kind != PythonKind::Pickled, functions(kind, &it.detail).join(", "));
            by_functions.entry(key).or_default().push(node as u32);
        }
    }
    for ((is_arrow, functions), nodes) in by_functions {
        check_functions(context, view, &nodes, (is_arrow, functions), sink);
    }
}

fn check_functions(
    context: &Context<'_>,
    view: &SqlView<'_>,
    nodes: &[u32],
    (is_arrow, functions): (bool, String),
    sink: &mut Sink,
) {
    let node = nodes[0];
    let it = &view.nodes[node as usize];
    let (mut parts, mut python_ms, mut run_ms, mut is_measured) = (Vec::new(), 0.0, 0i64, true);
    let stages: BTreeSet<Place> =
        nodes.iter().flat_map(|node| view.nodes[*node as usize].stages.stages.iter().copied()).collect();
    for place in &stages {
        let Some(digest) = context.digest_of(place.0, place.1) else { continue };
        let own: Vec<OperatorTime> = operators_time(context, view, digest)
            .into_iter()
            .filter(|time| nodes.contains(&time.node))
            .collect();
        if own.is_empty() {
            continue;
        }
        python_ms += own.iter().map(|time| time.ms).sum::<f64>();
        run_ms += digest.counted.run_ms;
        is_measured &= own.iter().all(|time| time.method == TimeMethod::Measured);
        let of_attempts = digest.counted.run_ms as f64 / digest.attempt_ms.max(1) as f64;
        let share: f64 = own.iter().map(|time| time.share).sum();
        parts.push(Part { place: *place, share: (share * of_attempts).clamp(0.0, 0.99) });
    }
    let places = price::places(&parts);
    let share = python_ms / run_ms.max(1) as f64;
    let least = if is_arrow { &MIN_ARROW_SHARE } else { &MIN_SHARE };
    if run_ms == 0 || share < context.get(least) || is_immaterial(context, &places) {
        return;
    }
    let rows = it.children.first().and_then(|child| rows_into(view, *child));
    if rows.is_some_and(|rows| (rows as f64) < context.get(&MIN_ROWS)) {
        return;
    }
    let name = match functions.split(", ").next() {
        Some(first) if !first.is_empty() => first.to_owned(),
        _ => "A Python function".to_owned(),
    };
    let conf = conf(context, view);
    let switch = (conf.version() >= Version(3, 5) && !is_arrow)
        .then(|| conf.propose("spark.sql.execution.pythonUDF.arrow.enabled", "true"))
        .flatten();
    let of_rows = rows.map(|rows| format!(" for {} rows", count_text(rows))).unwrap_or_default();
    let again =
        if nodes.len() > 1 { format!(", evaluated in {} places", nodes.len()) } else { String::new() };
    let mut claim = Claim::new(
        KIND,
        scope(view, node),
        format!("{name} in Python takes {} ({}) of its stages{of_rows}{again}", words::duration(python_ms as i64), percent(share)),
    )
    .evidence("functions", functions.as_str())
    .evidence("operators", nodes.len())
    .evidence("python_ms", python_ms.round() as i64)
    .evidence("python_share", rounded(share))
    .evidence("is_measured", is_measured)
    .evidence("rows", rows.unwrap_or(0))
    .evidence("sent_bytes", view.total(node, "data sent to Python workers").unwrap_or(0))
    .evidence("returned_bytes", view.total(node, "data returned from Python workers").unwrap_or(0))
    .advice(if is_arrow {
        "Rows go over in Arrow batches already: what is left is the function itself. Replace it by built-in functions where they can express it, filter before it, and work on whole columns in it, not row by row."
    } else {
        "Replace the function by built-in ones where they can express it; otherwise hand the rows over in Arrow batches (pandas UDF). Try it on a part of the data first: not every built-in is faster."
    })
    .change(Change::code(name.clone(), if is_arrow { "built-in functions" } else { "built-in functions, or a pandas UDF" }))
    .changes(switch);
    claim.nature = Nature::Code;
    claim.cause = Some(functions.clone());
    claim.subject = functions;
    claim.cost_ms = Some(python_ms.round() as i64);
    claim.confidence = if is_measured { Confidence::Medium } else { Confidence::Low };
    claim.validate = "Run the stage with the function replaced by a constant: what it then takes less is all that can be saved.".to_owned();
    let (arrow, built_in) = (context.get(&ARROW_GAIN), context.get(&BUILTIN_GAIN));
    claim.stages = places;
    if is_arrow {
        claim.variant = Some("arrow");
        match evaluated_again(view, nodes) {
            Some(again) => {
                // At best built-in functions take its place altogether.
                claim.worth = Worth::Replay {
                    low: price::without(&parts, again * context.get(&ONCE_SURE_SHARE)),
                    high: price::without(&parts, again.max(built_in)),
                };
                claim.recommendation.text.insert_str(0, ONCE);
            }
            // Nothing to switch: whether other code can do the same is not in the log.
            None => claim.severity = Some(Severity::Info),
        }
        sink.claim(claim);
        return;
    }
    claim.worth = Worth::Replay {
        // What Python's time is made of is only known where Spark measured it.
        low: if is_measured { price::without(&parts, arrow.min(built_in)) } else { Vec::new() },
        high: price::without(&parts, built_in.max(arrow)),
    };
    claim.core_ms = Some((price::core_ms(context, &parts) as f64 * context.get(&ARROW_GAIN)) as i64);
    sink.claim(claim);
}

/// What to do about a function that one branch of a plan calls for the same rows more than once.
const ONCE: &str = "The optimizer copied the function into a filter and into what follows: call it once, by marking it with `asNondeterministic()` \
or by persisting its result before the filter. ";

/// The share of the evaluations that repeats one below it for the same rows; `None` where the evaluations are in
/// branches beside each other, whose rows differ.
fn evaluated_again(view: &SqlView<'_>, nodes: &[u32]) -> Option<f64> {
    let are_stacked = nodes.windows(2).all(|pair| price::subtree(view, pair[0]).contains(&pair[1]));
    (nodes.len() > 1 && are_stacked).then(|| (nodes.len() - 1) as f64 / nodes.len() as f64)
}

/// The functions of `BatchEvalPython [f(a#1)#4, g(b#2)#5], [pythonUDF0#13]`; of whole groups and partitions, as
/// `MapInPandas f(a#1)#2, [b#3]`, the one.
pub(crate) fn functions(kind: PythonKind, detail: &str) -> Vec<String> {
    if kind == PythonKind::Grouped {
        let call = detail.split('(').next().unwrap_or("").trim_end();
        let name = call.rsplit([' ', ',']).next().unwrap_or("");
        return vec![without_ids(name)].into_iter().filter(|name| !name.is_empty()).collect();
    }
    let inside = detail.find('[').and_then(|at| text::bracketed(&detail[at..])).map(|(inside, _)| inside);
    let inside = inside.or_else(|| list(detail, "functions")).unwrap_or_default();
    let name = |call: &str| without_ids(call.split('(').next().unwrap_or(call));
    let mut names: Vec<String> = split_top(inside, ',').into_iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions() {
        let evaluated = "BatchEvalPython [g(b#2)#5, f(a#1, 2)#4], [pythonUDF0#13]";
        assert_eq!(functions(PythonKind::Pickled, evaluated), ["f", "g"]);
        assert_eq!(
            functions(PythonKind::Grouped, "MapInPandas parse(value#0)#4, [a#5, b#6L], false"),
            ["parse"]
        );
        assert_eq!(
            functions(PythonKind::Grouped, "FlatMapGroupsInPandas [k#1L], fit(k#1L, v#2)#7, [k#8L]"),
            ["fit"]
        );
    }
}

//! Python functions that are called row by row.

use super::{TAG, conf, count_text, is_immaterial, ms_text, percent, rounded, scope, threshold};
use crate::config::Version;
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::names::{PythonKind, python_kind};
use crate::plan::price::{self, Part};
use crate::plan::rows::rows_into;
use crate::plan::text::{list, split_top, without_ids};
use crate::plan::time::{FOREIGN_CODE, TimeMethod, operators_time};
use crate::plan::{SqlView, text};

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

/// Python functions that are called row by row.
pub static PYTHON_UDF: Detector = Detector {
    tag: TAG,
    title: "Python UDFs",
    types: &[FindingType {
        name: KIND,
        what: "A Python function is called row by row and takes a good part of its stages' time.",
    }],
    thresholds: &[MIN_SHARE, MIN_ROWS, ARROW_GAIN, BUILTIN_GAIN, FOREIGN_CODE],
    checks: &[Check::Sql(check)],
    what: "A `BatchEvalPython` operator handed every row, pickled, to a Python worker and back, and its stages spent a good \
part of their time waiting for that. Functions that already take Arrow batches (pandas UDFs, `mapInPandas`) are not \
reported: there is nothing to switch.",
    rule: "At least `python_min_rows` rows go through Python, and it takes at least `python_min_share` of the run time of its stages: by Spark 4's own metric (`time to run Python \
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
    for (node, it) in view.nodes.iter().enumerate() {
        if python_kind(&it.name) == Some(PythonKind::Pickled) && !it.in_cached_plan {
            check_node(context, view, node as u32, sink);
        }
    }
}

fn check_node(context: &Context<'_>, view: &SqlView<'_>, node: u32, sink: &mut Sink) {
    let it = &view.nodes[node as usize];
    let (mut parts, mut python_ms, mut run_ms, mut is_measured) = (Vec::new(), 0.0, 0i64, true);
    for place in &it.stages.stages {
        let Some(digest) = context.digest_of(place.0, place.1) else { continue };
        let Some(time) = operators_time(context, view, digest).into_iter().find(|time| time.node == node)
        else {
            continue;
        };
        python_ms += time.ms;
        run_ms += digest.counted.run_ms;
        is_measured &= time.method == TimeMethod::Measured;
        let of_attempts = digest.counted.run_ms as f64 / digest.attempt_ms.max(1) as f64;
        parts.push(Part { place: *place, share: (time.share * of_attempts).clamp(0.0, 0.99) });
    }
    let places = price::places(&parts);
    let share = python_ms / run_ms.max(1) as f64;
    if run_ms == 0 || share < context.get(&MIN_SHARE) || is_immaterial(context, &places) {
        return;
    }
    let rows = it.children.first().and_then(|child| rows_into(view, *child));
    if rows.is_some_and(|rows| (rows as f64) < context.get(&MIN_ROWS)) {
        return;
    }
    let functions = functions(&it.detail);
    let name = functions.first().cloned().unwrap_or_else(|| "A Python function".to_owned());
    let conf = conf(context, view);
    let switch = (conf.version() >= Version(3, 5))
        .then(|| conf.propose("spark.sql.execution.pythonUDF.arrow.enabled", "true"))
        .flatten();
    let of_rows = rows.map(|rows| format!(" for {} rows", count_text(rows))).unwrap_or_default();
    let mut claim = Claim::new(
        KIND,
        scope(view, node),
        format!("{name} in Python takes {} ({}) of its stages{of_rows}", ms_text(python_ms as i64), percent(share)),
    )
    .evidence("functions", functions.join(", "))
    .evidence("python_ms", python_ms.round() as i64)
    .evidence("python_share", rounded(share))
    .evidence("is_measured", is_measured)
    .evidence("rows", rows.unwrap_or(0))
    .evidence("sent_bytes", view.total(node, "data sent to Python workers").unwrap_or(0))
    .evidence("returned_bytes", view.total(node, "data returned from Python workers").unwrap_or(0))
    .advice("Replace the function by built-in ones where they can express it; otherwise hand the rows over in Arrow batches (pandas UDF). Try it on a part of the data first: not every built-in is faster.")
    .change(Change::code(name.clone(), "built-in functions, or a pandas UDF"))
    .changes(switch);
    claim.nature = Nature::Code;
    claim.subject = functions.join(", ");
    claim.confidence = if is_measured { Confidence::Medium } else { Confidence::Low };
    claim.validate = "Run the stage with the function replaced by a constant: what it then takes less is all that can be saved.".to_owned();
    let (arrow, built_in) = (context.get(&ARROW_GAIN), context.get(&BUILTIN_GAIN));
    claim.worth = Worth::Replay {
        // What Python's time is made of is only known where Spark measured it.
        low: if is_measured { price::without(&parts, arrow.min(built_in)) } else { Vec::new() },
        high: price::without(&parts, built_in.max(arrow)),
    };
    claim.core_ms = Some((price::core_ms(context, &parts) as f64 * context.get(&ARROW_GAIN)) as i64);
    claim.stages = places;
    sink.claim(claim);
}

/// The functions of `BatchEvalPython [f(a#1)#4, g(b#2)#5], [pythonUDF0#13]`.
fn functions(detail: &str) -> Vec<String> {
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
        assert_eq!(functions("BatchEvalPython [g(b#2)#5, f(a#1, 2)#4], [pythonUDF0#13]"), ["f", "g"]);
    }
}

//! All rows in one task.

use super::{TAG, count_text, scope, slots, threshold};
use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::plan::exchange::{Exchange, Partitioning, Place, exchanges};
use crate::plan::{Node, OperatorClass, SqlView};
use crate::replay::Edit;
use crate::words;

const KIND: &str = "singlePartition";

const MIN_ROWS: Threshold = threshold(
    "single_partition_min_rows",
    100_000.0,
    "Rows that must meet in one task. Final steps of global aggregates and limits stay far below.",
);
const MIN_WINDOW_ROWS: Threshold = threshold(
    "single_partition_min_window_rows",
    1000.0,
    "The same for a window, or where the program asked for one partition. Nothing is put together there: what is slow is \
slow for each row.",
);
const MIN_MS: Threshold =
    threshold("single_partition_min_ms", 1000.0, "Time that the one task must take, milliseconds.");

/// All rows in one task.
pub static SINGLE_PARTITION: Detector = Detector {
    tag: TAG,
    title: "One partition",
    types: &[FindingType { name: KIND, what: "All rows of a query go through one task." }],
    thresholds: &[MIN_ROWS, MIN_WINDOW_ROWS, MIN_MS],
    checks: &[Check::Sql(check)],
    what: "The plan sends all rows to one partition, and many rows came: a window without `PARTITION BY`, \
`repartition(1)` or `coalesce(1)`, a global sort or aggregate that cannot be done in parts. One core works while all \
others wait.",
    rule: "An exchange to a single partition, or a `Coalesce 1`, that at least `single_partition_min_rows` rows go through \
(below a window, or where the program asked for it, `single_partition_min_window_rows`), in a stage whose one task takes `single_partition_min_ms` or more where more than one task could run. Partitions that \
adaptive execution put together because they are small are not meant: their plan does not ask for one.",
    why: "The stage takes as long as one core needs for everything, it spills what does not fit into one task's memory, and \
no cluster makes it faster.",
    fix: "A window needs a key: `row_number() OVER (PARTITION BY day ORDER BY ts)`. Where the number must run over everything, \
`monotonically_increasing_id()` or `rdd.zipWithIndex()` number rows in parallel, and running totals can be computed by \
part and then shifted. Instead of `coalesce(1)` write several files, or `repartition(1)` right before the write, so that \
only the writing is in one task: `df.repartition(1).write...` keeps the work before it parallel, `coalesce(1)` does not.",
    limits: "Whether the order over all rows is wanted is not in the log; for windows the estimate, from half of \
the slots to all of them, is of what a key would bring, and confidence is medium. For final steps of other kinds the \
pessimistic estimate is nothing. Plans of native engines are read only as far as they use Spark's names.",
};

/// Why all rows go to one task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Window,
    Asked,
    Coalesce,
    Other,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Asked => "repartition",
            Self::Coalesce => "coalesce",
            Self::Other => "other",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Window => {
                "Give the window a PARTITION BY, or number rows without one (monotonically_increasing_id, zipWithIndex)."
            }
            Self::Asked => {
                "Do not repartition to one before work that can run in parallel; write several files, or make it the last step."
            }
            Self::Coalesce => {
                "coalesce(1) makes everything below it run in one task; use repartition(1) right before the write, or write several files."
            }
            Self::Other => "Aggregate or filter before all rows have to meet in one task.",
        }
    }
}

fn check(context: &Context<'_>, view: &SqlView<'_>, sink: &mut Sink) {
    for exchange in exchanges(view)
        .iter()
        .filter(|exchange| exchange.partitioning == Partitioning::Single && !exchange.is_reused)
    {
        let rows = exchange.rows.unwrap_or(0);
        let digest =
            exchange.readers.iter().filter_map(|place| context.digest_of(place.0, place.1)).next_back();
        if let Some(digest) = digest {
            check_stage(context, view, (exchange.node, cause(view, exchange), rows), digest, sink);
        }
    }
    for (node, it) in view.nodes.iter().enumerate().filter(|(_, it)| is_coalesce_to_one(it)) {
        let rows = crate::plan::rows::rows_into(view, it.children.first().copied().unwrap_or(node as u32))
            .unwrap_or(0);
        let place = it.stages.stages.last();
        if let Some(digest) = place.and_then(|place| context.digest_of(place.0, place.1)) {
            check_stage(context, view, (node as u32, Cause::Coalesce, rows), digest, sink);
        }
    }
}

fn is_coalesce_to_one(node: &Node) -> bool {
    node.name == "Coalesce" && node.detail.trim() == "Coalesce 1" && !node.in_cached_plan
}

fn cause(view: &SqlView<'_>, exchange: &Exchange) -> Cause {
    if exchange.is_user {
        return Cause::Asked;
    }
    let mut at = view.nodes[exchange.node as usize].parent;
    while let Some(node) = at.and_then(|at| view.nodes.get(at as usize)) {
        match node.class {
            OperatorClass::Window => return Cause::Window,
            OperatorClass::Shuffle if node.name.contains("Exchange") => break,
            _ => at = node.parent,
        }
    }
    Cause::Other
}

fn check_stage(
    context: &Context<'_>,
    view: &SqlView<'_>,
    (node, cause, rows): (u32, Cause, i64),
    digest: &StageDigest,
    sink: &mut Sink,
) {
    let slots = slots(digest);
    let least = if cause == Cause::Other { &MIN_ROWS } else { &MIN_WINDOW_ROWS };
    let is_alone = digest.useful == 1 && slots > 1;
    let is_much = rows as f64 >= context.get(least) && digest.longest_ms as f64 >= context.get(&MIN_MS);
    if !is_alone || !is_much || context.is_immaterial(digest.running_ms()) {
        return;
    }
    let place: Place = (digest.id, digest.attempt);
    let mut scope = scope(view, node);
    (scope.stage_id, scope.stage_attempt, scope.job_id) = (Some(place.0), Some(place.1), digest.job_id);
    let mut claim = Claim::new(
        KIND,
        scope,
        format!(
            "{} rows go through one task for {} while {} could run",
            count_text(rows),
            words::duration(digest.longest_ms),
            slots
        ),
    )
    .evidence("rows", rows)
    .evidence("task_ms", digest.longest_ms)
    .evidence("slots", slots)
    .evidence("cause", cause.name())
    .evidence("spilled_bytes", digest.all.disk_spilled_bytes)
    .advice(cause.advice())
    .change(Change::code(cause.name(), "split the work over several partitions"));
    claim.nature = Nature::Code;
    claim.subject = cause.name().to_owned();
    claim.confidence = match cause {
        Cause::Window | Cause::Other => Confidence::Medium,
        Cause::Asked | Cause::Coalesce => Confidence::High,
    };
    claim.validate = "Look at what stands above the exchange in the plan: if the result needs one order over all rows, only faster cores help.".to_owned();
    let resize = |tasks: u32| {
        vec![Edit::Resize { place, tasks: tasks.max(2), overhead_ms: digest.median_ms.min(10.0) }]
    };
    let is_sure = cause != Cause::Other && slots / 2 > 1;
    let low = if is_sure { resize(slots / 2) } else { Vec::new() };
    claim.worth = Worth::Replay { low, high: resize(slots) };
    claim.stages = vec![place];
    sink.claim(claim);
}

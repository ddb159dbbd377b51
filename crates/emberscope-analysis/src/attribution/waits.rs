//! What tasks waited for, where the log tells: Python, files, commits, or nothing that moves data.
//!
//! Spark times a task's CPU, collection, fetch and shuffle write; what is left of its run time it does not
//! explain. The operators' own timers explain some of that for a stage as a whole, and the bytes that its
//! tasks moved tell how much of the rest can have been reading and writing at most. What a stage's timers say
//! is dealt out over its tasks by what each has left.

use super::{Part, Sum};
use crate::context::{Context, StageDigest};
use crate::detector::Threshold;
use crate::plan::time::{commit_ms, python_ms, python_wait_ms, scan_ms};
use crate::plan::{Node, OperatorClass, SqlView};
use emberscope_model::run::StageAttempt;

/// What a task is taken to read or write in a second at least.
pub const SLOWEST_BYTES: Threshold = Threshold {
    tag: "SLOW",
    name: "slowest_bytes_per_second",
    default: 10_485_760.0,
    doc: "Bytes that a task is taken to read or write in a second at least, when the time that it waited is attributed: \
          what takes longer was no reading or writing that Spark counts.",
};

/// What opening and closing may take a task, and each file of it.
pub const OPENING_MS: Threshold = Threshold {
    tag: "SLOW",
    name: "opening_ms",
    default: 100.0,
    doc: "Milliseconds that a task, and every file that it reads or writes, may wait for opening and closing beside moving bytes, when the time that it \
          waited is attributed.",
};

/// What the waiting of a stage's tasks is split into, in the order in which it is taken.
const KINDS: [Part; 4] = [Part::Python, Part::Commit, Part::InputWait, Part::NoData];

/// Shares of [`Part::Other`] of a stage attempt that are known to be something else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    /// As [`KINDS`]; together at most 1.
    shares: [f64; KINDS.len()],
}

impl Waits {
    /// Of a stage attempt whose attempts that counted have `other_ms` left.
    pub(super) fn of(
        context: &Context<'_>,
        stage: &StageAttempt,
        digest: &StageDigest,
        other_ms: i64,
    ) -> Self {
        if other_ms <= 0 || context.is_native {
            return Waits::default();
        }
        let looked_at = digest.sql_id.filter(|id| context.queries().contains(id));
        let view = looked_at.and_then(|id| context.sql_view(id));
        let wanted = [
            python(context, stage, digest, view.as_deref()),
            view.as_deref().map_or(0.0, |view| commit_ms(view, place(digest))),
            // The timer of a scan runs while it computes, too.
            view.as_deref().map_or(0.0, |view| scan_ms(view, place(digest)) - digest.counted.cpu_ms as f64),
            moves_no_data(context, digest, view.as_deref(), other_ms),
        ];
        let mut left = other_ms as f64;
        let shares = wanted.map(|ms| {
            let taken = ms.clamp(0.0, left);
            left -= taken;
            taken / other_ms as f64
        });
        Waits { shares }
    }

    /// Moves what is known out of [`Part::Other`]; the sum stays what it is.
    pub(super) fn split(&self, sum: &mut Sum) {
        let other = sum.get(Part::Other);
        let (mut so_far, mut given) = (0.0, 0);
        for (part, share) in KINDS.into_iter().zip(self.shares).filter(|(_, share)| *share > 0.0) {
            so_far += share;
            // Each part ends where all so far, rounded, end: no rounding adds up.
            let until = ((other as f64 * so_far).round() as i64).clamp(given, other);
            sum.add(part, until - given);
            given = until;
        }
        sum.add(Part::Other, -given);
    }
}

fn place(digest: &StageDigest) -> (u32, u32) {
    (digest.id, digest.attempt)
}

/// Time that tasks waited for Python: as Spark 4 measured it, else all that they waited in a stage with Python.
fn python(
    context: &Context<'_>,
    stage: &StageAttempt,
    digest: &StageDigest,
    view: Option<&SqlView<'_>>,
) -> f64 {
    let in_plan = view.and_then(|view| python_ms(view, digest));
    let is_python_rdd = || {
        let named = |id: &u32| context.run.rdd_name(*id).is_some_and(|name| name.starts_with("PythonRDD"));
        stage.rdd_ids.iter().any(named)
    };
    match in_plan {
        Some(ms) => ms,
        None if is_python_rdd() => python_wait_ms(digest),
        None => 0.0,
    }
}

/// What is left beyond all that moving its bytes can have taken. Nothing where rows came or went without bytes:
/// some sources do not count them.
fn moves_no_data(
    context: &Context<'_>,
    digest: &StageDigest,
    view: Option<&SqlView<'_>>,
    other_ms: i64,
) -> f64 {
    let sums = &digest.counted;
    let nodes = || view.into_iter().flat_map(|view| view.nodes_of_stage(place(digest)).map(|(_, node)| node));
    let makes_rows = |node: &Node| matches!(node.name.as_str(), "Range" | "LocalTableScan");
    // A source of the second version may count neither bytes nor rows.
    let reads = nodes().any(|node| node.class == OperatorClass::Scan && !makes_rows(node));
    let is_input_counted =
        sums.input_bytes > 0 || !reads && (sums.input_records == 0 || nodes().any(makes_rows));
    let is_output_counted = sums.output_bytes > 0 || sums.output_records == 0;
    if !is_input_counted || !is_output_counted {
        return 0.0;
    }
    let bytes = sums.input_bytes
        + sums.output_bytes
        + sums.shuffle_read_bytes
        + sums.shuffle_write_bytes
        + 2 * sums.disk_spilled_bytes
        + sums.result_bytes;
    let moving = bytes as f64 * 1000.0 / context.get(&SLOWEST_BYTES).max(1.0);
    let opened = digest.useful as i64 + view.map_or(0, |view| files(view, digest));
    let opening = context.get(&OPENING_MS) * opened as f64;
    other_ms as f64 - moving - opening
}

/// Files that the scans of a stage read, and those that its query writes if it is the stage that writes.
fn files(view: &SqlView<'_>, digest: &StageDigest) -> i64 {
    let total = |node: u32, name: &str| view.total(node, name).unwrap_or(0).max(0);
    let scans = view.nodes_of_stage(place(digest)).filter(|(_, node)| node.class == OperatorClass::Scan);
    let read: i64 = scans.map(|(node, _)| total(node, "number of files read")).sum();
    if digest.counted.output_bytes == 0 {
        return read;
    }
    let all = 0..u32::try_from(view.nodes.len()).unwrap_or(u32::MAX);
    read + all.map(|node| total(node, "number of written files")).sum::<i64>()
}

//! Which operator took how much of a stage's time.
//!
//! Spark times few operators by themselves. What it does time is taken as measured: `scan time`, `sort
//! time`, `shuffle write time`, `fetch wait time`, `time to build hash map`, and, in Spark 4, `time to run
//! Python workers`. Before that, Python's time is what the task thread spent neither on the CPU nor
//! collecting, fetching or writing: it waited for Python. The rest of the run time is dealt out over the
//! other operators by the rows that went in and came out of each, as if a row cost the same everywhere,
//! three times as much where it is moved or sorted, and ten times as much where a function of the program is called. A join without an equality is weighed by
//! the pairs that it compares: they are its work, however few come out.
//! Durations of code generation and `time in aggregation build` include their children and are not used.

use super::exchange::exchange;
use super::join::join;
use super::{Node, OperatorClass, SqlView, names, rows};
use crate::context::{Context, StageDigest};
use crate::detector::Threshold;
use emberscope_log::event::plan::MetricKind;

/// How an operator's time was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeMethod {
    /// By its own timers.
    Measured,
    /// What the task thread spent waiting for it.
    Remainder,
    /// By its share of the rows.
    Rows,
}

/// An operator's time in one stage attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatorTime {
    /// Its node.
    pub node: u32,
    /// Over all tasks that counted, milliseconds.
    pub ms: f64,
    /// Share of the stage's run time.
    pub share: f64,
    /// How it was found.
    pub method: TimeMethod,
}

/// What a row weighs where a function of the program is called.
pub const FOREIGN_CODE: Threshold = Threshold {
    tag: "PLAN",
    name: "foreign_code_weight",
    default: 10.0,
    doc: "What a row weighs where a function of the program is called, when the time of a stage is dealt out over its \
          operators by rows; 1 is a row of Spark's own operators.",
};

/// What a row weighs that is moved.
pub const MOVED: Threshold = Threshold {
    tag: "PLAN",
    name: "moved_row_weight",
    default: 3.0,
    doc: "What a row weighs beside one of another operator when an exchange writes or reads it or a sort puts it in order, \
          beyond what their timers measured: it is hashed or compared, copied, and serialized or read again. On one core \
          of Spark 4.3 a row of four columns took 83 ns to read from Parquet, 220 ns more to exchange and 370 ns more to \
          sort, 10 ns to project.",
};

/// What a compared pair weighs beside a row.
pub const PAIR: Threshold = Threshold {
    tag: "PLAN",
    name: "pair_weight",
    default: 0.1,
    doc: "What a pair that a join compares weighs beside a row: a condition on values at hand against making, copying or \
          reading a row.",
};

/// Metrics that time an operator alone.
const TIMERS: &[&str] = &[
    "scan time",
    "sort time",
    "time to build hash map",
    "time to run Python workers",
    "shuffle write time",
    "fetch wait time",
];

/// The operators of a stage attempt and their time, in pre-order; they add up to the run time of the
/// attempts that counted.
pub fn operators_time(context: &Context<'_>, view: &SqlView<'_>, digest: &StageDigest) -> Vec<OperatorTime> {
    let place = (digest.id, digest.attempt);
    let run_ms = digest.counted.run_ms as f64;
    let own: Vec<(u32, &Node)> = view
        .nodes_of_stage(place)
        .filter(|(_, node)| !names::is_wrapper(&node.name) && node.name != "Union" && !node.in_cached_plan)
        .collect();
    if own.is_empty() || run_ms <= 0.0 {
        return Vec::new();
    }
    let mut times: Vec<OperatorTime> = own
        .iter()
        .map(|(node, _)| match measured_ms(view, *node, place) {
            Some(ms) => OperatorTime { node: *node, ms, share: 0.0, method: TimeMethod::Measured },
            None => OperatorTime { node: *node, ms: 0.0, share: 0.0, method: TimeMethod::Rows },
        })
        .collect();
    wait_for_python(&own, &mut times, digest);
    let measured: f64 = times.iter().map(|time| time.ms).sum();
    // Timers of concurrent threads may exceed the run time; they are scaled to it.
    if measured > run_ms {
        times.iter_mut().for_each(|time| time.ms *= run_ms / measured);
    }
    deal_out(context, (run_ms - measured).max(0.0), view, &mut times);
    for time in &mut times {
        time.share = time.ms / run_ms;
    }
    times
}

/// Time of an operator in a stage by its own timers; `None` when it has none there.
fn measured_ms(view: &SqlView<'_>, node: u32, place: (u32, u32)) -> Option<f64> {
    let it = &view.nodes[node as usize];
    let mut sum = None;
    for (name, kind, id) in &it.metrics {
        if !TIMERS.contains(&name.as_str()) {
            continue;
        }
        let Some(ms) = metric_ms(view, *kind, *id, place) else { continue };
        sum = Some(sum.unwrap_or(0.0) + ms);
    }
    sum
}

/// A timer of a stage attempt; `None` where no task of it updated it.
fn metric_ms(view: &SqlView<'_>, kind: MetricKind, id: u64, place: (u32, u32)) -> Option<f64> {
    let by_stage = &view.metrics().get(&id)?.by_stage;
    let (_, total) = by_stage.iter().find(|(stage, _)| *stage == place)?;
    let unit = if kind == MetricKind::NsTiming { 1e6 } else { 1.0 };
    Some(*total as f64 / unit)
}

/// Gives Python operators without timers what the task threads waited for.
fn wait_for_python(own: &[(u32, &Node)], times: &mut [OperatorTime], digest: &StageDigest) {
    let is_python = |node: &Node| node.class == OperatorClass::Python;
    let untimed: Vec<usize> =
        (0..own.len()).filter(|n| is_python(own[*n].1) && times[*n].method == TimeMethod::Rows).collect();
    if untimed.is_empty() {
        return;
    }
    let waited = python_wait_ms(digest);
    for n in &untimed {
        times[*n].ms = waited / untimed.len() as f64;
        times[*n].method = TimeMethod::Remainder;
    }
}

/// Run time that the JVM spent neither on the CPU nor collecting, fetching or writing shuffle data: in a
/// stage with Python, time it waited for Python.
pub fn python_wait_ms(digest: &StageDigest) -> f64 {
    let sums = &digest.counted;
    let busy = sums.cpu_ms + sums.gc_ms + sums.fetch_wait_ms + sums.shuffle_write_ms;
    (sums.run_ms - busy).max(0) as f64
}

/// Time that the tasks of a stage attempt waited for its Python operators: by their timers, else what
/// [`python_wait_ms`] says; `None` where it has no such operator.
pub fn python_ms(view: &SqlView<'_>, digest: &StageDigest) -> Option<f64> {
    let place = (digest.id, digest.attempt);
    let mut sum = None;
    for (node, _) in view.nodes_of_stage(place).filter(|(_, node)| node.class == OperatorClass::Python) {
        match measured_ms(view, node, place) {
            Some(ms) => sum = Some(sum.unwrap_or(0.0) + ms),
            None => return Some(python_wait_ms(digest)),
        }
    }
    sum
}

/// Time of the timers of one name of a stage attempt, in whatever operators.
fn named_ms(view: &SqlView<'_>, names: &[&str], place: (u32, u32)) -> f64 {
    let metrics = view.nodes.iter().flat_map(|node| &node.metrics);
    let named = metrics.filter(|(name, _, _)| names.contains(&name.as_str()));
    named.filter_map(|(_, kind, id)| metric_ms(view, *kind, *id, place)).sum()
}

/// Time that the scans of a stage attempt took, reading and decoding.
pub fn scan_ms(view: &SqlView<'_>, place: (u32, u32)) -> f64 {
    named_ms(view, &["scan time"], place)
}

/// Time that the tasks of a stage attempt took to commit: output files, and the state of streaming queries.
pub fn commit_ms(view: &SqlView<'_>, place: (u32, u32)) -> f64 {
    named_ms(view, &["task commit time", "time to commit changes"], place)
}

/// Time that the tasks of a stage attempt took to start and initialize Python workers; Spark 4 measures it.
pub fn python_start_ms(view: &SqlView<'_>, place: (u32, u32)) -> f64 {
    named_ms(view, &["time to start Python workers", "time to initialize Python workers"], place)
}

/// Deals time out over the operators without timers, by rows in and out.
fn deal_out(context: &Context<'_>, rest: f64, view: &SqlView<'_>, times: &mut [OperatorTime]) {
    let weight = |time: &OperatorTime| match time.method {
        TimeMethod::Rows => rows_through(context, view, time.node),
        // Timers cover a part of an exchange (not its serialization) and of a sort (not the copying of its rows).
        _ if exchange(view, time.node).is_some() => rows_through(context, view, time.node),
        _ if view.nodes[time.node as usize].name == "Sort" => rows_through(context, view, time.node),
        TimeMethod::Measured | TimeMethod::Remainder => 0.0,
    };
    let weights: Vec<f64> = times.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    let equal = 1.0 / times.len() as f64;
    for (time, weight) in times.iter_mut().zip(weights) {
        let share = if sum > 0.0 { weight / sum } else { equal };
        time.ms += rest * share;
    }
}

fn rows_through(context: &Context<'_>, view: &SqlView<'_>, node: u32) -> f64 {
    let it = &view.nodes[node as usize];
    if exchange(view, node).is_some() {
        return rows::rows_into(view, node).unwrap_or(0) as f64 * context.get(&MOVED);
    }
    if it.name == "Sort" {
        return rows::rows_into(view, node).unwrap_or(0) as f64 * context.get(&MOVED);
    }
    if it.class == OperatorClass::Join
        && let Some(join) = join(view, node).filter(|join| join.is_loop())
        && let Some(pairs) = join.pairs()
    {
        return pairs * context.get(&PAIR) + join.rows.unwrap_or(0) as f64;
    }
    let factor = if names::calls_foreign_code(&it.detail) { context.get(&FOREIGN_CODE) } else { 1.0 };
    let incoming: i64 = it.children.iter().filter_map(|child| rows::rows_into(view, *child)).sum();
    (incoming + rows::rows_into(view, node).unwrap_or(0)) as f64 * factor
}

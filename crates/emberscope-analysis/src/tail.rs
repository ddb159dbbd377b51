//! The slow tail of a stage, and what it is made of.
//!
//! A task is slow when it takes much longer than its peers do, beyond what the noise of the peers
//! explains. Its excess over them is then split: first what more data explains, then what was measured
//! (collections, waiting for blocks, spilling, a cold executor, scheduling), then what its host explains;
//! the rest is unexplained. Causes go before symptoms: a task with ten times the data also collects more.

pub use crate::cause::{CAUSES, Cause, Parts};
use crate::context::Context;
use crate::detector::Threshold;
use crate::stage_plan::StagePlan;
use crate::stage_view::{StageView, Task};
use emberscope_model::distribution::Distribution;
use std::collections::BTreeMap;

/// Times the median of its peers from which a task is slow.
pub const SLOW_RATIO: Threshold = Threshold {
    tag: "STRAG",
    name: "slow_ratio",
    default: 2.0,
    doc: "A task is slow from this many times the median of its peers on, or more where the peers themselves vary more.",
};

/// Shortest excess of a slow task.
pub const SLOW_EXCESS_MS: Threshold = Threshold {
    tag: "STRAG",
    name: "slow_excess_ms",
    default: 500.0,
    doc: "Milliseconds over the median of its peers that a task must take to be slow.",
};

/// Volume from which unmeasured excess is put down to data.
pub const DATA_RATIO: Threshold = Threshold {
    tag: "STRAG",
    name: "data_ratio",
    default: 2.0,
    doc: "From this many times the median volume on, what nothing measured explains is put down to the data as well: sorts and joins take more than proportionally longer.",
};

/// Spilled bytes a second.
pub const SPILL_RATE: Threshold = Threshold {
    tag: "STRAG",
    name: "spill_bytes_per_second",
    default: 250e6,
    doc: "Bytes (as in memory) that a task spills and reads back in a second: serialization included.",
};

/// Share of the tail on one executor that makes it the cause.
pub const HOST_SHARE: Threshold = Threshold {
    tag: "STRAG",
    name: "host_share",
    default: 0.5,
    doc: "Share of the unexplained excess on one executor from which the executor is taken for the cause.",
};

/// Over-representation of an executor in the tail.
pub const HOST_LIFT: Threshold = Threshold {
    tag: "STRAG",
    name: "host_lift",
    default: 2.0,
    doc: "How many times its share of all tasks an executor's share of the slow ones must be to be the cause.",
};

/// Slow tasks on an executor that make it the cause.
pub const HOST_TASKS: Threshold = Threshold {
    tag: "STRAG",
    name: "host_tasks",
    default: 3.0,
    doc: "Slow tasks on one executor from which the executor is taken for the cause.",
};

/// What a fresh executor costs its first tasks at most.
pub const COLD_MS: Threshold = Threshold {
    tag: "STRAG",
    name: "cold_ms",
    default: 4000.0,
    doc: "Milliseconds that the first tasks of a fresh executor may take longer, beside their deserialization.",
};

/// What the first tasks of a stage cost at most.
pub const WARM_UP_MS: Threshold = Threshold {
    tag: "STRAG",
    name: "warm_up_ms",
    default: 1000.0,
    doc: "Milliseconds that the first tasks of a stage on an executor may take longer: the stage's code is generated and compiled. They may take up to twice as much longer as half of them do, where that is more: workers are started, connections opened.",
};

/// Share of fresh executors from which a stage is the start of the application.
pub const COLD_SHARE: Threshold = Threshold {
    tag: "STRAG",
    name: "cold_share",
    default: 0.5,
    doc: "Largest share of a stage's executors that may be fresh for their warming up to be a finding: where all are, it is the start of the application.",
};

/// One slow task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowTask {
    /// Place in [`StageView::tasks`].
    pub at: usize,
    /// What it takes over its peers.
    pub excess_ms: f64,
    /// How that is made up.
    pub parts: Parts,
    /// Its volume over the median of its peers: the largest of the ratios of bytes and records; `None`
    /// without volumes.
    pub volume_ratio: Option<f64>,
}

/// Slow tasks of a stage.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The slow tasks, the slowest first.
    pub slow: Vec<SlowTask>,
    /// Median duration of their peers.
    pub median_ms: f64,
    /// Longest task that is not slow.
    pub body_max_ms: i64,
    /// Number of peers.
    pub peers: usize,
    /// Duration from which tasks are slow.
    pub cut_ms: f64,
    /// All excess by cause.
    pub parts: Parts,
    /// Records of the slow tasks (by excess) over the median of their peers; `None` if not measured.
    pub records_ratio: Option<f64>,
    /// Bytes likewise.
    pub bytes_ratio: Option<f64>,
    /// The executor that is the cause of most of [`Cause::Host`].
    pub executor: Option<u32>,
    /// Share of all executors of the stage for which it was their first stage.
    pub cold_share: f64,
}

impl Tail {
    /// All excess.
    pub fn excess_ms(&self) -> f64 {
        self.slow.iter().map(|slow| slow.excess_ms).sum()
    }

    /// Share of the excess that a cause has.
    pub fn share(&self, cause: Cause) -> f64 {
        let all = self.excess_ms();
        if all > 0.0 { self.parts.of(cause) / all } else { 0.0 }
    }

    /// The largest part.
    pub fn cause(&self) -> Cause {
        self.parts.largest()
    }

    /// Longest task over the median.
    pub fn ratio(&self) -> f64 {
        let longest = self.slow.first().map_or(0.0, |slow| self.median_ms + slow.excess_ms);
        longest / self.median_ms.max(1.0)
    }

    /// Fewest tasks that hold `share` of the excess that more data explains.
    pub fn carriers(&self, share: f64) -> usize {
        let mut data: Vec<f64> = self.slow.iter().map(|slow| slow.parts.of(Cause::Data)).collect();
        data.sort_by(|a, b| b.total_cmp(a));
        let goal = data.iter().sum::<f64>() * share;
        let mut sum = 0.0;
        data.iter()
            .position(|ms| {
                sum += ms;
                sum >= goal
            })
            .map_or(0, |at| at + 1)
    }
}

/// Volumes of a task that may explain its time.
fn volumes(task: &Task) -> [i64; 8] {
    [
        task.input_records,
        task.shuffle_read_records,
        task.output_records,
        task.shuffle_write_records,
        task.input_bytes,
        task.shuffle_read_bytes,
        task.output_bytes,
        task.shuffle_write_bytes,
    ]
}

/// How many of [`volumes`] are records; the others are bytes.
const N_RECORDS: usize = 4;

/// Where a task's data came from: storage or cache, shuffle.
fn sources(task: &Task) -> (bool, bool) {
    (
        task.input_records > 0 || task.input_bytes > 0,
        task.shuffle_read_records > 0 || task.shuffle_read_bytes > 0,
    )
}

/// Medians of the peers.
struct Body {
    duration_ms: f64,
    gc_ms: f64,
    fetch_wait_ms: f64,
    deserialize_ms: f64,
    delay_ms: f64,
    spilled: f64,
    volumes: [f64; 8],
    sources: (bool, bool),
    has_volumes: bool,
}

fn median(values: impl Iterator<Item = i64>) -> f64 {
    Distribution::of(values).median().unwrap_or(0.0)
}

impl Body {
    fn of(peers: &[&Task]) -> Self {
        let of = |value: fn(&Task) -> i64| median(peers.iter().map(|task| value(task)));
        let mut all = [0.0; 8];
        for (n, median_of) in all.iter_mut().enumerate() {
            *median_of = median(peers.iter().map(|task| volumes(task)[n]));
        }
        let share = |test: fn((bool, bool)) -> bool| {
            2 * peers.iter().filter(|task| test(sources(task))).count() > peers.len()
        };
        Body {
            duration_ms: of(Task::duration_ms),
            gc_ms: of(|task| task.gc_ms),
            fetch_wait_ms: of(|task| task.fetch_wait_ms),
            deserialize_ms: of(|task| task.deserialize_ms),
            delay_ms: of(|task| task.scheduler_delay_ms + task.getting_result_ms),
            spilled: of(|task| task.memory_spilled_bytes),
            has_volumes: all.iter().any(|volume| *volume > 0.0),
            volumes: all,
            sources: (share(|from| from.0), share(|from| from.1)),
        }
    }

    /// Largest ratio of the task's volumes in `range` to the median, where the median is not 0.
    fn ratio(&self, task: &Task, range: std::ops::Range<usize>) -> Option<f64> {
        let volumes = volumes(task);
        range
            .filter(|n| self.volumes[*n] > 0.0)
            .map(|n| volumes[n] as f64 / self.volumes[n])
            .max_by(f64::total_cmp)
    }
}

/// The slow tasks of a stage and what its plan says; `None` where there are none.
pub fn find(context: &Context<'_>, view: &StageView<'_>) -> Option<(Tail, Option<StagePlan>)> {
    /// Stages with fewer tasks are judged without their longest one, so that the digest's median says nothing.
    const FEW: u64 = 8;
    let digest = view.digest;
    let longest = digest.longest_ms as f64;
    // Decoding a plan costs more than most stages are worth.
    if longest - digest.median_ms < context.get(&SLOW_EXCESS_MS)
        || (digest.useful >= FEW && longest < context.get(&SLOW_RATIO) * digest.median_ms)
        || context.is_immaterial(digest.running_ms())
    {
        return None;
    }
    let plan = StagePlan::of(context, digest);
    let tail = tail(context, view, plan.as_ref())?;
    Some((tail, plan))
}

/// Finds the slow tasks of a stage; `None` where there are none.
pub fn tail(context: &Context<'_>, view: &StageView<'_>, plan: Option<&StagePlan>) -> Option<Tail> {
    let least_ms = context.get(&SLOW_EXCESS_MS);
    if (view.digest.longest_ms as f64) < least_ms || context.is_immaterial(view.digest.running_ms()) {
        return None;
    }
    let counted: Vec<usize> =
        (0..view.tasks.len()).filter(|at| view.tasks[*at].is_useful && view.tasks[*at].has_metrics).collect();
    let task = |at: &usize| &view.tasks[*at];
    // Tasks without data are no peers of those with: of 200 partitions 10 may hold all keys.
    let with_data: Vec<usize> =
        counted.iter().copied().filter(|at| sources(task(at)) != (false, false)).collect();
    let pool = if with_data.is_empty() { &counted } else { &with_data };
    let mut durations: Vec<i64> = pool.iter().map(|at| task(at).duration_ms()).collect();
    durations.sort_unstable();
    let cut_ms = cut(context, &durations)?;
    let (mut slow, body): (Vec<usize>, Vec<usize>) =
        pool.iter().copied().partition(|at| task(at).duration_ms() as f64 > cut_ms);
    // Those that read nothing are judged by the same measure.
    slow.extend(counted.iter().copied().filter(|at| {
        !with_data.is_empty() && sources(task(at)) == (false, false) && task(at).duration_ms() as f64 > cut_ms
    }));
    if slow.is_empty() || body.is_empty() {
        return None;
    }
    let peers: Vec<&Task> = body.iter().map(task).collect();
    let medians = Body::of(&peers);
    let mut tail = Tail {
        slow: Vec::new(),
        median_ms: medians.duration_ms,
        body_max_ms: peers.iter().map(|task| task.duration_ms()).max().unwrap_or(0),
        peers: peers.len(),
        cut_ms,
        parts: Parts::default(),
        records_ratio: None,
        bytes_ratio: None,
        executor: None,
        cold_share: cold_share(context, view),
    };
    let start_ms = common_start(view, &counted, medians.duration_ms);
    for at in slow {
        let slow = split(context, view, at, &medians, start_ms);
        if !is_start(context, &tail, &slow) {
            tail.slow.push(slow);
        }
    }
    if tail.slow.is_empty() {
        return None;
    }
    tail.slow.sort_by(|a, b| b.excess_ms.total_cmp(&a.excess_ms).then(a.at.cmp(&b.at)));
    blame_host(context, view, &mut tail, counted.len());
    if plan.is_some_and(|plan| plan.has_python) {
        blame_python(view, &mut tail);
    }
    tail.records_ratio = weighted_ratio(&tail, view, &medians, 0..N_RECORDS);
    tail.bytes_ratio = weighted_ratio(&tail, view, &medians, N_RECORDS..8);
    for slow in &tail.slow {
        for cause in CAUSES {
            tail.parts.add(cause, slow.parts.of(cause));
        }
    }
    Some(tail)
}

/// The duration from which tasks are slow, of sorted durations; `None` where there are too few.
fn cut(context: &Context<'_>, sorted: &[i64]) -> Option<f64> {
    /// With fewer tasks the longest one would move the median itself.
    const FEW: usize = 8;
    /// Normal quantile of the lower quartile.
    const QUARTILE: f64 = 0.6745;
    if sorted.len() < 3 {
        return None;
    }
    let values = if sorted.len() < FEW { &sorted[..sorted.len() - 1] } else { sorted };
    let values = Distribution::Exact(values.to_vec());
    let (median, quartile) = (values.median()?, values.quantile(0.25)?);
    // Durations are about log-normal. Their spread is read off the faster half, which no tail reaches;
    // the longest of n is expected at sqrt(2 ln n) deviations.
    let sigma = if quartile > 0.0 { ((median / quartile).ln() / QUARTILE).clamp(0.0, 0.5) } else { 0.5 };
    let expected = (sigma * ((2.0 * (sorted.len() as f64).ln()).sqrt() + 0.5)).exp();
    let ratio = context.get(&SLOW_RATIO).max(expected);
    Some((median * ratio).max(median + context.get(&SLOW_EXCESS_MS)))
}

/// What half of the first tasks of the stage on its executors take over the median, at least: what they have in
/// common is the start, and no cause of one of them.
fn common_start(view: &StageView<'_>, counted: &[usize], median_ms: f64) -> f64 {
    let mut firsts: Vec<i64> = counted
        .iter()
        .map(|at| &view.tasks[*at])
        .filter(|task| is_first_of_stage(view, task))
        .map(Task::duration_ms)
        .collect();
    firsts.sort_unstable();
    // Two tasks at least: one has nothing in common with itself.
    let shared = firsts.len().div_ceil(2).max(2);
    firsts.len().checked_sub(shared).map_or(0.0, |at| firsts[at] as f64 - median_ms)
}

/// Whether a task is slow because it was among the first of the stage, or of the application: no straggler, and
/// so many of them would hide one.
fn is_start(context: &Context<'_>, tail: &Tail, slow: &SlowTask) -> bool {
    match slow.parts.largest() {
        Cause::WarmUp => true,
        Cause::ColdExecutor => tail.cold_share > context.get(&COLD_SHARE),
        _ => false,
    }
}

/// Splits the excess of a task; `start_ms` is what the first tasks of the stage have in common.
fn split(context: &Context<'_>, view: &StageView<'_>, at: usize, body: &Body, start_ms: f64) -> SlowTask {
    let task = &view.tasks[at];
    let excess = task.duration_ms() as f64 - body.duration_ms;
    let mut parts = Parts::default();
    let mut rest = excess;
    let mut charge = |cause: Cause, ms: f64, rest: &mut f64| {
        let ms = ms.clamp(0.0, *rest);
        parts.add(cause, ms);
        *rest -= ms;
    };
    let is_cold = context.is_first_wave(task.executor, task.launch_ms);
    // The peers read the cache, this one computes what it would have held: volumes do not compare.
    let missed = body.sources.0 && !body.sources.1 && sources(task) == (false, true);
    let volume_ratio = if body.has_volumes && !missed { body.ratio(task, 0..8) } else { None };
    if missed {
        charge(Cause::CacheMiss, rest, &mut rest);
    }
    if let Some(ratio) = volume_ratio {
        charge(Cause::Data, body.duration_ms * (ratio - 1.0), &mut rest);
    }
    charge(Cause::Gc, task.gc_ms as f64 - body.gc_ms, &mut rest);
    charge(Cause::FetchWait, task.fetch_wait_ms as f64 - body.fetch_wait_ms, &mut rest);
    let spilled = task.memory_spilled_bytes as f64 - body.spilled;
    charge(Cause::Spill, spilled * 1000.0 / context.get(&SPILL_RATE).max(1.0), &mut rest);
    charge(Cause::ColdExecutor, task.deserialize_ms as f64 - body.deserialize_ms, &mut rest);
    let delay = (task.scheduler_delay_ms + task.getting_result_ms) as f64;
    // On a fresh JVM even the way to the task is slow.
    let delay_cause = if is_cold { Cause::ColdExecutor } else { Cause::Scheduling };
    charge(delay_cause, delay - body.delay_ms, &mut rest);
    if volume_ratio.is_some_and(|ratio| ratio >= context.get(&DATA_RATIO)) {
        charge(Cause::Data, rest, &mut rest);
    } else if is_cold {
        charge(Cause::ColdExecutor, context.get(&COLD_MS), &mut rest);
    } else if is_first_of_stage(view, task) {
        // It varies, but hardly by as much again.
        let usual = if rest <= 2.0 * start_ms { rest } else { start_ms };
        charge(Cause::WarmUp, usual.max(context.get(&WARM_UP_MS)), &mut rest);
    }
    parts.add(Cause::Unexplained, rest.max(0.0));
    SlowTask { at, excess_ms: excess, parts, volume_ratio }
}

/// Whether a task is of the first wave of the stage on its executor: launched well before any of them ended.
/// One launched just before that had the slot of another that was done.
pub fn is_first_of_stage(view: &StageView<'_>, task: &Task) -> bool {
    let mut firsts = view.digest.executors.iter().zip(&view.digest.executor_firsts);
    firsts.any(|((id, ..), (launch, finish))| {
        *id == task.executor && task.launch_ms - launch <= (finish - launch) / 2
    })
}

/// Share of the stage's executors that had run no task before it.
fn cold_share(context: &Context<'_>, view: &StageView<'_>) -> f64 {
    let firsts = view.digest.executors.iter().zip(&view.digest.executor_firsts);
    let cold = firsts.filter(|((id, ..), (launch, _))| context.is_first_wave(*id, *launch)).count();
    cold as f64 / view.digest.executors.len().max(1) as f64
}

/// Moves what is unexplained to the executor, where most of it happened on one that is not alone.
fn blame_host(context: &Context<'_>, view: &StageView<'_>, tail: &mut Tail, counted: usize) {
    let mut by_executor: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for slow in &tail.slow {
        let unexplained = slow.parts.of(Cause::Unexplained);
        if unexplained > 0.5 * slow.excess_ms {
            let entry = by_executor.entry(view.tasks[slow.at].executor).or_default();
            entry.0 += 1;
            entry.1 += unexplained;
        }
    }
    let (tasks, ms) = by_executor.values().fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let Some((executor, worst)) = by_executor.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1)) else { return };
    let there = view.useful().filter(|task| task.executor == *executor).count();
    let lift = (worst.0 as f64 / tasks.max(1) as f64) / (there as f64 / counted.max(1) as f64);
    if view.digest.executors.len() < 2
        || (worst.0 as f64) < context.get(&HOST_TASKS)
        || worst.1 < context.get(&HOST_SHARE) * ms
        || lift < context.get(&HOST_LIFT)
    {
        return;
    }
    tail.executor = Some(*executor);
    for slow in tail.slow.iter_mut().filter(|slow| view.tasks[slow.at].executor == *executor) {
        let unexplained = slow.parts.of(Cause::Unexplained);
        slow.parts.add(Cause::Unexplained, -unexplained);
        slow.parts.add(Cause::Host, unexplained);
    }
}

/// Moves what is unexplained to Python, where the JVM's thread did not work meanwhile.
fn blame_python(view: &StageView<'_>, tail: &mut Tail) {
    for slow in &mut tail.slow {
        let task = &view.tasks[slow.at];
        if 2 * task.cpu_ms < task.run_ms {
            let unexplained = slow.parts.of(Cause::Unexplained);
            slow.parts.add(Cause::Unexplained, -unexplained);
            slow.parts.add(Cause::Python, unexplained);
        }
    }
}

/// Ratio of volumes of the slow tasks, each weighted by the excess that its data explains; where data
/// explains none, by all of it.
fn weighted_ratio(
    tail: &Tail,
    view: &StageView<'_>,
    body: &Body,
    range: std::ops::Range<usize>,
) -> Option<f64> {
    let by_data = tail.slow.iter().any(|slow| slow.parts.of(Cause::Data) > 0.0);
    let (mut sum, mut weight) = (0.0, 0.0);
    for slow in &tail.slow {
        if let Some(ratio) = body.ratio(&view.tasks[slow.at], range.clone()) {
            let its = if by_data { slow.parts.of(Cause::Data) } else { slow.excess_ms };
            sum += ratio * its;
            weight += its;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

//! Many tasks that hardly do anything.

use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{ChangeKind, Claim, Confidence, Nature, Worth};
use crate::partitions;
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::StageView;
use crate::words::{self, rounded};
use emberscope_model::intervals::peak_overlap;
use std::collections::BTreeMap;

const LEAST_TASKS: Threshold =
    Threshold { tag: "TINY", name: "least_tasks", default: 100.0, doc: "Least number of tasks of a stage." };
const LEAST_WAVES: Threshold = Threshold {
    tag: "TINY",
    name: "least_waves",
    default: 4.0,
    doc: "Least number of tasks for each slot: fewer would leave cores idle.",
};
const MEDIAN_MS: Threshold = Threshold {
    tag: "TINY",
    name: "median_ms",
    default: 300.0,
    doc: "Longest median of the tasks' durations.",
};
const OVERHEAD_SHARE: Threshold = Threshold {
    tag: "TINY",
    name: "overhead_share",
    default: 0.2,
    doc: "Share of the slots' time while the stage ran in which no task's code ran.",
};
const SMALL_BYTES: Threshold = Threshold {
    tag: "TINY",
    name: "small_bytes",
    default: 1_048_576.0,
    doc: "Most bytes that a task reads on average (input and shuffle) for its run time to count as the price of being a task.",
};
const FIXED_SHARE: Threshold = Threshold {
    tag: "TINY",
    name: "fixed_share",
    default: 0.5,
    doc: "Least share of the run time of tasks that read so little in which they used no CPU.",
};
const TARGET_MS: Threshold =
    Threshold { tag: "TINY", name: "target_ms", default: 500.0, doc: "Run time of a task to aim at." };

/// The detector.
pub static TINY: Detector = Detector {
    tag: "TINY",
    title: "Tiny tasks",
    types: &[FindingType {
        name: "tinyTask",
        what: "A stage has many tasks that are over almost at once, so that starting them costs more than they do.",
    }],
    thresholds: &[LEAST_TASKS, LEAST_WAVES, MEDIAN_MS, OVERHEAD_SHARE, SMALL_BYTES, FIXED_SHARE, TARGET_MS],
    checks: &[Check::Stage(check)],
    what: "The driver launches each task, the executor deserializes it and sends its result back. In this stage that takes a good part of the slots' \
time, because there are many tasks and each does little. The overhead is measured: what the slots were held or waited for beside the \
tasks' own run time.",
    rule: "At least `least_tasks` tasks and `least_waves` for each slot, median duration at most `median_ms`, and either at least \
`overhead_share` of slots times stage time is not run time, or the tasks read at most `small_bytes` each and used no CPU in \
`fixed_share` of their run time: opening a file, fetching and writing small blocks cost each task the same. The proposed number of tasks gives each about `target_ms` of work, and \
every slot at least two tasks.",
    why: "One driver thread launches all tasks; below some ten milliseconds a task, executors wait for it.",
    fix: "Fewer partitions: let AQE merge them, read larger splits, or coalesce.\n\n\
```sql\nSET spark.sql.adaptive.coalescePartitions.parallelismFirst = false;\nSELECT /*+ COALESCE(16) */ * FROM t\n```\n\n\
```python\nspark.range(0, n, numPartitions=16)\ndf.coalesce(16)\n```",
    limits: "If the stage ran beside others, slots were not all its own; then the overhead is judged by the slots it used at most at one time.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    let running = digest.running_ms();
    // Results come late, so that more tasks seem to run at a time than there are cores.
    let slots = match digest.available_core_ms {
        Some(cores) if running > 0 => {
            (cores as f64 / running as f64 / digest.task_cpus.max(f64::MIN_POSITIVE)).max(1.0)
        }
        _ => f64::from(digest.peak_concurrency.max(1)),
    };
    if (digest.useful as f64) < context.get(&LEAST_TASKS).max(context.get(&LEAST_WAVES) * slots)
        || digest.median_ms > context.get(&MEDIAN_MS)
        || context.is_immaterial(running)
    {
        return;
    }
    // Spark's own listing of directories has as many tasks as these need.
    if lists_files(context, view) {
        return;
    }
    let tasks = digest.attempts.max(1) as f64;
    let work_ms = digest.all.run_ms as f64 / tasks;
    let held_ms = slot_time_ms(context, view) / tasks;
    let overhead_ms = (held_ms - work_ms).max(0.0);
    let share = overhead_ms / held_ms.max(f64::MIN_POSITIVE);
    // One long task keeps the slots idle without any overhead: that is a tail.
    let is_tail = 2 * digest.longest_ms > running;
    let fixed = fixed_share(context, digest);
    if (share < context.get(&OVERHEAD_SHARE) && fixed.is_none()) || is_tail {
        return;
    }
    let goal = (digest.all.run_ms as f64 / context.get(&TARGET_MS).max(1.0)).ceil();
    let wanted = goal.max(2.0 * slots).min(tasks / 2.0).max(1.0) as u32;
    let plan = StagePlan::of(context, digest);
    let (how, changes) = partitions::to_have(context, view, plan.as_ref(), wanted);
    // One setting makes all such stages.
    let cause =
        changes.iter().find(|change| change.kind == ChangeKind::Conf).map(|change| change.key.clone());
    let count = words::count(digest.useful as usize, "task");
    let title = match fixed {
        Some(_) if share < context.get(&OVERHEAD_SHARE) => format!(
            "Stage {} runs {count} of {work_ms:.0} ms on average, on {} each",
            view.stage.id,
            words::size(read_bytes(digest) / digest.attempts.max(1) as i64),
        ),
        _ => format!(
            "Stage {} runs {count} of {work_ms:.0} ms on average; starting each costs {overhead_ms:.0} ms",
            view.stage.id
        ),
    };
    let mut claim = Claim::new("tinyTask", context.stage_scope(digest), title)
        .evidence("tasks", digest.useful)
        .evidence("median_ms", digest.median_ms)
        .evidence("work_ms", rounded(work_ms))
        .evidence("overhead_ms", rounded(overhead_ms))
        .evidence("overhead_share", rounded(share))
        .evidence("bytes_a_task", read_bytes(digest) / digest.attempts.max(1) as i64)
        .evidence("concurrent_tasks", digest.peak_concurrency)
        .evidence("decided_by", partitions::lever(context, view, plan.as_ref()).name())
        .evidence("proposed_tasks", wanted)
        .advice(format!("Use fewer, larger tasks, about {wanted}: {how}."))
        .changes(changes);
    claim.nature = Nature::Configuration;
    claim.cause = cause;
    claim.cost_ms = Some(digest.all.run_ms);
    claim.confidence = if share >= 0.5 { Confidence::High } else { Confidence::Medium };
    claim.validate =
        "With fewer partitions the stage must get shorter although each task gets longer.".to_owned();
    // Under such a load even the run time of a task is mostly not its own work: the quickest ones tell.
    let quick_ms = view.spread(|task| task.run_ms).quantile(0.25).unwrap_or(work_ms);
    let quick = (quick_ms / work_ms.max(f64::MIN_POSITIVE)).clamp(0.5, 1.0);
    // Of tasks that read next to nothing, what is not CPU time is mostly paid once a task.
    let factor = fixed.map_or(quick, |fixed| quick.min(1.0 - fixed * (1.0 - f64::from(wanted) / tasks)));
    let resized = |tasks: u32| Edit::Resize { place: view.place(), tasks, overhead_ms };
    let high = vec![Edit::ScaleAll { place: view.place(), factor }, resized(wanted)];
    let halfway = wanted.saturating_mul(4).min((tasks / 2.0) as u32).max(wanted);
    let low =
        vec![Edit::ScaleAll { place: view.place(), factor: f64::midpoint(1.0, factor) }, resized(halfway)];
    claim.worth = Worth::Replay { low, high };
    // Starts overlap with the work of others: no more than the cores had beside the tasks' own work.
    let idle_ms = digest.available_core_ms.map_or(i64::MAX, |cores| (cores - digest.all.run_ms).max(0));
    let started_ms = ((tasks - f64::from(wanted)) * overhead_ms * digest.task_cpus) as i64;
    claim.core_ms = Some(started_ms.min(idle_ms));
    sink.claim(claim);
}

/// Input and shuffle read of all its task attempts, bytes.
fn read_bytes(digest: &StageDigest) -> i64 {
    digest.all.input_bytes + digest.all.shuffle_read_bytes
}

/// Share of the tasks' run time without CPU, where they read so little that it is the price of being a task.
fn fixed_share(context: &Context<'_>, digest: &StageDigest) -> Option<f64> {
    let (bytes, sums) = (read_bytes(digest), &digest.all);
    if bytes <= 0 || sums.cpu_ms <= 0 || bytes as f64 > context.get(&SMALL_BYTES) * digest.attempts as f64 {
        return None;
    }
    let share = 1.0 - sums.cpu_ms as f64 / sums.run_ms.max(1) as f64;
    (share >= context.get(&FIXED_SHARE)).then_some(share)
}

/// Whether the job of a stage lists files in parallel (`HadoopFSUtils.parallelListLeafFiles`).
fn lists_files(context: &Context<'_>, view: &StageView<'_>) -> bool {
    let job = view.digest.job_id.and_then(|id| context.run.job(id));
    job.and_then(|job| job.description.as_deref())
        .is_some_and(|text| text.starts_with("Listing leaf files and directories"))
}

/// Time of the slots that the stage used: of each executor its span in the stage times the most tasks it ran
/// at one time.
fn slot_time_ms(context: &Context<'_>, view: &StageView<'_>) -> f64 {
    let mut spans: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for task in &view.tasks {
        spans.entry(task.executor).or_default().push((task.launch_ms, task.finish_ms));
    }
    let mut sum = 0.0;
    // Results that the driver saw late make more tasks seem to run at a time than there are slots.
    let slots = |executor: u32| {
        let id = context.text(executor);
        let cores = context.run.executors.iter().find(|executor| executor.id == id).and_then(|one| one.cores);
        cores.map_or(f64::MAX, |cores| {
            (f64::from(cores) / view.digest.task_cpus.max(f64::MIN_POSITIVE)).floor().max(1.0)
        })
    };
    for (executor, spans) in &spans {
        let from = spans.iter().map(|span| span.0).min().unwrap_or(0);
        let to = spans.iter().map(|span| span.1).max().unwrap_or(from);
        sum += (to - from) as f64 * (peak_overlap(spans.iter().copied()) as f64).min(slots(*executor));
    }
    sum
}

//! Stages that do not fit the cores: too few tasks, a long last task, rows that multiply.

use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Claim, Confidence, Nature, Severity, Worth};
use crate::partitions;
use crate::plan::time;
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::{StageView, Task};
use crate::tail::{self, Cause};
use crate::words::{self, rounded};

const BUSY_SHARE: Threshold = Threshold {
    tag: "SHAPE",
    name: "busy_share",
    default: 0.5,
    doc: "A stage has too few tasks when they can use less than this share of the cores that were free for it.",
};
const LEAST_MS: Threshold = Threshold {
    tag: "SHAPE",
    name: "least_ms",
    default: 2000.0,
    doc: "Shortest stage, from first launch to last finish, that is called too narrow.",
};
const LEAST_SHARE: Threshold = Threshold {
    tag: "SHAPE",
    name: "least_share",
    default: 0.02,
    doc: "Least share of the run's wall time of a stage that is called too narrow: a short final step with one task is usual.",
};
const WORK_SHARE: Threshold = Threshold {
    tag: "SHAPE",
    name: "work_share",
    default: 0.5,
    doc: "Least share of their time that the tasks of a narrow stage must spend running: deserialization on a cold executor cannot be split.",
};
const FIRST_WRITE_MS: Threshold = Threshold {
    tag: "SHAPE",
    name: "first_write_ms",
    default: 1500.0,
    doc: "Time that the first stage that writes takes beside its rows, to load and compile what writes; it is not split among more tasks, milliseconds.",
};
const COLD_MS: Threshold = Threshold {
    tag: "SHAPE",
    name: "cold_ms",
    default: 3000.0,
    doc: "Milliseconds more that a stage must run whose tasks were all the first of their executors: more tasks would start as cold.",
};
const EXPLOSION_RATIO: Threshold = Threshold {
    tag: "SHAPE",
    name: "explosion_ratio",
    default: 10.0,
    doc: "Records written for each one read from which data explodes.",
};
const EXPLOSION_RECORDS: Threshold = Threshold {
    tag: "SHAPE",
    name: "explosion_records",
    default: 1e6,
    doc: "Least number of records written by a stage whose data is said to explode.",
};
const LONGEST_SHARE: Threshold = Threshold {
    tag: "SHAPE",
    name: "longest_share",
    default: 0.5,
    doc: "Share of the stage's time that its longest task must take for the stage to be called uneven.",
};
const LONGEST_RATIO: Threshold = Threshold {
    tag: "SHAPE",
    name: "longest_ratio",
    default: 3.0,
    doc: "Times the median of its peers that the longest task of an uneven stage must take.",
};
const IDLE_SHARE: Threshold = Threshold {
    tag: "SHAPE",
    name: "idle_share",
    default: 0.01,
    doc: "Share of the run's core-time that must be idle beside an uneven stage's last tasks.",
};

/// The detector.
pub static SHAPE: Detector = Detector {
    tag: "SHAPE",
    title: "Stage shape",
    types: &[FindingType {
        name: "stageShape",
        what: "The tasks of a stage cannot use the cores that were there, or its rows multiply.",
    }],
    thresholds: &[
        BUSY_SHARE,
        LEAST_MS,
        LEAST_SHARE,
        WORK_SHARE,
        COLD_MS,
        FIRST_WRITE_MS,
        EXPLOSION_RATIO,
        EXPLOSION_RECORDS,
        LONGEST_SHARE,
        LONGEST_RATIO,
        IDLE_SHARE,
    ],
    checks: &[Check::Stage(low_parallelism), Check::Stage(data_explosion), Check::Stage(task_stage_skew)],
    what: "`lowParallelism`: the stage had fewer tasks than half the cores that were free while it ran, and \
worked for long. Often adaptive execution merged its partitions because they are small in *bytes*, although their \
rows cost much. `dataExplosion`: the stage writes many times the records it reads. `taskStageSkew`: one \
task takes most of the stage while other cores idle; this tells what the tail costs in core-time, its cause is told by \
`skew` or `straggler`.",
    rule: "*lowParallelism*: most tasks at one time are below `busy_share` of the free cores (cores of the \
executors that lived while the stage ran, minus what other stages used); the stage ran for `least_ms` and \
`least_share` of the run; its tasks spent `work_share` of their time running, and if all of them were the first on their executors it ran `cold_ms` longer than that, the first one that writes `first_write_ms`. Stages that read a single-partition shuffle, take the \
first rows, infer a schema, repeat lost tasks or have a barrier are left out. *dataExplosion*: at least `explosion_records` records written, \
`explosion_ratio` times those read. *taskStageSkew*: a tail (see `STRAG`) whose longest task takes `longest_ratio` times the median and `longest_share` of \
the stage and leaves `idle_share` of the run's core-time idle.",
    why: "Cores without a task are paid for and do nothing, and the stage takes as long as its work divided by the few \
tasks it has. Exploding rows are paid for in every later stage: shuffled, sorted, spilled.",
    fix: "Give the stage more partitions. For one query under AQE:\n\n\
```sql\nSET spark.sql.adaptive.coalescePartitions.minPartitionSize = 64k;\n```\n\n\
or, before the costly step:\n\n\
```sql\nSELECT /*+ REPARTITION(16) */ * FROM t\n```\n\n\
```python\ndf.repartition(16).select(costly(\"a\"))\n```\n\n\
Replace `coalesce(1)` before a write by `repartition(1)`: it keeps the work before it parallel. JDBC reads need \
`numPartitions`, `partitionColumn` and its bounds. For exploding data filter or aggregate before the explode or the join.",
    limits: "Whether the work can be split is not in the log: one hot key, or one file that cannot be split, stays one task. Records of \
cached data are batches, so that such stages are not judged by their records.",
};

fn low_parallelism(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    let running = digest.running_ms();
    let least = context.get(&LEAST_MS).max(context.get(&LEAST_SHARE) * context.wall_ms.unwrap_or(0) as f64);
    // A repeated attempt runs what is missing, and a barrier stage as many tasks as it was told to.
    let is_set = view.stage.attempt > 0 || view.stage.is_barrier;
    if (running as f64) < least || digest.useful == 0 || is_set || context.is_immaterial(running) {
        return;
    }
    let width = digest.peak_concurrency.max(1);
    let free = context.free_slots(digest);
    let worked = digest.counted.run_ms as f64 / digest.attempt_ms.max(1) as f64;
    if f64::from(width) >= context.get(&BUSY_SHARE) * free
        || (digest.useful as f64) >= context.get(&BUSY_SHARE) * free
        || worked < context.get(&WORK_SHARE)
    {
        return;
    }
    let plan = StagePlan::of(context, digest);
    if plan.as_ref().is_some_and(|plan| plan.is_single_partition || plan.is_limit)
        || (digest.useful == 1 && infers_schema(view))
    {
        return;
    }
    // Every task starts a worker of its own: more tasks would start more.
    let start_ms = python_start_ms(context, view);
    if (running as f64 - start_ms - first_write_ms(context, view)) < least {
        return;
    }
    let all_cold = view.useful().all(|task| context.is_first_wave(task.executor, task.launch_ms));
    if all_cold && (running as f64) < least + context.get(&COLD_MS) {
        return;
    }
    sink.claim(narrow_claim(context, view, plan.as_ref(), (free, start_ms)));
}

/// What each task took to start and initialize Python workers, milliseconds.
fn python_start_ms(context: &Context<'_>, view: &StageView<'_>) -> f64 {
    let plan = view.digest.sql_id.and_then(|id| context.sql_view(id));
    plan.map_or(0.0, |plan| time::python_start_ms(&plan, view.place()) / view.digest.useful.max(1) as f64)
}

/// What the first stage that writes takes beside its rows: format and committer are loaded and compiled. More tasks
/// would each take it.
fn first_write_ms(context: &Context<'_>, view: &StageView<'_>) -> f64 {
    let writes = |digest: &StageDigest| digest.counted.output_bytes > 0;
    let begins = |digest: &StageDigest| digest.running.map(|running| running.0);
    let is_first = writes(view.digest)
        && !context.stages.iter().any(|other| writes(other) && begins(other) < begins(view.digest));
    if is_first { context.get(&FIRST_WRITE_MS) } else { 0.0 }
}

/// `read.parquet` and its like look at one file with a job of their own.
fn infers_schema(view: &StageView<'_>) -> bool {
    const READERS: [&str; 6] = ["parquet at ", "orc at ", "json at ", "csv at ", "load at ", "text at "];
    let name = view.stage.name.as_ref();
    READERS.iter().any(|reader| name.starts_with(reader))
        && view.digest.counted.output_records == 0
        && view.digest.counted.output_bytes == 0
}

fn narrow_claim(
    context: &Context<'_>,
    view: &StageView<'_>,
    plan: Option<&StagePlan>,
    (free, start_ms): (f64, f64),
) -> Claim {
    let digest = view.digest;
    let slots = free.round().max(2.0) as u32;
    // More tasks than rows make no sense, as far as rows are known.
    let rows = digest.counted.input_records + digest.counted.shuffle_read_records;
    let reads_batches = plan.is_some_and(|plan| plan.reads_cache);
    let tasks = match rows {
        rows if rows > 1 && !reads_batches => slots.min(u32::try_from(rows).unwrap_or(u32::MAX)),
        _ => slots,
    }
    .max(2);
    let (how, changes) = partitions::to_have(context, view, plan, tasks);
    let overhead_ms = view.spread(|task| task.duration_ms() - task.run_ms).median().unwrap_or(0.0) + start_ms;
    let resized = |tasks: u32| vec![Edit::Resize { place: view.place(), tasks, overhead_ms }];
    let coalesced = plan.is_some_and(|plan| plan.is_coalesced);
    let title = format!(
        "Stage {} ran {} for {} while {:.0} cores were free for it{}",
        view.stage.id,
        words::count(digest.useful as usize, "task"),
        words::duration(digest.running_ms()),
        free * digest.task_cpus,
        if coalesced { ": AQE merged its partitions by bytes" } else { "" },
    );
    let mut claim = Claim::new("stageShape", context.stage_scope(digest), title)
        .evidence("tasks", digest.useful)
        .evidence("free_slots", rounded(free))
        .evidence("running_ms", digest.running_ms())
        .evidence("longest_ms", digest.longest_ms)
        .evidence(
            "busy_share",
            rounded(digest.attempt_ms as f64 / (digest.running_ms().max(1) as f64 * free)),
        )
        .evidence("read_bytes", digest.counted.input_bytes + digest.counted.shuffle_read_bytes)
        .evidence("read_records", rows)
        .evidence("decided_by", partitions::lever(context, view, plan).name())
        .evidence("aqe_coalesced", coalesced)
        .evidence("proposed_tasks", tasks)
        .advice(format!("Give the work more tasks, about {tasks}: {how}."))
        .changes(changes);
    claim.variant = Some("lowParallelism");
    claim.nature = if coalesced { Nature::Configuration } else { Nature::Code };
    claim.confidence =
        if rows > i64::from(tasks) || coalesced { Confidence::High } else { Confidence::Medium };
    claim.validate = "If the rows of the stage share one key, or come from one file that cannot be split, more partitions do not help.".to_owned();
    claim.worth = Worth::Replay { low: resized((tasks / 2).max(2)), high: resized(tasks) };
    claim
}

fn data_explosion(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    /// Bytes a record from which it is a batch of rows, or none that could multiply by accident.
    const BATCH_BYTES: i64 = 64 << 10;
    let digest = view.digest;
    let sums = &digest.counted;
    let read = sums.input_records + sums.shuffle_read_records;
    let written = sums.output_records + sums.shuffle_write_records;
    if read == 0
        || (written as f64) < context.get(&EXPLOSION_RECORDS)
        || (written as f64) < context.get(&EXPLOSION_RATIO) * read as f64
        || sums.input_bytes / read > BATCH_BYTES
        || context.is_immaterial(digest.running_ms())
    {
        return;
    }
    let plan = StagePlan::of(context, digest);
    if plan.as_ref().is_some_and(|plan| plan.reads_cache) {
        return;
    }
    let ratio = written as f64 / read as f64;
    let title = format!(
        "Stage {} writes {} records for {} read, {}",
        view.stage.id,
        words::grouped(written),
        words::grouped(read),
        words::times(ratio)
    );
    let mut claim = Claim::new("stageShape", context.stage_scope(digest), title)
        .evidence("read_records", read)
        .evidence("written_records", written)
        .evidence("records_ratio", rounded(ratio))
        .evidence("read_bytes", sums.input_bytes + sums.shuffle_read_bytes)
        .evidence("written_bytes", sums.output_bytes + sums.shuffle_write_bytes)
        .advice("Check that so many rows are meant (a join on a key that repeats on both sides, an explode); filter or aggregate before the step that multiplies them.");
    if let Some(operator) = plan.and_then(|plan| plan.operator) {
        claim = claim.evidence("operator", operator);
    }
    claim.variant = Some("dataExplosion");
    claim.severity = Some(Severity::Info);
    claim.validate = "If every one of the rows is needed by the result, there is nothing to gain.".to_owned();
    sink.claim(claim);
}

fn task_stage_skew(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let Some((tail, _)) = tail::find(context, view) else { return };
    if matches!(tail.cause(), Cause::ColdExecutor | Cause::WarmUp)
        || tail.ratio() < context.get(&LONGEST_RATIO)
    {
        return;
    }
    let digest = view.digest;
    let (Some((_, end)), Some(allocated)) = (digest.running, context.allocated_core_ms) else { return };
    let longest = view.tasks[tail.slow[0].at].duration_ms();
    let body_end =
        view.useful().map(|task: &Task| task.finish_ms).filter(|finish| *finish < end).max().unwrap_or(end);
    let slow_after: i64 =
        tail.slow.iter().map(|slow| (view.tasks[slow.at].finish_ms - body_end).max(0)).sum();
    let idle = ((end - body_end) as f64 * context.free_slots(digest) - slow_after as f64).max(0.0)
        * digest.task_cpus;
    if (longest as f64) < context.get(&LONGEST_SHARE) * digest.running_ms() as f64
        || idle < context.get(&IDLE_SHARE) * allocated as f64
    {
        return;
    }
    let title = format!(
        "One task is {} of stage {}'s {}; meanwhile {} of core-time were idle",
        words::percent(longest as f64 / digest.running_ms().max(1) as f64),
        view.stage.id,
        words::duration(digest.running_ms()),
        words::duration(idle as i64),
    );
    let mut claim = Claim::new("stageShape", context.stage_scope(digest), title)
        .evidence("longest_ms", longest)
        .evidence("median_ms", tail.median_ms.round() as i64)
        .evidence("running_ms", digest.running_ms())
        .evidence("idle_core_ms", idle as i64)
        .evidence("cause", tail.cause().name())
        .advice("See the finding about the slow task itself; until it is gone, fewer cores would do for this stage.");
    claim.variant = Some("taskStageSkew");
    claim.nature = Nature::Resource;
    claim.severity = Some(Severity::Info);
    claim.worth = Worth::Resource;
    claim.core_ms = Some(idle as i64);
    claim.validate = "If other stages used the cores meanwhile, they were not idle.".to_owned();
    sink.claim(claim);
}

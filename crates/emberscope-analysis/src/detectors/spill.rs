//! Data that did not fit a task's memory.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Worth};
use crate::partitions::{self, Lever};
use crate::replay::Edit;
use crate::stage_plan::StagePlan;
use crate::stage_view::{StageView, Task};
use crate::words::{self, rounded};
use emberscope_log::columns::TaskColumn;

const SKEW_SHARE: Threshold = Threshold {
    tag: "SPILL",
    name: "skew_share",
    default: 0.8,
    doc: "Share of tasks without any spill from which the spill is one of a few large partitions.",
};
const SERIALIZE_RATE: Threshold = Threshold {
    tag: "SPILL",
    name: "serialize_bytes_per_second",
    default: 250e6,
    doc: "Bytes (as in memory) that a task serializes for a spill in a second.",
};
const DISK_RATE: Threshold = Threshold {
    tag: "SPILL",
    name: "disk_bytes_per_second",
    default: 200e6,
    doc: "Bytes (as on disk) that a task writes, and later reads, in a second.",
};
const MOST_SHARE: Threshold = Threshold {
    tag: "SPILL",
    name: "most_share",
    default: 0.5,
    doc: "Share of a task's time that its spills are taken to cost at most.",
};
const SURE_SHARE: Threshold = Threshold {
    tag: "SPILL",
    name: "sure_share",
    default: 0.25,
    doc: "Share of what the spill may cost that is counted on: more memory does not always help.",
};
const LEAST_BYTES: Threshold = Threshold {
    tag: "SPILL",
    name: "least_bytes",
    default: 33_554_432.0,
    doc: "Least spilled bytes, as in memory.",
};
const LEAST_PYTHON_BYTES: Threshold = Threshold {
    tag: "SPILL",
    name: "least_python_bytes",
    default: 8_388_608.0,
    doc: "Least bytes that Python workers spilled, as on disk: in memory they are several times as much, and each costs more.",
};
const PYTHON_RATE: Threshold = Threshold {
    tag: "SPILL",
    name: "python_bytes_per_second",
    default: 5e6,
    doc: "Bytes (as on disk) that a Python worker spills and reads back in a second: its objects are pickled and compressed one by one.",
};

/// The detector.
pub static SPILL: Detector = Detector {
    tag: "SPILL",
    title: "Spill",
    types: &[FindingType {
        name: "spill",
        what: "Tasks of a stage wrote data to disk because it did not fit their memory.",
    }],
    thresholds: &[
        SKEW_SHARE,
        SERIALIZE_RATE,
        DISK_RATE,
        MOST_SHARE,
        SURE_SHARE,
        LEAST_BYTES,
        LEAST_PYTHON_BYTES,
        PYTHON_RATE,
    ],
    checks: &[Check::Stage(check)],
    what: "Sorts, joins and aggregations keep their rows in a task's share of execution memory. What does not fit is \
serialized, written to local disk and merged again. `volume`: most tasks spill, their partitions are too large for the memory there \
is. `skew`: only a few do, because their partitions are much larger than the others.",
    rule: "At least `least_bytes` spilled (as in memory) by the attempts that counted. Where `skew_share` of the tasks spilled nothing, \
the variant is `skew`. The cost of a task's spill is its in-memory bytes at `serialize_bytes_per_second` plus twice its \
disk bytes at `disk_bytes_per_second`, at most `most_share` of its time; `sure_share` of that is counted on. The workers of RDD code in Python spill by a \
limit of their own and report next to nothing as in memory: where a stage with a `PythonRDD` spilled more to disk than in memory, `least_python_bytes` on disk \
are enough, and cost what `python_bytes_per_second` says.",
    why: "Every spilled row is serialized, written, read and deserialized once more. Even where the page cache keeps it off the disk the \
serialization remains.",
    fix: "More, smaller partitions:\n\n```sql\nSET spark.sql.shuffle.partitions = 400;\n```\n\nor more memory for each task: a larger heap, or fewer \
cores per executor.\n\n```python\nspark = (SparkSession.builder.config(\"spark.executor.memory\", \"8g\")\n         .config(\"spark.executor.cores\", \"4\").getOrCreate())\n```\n\n\
For `groupByKey`, `reduceByKey` and the like in Python the limit is `spark.python.worker.memory` (512 MiB by default); DataFrames do not need \
it at all.\n\nWhere only a few tasks spill, fix the skew first: more memory for all would be for a few.",
    limits: "The log has the bytes, not the time. The rates are assumptions; measure one of your own and set them. Native engines spill by their own \
rules and may not report it.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    if context.is_native && digest.all.memory_spilled_bytes == 0 && digest.attempts > 0 {
        let reason = format!("{} does not report spills as Spark does", context.run.trust.engine);
        sink.not_checked("spill", reason, None);
        return;
    }
    if digest.attempts > 0 && digest.useful > 0 && !view.measured(TaskColumn::MemoryBytesSpilled) {
        sink.not_checked("spill", "the task metrics have no spilled bytes", None);
        return;
    }
    let spilled = digest.counted.memory_spilled_bytes;
    let is_enough = if is_python(context, view) {
        digest.counted.disk_spilled_bytes as f64 >= context.get(&LEAST_PYTHON_BYTES)
    } else {
        spilled as f64 >= context.get(&LEAST_BYTES)
    };
    if !is_enough || context.is_immaterial(digest.running_ms()) {
        return;
    }
    sink.claim(claim(context, view, spilled));
}

/// Whether it was Python workers that spilled: what Spark itself spills is larger in memory than on disk.
fn is_python(context: &Context<'_>, view: &StageView<'_>) -> bool {
    let counted = &view.digest.counted;
    let has_python = || view.stage.rdd_ids.iter().any(|id| context.run.rdd_name(*id) == Some("PythonRDD"));
    !context.is_native && counted.disk_spilled_bytes > counted.memory_spilled_bytes && has_python()
}

/// What the spills of a task cost at most, milliseconds.
fn cost_ms(context: &Context<'_>, task: &Task, is_python: bool) -> f64 {
    let seconds = if is_python {
        task.disk_spilled_bytes as f64 / context.get(&PYTHON_RATE).max(1.0)
    } else {
        task.memory_spilled_bytes as f64 / context.get(&SERIALIZE_RATE).max(1.0)
            + 2.0 * task.disk_spilled_bytes as f64 / context.get(&DISK_RATE).max(1.0)
    };
    (seconds * 1000.0).min(context.get(&MOST_SHARE) * task.duration_ms() as f64)
}

fn claim(context: &Context<'_>, view: &StageView<'_>, spilled: i64) -> Claim {
    let digest = view.digest;
    let spilling: Vec<&Task> =
        view.useful().filter(|task| task.memory_spilled_bytes + task.disk_spilled_bytes > 0).collect();
    let dry_share = 1.0 - spilling.len() as f64 / digest.useful.max(1) as f64;
    let is_skew = dry_share >= context.get(&SKEW_SHARE);
    let plan = StagePlan::of(context, digest);
    let is_python = is_python(context, view);
    let disk = digest.counted.disk_spilled_bytes;
    let cost: f64 = view.useful().map(|task| cost_ms(context, task, is_python)).sum();
    let place = plan.as_ref().and_then(StagePlan::place_words);
    let who = match digest.useful {
        1 => format!("The only task of stage {}", view.stage.id),
        tasks => {
            let tasks = words::count(tasks as usize, "task");
            format!("{} of {tasks} of stage {}", spilling.len(), view.stage.id)
        }
    };
    let place = place.as_ref().map_or(String::new(), |place| format!(" in {place}"));
    let spill = words::verb(spilling.len(), "spill");
    let title = if is_python {
        format!("{who} {spill} {} to disk in Python workers", words::size(disk))
    } else {
        format!("{who} {spill} {} ({} on disk){place}", words::size(spilled), words::size(disk))
    };
    let peak = spilling.iter().map(|task| task.peak_execution_bytes).max().unwrap_or(0);
    let mut claim = Claim::new("spill", context.stage_scope(digest), title)
        .evidence("tasks", digest.useful)
        .evidence("spilling_tasks", spilling.len())
        .evidence("memory_spilled_bytes", spilled)
        .evidence("disk_spilled_bytes", disk)
        .evidence(
            "largest_spill_bytes",
            spilling.iter().map(|task| task.memory_spilled_bytes).max().unwrap_or(0),
        )
        .evidence("peak_execution_bytes", peak)
        .evidence("dry_share", rounded(dry_share))
        .evidence("in_python", is_python)
        .evidence("cost_ms", cost as i64);
    claim.variant = Some(if is_skew { "skew" } else { "volume" });
    claim.nature = if is_skew { Nature::Data } else { Nature::Resource };
    claim.confidence = Confidence::Medium;
    claim.validate =
        "Run it once with twice the partitions or memory: if the stage is as slow without the spill, the spill was cheap.".to_owned();
    let scaled = |share: f64| {
        let factors =
            view.factors_to(|task| task.duration_ms() as f64 - share * cost_ms(context, task, is_python));
        vec![Edit::Scale { place: view.place(), factors }]
    };
    claim.worth = Worth::Replay { low: scaled(context.get(&SURE_SHARE)), high: scaled(1.0) };
    claim.core_ms = Some((cost * context.get(&SURE_SHARE) * digest.task_cpus) as i64);
    if is_skew {
        return claim
            .advice("Only a few large partitions spill: spread their data (see skew) before giving all tasks more memory.")
            .change(Change::data("partitions", "spread the large ones"));
    }
    if is_python {
        return with_python_fix(context, claim);
    }
    with_volume_fix(context, view, plan.as_ref(), &spilling, claim)
}

fn with_python_fix(context: &Context<'_>, claim: Claim) -> Claim {
    const KEY: &str = "spark.python.worker.memory";
    /// What spilled is many times smaller on disk than as Python's objects; how much it needs is not in the log.
    const TIMES: i64 = 4;
    let conf = context.conf(None);
    let limit = conf.bytes(KEY).unwrap_or(512 << 20);
    claim
        .advice(format!(
            "The Python workers' own limit made them spill ({KEY}, {}): raise it where the machine has the memory, use more partitions, or DataFrames, which aggregate in the JVM.",
            words::size(limit)
        ))
        .changes(conf.propose(KEY, words::setting_size(limit * TIMES)))
}

fn with_volume_fix(
    context: &Context<'_>,
    view: &StageView<'_>,
    plan: Option<&StagePlan>,
    spilling: &[&Task],
    claim: Claim,
) -> Claim {
    /// More partitions than this many times those there are make a plan worse in other ways.
    const MOST_TIMES: f64 = 16.0;
    // What was held at the peak fitted; the need is that and what was spilled.
    let need = spilling
        .iter()
        .filter(|task| task.peak_execution_bytes > 0)
        .map(|task| 1.0 + task.memory_spilled_bytes as f64 / task.peak_execution_bytes as f64)
        .fold(1.0, f64::max)
        .clamp(2.0, MOST_TIMES)
        .ceil();
    let reads_shuffle = view.digest.counted.shuffle_read_bytes > view.digest.counted.input_bytes;
    let conf = context.conf(None);
    let key = if context.is_local { "spark.driver.memory" } else { "spark.executor.memory" };
    let memory = conf.bytes(key).unwrap_or(1 << 30);
    let more = if context.is_local { key.to_owned() } else { format!("{key}, or fewer cores per executor") };
    // Execution memory grows with the heap; asking for more than four times is no advice.
    let larger = words::setting_size((memory as f64 * need.min(4.0)) as i64);
    if reads_shuffle || plan.is_some_and(|plan| plan.scan.is_some()) {
        let tasks = (view.digest.useful as f64 * need).min(f64::from(u32::MAX)) as u32;
        let (how, changes) = partitions::to_have(context, view, plan, tasks);
        // What cannot be cut is not made smaller.
        if partitions::lever(context, view, plan) == Lever::SinglePartition {
            return claim
                .advice(format!("Give the task more memory ({more}), or it less to hold: {how}."))
                .changes(changes);
        }
        return claim
            .evidence("proposed_tasks", tasks)
            .advice(format!(
                "Make the partitions about {need:.0} times smaller: {how}. Or give each task more memory ({more})."
            ))
            .changes(changes);
    }
    claim
        .advice(format!("Give each task more memory ({more}), or use more, smaller partitions."))
        .changes(conf.propose(key, larger))
}

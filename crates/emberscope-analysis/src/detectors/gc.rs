//! Garbage collection.

use crate::config::Conf;
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::replay::Edit;
use crate::stage_view::StageView;
use crate::words::{self, rounded};
use emberscope_log::columns::TaskColumn;

const HIGH_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "high_share",
    default: 0.2,
    doc: "Share of the run time of a stage's tasks that is garbage collection.",
};
const FULL_HIGH_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "full_high_share",
    default: 0.1,
    doc: "The same where the heap was full at its peak.",
};
const LEAST_WALL_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "least_wall_share",
    default: 0.02,
    doc: "Share of the run's wall time that the collections of a stage must take, shared over the tasks that ran at a time: the start of an application always has some.",
};
const LEAST_RUN_MS: Threshold = Threshold {
    tag: "GC",
    name: "least_run_ms",
    default: 10_000.0,
    doc: "Least run time of all tasks of a stage for its share to say anything.",
};
const REMAINING_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "remaining_share",
    default: 0.03,
    doc: "Share of the run time that collection takes in a roomy heap: it is not counted as saved.",
};
const SURE_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "sure_share",
    default: 0.25,
    doc: "Share of the removable time that is counted on where the heap was full.",
};
const THRASHING_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "thrashing_share",
    default: 0.5,
    doc: "Share of the run time in collections from which the heap counts as full whatever its peaks say: these are samples.",
};
const THRASHING_SURE_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "thrashing_sure_share",
    default: 0.75,
    doc: "Share of the removable time that is counted on where collections took `thrashing_share`.",
};
const FULL_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "full_share",
    default: 0.85,
    doc: "Peak heap over its limit from which a larger heap helps.",
};
const SURE_FROM: Threshold = Threshold {
    tag: "GC",
    name: "sure_from_share",
    default: 0.3,
    doc: "Share of the run time from which the finding is sure.",
};
const LOW_SHARE: Threshold = Threshold {
    tag: "GC",
    name: "low_share",
    default: 0.01,
    doc: "Share of all run time below which the heap may be larger than needed.",
};
const LOW_HEAP_BYTES: Threshold = Threshold {
    tag: "GC",
    name: "low_heap_bytes",
    default: 8_589_934_592.0,
    doc: "Least executor memory that is worth making smaller.",
};
const LOW_RUN_MS: Threshold = Threshold {
    tag: "GC",
    name: "low_run_ms",
    default: 600_000.0,
    doc: "Least run time of all tasks of the run for little collection to say anything.",
};

/// Heap from which the JVM's pointers take eight bytes instead of four (`-XX:+UseCompressedOops` ends).
const WIDE_POINTERS_BYTES: i64 = 32 << 30;

/// The detector.
pub static GC: Detector = Detector {
    tag: "GC",
    title: "Garbage collection",
    types: &[FindingType {
        name: "gc",
        what: "Tasks spend much of their time in garbage collection, or hardly any.",
    }],
    thresholds: &[
        HIGH_SHARE,
        FULL_HIGH_SHARE,
        LEAST_WALL_SHARE,
        LEAST_RUN_MS,
        REMAINING_SHARE,
        SURE_SHARE,
        FULL_SHARE,
        THRASHING_SHARE,
        THRASHING_SURE_SHARE,
        SURE_FROM,
        LOW_SHARE,
        LOW_HEAP_BYTES,
        LOW_RUN_MS,
    ],
    checks: &[Check::Stage(high), Check::App(low)],
    what: "`high`: the tasks of a stage stood still for garbage collection for a good part of their time. The finding tells \
whether the heap was full (from the peaks in the log), because only then does a larger heap help. `low`: hardly any collection in the whole run \
with a large heap whose peaks are not in the log: it may be larger than needed.",
    rule: "*high*: JVM GC time is `high_share` (`full_high_share`, where the heap is known to have been full) of the run time of a stage whose tasks ran \
`least_run_ms` together, and shared over the tasks that ran at a time it takes `least_wall_share` of the run. JVM GC time is the collection of \
the whole executor, charged to each task that ran meanwhile; each of them did stand still, so that what the *stage* loses is that time \
divided by the tasks that ran at once, which is what the replay gives. `remaining_share` stays in any heap. *low*: less than `low_share` over a \
run of `low_run_ms`, at least `low_heap_bytes` of executor memory, no heap peaks.",
    why: "During a pause every task of the executor stands still. A heap that is nearly full is collected again and again for little.",
    fix: "Give each task more heap (more memory, fewer cores), and keep fewer objects: cache serialized, broadcast less, avoid collecting lists, \
use built-in functions instead of UDFs on objects.\n\n```python\ndf.persist(StorageLevel.MEMORY_AND_DISK)  # DataFrames are cached in compact columns\nrdd.persist(StorageLevel.MEMORY_ONLY_SER)\n```\n\n\
```sql\nUNCACHE TABLE no_longer_needed\n```\n\nOn heaps of many gigabytes see that G1 or ZGC is used; where the options choose the serial collector, the finding says so.",
    limits: "A larger heap does not always make the run faster: some collection moves to other places, and less is left for the page cache. The claim \
is careful for that reason. Native memory and Python workers have no collections in the log.",
};

fn high(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    let sums = &digest.counted;
    if digest.useful > 0
        && !view.measured(TaskColumn::JvmGcTime)
        && view.measured(TaskColumn::ExecutorRunTime)
    {
        sink.not_checked("gc", "the task metrics have no JVM GC time", None);
        return;
    }
    let share = sums.gc_ms as f64 / sums.run_ms.max(1) as f64;
    let slot_ms = sums.gc_ms / i64::from(digest.peak_concurrency.max(1));
    if (sums.run_ms as f64) < context.get(&LEAST_RUN_MS)
        || share < context.get(&FULL_HIGH_SHARE)
        || context.share_of_wall(slot_ms).is_some_and(|share| share < context.get(&LEAST_WALL_SHARE))
    {
        return;
    }
    let heap = Heap::of(context, view);
    let known_full = heap.share().is_some_and(|full| full >= context.get(&FULL_SHARE));
    if share < context.get(&HIGH_SHARE) && !known_full {
        return;
    }
    let removable = (1.0 - context.get(&REMAINING_SHARE) / share).clamp(0.0, 1.0);
    let title = format!(
        "Tasks of stage {} spend {} of their run time in garbage collection{}",
        view.stage.id,
        words::percent(share),
        heap.share()
            .map_or(String::new(), |full| format!(", the heap {} full at its peak", words::percent(full))),
    );
    let mut claim = Claim::new("gc", context.stage_scope(digest), title)
        .evidence("gc_ms", sums.gc_ms)
        .evidence("run_ms", sums.run_ms)
        .evidence("gc_share", rounded(share))
        .evidence("slot_gc_ms", slot_ms)
        .evidence("concurrent_tasks", digest.peak_concurrency)
        .evidence("peak_heap_bytes", heap.peak)
        .evidence("heap_limit_bytes", heap.limit)
        .evidence("heap_share", heap.share().map(rounded));
    claim.variant = Some("high");
    claim.confidence = if share >= context.get(&SURE_FROM) { Confidence::High } else { Confidence::Medium };
    claim.nature = Nature::Resource;
    claim.validate = "Run it with half as much again of heap for each task: if the share of collection stays, it is the rate of new objects, not the room.".to_owned();
    let scaled = |part: f64| {
        let factors =
            view.factors_to(|task| task.duration_ms() as f64 - part * task.gc_ms.min(task.run_ms) as f64);
        vec![Edit::Scale { place: view.place(), factors }]
    };
    // Peaks are samples: with most of the time in collections there was no room, whatever they say.
    let is_thrashing = share >= context.get(&THRASHING_SHARE);
    let is_full = is_thrashing || heap.share().is_none_or(|full| full >= context.get(&FULL_SHARE));
    let sure = if is_thrashing { &THRASHING_SURE_SHARE } else { &SURE_SHARE };
    let low = if is_full { scaled(removable * context.get(sure)) } else { Vec::new() };
    claim.worth = Worth::Replay { low, high: scaled(removable) };
    claim.core_ms =
        Some((sums.gc_ms as f64 * removable * context.get(&SURE_SHARE) * digest.task_cpus) as i64);
    let conf = context.conf(None);
    let serial = SerialCollector::of(context, &conf).filter(|_| digest.peak_concurrency > 1);
    let parallel = serial.as_ref().and_then(|serial| conf.propose(serial.key, serial.as_g1()));
    let and_collector = serial.as_ref().map_or(String::new(), |serial| {
        format!(
            " {} chooses the serial collector, one thread for the whole heap: use G1 (-XX:+UseG1GC).",
            serial.key
        )
    });
    if serial.is_some() {
        claim = claim.evidence("collector", "serial");
    }
    if !is_full {
        claim.nature = if serial.is_some() { Nature::Configuration } else { Nature::Code };
        let or_another = if serial.is_some() { "" } else { ", or try another collector" };
        sink.claim(
            claim
                .advice(format!("The heap had room left: a larger one hardly helps. Create fewer objects (built-in functions instead of UDFs, no large collections of objects){or_another}.{and_collector}"))
                .changes(parallel)
                .change(Change::code("objects", "create fewer")),
        );
        return;
    }
    let key = if context.is_local { "spark.driver.memory" } else { "spark.executor.memory" };
    let memory = conf.bytes(key).unwrap_or(1 << 30);
    let larger = memory + memory / 2;
    if memory <= WIDE_POINTERS_BYTES && larger > WIDE_POINTERS_BYTES {
        let fewer = if context.is_local { "fewer cores (local[N])" } else { "fewer cores per executor" };
        sink.claim(
            claim
                .advice(format!(
                    "Give each task more of the heap, with {fewer}, or keep fewer objects in it (cached data, broadcasts, collected lists). Above 32 GiB pointers take twice the room, so that a heap somewhat larger holds no more.{and_collector}"
                ))
                .change(Change::resource("tasks at a time", None, fewer))
                .changes(parallel),
        );
        return;
    }
    let larger = conf.propose(key, words::setting_size(larger));
    sink.claim(
        claim
            .advice(format!(
                "Give each task more heap ({key}, or fewer cores per executor), or keep fewer objects in it (cached data, broadcasts, collected lists).{and_collector}"
            ))
            .changes(larger)
            .changes(parallel),
    );
}

/// The setting that makes the JVMs that run tasks collect with one thread.
struct SerialCollector {
    key: &'static str,
    options: String,
}

impl SerialCollector {
    const FLAG: &'static str = "-XX:+UseSerialGC";

    fn of(context: &Context<'_>, conf: &Conf<'_>) -> Option<Self> {
        let keys = if context.is_local {
            ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"]
        } else {
            ["spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions"]
        };
        keys.into_iter().find_map(|key| {
            let options = conf.text(key)?;
            options.split_whitespace().any(|option| option == Self::FLAG).then_some(Self { key, options })
        })
    }

    fn as_g1(&self) -> String {
        self.options.replace(Self::FLAG, "-XX:+UseG1GC")
    }
}

/// How full heaps were while a stage ran.
struct Heap {
    peak: Option<i64>,
    limit: Option<i64>,
}

impl Heap {
    fn of(context: &Context<'_>, view: &StageView<'_>) -> Self {
        let by_task = view
            .measured(TaskColumn::JvmHeapMemory)
            .then(|| view.useful().map(|task| task.peak_heap_bytes).max());
        let by_stage = view
            .stage
            .executor_peaks
            .iter()
            .filter(|(executor, _)| context.is_local || executor.as_str() != "driver")
            .filter_map(|(_, peaks)| peaks.get("JVMHeapMemory").copied())
            .max();
        let key = if context.is_local { "spark.driver.memory" } else { "spark.executor.memory" };
        Heap {
            peak: by_task.flatten().max(by_stage).filter(|bytes| *bytes > 0),
            limit: context.conf(None).bytes(key),
        }
    }

    fn share(&self) -> Option<f64> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some((self.peak? as f64 / limit as f64).min(1.0))
    }
}

fn low(context: &Context<'_>, sink: &mut Sink) {
    let (gc, run) =
        context.stages.iter().fold((0, 0), |sum, stage| (sum.0 + stage.all.gc_ms, sum.1 + stage.all.run_ms));
    let Some(memory) = context.conf(None).bytes("spark.executor.memory") else { return };
    let has_peaks = context
        .run
        .executors
        .iter()
        .any(|executor| executor.peaks.get("JVMHeapMemory").is_some_and(|peak| *peak > 0));
    let measured = context.run.stages.iter().any(|stage| {
        let mut any = false;
        stage.tasks.for_each(TaskColumn::JvmGcTime, |_, _| any = true);
        any
    });
    if (run as f64) < context.get(&LOW_RUN_MS)
        || (memory as f64) < context.get(&LOW_HEAP_BYTES)
        || gc as f64 >= context.get(&LOW_SHARE) * run as f64
        || has_peaks
        || !measured
        || context.is_native
        || context.is_local
    {
        return;
    }
    let share = gc as f64 / run as f64;
    let title = format!(
        "Only {} of the run time is garbage collection with {} of executor memory",
        words::percent(share),
        words::size(memory)
    );
    let mut claim = Claim::new("gc", Scope::default(), title)
        .evidence("gc_ms", gc)
        .evidence("run_ms", run)
        .evidence("gc_share", rounded(share))
        .evidence("executor_memory_bytes", memory)
        .advice("Executors may do with less memory. Log their peaks first (spark.eventLog.logStageExecutorMetrics), then lower spark.executor.memory in steps.")
        .changes(context.conf(None).propose("spark.eventLog.logStageExecutorMetrics", "true"));
    claim.variant = Some("low");
    claim.nature = Nature::Configuration;
    claim.confidence = Confidence::Low;
    claim.severity = Some(Severity::Info);
    claim.worth = Worth::Resource;
    claim.validate = "If the peaks of the heap are near its size, it is needed.".to_owned();
    sink.claim(claim);
}

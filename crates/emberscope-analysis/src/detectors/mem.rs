//! Memory that was paid for and not used.

use crate::capacity::{Capacity, SMALL_RUN_CORE_MS, capacity};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{core_time, percent, rounded, setting_size, size};
use emberscope_model::run::Executor;

const IDLE_SHARE: Threshold = Threshold {
    tag: "MEM",
    name: "idle_share",
    default: 0.5,
    doc: "Share of the offered core-time that must be idle for `idleCores`.",
};

const HEAP_USED_SHARE: Threshold = Threshold {
    tag: "MEM",
    name: "heap_used_share",
    default: 0.7,
    doc: "Highest share of the heap that any executor may have used for `heapOverProvisioned`.",
};

const HEAP_HEADROOM: Threshold = Threshold {
    tag: "MEM",
    name: "heap_headroom_ratio",
    default: 1.3,
    doc: "Heap to propose, as a multiple of the highest peak.",
};

const SMALLEST_HEAP: Threshold = Threshold {
    tag: "MEM",
    name: "smallest_heap_bytes",
    default: 1_073_741_824.0,
    doc: "Heap below which a smaller one is not proposed: Spark's own default.",
};

const OBSERVED_MS: Threshold = Threshold {
    tag: "MEM",
    name: "min_observed_ms",
    default: 60_000.0,
    doc: "Executor lifetime from which a heap peak counts: peaks come with heartbeats, every 10 s by default.",
};

const BRIEF_MS: Threshold = Threshold {
    tag: "MEM",
    name: "min_brief_ms",
    default: 5_000.0,
    doc: "Executor lifetime from which a heap that was hardly touched counts, where tasks reported its peaks: these come \
          with the end of tasks, without waiting for a heartbeat.",
};

const BRIEF_SHARE: Threshold = Threshold {
    tag: "MEM",
    name: "brief_heap_used_share",
    default: 0.2,
    doc: "Highest share of the heap that may have been used for `heapOverProvisioned`, where executors lived less than \
          `min_observed_ms`.",
};

const WASTE_RATIO: Threshold = Threshold {
    tag: "MEM",
    name: "waste_ratio",
    default: 1.5,
    doc: "Held over used memory-time from which `wasteModel` fires.",
};

const GC_SHARE: Threshold = Threshold {
    tag: "MEM",
    name: "max_gc_share",
    default: 0.08,
    doc: "Share of the run time in garbage collection above which a smaller heap is not proposed.",
};

/// Memory that was paid for and not used.
pub static MEM: Detector = Detector {
    tag: "MEM",
    title: "Memory utilization",
    types: &[FindingType {
        name: "memoryUtilization",
        what: "Executors held memory that was not used: by idle cores, or as heap that never filled.",
    }],
    thresholds: &[
        IDLE_SHARE,
        HEAP_USED_SHARE,
        HEAP_HEADROOM,
        SMALLEST_HEAP,
        OBSERVED_MS,
        BRIEF_MS,
        BRIEF_SHARE,
        WASTE_RATIO,
        GC_SHARE,
    ],
    checks: &[Check::App(check)],
    what: "Memory is held for as long as an executor lives, whether its cores work or not. Three variants:\n\n\
           * `idleCores`: most of the core-time was idle, and with it the memory that belongs to these cores.\n\
           * `heapOverProvisioned`: no executor ever filled much of its heap.\n\
           * `wasteModel`: cores and heap together, where neither alone is far off: memory-time held against \
           memory-time that running tasks needed.\n\nMemory-time is the size of the container (heap, overhead, \
           off-heap, Python) times lifetime; on a standalone cluster, which has no containers, heap and off-heap.",
    rule: "`idleCores` fires when the idle share of the core-time is above `idle_share`. `heapOverProvisioned` fires \
           when the highest heap peak of all executors that lived `min_observed_ms` is below `heap_used_share` of \
           the heap, nothing was spilled and garbage collection took less than `max_gc_share` of the run time; where none \
           lived that long, from `min_brief_ms` on, when the peak is below `brief_heap_used_share`. \
           `wasteModel` fires when held / used memory-time is above `waste_ratio` and no other variant did. The \
           others need `UTIL.min_allocated_core_ms` of offered core-time.",
    why: "Clusters are billed, and scheduled, by memory as much as by cores. A heap twice the size needed halves the \
          number of executors that fit on a machine.",
    fix: "Set the heap to the peak with some headroom, or use the freed memory for more executors:\n\n```sql\n-- at \
          submission, no session setting:\n-- spark.executor.memory=6g\n```\n\n```python\nspark = \
          SparkSession.builder.config(\"spark.executor.memory\", \"6g\").getOrCreate()\n```\n\nFor `idleCores` see \
          `utilization`: fewer executors, or dynamic allocation.",
    limits: "A heap peak counts garbage that was not collected yet, so that a high peak does not show that the memory \
             was needed; only low ones mean something. Peaks need heartbeats and \
             `spark.eventLog.logStageExecutorMetrics`, or executor metrics at task ends (Spark 3.0 and later). In local \
             mode the heap is the driver's and is not judged. Native engines keep data outside the heap: their heap \
             peaks say nothing, and are not judged.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.is_local {
        return;
    }
    let Some(capacity) = capacity(ctx) else {
        sink.not_checked("memoryUtilization", "the log tells no executor's cores, or no task ran", None);
        return;
    };
    let is_small = (capacity.allocated as f64) < ctx.get(&SMALL_RUN_CORE_MS);
    let heap = heap(ctx, sink, is_small);
    let over_provisioned = heap.as_ref().filter(|heap| is_over_provisioned(ctx, heap));
    if is_small {
        sink.claims.extend(over_provisioned.map(|heap| heap_claim(ctx, heap)));
        return;
    }
    let is_idle = capacity.idle_share() > ctx.get(&IDLE_SHARE);
    if is_idle {
        sink.claim(idle_cores(ctx, &capacity));
    }
    if let Some(heap) = over_provisioned {
        sink.claim(heap_claim(ctx, heap));
    }
    if !is_idle && over_provisioned.is_none() {
        let observed = heap.as_ref().filter(|heap| !heap.is_brief);
        sink.claims.extend(waste(ctx, &capacity, observed));
    }
}

/// The heap of the executor that filled its heap most.
struct Heap {
    peak: i64,
    size: i64,
    executors: usize,
    /// Whether no executor lived long enough to be sure.
    is_brief: bool,
}

impl Heap {
    fn share(&self) -> f64 {
        if self.size > 0 { self.peak as f64 / self.size as f64 } else { 1.0 }
    }
}

/// Heap peaks, or `None` and why they are not known; in small runs that is not worth a word.
fn heap(ctx: &Context<'_>, sink: &mut Sink, is_small: bool) -> Option<Heap> {
    if ctx.is_native {
        if !is_small {
            sink.not_checked("memoryUtilization", "a native engine keeps its data outside the heap", None);
        }
        return None;
    }
    let fullest = fullest(ctx, &OBSERVED_MS)
        .or_else(|| fullest(ctx, &BRIEF_MS).map(|heap| Heap { is_brief: true, ..heap }));
    if fullest.is_none() && !is_small {
        sink.not_checked(
            "memoryUtilization",
            "no executor that lived long enough has a heap peak in the log",
            Some("spark.eventLog.logStageExecutorMetrics"),
        );
    }
    fullest
}

/// Of the executors that lived so long, the one that filled its heap most.
fn fullest(ctx: &Context<'_>, observed: &Threshold) -> Option<Heap> {
    let is_observed = |executor: &&Executor| {
        let lived = executor.lifetime(ctx.end_ms).map_or(0, |(added, removed)| removed - added);
        executor.id != "driver" && lived as f64 >= ctx.get(observed)
    };
    let mut fullest: Option<Heap> = None;
    let mut executors = 0;
    for executor in ctx.run.executors.iter().filter(is_observed) {
        let peak = executor.peaks.get("JVMHeapMemory").copied().filter(|peak| *peak > 0);
        let Some(peak) = peak else { continue };
        let size = ctx.run.executor_memory(executor).heap_bytes;
        executors += 1;
        let heap = Heap { peak, size, executors, is_brief: false };
        if fullest.as_ref().is_none_or(|fullest| heap.share() > fullest.share()) {
            fullest = Some(heap);
        }
    }
    fullest.map(|heap| Heap { executors, ..heap })
}

fn is_over_provisioned(ctx: &Context<'_>, heap: &Heap) -> bool {
    let spilled: i64 = ctx.stages.iter().map(|digest| digest.all.memory_spilled_bytes).sum();
    let run: i64 = ctx.stages.iter().map(|digest| digest.all.run_ms).sum();
    let gc: i64 = ctx.stages.iter().map(|digest| digest.all.gc_ms).sum();
    let most = if heap.is_brief { &BRIEF_SHARE } else { &HEAP_USED_SHARE };
    heap.share() < ctx.get(most)
        && spilled == 0
        && gc as f64 <= run as f64 * ctx.get(&GC_SHARE)
        && proposed_heap(ctx, heap) < heap.size
}

fn proposed_heap(ctx: &Context<'_>, heap: &Heap) -> i64 {
    let wanted = (heap.peak as f64 * ctx.get(&HEAP_HEADROOM)).max(ctx.get(&SMALLEST_HEAP));
    // Whole steps of 256 MiB: nobody sets a heap of 5,437 MiB.
    let step = f64::from(256 << 20);
    ((wanted / step).ceil() * step) as i64
}

fn heap_claim(ctx: &Context<'_>, heap: &Heap) -> Claim {
    let proposed = proposed_heap(ctx, heap);
    let title = format!(
        "No executor used more than {} of its {} heap ({})",
        size(heap.peak),
        size(heap.size),
        percent(heap.share())
    );
    // There the type of the workers decides the heap.
    let is_of_workers = ctx.conf(None).is_databricks();
    let change = match is_of_workers {
        true => Some(Change::resource("workers", None, "a type with less memory")),
        false => ctx.conf(None).propose("spark.executor.memory", setting_size(proposed)),
    };
    let mut claim = base(title, "heapOverProvisioned")
        .evidence("heap_peak_bytes", heap.peak)
        .evidence("heap_bytes", heap.size)
        .evidence("heap_used_share", rounded(heap.share()))
        .evidence("proposed_heap_bytes", proposed)
        .evidence("executors_observed", heap.executors)
        .evidence("freed_byte_ms", freed_byte_ms(ctx, heap.size - proposed))
        .advice(format!(
            "A heap of {} leaves headroom above the highest peak. {}",
            size(proposed),
            if is_of_workers {
                "The type of the workers decides it: one with less memory would do, unless native code or Python needs the rest."
            } else {
                "Give the rest back, or run more executors on it."
            }
        ))
        .changes(change);
    claim.nature = Nature::Configuration;
    claim.confidence = if heap.is_brief { Confidence::Low } else { Confidence::Medium };
    claim.validate =
        "Run it with the smaller heap: more garbage collection, spill or lost executors refute it."
            .to_owned();
    claim
}

/// Bytes that each executor would not hold, times lifetimes.
fn freed_byte_ms(ctx: &Context<'_>, bytes: i64) -> f64 {
    lifetimes(ctx).map(|(_, lived)| bytes as f64 * lived as f64).sum()
}

fn lifetimes<'c>(ctx: &'c Context<'_>) -> impl Iterator<Item = (&'c Executor, i64)> {
    let lived = |executor: &Executor| executor.lifetime(ctx.end_ms).map(|(added, removed)| removed - added);
    executors(ctx).filter_map(move |executor| Some((executor, lived(executor)?)))
}

/// Those that run tasks: not the driver, unless it does.
fn executors<'c>(ctx: &'c Context<'_>) -> impl Iterator<Item = &'c Executor> {
    ctx.run.executors.iter().filter(|executor| ctx.is_local || executor.id != "driver")
}

fn idle_cores(ctx: &Context<'_>, capacity: &Capacity) -> Claim {
    let is_dynamic = ctx.conf(None).bool("spark.dynamicAllocation.enabled") == Some(true);
    let held = held_byte_ms(ctx);
    let idle_byte_ms = held * capacity.idle_share();
    let title = format!(
        "Executors held their memory while {} of their core-time was idle ({})",
        percent(capacity.idle_share()),
        core_time(capacity.idle)
    );
    let mut claim = base(title, "idleCores")
        .evidence("idle_share", rounded(capacity.idle_share()))
        .evidence("idle_core_ms", capacity.idle)
        .evidence("allocated_core_ms", capacity.allocated)
        .evidence("held_byte_ms", held)
        .evidence("idle_byte_ms", idle_byte_ms)
        .advice(if ctx.conf(None).is_databricks() {
            "A smaller cluster, or autoscaling with a smaller lower bound, frees memory and cores alike."
        } else if is_dynamic {
            "Dynamic allocation asked for more executors than there was work for: a smaller upper bound frees memory \
             and cores alike."
        } else {
            "Fewer executors, or dynamic allocation that gives idle ones back, free memory and cores alike."
        })
        .change(Change::resource(
            "executors",
            Some(executors(ctx).count().to_string()),
            if is_dynamic { "fewer at a time" } else { "fewer, or given back while idle" },
        ));
    claim.confidence = Confidence::High;
    claim.core_ms = Some(capacity.idle);
    claim.validate =
        "Run it with half the executors: a wall time that grows in proportion refutes it.".to_owned();
    claim
}

fn waste(ctx: &Context<'_>, capacity: &Capacity, heap: Option<&Heap>) -> Option<Claim> {
    /// Share of the heap from which a smaller one would not do.
    const FILLED: f64 = 0.75;
    let held = held_byte_ms(ctx);
    let heap_share = heap.map_or(1.0, Heap::share).min(1.0);
    let used = held * capacity.used_share() * heap_share;
    let ratio = if used > 0.0 { held / used } else { return None };
    if ratio <= ctx.get(&WASTE_RATIO) || held <= 0.0 {
        return None;
    }
    let is_filled = heap.is_some() && heap_share >= FILLED;
    let title = format!(
        "Executors held {ratio:.1} times the memory that running tasks used: {} of the cores busy{}",
        percent(capacity.used_share()),
        heap.map_or_else(String::new, |_| format!(", {} of the heap filled", percent(heap_share)))
    );
    let mut claim = base(title, "wasteModel")
        .evidence("waste_ratio", rounded(ratio))
        .evidence("held_byte_ms", held)
        .evidence("used_byte_ms", used)
        .evidence("used_share", rounded(capacity.used_share()))
        .evidence("idle_core_ms", capacity.idle)
        .advice(if is_filled {
            "Raise the number of tasks that run at a time, or ask for fewer executors: each needs its memory."
        } else {
            "Raise the number of tasks that run at a time, or ask for fewer or smaller executors."
        })
        .change(Change::resource(
            "executor memory",
            None,
            if is_filled { "fewer executors" } else { "smaller or fewer executors" },
        ));
    if heap.is_some() {
        claim = claim.evidence("heap_used_share", rounded(heap_share));
    }
    claim.confidence = Confidence::Low;
    claim.core_ms = Some(capacity.idle);
    claim.validate = if heap.is_some() {
        "Run it with fewer executors: a wall time that grows in proportion refutes it."
    } else {
        "Measure executor memory with spark.eventLog.logStageExecutorMetrics: peaks near the heap refute it."
    }
    .to_owned();
    Some(claim)
}

/// Memory of all executors times their lifetimes.
fn held_byte_ms(ctx: &Context<'_>) -> f64 {
    lifetimes(ctx)
        .map(|(executor, lived)| ctx.run.executor_memory(executor).bytes() as f64 * lived as f64)
        .sum()
}

fn base(title: String, variant: &'static str) -> Claim {
    let mut claim = Claim::new("memoryUtilization", Scope::default(), title);
    claim.variant = Some(variant);
    claim.subject = variant.to_owned();
    claim.nature = Nature::Resource;
    claim.worth = Worth::Resource;
    claim.severity = Some(Severity::Info);
    claim
}

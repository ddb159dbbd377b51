//! Tasks that are slow for another reason than their data.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature};
use crate::stage_view::StageView;
use crate::tail::{self, Cause, Tail};
use crate::tail_worth;
use crate::words::{self, rounded};

const RATIO: Threshold = Threshold {
    tag: "STRAG",
    name: "ratio",
    default: 2.5,
    doc: "Times the median of its peers that the longest task must take, where something measured explains it.",
};
const UNEXPLAINED_RATIO: Threshold = Threshold {
    tag: "STRAG",
    name: "unexplained_ratio",
    default: 3.0,
    doc: "Times the median of its peers that the longest task must take, where nothing explains it.",
};
const LEAST_WALL_SHARE: Threshold = Threshold {
    tag: "STRAG",
    name: "least_wall_share",
    default: 0.02,
    doc: "Least share of the run's wall time that the longest task must take over its peers, where it is a cold executor, Python or nothing known.",
};
const LEAST_MS: Threshold = Threshold {
    tag: "STRAG",
    name: "least_ms",
    default: 1000.0,
    doc: "Least excess of the longest task, where it is a collection or nothing known: less is what any JVM does now and then.",
};
const UNEXPLAINED_SHARE: Threshold = Threshold {
    tag: "STRAG",
    name: "unexplained_share",
    default: 0.1,
    doc: "Largest share of tasks that may be slow, where nothing explains it: more are the noise of the machines. One always may.",
};
const SURE_SHARE: Threshold = Threshold {
    tag: "STRAG",
    name: "sure_share",
    default: 0.7,
    doc: "Share of the excess that the named cause explains from which the finding is sure.",
};

/// The detector.
pub static STRAG: Detector = Detector {
    tag: "STRAG",
    title: "Stragglers",
    types: &[FindingType {
        name: "straggler",
        what: "A few tasks of a stage take much longer than the others, and their data does not explain it.",
    }],
    thresholds: &[
        RATIO,
        UNEXPLAINED_RATIO,
        LEAST_MS,
        UNEXPLAINED_SHARE,
        tail::COLD_SHARE,
        LEAST_WALL_SHARE,
        tail::COLD_MS,
        tail::WARM_UP_MS,
        SURE_SHARE,
        tail::SLOW_RATIO,
        tail::SLOW_EXCESS_MS,
        tail::DATA_RATIO,
        tail::SPILL_RATE,
        tail::HOST_SHARE,
        tail::HOST_LIFT,
        tail::HOST_TASKS,
    ],
    checks: &[Check::Stage(check)],
    what: "Some tasks of the stage took several times what their peers took on about the same data. The \
finding names the largest cause of their excess: garbage collection, waiting for shuffle blocks, \
spilling, a cold executor, scheduling, a partition missing in the cache, the host, Python workers; or \
that nothing in the log explains it. Where more data explains it, the finding is `skew` instead.",
    rule: "A task is slow from `slow_ratio` times the median of its peers on, at least `slow_excess_ms` over \
it, and beyond the longest task to be expected of a log-normal body (its spread is read off the faster \
half, so that a tail does not widen its own limit). The excess over the median is charged in this order, \
each at most what is left: data in proportion to its volume, collections, fetch wait, spilled bytes at \
`spill_bytes_per_second`, deserialization, scheduling, and then for what is left: more data (from \
`data_ratio` on), the first wave of a fresh executor (at most `cold_ms`) or of the stage (at most `warm_up_ms`, or up to twice what half of that wave takes longer), one executor with `host_tasks` slow tasks, `host_share` of \
the excess and `host_lift` times its share of tasks, Python. The finding is made when the largest part is not \
data and the longest task takes `ratio` times (`unexplained_ratio` times, if unexplained) the median. Cold \
executors are reported only where at most `cold_share` of the executors were fresh; the first wave of a stage never is. Tasks that are slow for such a start \
are left out, so that a wave of them does not hide one that is slow for another reason. Collections and what nothing explains \
only from `least_ms` on, the latter in at most `unexplained_share` of the tasks; these, and Python, only from `least_wall_share` of the run on.",
    why: "A stage ends with its last task. What the slow ones take beyond their peers is time in which most \
cores have nothing to do, and every following stage waits.",
    fix: "By cause: *gc*, fewer or smaller objects or more memory per task; *fetch_wait*, look at the node that \
serves the blocks; *host*, take the machine out (`spark.excludeOnFailure.enabled`) or let Spark run copies \
elsewhere; *cold_executor*, keep executors (`spark.dynamicAllocation.minExecutors`); *cache_miss*, cache \
with a level that spills to disk.\n\n\
```python\nfrom pyspark import StorageLevel\ndf.persist(StorageLevel.MEMORY_AND_DISK)\n```\n\n\
*python*: use Arrow, or built-in functions.\n\n\
```sql\nSET spark.sql.execution.arrow.pyspark.enabled = true\n```\n\n\
*unexplained*: the cost per row differs (regular expressions, parsing, user code, calls to other systems): \
take a profile of the task.",
    limits: "The log does not say what a task waited for outside of Spark. JVM GC time is that of the whole \
executor. Python's own time is not in the CPU time of the JVM. On native engines several of the measured causes are \
zero without being measured.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let Some((tail, _)) = tail::find(context, view) else { return };
    let cause = tail.cause();
    let least = if cause == Cause::Unexplained { &UNEXPLAINED_RATIO } else { &RATIO };
    if tail.ratio() < context.get(least) || is_usual(context, &tail, cause) {
        return;
    }
    sink.claim(claim(context, view, &tail, cause));
}

/// Whether such a tail is what every application has, or another detector's.
fn is_usual(context: &Context<'_>, tail: &Tail, cause: Cause) -> bool {
    let longest_excess = tail.slow.first().map_or(0.0, |slow| slow.excess_ms);
    let is_short = context
        .share_of_wall(longest_excess as i64)
        .is_some_and(|share| share < context.get(&LEAST_WALL_SHARE));
    let is_brief = longest_excess < context.get(&LEAST_MS);
    match cause {
        Cause::Data | Cause::WarmUp => true,
        Cause::Gc => is_brief,
        Cause::ColdExecutor | Cause::Python => is_short,
        Cause::Unexplained => {
            let most = context.get(&UNEXPLAINED_SHARE) * (tail.peers + tail.slow.len()) as f64;
            is_short || is_brief || tail.slow.len() as f64 > most.max(1.0)
        }
        _ => false,
    }
}

fn claim(context: &Context<'_>, view: &StageView<'_>, tail: &Tail, cause: Cause) -> Claim {
    let slowest = &view.tasks[tail.slow[0].at];
    let share = tail.share(cause);
    let executor = tail.executor.map(|id| context.text(id).to_owned());
    let reason = match cause {
        Cause::Gc => "garbage collection".to_owned(),
        Cause::FetchWait => "waiting for shuffle blocks".to_owned(),
        Cause::Spill => "spilling".to_owned(),
        Cause::ColdExecutor => "a cold executor".to_owned(),
        Cause::Scheduling => "the way between driver and executor".to_owned(),
        Cause::CacheMiss => "partitions that were not in the cache".to_owned(),
        Cause::Host => format!("executor {}", executor.as_deref().unwrap_or("?")),
        Cause::Python => "Python code".to_owned(),
        Cause::Data | Cause::WarmUp | Cause::Unexplained => "nothing in the log".to_owned(),
    };
    let title = format!(
        "{} of stage {} took {}{} where the others took {}: {reason} explains {}",
        words::count(tail.slow.len(), "task"),
        view.stage.id,
        if tail.slow.len() == 1 { "" } else { "up to " },
        words::duration(slowest.duration_ms()),
        words::duration(tail.median_ms.round() as i64),
        if cause == Cause::Unexplained { "it".to_owned() } else { words::percent(share) + " of it" },
    );
    let mut claim = Claim::new("straggler", context.stage_scope(view.digest), title)
        .evidence("cause", cause.name())
        .evidence("cause_share", rounded(share))
        .evidence("tasks", view.digest.useful)
        .evidence("slow_tasks", tail.slow.len())
        .evidence("longest_ms", slowest.duration_ms())
        .evidence("median_ms", tail.median_ms.round() as i64)
        .evidence("time_ratio", rounded(tail.ratio()))
        .evidence("excess_ms", tail.excess_ms().round() as i64)
        .evidence("records_ratio", tail.records_ratio.map(rounded))
        .evidence("bytes_ratio", tail.bytes_ratio.map(rounded))
        .evidence(
            "slow_task_ids",
            tail.slow.iter().take(10).map(|slow| view.tasks[slow.at].id).collect::<Vec<_>>(),
        );
    for part in tail::CAUSES.into_iter().filter(|part| tail.parts.of(*part) >= 1.0) {
        claim = claim.evidence(&format!("{}_ms", part.name()), tail.parts.of(part).round() as i64);
    }
    if let Some(executor) = executor {
        claim = claim.evidence("executor", executor.clone());
        claim.scope.executor_id = Some(executor);
    }
    claim.confidence = match cause {
        Cause::Unexplained => Confidence::Low,
        _ if share >= context.get(&SURE_SHARE) => Confidence::High,
        _ => Confidence::Medium,
    };
    // Few tasks that nothing explains: a copy elsewhere, or the next run, takes what their peers took, less
    // the time until it is started.
    let sure = if cause == Cause::Unexplained { 0.6 } else { 0.5 };
    claim.worth = tail_worth::without(view, tail, &[cause], sure);
    claim.core_ms = Some((tail.parts.of(cause) * view.digest.task_cpus) as i64);
    with_fix(context, view, cause, claim)
}

fn with_fix(context: &Context<'_>, view: &StageView<'_>, cause: Cause, mut claim: Claim) -> Claim {
    let conf = context.conf_of_stage(view.digest);
    let speculation = || conf.propose("spark.speculation", "true");
    let (nature, text, changes, validate) = match cause {
        Cause::Gc => (
            Nature::Resource,
            "Give each task more memory (fewer cores per executor or a larger heap), or create fewer objects: the slow tasks ran while their executor collected.",
            Vec::new(),
            "Look at the GC log of the executor: if its pauses are short while the slow tasks ran, GC is not the cause.",
        ),
        Cause::FetchWait => (
            Nature::Resource,
            "Look at the node that served the blocks to the slow tasks: its disk, network or collections held them up.",
            Vec::new(),
            "If other tasks that fetch from the same nodes are fast, the nodes are not the cause.",
        ),
        Cause::Spill => (
            Nature::Resource,
            "Give the slow tasks more memory; with about the same data as their peers they had to spill, so that others held the executor's memory.",
            Vec::new(),
            "If tasks that spilled as much elsewhere are fast, spilling is not the cause.",
        ),
        Cause::ColdExecutor => (
            Nature::Configuration,
            "Executors that came late paid for class loading and compilation again. Keep them longer or start with enough of them.",
            Vec::new(),
            "Later tasks of the same executors must be as fast as those of the others.",
        ),
        Cause::Scheduling => (
            Nature::Resource,
            "The driver was slow to launch these tasks or to take their results: see whether it is overloaded, or the results are large.",
            Vec::new(),
            "Result size and driver load at that time must be unusual.",
        ),
        Cause::CacheMiss => (
            Nature::Configuration,
            "Part of the cached data was not in memory and was computed again: cache with MEMORY_AND_DISK, or give the cache more memory.",
            vec![Change::code("persist", "MEMORY_AND_DISK")],
            "The Storage tab must show fewer cached partitions than there are.",
        ),
        Cause::Host => (
            Nature::Resource,
            "Take the machine of this executor out of the cluster, or, with others there, let Spark run copies of slow tasks elsewhere.",
            speculation().into_iter().collect(),
            "The same executor must be slow in other stages as well.",
        ),
        Cause::Python => (
            Nature::Code,
            "Python workers took the time: make the function cheaper for the rows of these partitions, or use built-in functions or Arrow.",
            Vec::new(),
            "A profile of the Python worker (spark.python.profile) must show the time.",
        ),
        Cause::Data | Cause::WarmUp | Cause::Unexplained => (
            Nature::Code,
            "These tasks read about as much as the others and nothing measured explains them: look for rows that cost more (parsing, user code, calls to other systems), or for waiting outside of Spark; a profile of a slow task tells.",
            speculation().into_iter().collect(),
            "Run the stage again: if other partitions are slow then, it is the machines and not the rows.",
        ),
    };
    claim.nature = nature;
    claim.validate = validate.to_owned();
    claim.advice(text).changes(changes)
}

//! Executors that came and went before they were of use.

use crate::capacity::was_given_back;
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{core_time, count, duration, percent, rounded};
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::Executor;
use std::collections::HashMap;

const MIN_EXECUTORS: Threshold = Threshold {
    tag: "CHRN",
    name: "min_executors",
    default: 5.0,
    doc: "Executors that a run must have had.",
};

const SHORT_MS: Threshold = Threshold {
    tag: "CHRN",
    name: "short_lived_ms",
    default: 120_000.0,
    doc: "Lifetime below which an executor that was given back is short-lived.",
};

const SHORT_SHARE: Threshold = Threshold {
    tag: "CHRN",
    name: "short_lived_share",
    default: 0.3,
    doc: "Share of short-lived executors above which the run churns.",
};

const HIGH_SHARE: Threshold = Threshold {
    tag: "CHRN",
    name: "high_share",
    default: 0.6,
    doc: "Share of short-lived executors from which the confidence is high.",
};

const END_MS: Threshold = Threshold {
    tag: "CHRN",
    name: "end_ms",
    default: 5_000.0,
    doc: "Executors removed in the last milliseconds of a run went with it and were not given back.",
};

const KEEP_RATIO: Threshold = Threshold {
    tag: "CHRN",
    name: "idle_timeout_ratio",
    default: 1.5,
    doc: "The idle timeout that is proposed over `short_lived_ms`: longer than the longest life that counts as short, so \
          that such executors would have been kept.",
};

/// Executors that came and went before they were of use.
pub static CHRN: Detector = Detector {
    tag: "CHRN",
    title: "Autoscaling churn",
    types: &[FindingType {
        name: "autoscalingChurn",
        what: "Dynamic allocation added executors and gave them back soon after, again and again.",
    }],
    thresholds: &[MIN_EXECUTORS, SHORT_MS, SHORT_SHARE, HIGH_SHARE, END_MS, KEEP_RATIO],
    checks: &[Check::App(check)],
    what: "Many executors lived only for a short time before dynamic allocation gave them back. Each one cost a \
           container, a new JVM and cold caches: its first tasks load classes and compile code again. Only executors \
           that were given back count; executors that crashed, were preempted or lost with their node belong to \
           `failures` and are only mentioned here.",
    rule: "Fires when the run had at least `min_executors` executors and more than `short_lived_share` of them were \
           given back within `short_lived_ms` of being added. Executors that are there at the end of the run, or go \
           within its last `end_ms`, are not short-lived however young they are.",
    why: "Between being added and its first task an executor only costs. After that its first tasks are slower than \
          later ones, typically by one to several seconds each. The evidence gives the core-time that short-lived \
          executors held without running a task.",
    fix: "Where given back executors were asked for again and stages waited for them, keep idle ones longer; where they came \
          too late to be of use, ask for fewer:\n\n```sql\n-- at submission:\n\
          -- spark.dynamicAllocation.executorIdleTimeout=180s\n-- spark.dynamicAllocation.minExecutors=4\n```\n\n\
          ```python\nspark = (SparkSession.builder\n    .config(\"spark.dynamicAllocation.executorIdleTimeout\", \
          \"180s\")\n    .config(\"spark.dynamicAllocation.executorAllocationRatio\", \"0.5\")\n    .getOrCreate())\n```",
    limits: "The reason of a removal is a text of the cluster manager; removals with other texts count as losses. What \
             warm-up cost in wall time is told by `coldStart`, where executors were waited for.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.is_local {
        return;
    }
    let executors: Vec<&Executor> =
        ctx.run.executors.iter().filter(|executor| executor.added_ms.is_some()).collect();
    if (executors.len() as f64) < ctx.get(&MIN_EXECUTORS) {
        return;
    }
    let short: Vec<&Executor> = executors.iter().copied().filter(|one| is_short_lived(ctx, one)).collect();
    let share = short.len() as f64 / executors.len() as f64;
    if share > ctx.get(&SHORT_SHARE) {
        sink.claim(claim(ctx, &executors, &short, share));
    }
}

fn is_short_lived(ctx: &Context<'_>, executor: &Executor) -> bool {
    let (Some(added), Some(removed)) = (executor.added_ms, executor.removed_ms) else { return false };
    // One that went before it came has a wrong time, which says nothing of its life.
    was_given_back(executor)
        && removed >= added
        && ((removed - added) as f64) < ctx.get(&SHORT_MS)
        && ((ctx.end_ms - removed) as f64) > ctx.get(&END_MS)
}

fn claim(ctx: &Context<'_>, executors: &[&Executor], short: &[&Executor], share: f64) -> Claim {
    let lived: i64 = short.iter().filter_map(|one| Some(one.removed_ms? - one.added_ms?)).sum();
    let idle = idle_core_ms(ctx, short);
    let first_given_back = short.iter().filter_map(|one| one.removed_ms).min().unwrap_or(i64::MAX);
    let again = executors.iter().filter(|one| one.added_ms > Some(first_given_back)).count();
    let lost = executors.iter().filter(|one| one.removed_ms.is_some() && !was_given_back(one)).count();
    let title = format!(
        "{} of {} ({}) were given back within {} of their start; they held {} without a task",
        short.len(),
        count(executors.len(), "executor"),
        percent(share),
        duration(ctx.get(&SHORT_MS) as i64),
        core_time(idle)
    );
    let mut claim = Claim::new("autoscalingChurn", Scope::default(), title)
        .evidence("short_lived_executors", short.len())
        .evidence("executors", executors.len())
        .evidence("short_lived_share", rounded(share))
        .evidence("mean_lifetime_ms", lived / short.len().max(1) as i64)
        .evidence("idle_core_ms", idle)
        .evidence("lost_executors", lost)
        .evidence("added_later", again)
        .advice(if again > 0 {
            "Executors that had been given back were asked for again. Where stages waited for them, let idle ones live \
             longer than the pauses between stages, or keep a lower bound of them: that holds more idle cores in the \
             pauses. Where nothing waited, ask for fewer at a time."
        } else {
            "They came for work that others had mostly done by then. Ask for fewer at a time."
        })
        .changes(if again > 0 { keep(ctx) } else { ask_less(ctx) });
    claim.nature = Nature::Configuration;
    claim.confidence = if share >= ctx.get(&HIGH_SHARE) { Confidence::High } else { Confidence::Medium };
    claim.worth = Worth::Resource;
    claim.core_ms = Some(idle);
    claim.severity = Some(Severity::Info);
    claim.validate = "Run it with the change: as many executor starts as before refute it.".to_owned();
    claim
}

/// Half of the executors that waiting tasks would fill.
fn ask_less(ctx: &Context<'_>) -> Vec<Change> {
    let conf = ctx.conf(None);
    if conf.bool("spark.dynamicAllocation.enabled") != Some(true) {
        return vec![Change::resource("autoscaling", None, "a smaller upper bound")];
    }
    conf.propose("spark.dynamicAllocation.executorAllocationRatio", "0.5").into_iter().collect()
}

/// An idle timeout by which they would have been there still.
fn keep(ctx: &Context<'_>) -> Vec<Change> {
    let conf = ctx.conf(None);
    if conf.bool("spark.dynamicAllocation.enabled") != Some(true) {
        return vec![Change::resource("autoscaling", None, "slower scale-down, or a larger lower bound")];
    }
    let timeout = conf.ms("spark.dynamicAllocation.executorIdleTimeout").unwrap_or(0);
    let wanted = (ctx.get(&SHORT_MS) * ctx.get(&KEEP_RATIO)) as i64;
    let longer = (timeout < wanted)
        .then(|| conf.propose("spark.dynamicAllocation.executorIdleTimeout", format!("{}s", wanted / 1000)));
    longer.flatten().into_iter().collect()
}

/// Core-time that executors held while none of their slots was taken.
fn idle_core_ms(ctx: &Context<'_>, short: &[&Executor]) -> i64 {
    let mut held: HashMap<&str, f64> = HashMap::new();
    for (stage, digest) in ctx.run.stages.iter().zip(&ctx.stages) {
        let launch = stage.tasks.column(TaskColumn::LaunchTime);
        let finish = stage.tasks.column(TaskColumn::FinishTime);
        stage.tasks.for_each(TaskColumn::Executor, |row, executor| {
            let (Some(launch), Ok(executor)) = (launch[row], u32::try_from(executor)) else { return };
            let ms = finish[row].unwrap_or(ctx.end_ms) - launch;
            *held.entry(ctx.text(executor)).or_default() += ms.max(0) as f64 * digest.task_cpus;
        });
    }
    let idle = |executor: &&Executor| {
        let lived = (executor.removed_ms? - executor.added_ms?).max(0);
        let offered = lived * i64::from(executor.cores?);
        Some((offered - held.get(executor.id.as_str()).copied().unwrap_or(0.0) as i64).max(0))
    };
    short.iter().filter_map(idle).sum()
}

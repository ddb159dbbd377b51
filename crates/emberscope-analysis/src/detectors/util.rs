//! Cores that were paid for and did nothing.

use crate::capacity::{Capacity, SMALL_RUN_CORE_MS, capacity};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{core_time_of, percent, rounded};

const USED_SHARE: Threshold = Threshold {
    tag: "UTIL",
    name: "min_used_share",
    default: 0.6,
    doc: "Share of the offered core-time that tasks must take; below it the cluster counts as too large.",
};

const BETWEEN_SHARE: Threshold = Threshold {
    tag: "UTIL",
    name: "between_stages_share",
    default: 0.5,
    doc: "Share of the idle core-time without any running task from which the driver is named as the reason.",
};

/// Cores that were paid for and did nothing.
pub static UTIL: Detector = Detector {
    tag: "UTIL",
    title: "Utilization",
    types: &[FindingType {
        name: "utilization",
        what: "Tasks took only a part of the core-time that executors offered.",
    }],
    thresholds: &[USED_SHARE, BETWEEN_SHARE, SMALL_RUN_CORE_MS],
    checks: &[Check::App(check)],
    what: "The executors offered far more core-time than tasks took. Offered core-time is the sum over all \
           executors of lifetime times cores, so that executors that came late, left early or have other core \
           counts are counted as what they were. Taken is every slot that a task attempt held, attempts that \
           failed or were repeated included. The rest is idle, and is split into the part in which no task ran \
           anywhere and the part in which a stage ran on fewer cores than there were. Every idle figure of this \
           tool uses this one definition.",
    rule: "Fires when taken / offered core-time is below `min_used_share` and at least `min_allocated_core_ms` \
           were offered. If more than `between_stages_share` of the idle core-time had no running task at all, \
           the driver is named as the reason, else stages with too few tasks or long tails.",
    why: "Idle cores are paid for. The run gets no shorter by giving them back, so that this is a fact about \
          resources: the saving is core-time, not wall time.",
    fix: "If nothing ran between stages, shorten what the driver does (see `driverBound`) or let idle executors go \
          with dynamic allocation:\n\n```sql\n-- at submission: these are no session settings\n\
          -- spark.dynamicAllocation.enabled=true\n-- spark.dynamicAllocation.shuffleTracking.enabled=true\n```\n\n\
          ```python\nspark = (SparkSession.builder\n    .config(\"spark.dynamicAllocation.enabled\", \"true\")\n    \
          .config(\"spark.dynamicAllocation.maxExecutors\", \"8\")\n    .getOrCreate())\n```\n\nIf stages ran on few \
          cores, raise their number of partitions or ask for fewer executors.",
    limits: "Without executor events the log tells no cores, and nothing is said. A cluster shared by several \
             applications gives its idle cores to others, which the log of one application cannot show. In local \
             mode the cores are those of the driver's machine.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let Some(capacity) = capacity(ctx) else {
        sink.not_checked("utilization", "the log tells no executor's cores, or no task ran", None);
        return;
    };
    if (capacity.allocated as f64) < ctx.get(&SMALL_RUN_CORE_MS)
        || capacity.used_share() >= ctx.get(&USED_SHARE)
    {
        return;
    }
    sink.claim(claim(ctx, &capacity));
}

fn claim(ctx: &Context<'_>, capacity: &Capacity) -> Claim {
    let is_driver = capacity.idle_between_stages as f64 >= capacity.idle as f64 * ctx.get(&BETWEEN_SHARE);
    let holder = if is_local(ctx) { "local mode" } else { "executors" };
    let title = format!(
        "Tasks held {} of the core-time that {holder} offered: {} were idle",
        percent(capacity.used_share()),
        core_time_of(capacity.idle, capacity.allocated)
    );
    let mut claim = Claim::new("utilization", Scope::default(), title)
        .evidence("used_share", rounded(capacity.used_share()))
        .evidence("allocated_core_ms", capacity.allocated)
        .evidence("occupied_core_ms", capacity.occupied)
        .evidence("idle_core_ms", capacity.idle)
        .evidence("idle_between_stages_core_ms", capacity.idle_between_stages)
        .evidence("idle_in_stages_core_ms", capacity.idle_in_stages)
        .evidence("peak_cores", (capacity.peak_cores > 0).then_some(capacity.peak_cores))
        .advice(advice(ctx, is_driver))
        .changes(changes(ctx, capacity));
    claim.nature = Nature::Resource;
    claim.confidence = Confidence::High;
    claim.worth = Worth::Resource;
    claim.core_ms = Some(capacity.idle);
    claim.severity = Some(Severity::Info);
    let fewer = if is_local(ctx) { "fewer cores (local[N])" } else { "fewer executors" };
    claim.validate = format!(
        "Run it again with {fewer}: if the wall time grows by more than the share of cores that was taken away, the \
         idle cores were needed at times."
    );
    claim
}

/// One JVM is all there is: the driver's, which runs the tasks too.
fn is_local(ctx: &Context<'_>) -> bool {
    ctx.is_local || ctx.run.is_local_mode()
}

fn advice(ctx: &Context<'_>, is_driver: bool) -> String {
    let reason = if is_driver {
        "Most of the idle time had no running task at all: the driver was busy or waiting."
    } else {
        "Most of the idle time was inside stages that ran on fewer cores than there were: too few tasks, or a few \
         long ones at the end."
    };
    let fix = match is_local(ctx) {
        // Tasks cannot fill the time in which the driver has none to give.
        true if is_driver => {
            "Local mode has one JVM and no executors to give back, and more partitions would not fill these pauses: \
             shorten what the driver does, or give it fewer cores where others need the machine."
                .to_owned()
        }
        true => {
            "Local mode has one JVM and no executors to give back: give its stages more partitions, or it fewer cores \
             where others need the machine."
                .to_owned()
        }
        false => fewer_executors(ctx),
    };
    format!("{reason} {fix}")
}

/// How to have fewer executors, by what decides how many there are.
fn fewer_executors(ctx: &Context<'_>) -> String {
    const MIN: &str = "spark.dynamicAllocation.minExecutors";
    const MAX: &str = "spark.dynamicAllocation.maxExecutors";
    let conf = ctx.conf(None);
    if conf.bool("spark.dynamicAllocation.enabled") == Some(true) {
        let most = match conf.number(MAX).filter(|most| *most < f64::from(i32::MAX)) {
            Some(most) => format!("Lower the upper bound of dynamic allocation ({MAX}, now {most:.0})"),
            None => format!("Give dynamic allocation an upper bound ({MAX})"),
        };
        let least = conf.number(MIN).filter(|least| *least > 0.0);
        let least = least
            .map_or_else(String::new, |least| format!(", and lower the lower one ({MIN}, now {least:.0})"));
        format!("{most}{least}.")
    } else if conf.is_databricks() {
        "Make the cluster smaller, or let its autoscaling have a smaller lower bound.".to_owned()
    } else {
        "Ask for fewer executors, or let dynamic allocation give idle ones back.".to_owned()
    }
}

fn changes(ctx: &Context<'_>, capacity: &Capacity) -> Vec<Change> {
    let conf = ctx.conf(None);
    let wall = ctx.wall_ms.unwrap_or(0).max(1);
    let needed = (capacity.occupied as f64 / wall as f64).ceil().max(1.0) as i64;
    if is_local(ctx) {
        let change = || {
            Change::resource(
                "local cores",
                Some(capacity.peak_cores.to_string()),
                format!("fewer; tasks kept {needed} busy on average"),
            )
        };
        return (capacity.peak_cores > needed).then(change).into_iter().collect();
    }
    let cores = Change::resource(
        "cores",
        (capacity.peak_cores > 0).then(|| capacity.peak_cores.to_string()),
        format!("fewer; tasks kept {needed} busy on average"),
    );
    if conf.bool("spark.dynamicAllocation.enabled") == Some(true) {
        return vec![cores];
    }
    let mut changes = vec![cores];
    changes.extend(conf.propose("spark.dynamicAllocation.enabled", "true"));
    if conf.bool("spark.shuffle.service.enabled") != Some(true) {
        changes.extend(conf.propose("spark.dynamicAllocation.shuffleTracking.enabled", "true"));
    }
    changes
}

//! Work that was lost and done again, and the root cause of it.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::failure_fix;
use crate::finding::{Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::losses::{self, LossCause};
use crate::replay::Edit;
use crate::stage_view::{StageView, Task};
use crate::words::{self, rounded};
use emberscope_model::run::Executor;
use emberscope_model::tasks::LostCause;
use std::collections::{BTreeMap, BTreeSet};

const LEAST_MS: Threshold = Threshold {
    tag: "RETRY",
    name: "least_ms",
    default: 1000.0,
    doc: "Least task time that was lost, where no attempt failed.",
};
const WARNING_SHARE: Threshold = Threshold {
    tag: "RETRY",
    name: "warning_share",
    default: 0.005,
    doc: "Share of the task time of the run that was lost from which it is at least a warning.",
};

/// The detector.
pub static RETRY: Detector = Detector {
    tag: "RETRY",
    title: "Repeated work",
    types: &[FindingType {
        name: "retryWaste",
        what: "Executors or their shuffle data were lost, and finished work was done again.",
    }],
    thresholds: &[LEAST_MS, WARNING_SHARE],
    checks: &[Check::App(check)],
    what: "An executor goes, and with it the tasks it ran and the shuffle files it had written. Tasks that read those files fail to fetch them, \
their stage fails, and the stage that wrote them runs again for what is missing. The finding joins this chain to its root cause (out of memory, \
preemption, decommission, crash, missing heartbeats, or an idle executor that was let go with its files) and gives the cost of all of it.",
    rule: "All attempts that were lost to executors, fetch failures, resubmission and stage retries, by the cause of the executor they were on, \
or else of the executor that was lost last before. At least `least_ms` of task time, or an attempt that failed with its executor or for want \
of its files: that is told as a fact at least, with its cause. From `warning_share` of the task time of the run \
it is a warning whatever its wall time.",
    why: "Lost work is paid for twice, and the second time little of it runs in parallel: a handful of missing partitions, then everything that waited for them.",
    fix: "*Out of memory*: more memory overhead for memory outside the heap (Python, native code, network buffers), smaller partitions, or fewer cores per executor.\n\n\
```python\nspark = (SparkSession.builder.config(\"spark.executor.memoryOverhead\", \"2g\")\n         .config(\"spark.executor.cores\", \"4\").getOrCreate())\n```\n\n\
*Preempted or decommissioned*: move blocks away in time (`spark.decommission.enabled`, `spark.storage.decommission.enabled`, \
`spark.storage.decommission.shuffleBlocks.enabled`). *Released with its files*: `spark.dynamicAllocation.shuffleTracking.enabled` or the external shuffle \
service. *Heartbeats*: long collections, see `GC`.\n\n\
```sql\nSET spark.sql.shuffle.partitions = 800;  -- smaller tasks need less memory\n```",
    limits: "Exit code 137 is a kill from outside; the memory limit is the usual reason, an operator or the node's own trouble are others. With \
several losses at a time the chain of each is told by what was lost last before.",
};

/// Attempts and stage attempts that one kind of loss cost.
#[derive(Default)]
struct Chain {
    executors: BTreeSet<String>,
    by_cause: BTreeMap<&'static str, i64>,
    attempts: u64,
    lost_ms: i64,
    lost_core_ms: f64,
    removed: BTreeMap<(u32, u32), Vec<u32>>,
    /// Stage attempts that did lost work again.
    repeats: BTreeSet<(u32, u32)>,
    repeat_ms: i64,
}

fn check(context: &Context<'_>, sink: &mut Sink) {
    let mut losses: Vec<(&Executor, LossCause, i64)> = context
        .run
        .executors
        .iter()
        .filter_map(|executor| Some((executor, losses::cause_of(executor)?, executor.removed_ms?)))
        .collect();
    losses.sort_by_key(|(_, _, removed)| *removed);
    let mut chains: BTreeMap<LossCause, Chain> = BTreeMap::new();
    for digest in &context.stages {
        let stage = &context.run.stages[digest.position];
        if stage.tasks.lost().iter().any(|(_, cause)| is_of_chain(*cause)) {
            let view = StageView::of(stage, digest, context.end_ms);
            add_lost(context, &view, &losses, &mut chains);
        }
    }
    for (cause, chain) in chains {
        // What failed is told with its cause however short it was: findings about it point here.
        if chain.lost_ms as f64 >= context.get(&LEAST_MS) || !chain.removed.is_empty() {
            sink.claim(claim(context, cause, &chain, &losses));
        }
    }
}

fn is_of_chain(cause: LostCause) -> bool {
    matches!(
        cause,
        LostCause::ExecutorLoss | LostCause::FetchFailed | LostCause::Resubmitted | LostCause::StageRetry
    )
}

fn add_lost(
    context: &Context<'_>,
    view: &StageView<'_>,
    losses: &[(&Executor, LossCause, i64)],
    chains: &mut BTreeMap<LossCause, Chain>,
) {
    let order = &view.digest.task_order;
    let mut cause_of_row: BTreeMap<usize, LostCause> = BTreeMap::new();
    for (row, cause) in view.stage.tasks.lost() {
        cause_of_row.insert(*row as usize, *cause);
    }
    for (at, task) in view.tasks.iter().enumerate() {
        let Some(cause) =
            cause_of_row.get(&(order[at] as usize)).copied().filter(|cause| is_of_chain(*cause))
        else {
            continue;
        };
        let name = context.text(task.executor);
        let blamed = blame(losses, name, task, cause);
        let chain = chains.entry(blamed.map_or(LossCause::Unknown, |(_, cause, _)| *cause)).or_default();
        if let Some((executor, ..)) = blamed {
            chain.executors.insert(executor.id.clone());
        }
        let lost_ms = task.duration_ms();
        chain.attempts += 1;
        chain.lost_ms += lost_ms;
        chain.lost_core_ms += lost_ms as f64 * view.digest.task_cpus;
        *chain.by_cause.entry(cause.name()).or_default() += lost_ms;
        // Attempts that never did anything useful need not be there; finished work that was lost must.
        if matches!(cause, LostCause::ExecutorLoss | LostCause::FetchFailed) {
            chain.removed.entry(view.place()).or_default().push(at as u32);
        }
        for later in
            context.run.attempts(view.stage.id).iter().filter(|later| later.attempt > view.stage.attempt)
        {
            if chain.repeats.insert((later.id, later.attempt)) {
                chain.repeat_ms += later.running_ms().unwrap_or(0);
            }
        }
    }
}

/// The loss behind a lost attempt: that of its own executor, else the last one before its end.
fn blame<'a, 'r>(
    losses: &'a [(&'r Executor, LossCause, i64)],
    executor: &str,
    task: &Task,
    cause: LostCause,
) -> Option<&'a (&'r Executor, LossCause, i64)> {
    let own = losses.iter().find(|(lost, ..)| lost.id == executor);
    // A task that could not fetch ran on an executor that may have gone later, for another reason.
    if cause != LostCause::FetchFailed && own.is_some() {
        return own;
    }
    losses.iter().rev().find(|(_, _, removed)| *removed <= task.finish_ms).or_else(|| losses.first())
}

fn claim(
    context: &Context<'_>,
    cause: LossCause,
    chain: &Chain,
    losses: &[(&Executor, LossCause, i64)],
) -> Claim {
    let all_ms: i64 = context.stages.iter().map(|digest| digest.attempt_ms).sum();
    let share = chain.lost_ms as f64 / all_ms.max(1) as f64;
    let reason = losses
        .iter()
        .find(|(executor, ..)| chain.executors.contains(&executor.id))
        .and_then(|(executor, ..)| executor.removed_reason.clone());
    let executors = words::count(chain.executors.len(), "executor");
    let why = match cause {
        LossCause::OutOfMemory => match reason.as_deref().and_then(losses::exit_code) {
            Some(code) => format!("{executors} killed (exit code {code}, most likely out of memory)"),
            None => format!("{executors} out of memory"),
        },
        LossCause::Preempted => format!("{executors} preempted"),
        LossCause::Decommissioned => format!("{executors} decommissioned"),
        LossCause::HeartbeatTimeout => format!("{executors} without heartbeat"),
        LossCause::Crashed => format!("{executors} lost"),
        LossCause::Released => format!("{executors} let go with their shuffle files"),
        LossCause::Unknown => "lost shuffle data".to_owned(),
    };
    let repeats = match chain.repeats.len() {
        0 => String::new(),
        n => format!(" and {} of stages", words::count(n, "repeated attempt")),
    };
    let title = format!(
        "{why}: {} of task time lost in {}{repeats}",
        words::duration(chain.lost_ms),
        words::count(chain.attempts as usize, "attempt")
    );
    let mut claim = Claim::new("retryWaste", scope(chain), title)
        .evidence("root_cause", cause.name())
        .evidence("executors", chain.executors.iter().cloned().collect::<Vec<_>>())
        .evidence("removed_reason", reason.clone())
        .evidence("exit_code", reason.as_deref().and_then(losses::exit_code))
        .evidence("lost_attempts", chain.attempts)
        .evidence("lost_ms", chain.lost_ms)
        .evidence("lost_share", rounded(share))
        .evidence(
            "repeated_stage_attempts",
            chain.repeats.iter().map(|(id, attempt)| format!("{id}.{attempt}")).collect::<Vec<_>>(),
        )
        .evidence("repeated_running_ms", chain.repeat_ms);
    for (name, ms) in &chain.by_cause {
        claim = claim.evidence(&format!("{name}_ms"), *ms);
    }
    claim.subject = cause.name().to_owned();
    claim.nature = if cause == LossCause::Released { Nature::Configuration } else { Nature::Resource };
    claim.confidence = match cause {
        LossCause::Unknown => Confidence::Low,
        LossCause::OutOfMemory | LossCause::Crashed => Confidence::Medium,
        _ => Confidence::High,
    };
    claim.severity = if share >= context.get(&WARNING_SHARE) {
        Some(Severity::Warning)
    } else {
        (!chain.removed.is_empty()).then_some(Severity::Info)
    };
    claim.core_ms = Some(chain.lost_core_ms as i64);
    let removed: Vec<Edit> = chain
        .removed
        .iter()
        .map(|(place, tasks)| Edit::Remove { place: *place, tasks: tasks.clone().into() })
        .collect();
    let dropped = chain.repeats.iter().map(|place| Edit::Drop { place: *place });
    // A repeated attempt also does what the first one had not come to: at worst that is half of it.
    let halved = chain.repeats.iter().map(|place| Edit::ScaleAll { place: *place, factor: 0.5 });
    claim.worth = Worth::Replay {
        low: removed.iter().cloned().chain(halved).collect(),
        high: removed.iter().cloned().chain(dropped).collect(),
    };
    claim.stages = chain.removed.keys().copied().chain(chain.repeats.iter().copied()).collect();
    claim.validate =
        "The log of the resource manager must name the same cause for these executors at that time."
            .to_owned();
    let fix = failure_fix::of_loss(context, cause);
    claim.advice(fix.text).changes(fix.changes)
}

fn scope(chain: &Chain) -> Scope {
    Scope {
        executor_id: (chain.executors.len() == 1).then(|| chain.executors.first().cloned()).flatten(),
        ..Scope::default()
    }
}

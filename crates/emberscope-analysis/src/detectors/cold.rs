//! Work that waited for executors to come.

use crate::capacity::{left_early, was_given_back};
use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Worth};
use crate::replay::Edit;
use crate::stage_view::{StageView, Task};
use crate::words::{count, duration, rounded};
use emberscope_model::run::Executor;
use std::collections::{BTreeMap, HashMap};

const MIN_WAIT_MS: Threshold = Threshold {
    tag: "COLD",
    name: "min_wait_ms",
    default: 5_000.0,
    doc: "Wait from which a ramp-up is reported: missing core-time over the cores that were there in the end.",
};

const SHORT_WAIT_MS: Threshold = Threshold {
    tag: "COLD",
    name: "min_short_wait_ms",
    default: 3_000.0,
    doc: "The same in a short run, where it is `min_wait_share` of its wall time.",
};

const WAIT_SHARE: Threshold = Threshold {
    tag: "COLD",
    name: "min_wait_share",
    default: 0.1,
    doc: "Share of the wall time from which `min_short_wait_ms` is enough.",
};

const AGAIN_WAIT_MS: Threshold = Threshold {
    tag: "COLD",
    name: "min_again_wait_ms",
    default: 1_500.0,
    doc: "Wait of all ramp-ups together in which executors came again that had been given back, from which they are reported.",
};

const AGAIN_SHARE: Threshold = Threshold {
    tag: "COLD",
    name: "min_again_share",
    default: 0.05,
    doc: "Share of the wall time that this wait must be.",
};

/// Work that waited for executors to come.
pub static COLD: Detector = Detector {
    tag: "COLD",
    title: "Cold start",
    types: &[FindingType {
        name: "coldStart",
        what: "Submitted stages waited for executors that had not come yet.",
    }],
    thresholds: &[MIN_WAIT_MS, SHORT_WAIT_MS, WAIT_SHARE, AGAIN_WAIT_MS, AGAIN_SHARE],
    checks: &[Check::App(check)],
    what: "A stage was submitted and its tasks could have run, but the executors that later ran them were still to \
           come. That happens at the start of a run, and again after every pause in which dynamic allocation gave \
           executors back. Only executors that ran tasks of the waiting stage count, from the stage's submission to \
           their arrival; how long the driver took before its first stage does not matter. Executors that replace \
           lost ones are left to `failures`.",
    rule: "For every executor, the wait is the time from the submission of the first stage that used it to its own \
           arrival, where that is later. Waits of overlapping stages form one ramp-up, of each \
           resource profile its own. Its length is the sum of waits \
           times cores over the cores that were there at its end; it is reported from `min_wait_ms` on, in a short run from \
           `min_short_wait_ms` and `min_wait_share`. Where executors come again because others were given back, the run had them \
           already and need not have waited: such ramp-ups are reported from `min_again_wait_ms` and `min_again_share` of all \
           of them on. The first ramp-up of the run and later ones make one finding each.",
    why: "Nothing runs, or runs on a few cores, while the cluster manager starts containers and JVMs. Dynamic \
          allocation asks for one executor first and doubles with every second of backlog, so that a large stage at \
          the start gets its cores late. Every new executor also pays the warm-up of its JVM again in its first tasks.",
    fix: "Ask for the executors before they are needed, and keep them over short pauses:\n\n```sql\n-- at submission:\n\
          -- spark.dynamicAllocation.initialExecutors=8\n-- spark.dynamicAllocation.executorIdleTimeout=300s\n```\n\n\
          ```python\nspark = (SparkSession.builder\n    .config(\"spark.dynamicAllocation.initialExecutors\", \"8\")\n    \
          .config(\"spark.dynamicAllocation.minExecutors\", \"4\")\n    .getOrCreate())\n```\n\nWithout dynamic \
          allocation the time is the cluster manager's: smaller images, warm pools, free capacity in the queue.",
    limits: "On YARN and Kubernetes Spark waits for most of its executors before it runs any program \
             (`spark.scheduler.minRegisteredResourcesRatio`), before the first stage: that time is part of the \
             driver's start-up here. Logs without executor additions cannot be judged.",
};

/// An executor that a stage waited for.
struct Late<'c> {
    executor: &'c Executor,
    stage: &'c StageDigest,
    submitted_ms: i64,
    added_ms: i64,
}

/// Executors that came while stages waited for them.
struct RampUp<'c> {
    from_ms: i64,
    until_ms: i64,
    first_ms: i64,
    late: Vec<Late<'c>>,
    /// Length of the wait on all cores that were there in the end.
    equivalent_ms: i64,
    /// Time in which no executor was there at all.
    blocked_ms: i64,
    is_first: bool,
    /// Whether executors had been given back before.
    is_again: bool,
    /// Executors that were there in the end.
    executors: usize,
}

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    if ctx.is_local || ctx.run.stages.is_empty() {
        return;
    }
    if ctx.run.executors.iter().all(|executor| executor.added_ms.is_none()) {
        sink.not_checked("coldStart", "the log has no executor additions", None);
        return;
    }
    let mut ramp_ups = ramp_ups(ctx);
    let again_ms = ramp_ups.iter().filter(|one| one.is_again).map(|one| one.equivalent_ms).sum::<i64>();
    let is_again_long = again_ms as f64 >= ctx.get(&AGAIN_WAIT_MS)
        && ctx.share_of_wall(again_ms).is_some_and(|share| share >= ctx.get(&AGAIN_SHARE));
    ramp_ups.retain(|one| one.is_again && is_again_long || is_long(ctx, one.equivalent_ms));
    let (first, later): (Vec<_>, Vec<_>) = ramp_ups.into_iter().partition(|ramp_up| ramp_up.is_first);
    for (ramp_ups, subject) in [(first, "start"), (later, "later")] {
        if !ramp_ups.is_empty() {
            sink.claim(claim(ctx, &ramp_ups, subject));
        }
    }
}

/// Whether a wait is long, or long for a short run.
fn is_long(ctx: &Context<'_>, wait_ms: i64) -> bool {
    let is_much = || ctx.share_of_wall(wait_ms).is_some_and(|share| share >= ctx.get(&WAIT_SHARE));
    wait_ms as f64 >= ctx.get(&MIN_WAIT_MS) || wait_ms as f64 >= ctx.get(&SHORT_WAIT_MS) && is_much()
}

fn ramp_ups<'c>(ctx: &'c Context<'_>) -> Vec<RampUp<'c>> {
    let first_uses = first_uses(ctx);
    let late = |executor: &'c Executor| late(ctx, executor, first_uses.get(executor.id.as_str())?);
    let mut late: Vec<Late<'c>> = ctx.run.executors.iter().filter_map(late).collect();
    // Executors of one resource profile do not stand in for those of another.
    late.sort_by_key(|late| (late.executor.resource_profile_id, late.submitted_ms, late.added_ms));
    let mut groups: Vec<Vec<Late<'c>>> = Vec::new();
    let (mut until, mut profile) = (i64::MIN, None);
    for one in late {
        if one.submitted_ms > until || profile != Some(one.executor.resource_profile_id) {
            groups.push(Vec::new());
            (until, profile) = (i64::MIN, Some(one.executor.resource_profile_id));
        }
        until = until.max(one.added_ms);
        if let Some(group) = groups.last_mut() {
            group.push(one);
        }
    }
    let left_early = left_early(ctx);
    groups.into_iter().filter_map(|late| ramp_up(ctx, late, &left_early)).collect()
}

/// The earliest submitted stage that used each executor.
fn first_uses<'c>(ctx: &'c Context<'_>) -> HashMap<&'c str, &'c StageDigest> {
    let submitted =
        |digest: &StageDigest| ctx.run.stages.get(digest.position).and_then(|stage| stage.submitted_ms);
    let mut stages: Vec<&StageDigest> =
        ctx.stages.iter().filter(|digest| submitted(digest).is_some()).collect();
    stages.sort_by_key(|digest| (submitted(digest), digest.position));
    let mut uses = HashMap::new();
    for digest in stages {
        for (id, _, _) in &digest.executors {
            uses.entry(ctx.text(*id)).or_insert(digest);
        }
    }
    uses
}

/// The wait of the first stage that used an executor for its arrival.
fn late<'c>(ctx: &'c Context<'_>, executor: &'c Executor, stage: &'c StageDigest) -> Option<Late<'c>> {
    let added_ms = executor.added_ms?;
    executor.cores?;
    let submitted_ms = ctx.run.stages.get(stage.position)?.submitted_ms?;
    let came_late = added_ms > submitted_ms && stage.running.is_some_and(|(_, end)| added_ms < end);
    // A replacement waits for its predecessor's loss, which is another matter.
    // One of another resource profile could not have taken its place.
    let alike = |other: &&Executor| other.resource_profile_id == executor.resource_profile_id;
    let is_replacement = ctx.run.executors.iter().filter(alike).any(|other| {
        let removed = other.removed_ms.is_some_and(|removed| (submitted_ms..=added_ms).contains(&removed));
        removed && !was_given_back(other)
    });
    (came_late && !is_replacement).then_some(Late { executor, stage, submitted_ms, added_ms })
}

fn ramp_up<'c>(ctx: &Context<'_>, late: Vec<Late<'c>>, left_early: &[Option<i64>]) -> Option<RampUp<'c>> {
    let from_ms = late.iter().map(|one| one.submitted_ms).min()?;
    let first_ms = late.iter().map(|one| one.added_ms).min()?;
    let until_ms = late.iter().map(|one| one.added_ms).max()?;
    let missing: i64 = late
        .iter()
        .map(|one| (one.added_ms - one.submitted_ms) * i64::from(one.executor.cores.unwrap_or(0)))
        .sum();
    let profile = late.first()?.executor.resource_profile_id;
    let all = || ctx.run.executors.iter().zip(left_early);
    let own = || all().filter(|(one, _)| one.resource_profile_id == profile);
    let is_there_at = |time: i64, one: &Executor, left: Option<i64>| {
        let span = one.lifetime(ctx.end_ms);
        span.is_some_and(|(added, removed)| added <= time && time < left.unwrap_or(removed))
    };
    let executors = all().filter(|(one, left)| is_there_at(until_ms, one, **left)).count();
    let cores_at = |time: i64| -> i64 {
        own()
            .filter(|(one, left)| is_there_at(time, one, **left))
            .map(|(one, _)| i64::from(one.cores.unwrap_or(0)))
            .sum()
    };
    let cores = cores_at(until_ms).max(1);
    let blocked_ms = if cores_at(from_ms) == 0 { first_ms - from_ms } else { 0 };
    let is_first = profile == 0 && own().filter_map(|(one, _)| one.added_ms).all(|added| added > from_ms);
    let is_gone = |(one, left): (&Executor, &Option<i64>)| {
        was_given_back(one) && left.or(one.removed_ms).is_some_and(|gone| gone <= from_ms)
    };
    let is_again = own().any(is_gone);
    let equivalent_ms = missing / cores;
    Some(RampUp {
        from_ms,
        until_ms,
        first_ms,
        late,
        equivalent_ms,
        blocked_ms,
        is_first,
        is_again,
        executors,
    })
}

fn claim(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>], subject: &str) -> Claim {
    let wait: i64 = ramp_ups.iter().map(|ramp_up| ramp_up.equivalent_ms).sum();
    let blocked: i64 = ramp_ups.iter().map(|ramp_up| ramp_up.blocked_ms).sum();
    let executors: usize = ramp_ups.iter().map(|ramp_up| ramp_up.late.len()).sum();
    let missing: i64 = ramp_ups
        .iter()
        .flat_map(|ramp_up| &ramp_up.late)
        .map(|one| (one.added_ms - one.submitted_ms) * i64::from(one.executor.cores.unwrap_or(0)))
        .sum();
    let mut claim = Claim::new("coldStart", Scope::default(), title(ramp_ups, wait, executors, subject))
        .evidence("wait_ms", wait)
        .evidence("without_any_executor_ms", blocked)
        .evidence("late_executors", executors)
        .evidence("missing_core_ms", missing)
        .evidence("ramp_ups", ramp_ups.len())
        .evidence("last_arrival_ms", ramp_ups.iter().map(|one| one.until_ms - one.from_ms).max().unwrap_or(0))
        .evidence("wait_share", rounded(ctx.share_of_wall(wait).unwrap_or(0.0)))
        .advice(advice(ctx, ramp_ups, subject))
        .changes(changes(ctx, ramp_ups, subject));
    claim.subject = subject.to_owned();
    claim.nature = if is_dynamic(ctx) { Nature::Configuration } else { Nature::Resource };
    claim.confidence = if blocked > 0 { Confidence::High } else { Confidence::Medium };
    claim.worth = worth(ctx, ramp_ups);
    if let Worth::Replay { high, .. } = &mut claim.worth {
        high.extend(warmed(ctx, ramp_ups));
    }
    claim.stages = ramp_ups
        .iter()
        .flat_map(|ramp_up| ramp_up.late.iter().map(|one| (one.stage.id, one.stage.attempt)))
        .collect();
    claim.stages.sort_unstable();
    claim.stages.dedup();
    claim.validate =
        "Run it with executors that are there before the stage: if it starts no sooner, the driver or the \
                      scheduler held it."
            .to_owned();
    claim
}

fn title(ramp_ups: &[RampUp<'_>], wait: i64, executors: usize, subject: &str) -> String {
    let Some(first) = ramp_ups.first() else { return String::new() };
    let stage = first.late.first().map_or(0, |one| one.stage.id);
    if subject == "start" && executors == 1 {
        let wait = duration(first.first_ms - first.from_ms);
        format!("Stage {stage} waited {wait} for an executor, which came only then")
    } else if subject == "start" {
        format!(
            "Stage {stage} waited {} for executors: the first of {executors} came {} after it was submitted, the \
             last after {}",
            duration(wait),
            duration(first.first_ms - first.from_ms),
            duration(first.until_ms - first.from_ms)
        )
    } else {
        let is_one = ramp_ups.iter().flat_map(|ramp_up| &ramp_up.late).all(|one| one.stage.id == stage);
        let who = if is_one { format!("Stage {stage}") } else { "Stages".to_owned() };
        let times = match ramp_ups.len() {
            1 => String::new(),
            more => format!(", in {} later in the run", count(more, "ramp-up")),
        };
        format!(
            "{who} waited {} for {} that came only then{times}",
            duration(wait),
            count(executors, "executor")
        )
    }
}

fn is_dynamic(ctx: &Context<'_>) -> bool {
    ctx.conf(None).bool("spark.dynamicAllocation.enabled") == Some(true)
}

/// Whether all that was waited for are executors of resource profiles that stages brought with them.
fn is_special(ramp_ups: &[RampUp<'_>]) -> bool {
    ramp_ups.iter().all(|ramp_up| ramp_up.late.iter().any(|one| one.executor.resource_profile_id != 0))
}

fn advice(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>], subject: &str) -> String {
    let text = match (is_dynamic(ctx), subject) {
        (true, _) if is_special(ramp_ups) => {
            "Executors of a resource profile are only asked for when a stage with it waits: run a small job with the \
             profile while others still run, let more stages share it, or do without one of its own."
        }
        (true, "start") => {
            "Ask for the executors at the start: dynamic allocation begins with few and asks for more only when tasks \
             wait."
        }
        (true, _) => {
            "Keep executors over the pauses: a longer idle timeout, or a lower bound of executors that stay."
        }
        (false, _) => {
            "The cluster manager gave the executors late: look at its queue, at free capacity, and at what a container \
             loads before it starts."
        }
    };
    text.to_owned()
}

fn changes(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>], subject: &str) -> Vec<Change> {
    if !is_dynamic(ctx) {
        return vec![Change::resource(
            "executor start",
            None,
            "earlier: warm pool, free capacity, smaller image",
        )];
    }
    if is_special(ramp_ups) {
        return vec![Change::code("resource profile", "asked for earlier, or shared by more stages")];
    }
    let conf = ctx.conf(None);
    let wanted = ramp_ups.iter().map(|one| one.executors).max().unwrap_or(0);
    let most = conf.number("spark.dynamicAllocation.maxExecutors").unwrap_or(f64::INFINITY);
    let wanted = (wanted as f64).min(most);
    let key = if subject == "start" {
        "spark.dynamicAllocation.initialExecutors"
    } else {
        "spark.dynamicAllocation.minExecutors"
    };
    let now = conf.number(key).unwrap_or(0.0);
    let more = if now < wanted { conf.propose(key, format!("{wanted:.0}")) } else { None };
    let mut changes: Vec<Change> = more.into_iter().collect();
    if subject != "start" {
        changes.extend(longer_timeout(ctx, ramp_ups));
    }
    changes
}

/// An idle timeout that outlasts the pauses before the ramp-ups, where executors went within them.
fn longer_timeout(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>]) -> Option<Change> {
    let conf = ctx.conf(None);
    let timeout = conf.ms("spark.dynamicAllocation.executorIdleTimeout").unwrap_or(0);
    let pause_before = |ramp_up: &RampUp<'_>| {
        let busy_until = ctx.stages.iter().filter_map(|digest| digest.running).map(|(_, end)| end);
        let before = busy_until.filter(|end| *end <= ramp_up.from_ms).max()?;
        Some(ramp_up.from_ms - before)
    };
    let pause = ramp_ups.iter().filter_map(pause_before).max()?;
    if pause < timeout {
        return None;
    }
    // A tenth longer than the longest pause, in whole seconds.
    let wanted = pause + pause / 10;
    conf.propose("spark.dynamicAllocation.executorIdleTimeout", format!("{}s", wanted / 1000 + 1))
}

/// At best the executors are there when the stage is submitted. At worst those of the first ramp-up come
/// as late after the run's start as they came after the stage, and those of later ones when the first did; those that
/// came again for others need only have been kept.
fn worth(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>]) -> Worth {
    let edits = |at: &dyn Fn(&RampUp<'_>) -> i64| {
        let edit = |one: &RampUp<'_>| Edit::ExecutorsBy { until_ms: one.until_ms, at_ms: at(one) };
        ramp_ups.iter().map(edit).collect::<Vec<Edit>>()
    };
    let pessimistic = |one: &RampUp<'_>| {
        if one.is_again {
            one.from_ms
        } else if one.is_first {
            (ctx.start_ms + (one.first_ms - one.from_ms)).clamp(one.from_ms, one.first_ms)
        } else {
            one.first_ms
        }
    };
    Worth::Replay { low: edits(&pessimistic), high: edits(&|one| one.from_ms) }
}

/// Executors that came again for others had to load and compile their code anew: kept, their first tasks of a stage
/// take what its other tasks took.
fn warmed(ctx: &Context<'_>, ramp_ups: &[RampUp<'_>]) -> Vec<Edit> {
    /// Tasks of warm executors from which their median says something.
    const LEAST_PEERS: usize = 4;
    let mut new: BTreeMap<(u32, u32), Vec<&str>> = BTreeMap::new();
    for late in ramp_ups.iter().filter(|one| one.is_again).flat_map(|one| &one.late) {
        new.entry((late.stage.id, late.stage.attempt)).or_default().push(&late.executor.id);
    }
    let edit = |(place, executors): (&(u32, u32), &Vec<&str>)| {
        let digest = ctx.digest_of(place.0, place.1)?;
        let view = StageView::of(&ctx.run.stages[digest.position], digest, ctx.end_ms);
        let firsts: HashMap<u32, i64> = (digest.executors.iter().zip(&digest.executor_firsts))
            .filter(|((id, ..), _)| executors.contains(&ctx.text(*id)))
            .map(|((id, ..), (_, first_finish))| (*id, *first_finish))
            .collect();
        let is_cold = |task: &Task| {
            firsts.get(&task.executor).is_some_and(|first_finish| task.launch_ms < *first_finish)
        };
        let mut warm: Vec<i64> =
            view.useful().filter(|task| !is_cold(task)).map(|task| task.duration_ms()).collect();
        warm.sort_unstable();
        let median = *warm.get(warm.len() / 2).filter(|_| warm.len() >= LEAST_PEERS)? as f64;
        let factors = view.factors_to(|task| {
            let took = task.duration_ms() as f64;
            if is_cold(task) { took.min(median) } else { took }
        });
        Some(Edit::Scale { place: *place, factors })
    };
    new.iter().filter_map(edit).collect()
}

//! Stages whose tasks waited although there were cores.

use crate::capacity::{cores_at, held_core_ms};
use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Severity, Worth};
use crate::replay::Edit;
use crate::stage_view::StageView;
use crate::words::{count, duration, percent, rounded};

const MIN_WAIT_MS: Threshold = Threshold {
    tag: "SCHED",
    name: "min_wait_ms",
    default: 2_000.0,
    doc: "Wait of a stage from which it is reported.",
};

const DRIVER_WAIT_MS: Threshold = Threshold {
    tag: "SCHED",
    name: "min_driver_wait_ms",
    default: 5_000.0,
    doc: "Wait from which a driver that took long is reported; the run's first stage, which meets a JVM without compiled \
          code, is left out.",
};

const BUSY_SHARE: Threshold = Threshold {
    tag: "SCHED",
    name: "busy_share",
    default: 0.8,
    doc: "Share of the cores that other stages held during the wait from which it is queueing.",
};

const LOCALITY_SHARE: Threshold = Threshold {
    tag: "SCHED",
    name: "locality_tasks_share",
    default: 0.05,
    doc: "Share of tasks that must have been launched away from their data, after the locality wait.",
};

/// Stages whose tasks waited although there were cores.
pub static SCHED: Detector = Detector {
    tag: "SCHED",
    title: "Scheduling wait",
    types: &[FindingType {
        name: "schedulingWait",
        what: "A stage's tasks waited to be launched: behind other jobs, for a local core, or for the driver.",
    }],
    thresholds: &[MIN_WAIT_MS, DRIVER_WAIT_MS, BUSY_SHARE, LOCALITY_SHARE],
    checks: &[Check::Stage(check)],
    what: "A stage was submitted, executors were there, and its tasks did not start. The evidence names one of three \
           causes:\n\n* `queue`: tasks of other jobs held the cores. First-in-first-out scheduling gives the oldest job \
           all it wants.\n* `locality`: cores were free, but Spark held tasks back for a core near their data, up to \
           `spark.locality.wait` for each level.\n* `driver`: cores were free and nothing held the tasks back: the \
           driver took long to make or send them (large closures, many partitions, a busy driver).\n\nWhere executors \
           had not come yet, `coldStart` tells it; a stage behind another stage of its own query is no queueing.",
    rule: "Wait = submission to first launch. It fires from `min_wait_ms` on, if executors were there at the submission. \
           `queue`: other stages, of other queries, held at least `busy_share` of the cores during the wait. \
           `locality`: between first and last launch cores stood free for `min_wait_ms` (idle core-time over cores), and \
           at least `locality_tasks_share` of the tasks were launched off their data after the locality wait, or none was and \
           some executor that was there all the time got no task at all. `driver`: \
           else, from `min_driver_wait_ms` on, and not for the first stage of the run.",
    why: "Wall time in which a stage waits is added to its query. Queueing moves time between jobs and costs the run as a \
          whole nothing; locality waits and a slow driver do.",
    fix: "For queueing, give jobs pools of their own and share fairly; for locality waits on storage that has no \
          locality, do not wait:\n\n```python\nspark.conf  # at submission: spark.scheduler.mode=FAIR, \
          spark.locality.wait=0s\nspark.sparkContext.setLocalProperty(\"spark.scheduler.pool\", \"reports\")\n```\n\n\
          ```sql\nSET spark.sql.sources.ignoreDataLocality=true; -- Spark 3.0 and later, file sources\n```\n\nFor a slow \
          driver, broadcast large objects instead of capturing them, and give it more cores.",
    limits: "Pool weights and minimum shares are in a file that the log does not hold. Whether a task wanted a place is \
             known only by where it ran. Barrier stages wait for all their slots by design and are left out.",
};

fn check(ctx: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let (Some(submitted), Some((first, last_finish))) = (view.stage.submitted_ms, view.digest.running) else {
        return;
    };
    let waited = (first - submitted).max(0);
    let is_short = |ms: i64| (ms as f64) < ctx.get(&MIN_WAIT_MS) || ctx.is_immaterial(ms);
    if view.stage.is_barrier || is_short(waited.max(last_finish - first)) {
        return;
    }
    if !is_short(waited) && cores_at(ctx, submitted) > 0 && !came_late(ctx, view, submitted) {
        sink.claims.extend(before_first_launch(ctx, view, submitted, first));
    } else if let Some(claim) = locality_wait(ctx, view, submitted, first) {
        sink.claim(claim);
    }
}

/// Whether the first task ran on an executor that came after the stage was submitted.
fn came_late(ctx: &Context<'_>, view: &StageView<'_>, submitted: i64) -> bool {
    let first = view.tasks.first().map(|task| ctx.text(task.executor));
    ctx.run
        .executors
        .iter()
        .any(|one| Some(one.id.as_str()) == first && one.added_ms.is_some_and(|added| added > submitted))
}

fn before_first_launch(ctx: &Context<'_>, view: &StageView<'_>, submitted: i64, first: i64) -> Option<Claim> {
    let waited = first - submitted;
    let offered = ctx.available_core_ms(submitted, first).filter(|offered| *offered > 0)?;
    let busy = (held_core_ms(ctx, submitted, first) as f64 / offered as f64).min(1.0);
    if busy >= ctx.get(&BUSY_SHARE) {
        let (job, own) = blocking_job(ctx, view, submitted, first)?;
        return (!own).then(|| queue_claim(ctx, view, waited, busy, job));
    }
    let is_first = ctx.run.stages.iter().all(|stage| stage.submitted_ms.is_none_or(|time| time >= submitted));
    if is_first || (waited as f64) < ctx.get(&DRIVER_WAIT_MS) {
        return None;
    }
    let title = format!(
        "Stage {} waited {} for its first task while {} of the cores were free",
        view.stage.id,
        duration(waited),
        percent(1.0 - busy)
    );
    let mut claim = base(ctx, view, title, "driver", waited)
        .evidence("busy_share", rounded(busy))
        .advice(
            "Executors were there and had free cores: the driver took long to make or send the tasks. Look for large \
             captured objects and very many partitions, and at the driver's own load.",
        )
        .change(Change::code("tasks of the stage", "smaller closures: broadcast what all tasks share"));
    claim.nature = Nature::Code;
    claim.confidence = Confidence::Low;
    let sooner = |by_ms| vec![Edit::StartSooner { place: view.place(), by_ms }];
    claim.worth = Worth::Replay { low: sooner(waited / 2), high: sooner(waited) };
    claim.validate = "A profile of the driver in that time that shows it idle refutes it.".to_owned();
    Some(claim)
}

/// The job of another stage that ran longest during a wait, and whether it belongs to the same work.
fn blocking_job(ctx: &Context<'_>, view: &StageView<'_>, from: i64, to: i64) -> Option<(Option<u32>, bool)> {
    let overlap =
        |span: Option<(i64, i64)>| span.map_or(0, |(start, end)| (end.min(to) - start.max(from)).max(0));
    let others = ctx.stages.iter().filter(|digest| digest.position != view.digest.position);
    let longest = others.max_by_key(|digest| overlap(digest.running))?;
    let own = view.digest;
    let same_query = own.sql_id.is_some() && own.sql_id == longest.sql_id;
    let same_job = own.job_id.is_some() && own.job_id == longest.job_id;
    Some((longest.job_id, same_query || same_job))
}

fn queue_claim(ctx: &Context<'_>, view: &StageView<'_>, waited: i64, busy: f64, job: Option<u32>) -> Claim {
    let mode = ctx.conf(None).text("spark.scheduler.mode").unwrap_or_default();
    let behind = job.map_or("other work".to_owned(), |job| format!("job {job}"));
    let title = format!("Stage {} waited {} behind {behind}", view.stage.id, duration(waited));
    let advice = if mode.eq_ignore_ascii_case("FAIR") {
        "Jobs share the cores fairly already. Give this job a pool with a higher weight or a minimum share, start it \
         when the other is done, or add cores."
    } else {
        "Jobs that run at the same time are served first come, first served. With fair scheduling and a pool for each \
         kind of work a short job does not wait for a long one; the run as a whole gets no shorter."
    };
    let mut claim = base(ctx, view, title, "queue", waited)
        .evidence("busy_share", rounded(busy))
        .evidence("scheduler_mode", mode)
        .advice(advice)
        .changes(ctx.conf(None).propose("spark.scheduler.mode", "FAIR"));
    if let Some(pool) = &view.stage.pool {
        claim = claim.evidence("pool", pool.as_str());
    }
    if let Some(job) = job {
        claim = claim.evidence("blocking_job", job);
    }
    claim.nature = Nature::Configuration;
    // Queueing moves time between jobs; it costs the run as a whole nothing.
    claim.worth = Worth::None;
    claim.severity = Some(Severity::Info);
    claim.validate = "Run the job alone: a wait as long refutes it.".to_owned();
    claim
}

/// Cores that stood free while tasks were held back for a place near their data.
fn locality_wait(ctx: &Context<'_>, view: &StageView<'_>, submitted: i64, first: i64) -> Option<Claim> {
    let conf = ctx.conf_of_stage(view.digest);
    let wait = conf.ms("spark.locality.wait").filter(|wait| *wait > 0)?;
    let last = view.tasks.iter().map(|task| task.launch_ms).max()?;
    let is_off = |locality: &str| matches!(locality, "ANY" | "RACK_LOCAL" | "NODE_LOCAL");
    // The timer of a level starts anew with every launch on it, so that the wait is met a little early.
    let held_back = |launch: i64| (launch - submitted) as f64 >= wait as f64 * TIMER_SHARE;
    let late = view
        .tasks
        .iter()
        .filter(|task| task.attempt == 0 && is_off(ctx.text(task.locality)) && held_back(task.launch_ms))
        .count();
    let near = view.tasks.iter().any(|task| ctx.text(task.locality) == "PROCESS_LOCAL");
    let share = late as f64 / view.tasks.len().max(1) as f64;
    let gave_up = late > 0 && share >= ctx.get(&LOCALITY_SHARE);
    // As long as tasks are launched at their level in time, the wait never ends: then none ran elsewhere.
    let unused = if late == 0 { unused_executors(ctx, view, first, last) } else { 0 };
    if !near || !(gave_up || unused > 0) {
        return None;
    }
    let offered = ctx.available_core_ms(first, last).filter(|offered| *offered > 0)?;
    let idle = (offered - held_core_ms(ctx, first, last)).max(0);
    let idle_ms = (idle as f64 * (last - first) as f64 / offered as f64) as i64;
    if (idle_ms as f64) < ctx.get(&MIN_WAIT_MS) || ctx.is_immaterial(idle_ms) {
        return None;
    }
    let title = if unused > 0 {
        format!(
            "All tasks of stage {} ran on {} that had their data, while {} had nothing to do for {}",
            view.stage.id,
            count(view.digest.executors.len(), "executor"),
            count(unused, "other"),
            duration(last - first)
        )
    } else {
        format!(
            "Stage {} left cores free for {} while tasks waited for a core near their data",
            view.stage.id,
            duration(idle_ms)
        )
    };
    let mut claim = base(ctx, view, title, "locality", idle_ms)
        .evidence("idle_core_ms", idle)
        .evidence("tasks_off_their_data", late)
        .evidence("locality_wait_ms", wait)
        .evidence("unused_executors", unused)
        .advice(
            "Do not wait for locality: reading over the network is cheaper than leaving cores idle, unless the data is \
             cached and expensive to move.",
        )
        .changes(conf.propose("spark.locality.wait", "0s"));
    claim.nature = Nature::Configuration;
    claim.core_ms = Some(idle);
    if unused > 0 {
        // On all executors the stage takes its share of the time; data that has to be moved takes half of the gain.
        let factor = (offered - idle).max(0) as f64 / offered as f64;
        let scaled = |factor: f64| vec![Edit::ScaleAll { place: view.place(), factor }];
        claim.worth = Worth::Replay { low: scaled(f64::midpoint(1.0, factor)), high: scaled(factor) };
    } else {
        // How the tasks would have run elsewhere is not in the log.
        claim.worth = Worth::None;
        claim.severity = Some(Severity::Info);
    }
    claim.validate =
        "Run it with spark.locality.wait=0s: if the stage gets no shorter, the wait was not it.".to_owned();
    Some(claim)
}

/// Executors that were there for a whole stage of several waves and got none of its tasks, nor others. A
/// stage whose tasks may run anywhere uses all executors; so locality is what kept them from these.
fn unused_executors(ctx: &Context<'_>, view: &StageView<'_>, first: i64, last: i64) -> usize {
    let is_excluded = ctx.conf(None).bool("spark.excludeOnFailure.enabled") == Some(true);
    let profiles: std::collections::BTreeSet<u32> =
        ctx.run.executors.iter().map(|executor| executor.resource_profile_id).collect();
    let was_used = |id: &str| {
        ctx.stages.iter().any(|digest| {
            digest.running.is_some_and(|(from, to)| from <= last && to >= first)
                && digest.executors.iter().any(|(executor, ..)| ctx.text(*executor) == id)
        })
    };
    if is_excluded || profiles.len() > 1 || view.digest.failed > 0 {
        return 0;
    }
    let unused = ctx.run.executors.iter().filter(|executor| {
        let was_there =
            executor.lifetime(ctx.end_ms).is_some_and(|(added, removed)| added <= first && removed > last);
        was_there && executor.cores.is_some_and(|cores| cores > 0) && !was_used(&executor.id)
    });
    unused.count()
}

/// Share of `spark.locality.wait` after which a launch counts as held back.
const TIMER_SHARE: f64 = 0.9;

fn base(ctx: &Context<'_>, view: &StageView<'_>, title: String, cause: &str, waited: i64) -> Claim {
    let mut claim = Claim::new("schedulingWait", ctx.stage_scope(view.digest), title)
        .evidence("cause", cause)
        .evidence("wait_ms", waited)
        .evidence("running_ms", view.digest.running_ms());
    claim.subject = cause.to_owned();
    claim
}

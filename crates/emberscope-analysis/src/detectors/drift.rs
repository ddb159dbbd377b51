//! How far the log itself can be trusted.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::words::{count, percent, rounded};
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::StageStatus;
use emberscope_model::trust::StageCoverage;

const SKEWED_SHARE: Threshold = Threshold {
    tag: "DRIFT",
    name: "clamped_share",
    default: 0.05,
    doc: "Share of task attempts whose parts exceed their whole by more than `clamped_ms`, from which clocks are said to \
          disagree.",
};

const SKEWED_MS: Threshold = Threshold {
    tag: "DRIFT",
    name: "clamped_ms",
    default: 50.0,
    doc: "Milliseconds by which a task's parts must exceed its whole: the driver's clock times the whole, the executor's \
          the parts, and both round.",
};

const SKEWED_TASKS: Threshold = Threshold {
    tag: "DRIFT",
    name: "min_clamped_tasks",
    default: 10.0,
    doc: "Task attempts with such parts from which it is no accident.",
};

const QUEUE_RATIO: Threshold = Threshold {
    tag: "DRIFT",
    name: "queue_ratio",
    default: 5.0,
    doc: "The capacity of the listener queue that is proposed over the one in force: the default holds about a second of \
          a large cluster's task ends.",
};

/// How far the log itself can be trusted.
pub static DRIFT: Detector = Detector {
    tag: "DRIFT",
    title: "Data quality",
    types: &[FindingType {
        name: "dataQuality",
        what: "The log lacks events, holds damaged ones, or was written by clocks that disagree.",
    }],
    thresholds: &[SKEWED_SHARE, SKEWED_MS, SKEWED_TASKS, QUEUE_RATIO],
    checks: &[Check::App(check)],
    what: "Facts about the log, not about the run; they never compete with fixes. One finding for each of:\n\n\
           * `droppedEvents`: tasks of completed stages have no end in a log that is otherwise whole. Spark drops events \
           when its listener queue is full, and then durations, sums and skew are computed over the rest.\n\
           * `clockSkew`: tasks that ended before they began, or whose parts are longer than the whole.\n\
           * `damagedLines`: lines that are no JSON.\n* `missingFiles`: parts of a rolled log that are not there.\n\
           * `compacted`: Spark removed events of finished jobs from a rolled log.\n* `mixedApplications`: events of \
           several applications in one log.",
    rule: "Everything is counted while reading. Missing task ends count as dropped events only where nothing else explains \
           them: the log has the application's end, no file is missing or cut, nothing was compacted, and the stage was completed: what ran in \
           a failed or cancelled one may go without an end. Clocks are said \
           to disagree from one reversed task on, or when `clamped_share` of the tasks, and `min_clamped_tasks`, have parts that exceed the whole by \
           `clamped_ms`.",
    why: "Silent gaps make wrong numbers. Totals of a log with dropped events are too low, and its skew may be an artefact.",
    fix: "Give the listener queue more room, and keep all parts of a rolled log together:\n\n```python\n# at submission:\n\
          # spark.scheduler.listenerbus.eventqueue.capacity=50000\n# \
          spark.history.fs.eventLog.rolling.maxFilesToRetain=1000   (for the History Server)\n```\n\n```sql\n-- nothing to \
          change in a query\n```",
    limits: "Events that were dropped in pairs (a job's start and end) leave no trace. Reads of a log that still grows show \
             gaps that are none; `incompleteRun` tells those.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let claims = [dropped(ctx), clocks(ctx), damaged(ctx), missing_files(ctx), compacted(ctx), mixed(ctx)]
        .into_iter()
        .flatten();
    sink.claims.extend(claims);
}

fn dropped(ctx: &Context<'_>) -> Option<Claim> {
    let trust = &ctx.run.trust;
    let all = trust.coverage.tasks_expected.saturating_sub(trust.coverage.tasks_seen);
    let missing = all.saturating_sub(need_not_be(ctx));
    let is_explained = !ctx.run.application.has_end || !trust.is_complete() || trust.compacted;
    if missing == 0 || is_explained {
        return None;
    }
    let share = missing as f64 / trust.coverage.tasks_expected.max(1) as f64;
    let capacity = "spark.scheduler.listenerbus.eventqueue.capacity";
    let conf = ctx.conf(None);
    let now = conf.number(capacity).unwrap_or(0.0);
    let title = format!(
        "{} of {} are missing from the log ({}): Spark dropped events",
        count(missing as usize, "task end"),
        trust.coverage.tasks_expected,
        percent(share)
    );
    let mut claim = base("droppedEvents", title)
        .evidence("missing_task_ends", missing)
        .evidence("tasks_expected", trust.coverage.tasks_expected)
        .evidence("missing_share", rounded(share))
        .evidence("stages_concerned", stages_done(ctx).count())
        .advice("The driver could not keep up with its own events. Give the listener queue more room, or the driver more cores.");
    let larger = now * ctx.get(&QUEUE_RATIO);
    claim = claim.changes(if now > 0.0 { conf.propose(capacity, format!("{larger:.0}")) } else { None });
    claim.confidence = Confidence::Medium;
    Some(claim)
}

/// Ends that no stage needs: what still ran when its stage failed, was cancelled or was done without it is killed,
/// and Spark may stop before it hears of that.
fn need_not_be(ctx: &Context<'_>) -> u64 {
    let missing = |stage: &StageCoverage| stage.tasks_expected.saturating_sub(stage.tasks_seen);
    let all: u64 = ctx.run.trust.coverage.stages.iter().map(missing).sum();
    all - stages_done(ctx).map(missing).sum::<u64>()
}

/// Stages that lack task ends although they were completed.
fn stages_done<'r>(ctx: &'r Context<'_>) -> impl Iterator<Item = &'r StageCoverage> {
    ctx.run.trust.coverage.stages.iter().filter(|stage| {
        let attempt = ctx.run.stage(stage.stage_id, stage.stage_attempt);
        attempt.is_none_or(|attempt| attempt.status == StageStatus::Complete)
    })
}

fn clocks(ctx: &Context<'_>) -> Option<Claim> {
    // Tasks are looked at only where reading them had to clamp something.
    if ctx.run.trust.clamped.is_empty() {
        return None;
    }
    let (mut reversed, mut exceeded, mut attempts) = (0u64, 0u64, 0u64);
    for stage in &ctx.run.stages {
        let launch = stage.tasks.column_or(TaskColumn::LaunchTime, i64::MIN);
        attempts += launch.len() as u64;
        stage
            .tasks
            .for_each(TaskColumn::FinishTime, |row, finish| reversed += u64::from(finish < launch[row]));
        let delays = emberscope_model::accounting::scheduler_delays(stage);
        let limit = -ctx.get(&SKEWED_MS);
        exceeded += delays.into_iter().flatten().filter(|delay| (*delay as f64) < limit).count() as u64;
    }
    let share = exceeded as f64 / attempts.max(1) as f64;
    let is_many = exceeded as f64 >= ctx.get(&SKEWED_TASKS) && share >= ctx.get(&SKEWED_SHARE);
    if reversed == 0 && !is_many {
        return None;
    }
    let title = if reversed > 0 {
        format!("{} ended before they began: clocks disagree", count(reversed as usize, "task"))
    } else {
        format!("{} of the tasks have parts that are longer than the whole: clocks disagree", percent(share))
    };
    let claim = base("clockSkew", title)
        .evidence("reversed_tasks", reversed)
        .evidence("exceeded_tasks", exceeded)
        .evidence("exceeded_share", rounded(share))
        .advice(
            "Times below the difference mean nothing. Keep the clocks of all nodes in step (NTP, chrony).",
        )
        .change(Change::resource("node clocks", None, "synchronised"));
    Some(claim)
}

fn damaged(ctx: &Context<'_>) -> Option<Claim> {
    let bad = &ctx.run.trust.bad_lines;
    let first = bad.first.first()?;
    let title = format!("{} of the log could not be read", count(bad.count as usize, "line"));
    Some(
        base("damagedLines", title)
            .evidence("bad_lines", bad.count)
            .evidence("first_line", first.line)
            .evidence("first_reason", first.reason.as_str())
            .advice("What those lines held is missing from every number. Fetch the log again from where Spark wrote it."),
    )
}

fn missing_files(ctx: &Context<'_>) -> Option<Claim> {
    let missing = &ctx.run.trust.missing_members;
    let first = missing.first()?;
    let title = format!("{} of the rolled log missing: {first}", count(missing.len(), "file"));
    Some(
        base("missingFiles", title)
            .evidence("missing_files", missing.len())
            .advice("Copy the whole directory of the rolled log; totals of what is here are too low."),
    )
}

fn compacted(ctx: &Context<'_>) -> Option<Claim> {
    ctx.run.trust.compacted.then(|| {
        base("compacted", "Spark compacted this log: events of finished jobs are gone".to_owned())
            .evidence("compacted", true)
            .advice(
                "Totals and failures of finished jobs are too low. The History Server compacts logs with more files than \
                 spark.history.fs.eventLog.rolling.maxFilesToRetain.",
            )
    })
}

fn mixed(ctx: &Context<'_>) -> Option<Claim> {
    let mixed = &ctx.run.trust.mixed_applications;
    let first = mixed.first()?;
    let title = format!("The log also holds events of {}: {first}", count(mixed.len(), "other application"));
    Some(
        base("mixedApplications", title)
            .evidence("other_applications", mixed.len())
            .advice("Numbers of several applications are mixed. Read each application's own log."),
    )
}

fn base(subject: &str, title: String) -> Claim {
    let mut claim = Claim::new("dataQuality", Scope::default(), title);
    claim.subject = subject.to_owned();
    claim.nature = Nature::Resource;
    claim.confidence = Confidence::High;
    claim.worth = Worth::None;
    claim.severity = Some(Severity::Info);
    claim.validate = "A second copy of the log without these gaps refutes it.".to_owned();
    claim
}

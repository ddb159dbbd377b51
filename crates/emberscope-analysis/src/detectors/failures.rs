//! Task attempts that failed.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::failure_fix;
use crate::finding::{Claim, Confidence, Nature, Severity, Worth};
use crate::losses;
use crate::replay::Edit;
use crate::stage_view::StageView;
use crate::words::{self, rounded};
use emberscope_log::columns::TaskStatus;
use emberscope_model::failures::FailureGroup;
use emberscope_model::run::StageAttempt;

const WARNING_SHARE: Threshold = Threshold {
    tag: "FAIL",
    name: "warning_share",
    default: 0.05,
    doc: "Share of a stage's attempts that failed from which it is a warning.",
};
const CRITICAL_SHARE: Threshold = Threshold {
    tag: "FAIL",
    name: "critical_share",
    default: 0.2,
    doc: "Share of a stage's attempts that failed from which it is critical, if there are enough of them.",
};
const CRITICAL_TASKS: Threshold = Threshold {
    tag: "FAIL",
    name: "critical_tasks",
    default: 10.0,
    doc: "Least number of attempts of a stage for a share of failures to be critical.",
};
const LONE_SHARE: Threshold = Threshold {
    tag: "FAIL",
    name: "lone_share",
    default: 0.05,
    doc: "Share of the run's wall time that the repetition of a stage's only failed attempt must take to be more than a fact.",
};

/// The detector.
pub static FAIL: Detector = Detector {
    tag: "FAIL",
    title: "Failed tasks",
    types: &[FindingType {
        name: "failures",
        what: "Task attempts of a stage failed and had to be repeated.",
    }],
    thresholds: &[WARNING_SHARE, CRITICAL_SHARE, CRITICAL_TASKS, LONE_SHARE],
    checks: &[Check::Stage(check)],
    what: "Task attempts of the stage failed: user code threw, the executor was lost, a shuffle block could not be fetched. Spark tried them \
again. The finding gives the most frequent cause with its message, and all others. Killed attempts (speculation, cancelled stages) are not failures.",
    rule: "At least one failed attempt. From `warning_share` of the attempts it is a warning, from `critical_share` of at least `critical_tasks` \
attempts it is critical; below it is a fact. So is a stage's only failed attempt, where another one made it good and that took less than `lone_share` \
of the run, or failed so early: what fails once and then works is of no data and no code. Failures that follow from a lost executor are told with their root cause by `retryWaste`.",
    why: "Each failed attempt's time is lost, and a task that fails `spark.task.maxFailures` times (4 by default) fails the job.",
    fix: "Read the message. Rows that cannot be parsed: handle them instead of throwing.\n\n\
```sql\nSELECT try_cast(amount AS DECIMAL(10, 2)) FROM raw\n```\n\n\
```python\nspark.read.option(\"mode\", \"PERMISSIVE\").option(\"columnNameOfCorruptRecord\", \"_bad\").json(path)\n```\n\n\
Out of memory: smaller partitions or more memory for each task. Other systems that refuse: fewer tasks at a time.",
    limits: "Messages are grouped with their numbers left out. Failures of the driver itself are not task failures.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let digest = view.digest;
    if digest.failed == 0 {
        return;
    }
    let share = digest.failed as f64 / digest.attempts.max(1) as f64;
    // Of the groups of the run, those of this stage; their attempts may be of other stages too.
    let groups: Vec<&FailureGroup> = context
        .run
        .failures
        .iter()
        .filter(|group| group.status.is_failed() && group.stage_ids.contains(&digest.id))
        .collect();
    let dominant = groups.iter().find(|group| status_count(view, group.status) > 0).or(groups.first());
    let reason =
        dominant.map_or_else(|| "no reason in the log".to_owned(), |group| describe(group, view.stage));
    let lost_ms: i64 =
        view.tasks.iter().filter(|task| task.status.is_failed()).map(|task| task.duration_ms()).sum();
    let which = match (digest.failed, digest.attempts) {
        (_, 1) => "The only task attempt".to_owned(),
        (failed, attempts) if failed == attempts => format!("All {attempts} task attempts"),
        (failed, attempts) => format!("{failed} of {}", words::count(attempts as usize, "task attempt")),
    };
    let title = format!("{which} of stage {} failed: {reason}", view.stage.id);
    let kinds = [
        ("exception_attempts", TaskStatus::ExceptionFailure),
        ("fetch_failed_attempts", TaskStatus::FetchFailed),
        ("executor_lost_attempts", TaskStatus::ExecutorLost),
        ("result_lost_attempts", TaskStatus::ResultLost),
        ("other_attempts", TaskStatus::Unknown),
    ];
    let mut claim = Claim::new("failures", context.stage_scope(digest), title)
        .evidence("attempts", digest.attempts)
        .evidence("failed_attempts", digest.failed)
        .evidence("failed_share", rounded(share))
        .evidence("lost_ms", lost_ms)
        .evidence(
            "reasons",
            groups.iter().take(5).map(|group| describe(group, view.stage)).collect::<Vec<_>>(),
        );
    for (name, status) in kinds {
        let count = status_count(view, status);
        if count > 0 {
            claim = claim.evidence(name, count);
        }
    }
    if let Some(group) = dominant {
        claim = claim
            .evidence("class", group.class_name.clone())
            .evidence("message", describe(group, view.stage));
        // Attempts of other stages may have ended alike, and then the example is one of theirs.
        if (group.example.stage_id, group.example.stage_attempt) == (digest.id, digest.attempt) {
            claim = claim.evidence("example_task_id", group.example.task_id);
        }
    }
    let ours = digest.failed as usize;
    let by_loss = status_count(view, TaskStatus::ExecutorLost) + status_count(view, TaskStatus::FetchFailed);
    claim.nature = if 2 * by_loss > ours { Nature::Resource } else { Nature::Code };
    claim.confidence = Confidence::High;
    let enough = digest.attempts as f64 >= context.get(&CRITICAL_TASKS);
    let was_fatal = digest.has_failed(context.run) && losses::was_given_up(context.run, view.stage);
    let is_lone = !was_fatal && is_lone(context, view);
    claim.severity = Some(if is_lone {
        Severity::Info
    } else if was_fatal || (enough && share >= context.get(&CRITICAL_SHARE)) {
        Severity::Critical
    } else if share >= context.get(&WARNING_SHARE) {
        Severity::Warning
    } else {
        Severity::Info
    });
    claim.core_ms = Some((lost_ms as f64 * digest.task_cpus) as i64);
    let failed: Vec<u32> =
        (0u32..).zip(&view.tasks).filter(|(_, task)| task.status.is_failed()).map(|(at, _)| at).collect();
    // What made a job fail is not about seconds: without it there would be other work.
    claim.worth = if is_lone || was_fatal { Worth::None } else { worth(view, failed) };
    claim.validate = "Run the stage again: a failure of the data or the code comes back in the same partition, one of a machine does not.".to_owned();
    let fix = if 2 * by_loss > ours {
        let executors: Vec<&str> = view
            .tasks
            .iter()
            .filter(|task| task.status == TaskStatus::ExecutorLost)
            .map(|task| context.text(task.executor))
            .collect();
        let mut fix = failure_fix::of_loss(context, failure_fix::loss_of(context, &executors));
        fix.text = format!(
            "Executors or their shuffle files were lost; the finding about repeated work (RETRY) has the whole chain. {}",
            fix.text
        );
        fix
    } else {
        failure_fix::of_error(context, own_text(view, dominant.copied()).unwrap_or_default())
    };
    sink.claim(claim.advice(fix.text).changes(fix.changes));
}

/// The error of a stage with its stack trace: the group's example where it is of this stage, else the reason why
/// the stage failed.
fn own_text<'r>(view: &StageView<'r>, group: Option<&'r FailureGroup>) -> Option<&'r str> {
    let of_stage = group.filter(|group| group.example.stage_id == view.stage.id);
    let others = || view.stage.failure_reason.as_deref().or(group.map(|group| group.example.text.as_str()));
    of_stage.map(|group| group.example.text.as_str()).or_else(others)
}

/// Whether one attempt of the stage failed, once, and its repetition cost little: the time of the shorter one of it
/// and the attempt that made it good.
fn is_lone(context: &Context<'_>, view: &StageView<'_>) -> bool {
    let failed = view.tasks.iter().find(|task| task.status.is_failed());
    let Some(failed) = failed.filter(|_| view.digest.failed == 1) else { return false };
    let good = view.useful().find(|task| task.partition == failed.partition);
    let repeated_ms = good.map(|good| failed.duration_ms().min(good.duration_ms()));
    let share = repeated_ms.and_then(|ms| context.share_of_wall(ms));
    share.is_some_and(|share| share < context.get(&LONE_SHARE))
}

/// Failed attempts that another one made good took a time that is measured: at best it is all saved, at
/// worst what makes them succeed takes a quarter of it. Where the stage was given up nothing was made good.
fn worth(view: &StageView<'_>, failed: Vec<u32>) -> Worth {
    const KEPT: f64 = 0.25;
    let shorter = Edit::Scale {
        place: view.place(),
        factors: view.factors_to(|task| {
            let took = task.duration_ms() as f64;
            if task.status.is_failed() { took * KEPT } else { took }
        }),
    };
    Worth::Replay {
        low: vec![shorter],
        high: vec![Edit::Remove { place: view.place(), tasks: failed.into() }],
    }
}

fn status_count(view: &StageView<'_>, status: TaskStatus) -> usize {
    view.tasks.iter().filter(|task| task.status == status).count()
}

/// `ValueError: bad row #`, at most as long as a line.
fn describe(group: &FailureGroup, stage: &StageAttempt) -> String {
    const LONGEST: usize = 110;
    // Spark's mark for a class of errors says nothing once its numbers are left out.
    let pattern = group.pattern.split(" SQLSTATE: ").next().unwrap_or(&group.pattern);
    let class = group.class_name.as_deref().and_then(|name| name.rsplit('.').next());
    let is_traceback = group.pattern.ends_with("Traceback (most recent call last):");
    let text = match class {
        // All tracebacks begin alike and are one group: its example may be another stage's.
        _ if is_traceback => {
            let own = (group.example.stage_id == stage.id).then_some(group.example.text.as_str());
            let text = own.or(stage.failure_reason.as_deref());
            text.and_then(losses::telling_line).unwrap_or("an exception in Python").to_owned()
        }
        Some(class) if !pattern.contains(class) => format!("{class}: {pattern}"),
        _ => pattern.to_owned(),
    };
    words::cut(&text, LONGEST)
}

//! Stage attempts that failed.

use crate::context::{Context, StageDigest};
use crate::detector::{Check, Detector, FindingType, Sink};
use crate::failure_fix::{self, Fix};
use crate::finding::{Claim, Confidence, Nature, Severity, Worth};
use crate::losses;
use crate::plan::fingerprint::sources;
use crate::replay::Edit;
use crate::stage_view::StageView;
use crate::words;
use emberscope_log::columns::TaskStatus;
use emberscope_model::run::{Job, JobStatus};
use emberscope_model::sql::SqlExecution;

/// Characters of a reason that a title has room for.
const LONGEST: usize = 110;

/// The detector.
pub static SFAIL: Detector = Detector {
    tag: "SFAIL",
    title: "Failed stages",
    types: &[FindingType { name: "stageFailed", what: "A stage attempt failed." }],
    thresholds: &[],
    checks: &[Check::Stage(check)],
    what: "A stage attempt ended with a failure reason. `givenUp`: nothing did its work afterwards and the job failed. `retried`: shuffle data \
was lost, or a task of a barrier stage failed, and a later attempt did the rest; the job may well have succeeded. `cancelled`: the job was cancelled, by a user or because another \
part of the query failed or was not needed any more.",
    rule: "The stage attempt has a failure reason. Given up is critical, retried a warning, cancelled a fact. What the \
failed query took is saved where one of the next that come through reads the same, which is the program's other way to \
its result; elsewhere mending the error lets the query take its time.",
    why: "A failed stage fails its job; one that was retried repeats the work of the lost partitions and waits for it.",
    fix: "Read the reason: it names the exception of the last failed task, or the shuffle that could not be read.\n\n\
```sql\nSELECT try_cast(a AS INT), try_divide(a, b) FROM t\n```\n\n\
```python\ndf.repartition(400).mapInPandas(parse, schema)  # smaller tasks for code that runs out of memory\n```\n\n\
For fetch failures find out why the executor that had the data went: see `retryWaste`.",
    limits: "A job that succeeded although one of its stage attempts failed is not a failed job. Errors in the driver fail no stage.",
};

fn check(context: &Context<'_>, view: &StageView<'_>, sink: &mut Sink) {
    let stage = view.stage;
    let Some(reason) = stage.failure_reason.as_deref().filter(|_| view.digest.has_failed(context.run)) else {
        return;
    };
    let retried = context.run.attempts(stage.id).iter().any(|other| other.attempt > stage.attempt);
    let is_cancelled = ["cancelled", "canceled", "killed by user", "Stage cancelled"]
        .iter()
        .any(|word| reason.contains(word));
    let job_failed =
        stage.job_ids.iter().filter_map(|id| context.run.job(*id)).any(|job| job.status == JobStatus::Failed);
    let (variant, severity, how) = if is_cancelled {
        ("cancelled", Severity::Info, "was cancelled")
    } else if retried && !losses::was_given_up(context.run, stage) {
        ("retried", Severity::Warning, "failed and was tried again")
    } else {
        ("givenUp", Severity::Critical, "failed")
    };
    let line = losses::quoted(reason, LONGEST).unwrap_or_else(|| "no reason".to_owned());
    // Spark would have tried again what was lost.
    let is_shut_down =
        variant == "givenUp" && losses::is_fetch_failure(reason) && was_shut_down(context, view);
    let then = if is_shut_down { ", then the application was shut down" } else { "" };
    let title = format!("Stage {} (attempt {}) {how}{then}: {line}", stage.id, stage.attempt);
    let fix = match variant {
        "givenUp" if losses::is_fetch_failure(reason) => lost_data(context, view, is_shut_down),
        "givenUp" => failure_fix::of_error(context, reason),
        _ => Fix { text: without_change(variant, stage.is_barrier).to_owned(), changes: Vec::new() },
    };
    let mut claim = Claim::new("stageFailed", context.stage_scope(view.digest), title)
        .evidence("reason", line)
        .evidence("attempts", view.digest.attempts)
        .evidence("failed_attempts", view.digest.failed)
        .evidence("stage_lost_ms", view.digest.lost_ms)
        .evidence("job_failed", job_failed)
        .advice(fix.text)
        .changes(fix.changes);
    claim.variant = Some(variant);
    if variant == "givenUp"
        && let Some(jobs) = done_again(context, view.digest)
    {
        claim.worth = worth(context, &jobs);
    }
    claim.severity = Some(severity);
    claim.nature = if variant == "retried" && !stage.is_barrier { Nature::Resource } else { Nature::Code };
    claim.confidence = Confidence::High;
    claim.core_ms = Some((view.digest.lost_ms as f64 * view.digest.task_cpus) as i64);
    claim.validate = format!(
        "The reason in the log must be the one in the driver's log ({} long there).",
        words::count(reason.lines().count(), "line")
    );
    sink.claim(claim);
}

/// The jobs of a query that failed, if one of the next that came through read the same: then all that the first one
/// did brought nothing.
fn done_again(context: &Context<'_>, digest: &StageDigest) -> Option<Vec<u32>> {
    /// A program that goes another way does so at once; what reads the same much later is another question.
    const NEXT: usize = 3;
    let id = context.run.job(digest.job_id?)?.sql_execution_id?;
    let view = context.sql_view(id)?;
    let (jobs, sources) = (&view.execution.job_ids, sources(&view)?);
    let end = jobs.iter().filter_map(|id| context.run.job(*id)?.end_ms).max()?;
    let succeeds = |query: &&SqlExecution| {
        let jobs: Vec<&Job> = query.job_ids.iter().filter_map(|id| context.run.job(*id)).collect();
        !jobs.is_empty() && jobs.iter().all(|job| job.status == JobStatus::Succeeded)
    };
    let later = context.run.sql_executions.iter().filter(|query| query.start_ms >= Some(end));
    let mut next = later.filter(succeeds).take(NEXT);
    let reads_the_same = |query: &SqlExecution| {
        context.sql_view(query.id).and_then(|view| self::sources(&view)).as_ref() == Some(&sources)
    };
    (!sources.is_empty() && next.any(reads_the_same)).then(|| jobs.clone())
}

/// Without the jobs of a query. At worst the way that works after it becomes longer by a quarter of what they took.
fn worth(context: &Context<'_>, jobs: &[u32]) -> Worth {
    const AT_WORST: f64 = 0.25;
    let digests = context.stages.iter().filter(|digest| digest.job_id.is_some_and(|id| jobs.contains(&id)));
    let low = digests.map(|digest| Edit::ScaleAll { place: (digest.id, digest.attempt), factor: AT_WORST });
    Worth::Replay { low: low.collect(), high: jobs.iter().map(|job| Edit::DropJob { job: *job }).collect() }
}

/// What to do about a stage that others made good, or that was not wanted any more.
fn without_change(variant: &str, is_barrier: bool) -> &'static str {
    match variant {
        // The tasks of a barrier stage stand and fall together: one that failed takes the others with it.
        "retried" if is_barrier => {
            "One task of the barrier failed, and with it all others: mend what made it fail; the finding about failed tasks tells it."
        }
        "retried" => {
            "Find out why the shuffle data was lost; the finding about repeated work tells what it cost."
        }
        _ => "Nothing to mend here: find out who or what cancelled the job.",
    }
}

/// Whether a job of the stage ended because the application did.
fn was_shut_down(context: &Context<'_>, view: &StageView<'_>) -> bool {
    let jobs = view.stage.job_ids.iter().filter_map(|id| context.run.job(*id));
    jobs.filter_map(|job| job.error.as_deref()).any(|error| error.contains("was shut down"))
}

/// What to do where shuffle data was lost and nothing made it good.
fn lost_data(context: &Context<'_>, view: &StageView<'_>, is_shut_down: bool) -> Fix {
    let is_lost = |status: TaskStatus| matches!(status, TaskStatus::ExecutorLost | TaskStatus::FetchFailed);
    let lost = view.tasks.iter().filter(|task| is_lost(task.status));
    let executors: Vec<&str> = lost.map(|task| context.text(task.executor)).collect();
    let mut fix = failure_fix::of_loss(context, failure_fix::loss_of(context, &executors));
    let shut_down = if is_shut_down {
        " The job failed because the application ended before Spark could compute that again: find out who or what ended it."
    } else {
        ""
    };
    fix.text = format!("The shuffle data that the stage reads was lost.{shut_down} {}", fix.text);
    fix
}

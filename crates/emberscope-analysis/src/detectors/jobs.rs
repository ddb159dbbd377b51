//! Jobs that failed.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink, Threshold};
use crate::finding::{Change, Claim, Confidence, Nature, Scope, Severity, Worth};
use crate::losses;
use crate::words::{self, core_time, count, duration, percent, rounded};
use emberscope_model::intervals::union_ms;
use emberscope_model::run::{ApplicationStatus, Job, JobStatus};

const RATE: Threshold = Threshold {
    tag: "JOBS",
    name: "failed_share",
    default: 0.1,
    doc: "Share of failed jobs, of those that ended, from which the finding is made.",
};

/// Jobs that failed.
pub static JOBS: Detector = Detector {
    tag: "JOBS",
    title: "Job failure rate",
    types: &[FindingType { name: "jobFailureRate", what: "A noticeable part of the jobs failed." }],
    thresholds: &[RATE],
    checks: &[Check::App(check)],
    what: "A part of the jobs ended with a failure. Jobs that somebody cancelled (a lost race of a timeout, a stopped \
           streaming query, `cancelJobGroup`) are no failures and are counted apart. What failed inside a job, and \
           why, is told by `stageFailed` and `failures`; this finding tells how much of the run went into jobs that \
           gave nothing.",
    rule: "Fires when failed / ended jobs is at least `failed_share`; cancelled jobs are in neither number, \
           though the evidence counts them among both.",
    why: "All work of a failed job is lost unless a retry can use its shuffle files. The evidence gives the time in \
          which failed jobs ran and the core-time of their stages.",
    fix: "Look at the first failed job's message and at the failed stage. If the program goes on after the failure, \
          check that it does so on purpose:\n\n```python\ntry:\n    df.write.parquet(path)\nexcept Exception:\n    \
          log.exception(\"write failed\")\n    raise\n```\n\n```sql\n-- find the jobs' errors in the report:\n\
          SELECT job_id, error FROM jobs WHERE status = 'failed'\n```",
    limits: "A job has no exit reason beside its message: cancellations are known by the words that Spark uses. Jobs \
             that still ran when the log ended are not counted.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let ended: Vec<&Job> =
        ctx.run.jobs.iter().filter(|job| job.status != JobStatus::Running && !job.was_cancelled()).collect();
    let failed: Vec<&Job> = ended.iter().copied().filter(|job| job.status == JobStatus::Failed).collect();
    let Some(first) = failed.first() else { return };
    let share = failed.len() as f64 / ended.len() as f64;
    if share < ctx.get(&RATE) {
        return;
    }
    let span = |job: &&Job| Some((job.start_ms?, job.end_ms.unwrap_or(ctx.end_ms)));
    let wall = union_ms(failed.iter().filter_map(span));
    let is_lost = |digest: &&crate::context::StageDigest| {
        digest.job_id.is_some_and(|id| failed.iter().any(|job| job.id == id))
    };
    let core_ms = ctx
        .stages
        .iter()
        .filter(is_lost)
        .map(|digest| (digest.attempt_ms as f64 * digest.task_cpus) as i64)
        .sum();
    let cancelled = ctx.run.jobs.iter().filter(|job| job.was_cancelled()).count();
    // Counted as everywhere else; what was cancelled is named.
    let (all_failed, all_ended) = (failed.len() + cancelled, ended.len() + cancelled);
    let apart = if cancelled == 0 { String::new() } else { format!(", {cancelled} of them cancelled") };
    let title = format!(
        "{all_failed} of {} failed{apart} ({}): {} and {} went into them",
        count(all_ended, "job"),
        if cancelled == 0 { percent(share) } else { format!("{} of the others", percent(share)) },
        duration(wall),
        core_time(core_ms)
    );
    let mut claim = Claim::new("jobFailureRate", Scope::default(), title)
        .evidence("failed_jobs", all_failed)
        .evidence("ended_jobs", all_ended)
        .evidence("cancelled_jobs", cancelled)
        .evidence("failed_share", rounded(share))
        .evidence("failed_jobs_wall_ms", wall)
        .evidence("failed_jobs_core_ms", core_ms)
        .evidence("first_failed_job", first.id)
        .advice(format!(
            "Start with job {}{} Its failed stage tells the cause.",
            first.id,
            first_line(first).map_or_else(|| ".".to_owned(), |text| format!(": {}", words::ended(&text)))
        ))
        .change(Change::code(format!("job {}", first.id), "fix the cause of its failure"));
    if let Some(text) = first_line(first) {
        claim = claim.evidence("first_error", text);
    }
    claim.nature = Nature::Code;
    claim.confidence = Confidence::High;
    claim.worth = Worth::Resource;
    claim.core_ms = Some(core_ms);
    claim.severity = Some(severity(ctx));
    claim.validate = "Failures that the program provokes on purpose and handles refute it.".to_owned();
    sink.claim(claim);
}

/// A failed job is critical, unless the application made it good: then it is a warning.
fn severity(ctx: &Context<'_>) -> Severity {
    let last_failed = ctx.run.jobs.last().is_some_and(|job| job.status == JobStatus::Failed);
    if ctx.run.application.status == ApplicationStatus::Succeeded && !last_failed {
        Severity::Warning
    } else {
        Severity::Critical
    }
}

/// What says most in a job's message, cut to a length that fits a sentence.
fn first_line(job: &Job) -> Option<String> {
    losses::quoted(job.error.as_deref()?, 200)
}

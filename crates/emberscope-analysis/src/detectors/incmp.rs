//! Logs that do not hold the whole run.

use crate::context::Context;
use crate::detector::{Check, Detector, FindingType, Sink};
use crate::finding::{Claim, Confidence, Nature, Recommendation, Scope, Severity, Worth};
use crate::words::{count, duration};
use emberscope_log::columns::TaskStatus;
use emberscope_model::run::{JobStatus, StageStatus};

/// Logs that do not hold the whole run.
pub static INCMP: Detector = Detector {
    tag: "INCMP",
    title: "Incomplete run",
    types: &[FindingType {
        name: "incompleteRun",
        what: "The log has no end of the application: everything said holds for a part of the run.",
    }],
    thresholds: &[],
    checks: &[Check::App(check)],
    what: "The log does not tell that the application ended. It still runs, or it died without a word (killed, out of \
           memory, node lost), or the log is a copy made while it ran, or its last part is missing. Every number of \
           the report holds for the part that is in the log. This finding is never ranked among the fixes; it is \
           shown before all others.",
    rule: "Fires when the log has no `SparkListenerApplicationEnd`.",
    why: "Totals are too low and shares are of an estimated run time: the end is taken to be the latest event. A \
          comparison with a complete run would show improvements that are none.",
    fix: "Wait for the run to end, or fetch the whole log. A driver that ends with `spark.stop()` (or leaves its \
          `with` block) writes the end:\n\n```python\ntry:\n    main(spark)\nfinally:\n    spark.stop()\n```\n\n```sql\n\
          -- nothing to change in a query\n```\n\nIf the driver was killed, look at its own log and the cluster \
          manager's: exit code 137 and `OOMKilled` mean memory.",
    limits: "The log cannot tell a run that goes on from one that died. Tasks that were running are known only by \
             their start, and Spark flushes the log with job and stage events: the last tasks may not be in it.",
};

fn check(ctx: &Context<'_>, sink: &mut Sink) {
    let run = ctx.run;
    if run.application.has_end || ctx.is_plan_only() {
        return;
    }
    let jobs = run.jobs.iter().filter(|job| job.status == JobStatus::Running).count();
    let stages = run.stages.iter().filter(|stage| stage.status == StageStatus::Active).count();
    let is_running = |status: &TaskStatus| *status == TaskStatus::Running;
    let tasks: usize =
        run.stages.iter().map(|stage| stage.tasks.statuses().into_iter().filter(is_running).count()).sum();
    let seen = ctx.wall_ms.map(duration);
    let cut = if run.trust.truncated_tail { ", in the middle of a line" } else { "" };
    let title = match seen {
        Some(seen) if run.trust.is_running => format!(
            "The application is still running, {seen} after its start, with {} and {} at work",
            count(jobs, "job"),
            count(stages, "stage")
        ),
        Some(seen) if jobs + stages == 0 => {
            format!(
                "The log ends {seen} into the run{cut}, with no job running and no word of the application's end"
            )
        }
        Some(seen) => format!(
            "The log ends {seen} into the run{cut}, with {} and {} still running",
            count(jobs, "job"),
            count(stages, "stage")
        ),
        None => format!("The log has neither start nor end of the run{cut}"),
    };
    let mut claim = Claim::new("incompleteRun", Scope::default(), title)
        .evidence("running_jobs", jobs)
        .evidence("running_stages", stages)
        .evidence("running_tasks", tasks)
        .evidence("truncated_tail", run.trust.truncated_tail)
        .evidence("missing_members", run.trust.missing_members.len());
    if let Some(wall) = ctx.wall_ms {
        claim = claim.evidence("seen_wall_ms", wall);
    }
    let advice = match run.trust.is_running {
        true => "Ask again when the run has ended.",
        false => {
            "Read the log again when the run has ended. If it ended already, its driver was killed or did not stop \
             Spark: look at the driver's own log and at the cluster manager's."
        }
    };
    claim.recommendation = Recommendation { text: advice.to_owned(), changes: Vec::new() };
    claim.nature = Nature::Resource;
    claim.confidence = Confidence::High;
    claim.worth = Worth::None;
    claim.severity = Some(Severity::Warning);
    claim.validate = "A later copy of the log that holds the application's end refutes it.".to_owned();
    sink.claim(claim);
}

//! Stages of a query: when, how long, and how its tasks are spread.

use crate::report::StageLine;
use emberscope_analysis::context::{Context, StageDigest};
use emberscope_analysis::finding::Finding;
use emberscope_analysis::stage_view::{StageView, Task};
use emberscope_model::distribution::Distribution;

/// Stages of `sql_id`, or of the whole run, longest first.
pub(crate) fn stages(
    context: &Context<'_>,
    sql_id: Option<u64>,
    findings: &[Finding],
    most: usize,
) -> Vec<StageLine> {
    let mut digests: Vec<&StageDigest> =
        context.stages.iter().filter(|digest| sql_id.is_none_or(|id| digest.sql_id == Some(id))).collect();
    digests.sort_by_key(|digest| (std::cmp::Reverse(digest.running_ms()), digest.id, digest.attempt));
    let mut lines: Vec<StageLine> =
        digests.into_iter().take(most).map(|digest| line(context, digest, findings)).collect();
    lines.sort_by_key(|line| (line.submitted_after_ms, line.stage_id, line.stage_attempt));
    lines
}

fn line(context: &Context<'_>, digest: &StageDigest, findings: &[Finding]) -> StageLine {
    let stage = &context.run.stages[digest.position];
    let view = StageView::of(stage, digest, context.end_ms);
    let counted: Vec<&Task> = view.tasks.iter().filter(|task| task.is_useful).collect();
    let has_metrics =
        counted.iter().any(|task| task.has_metrics && task.run_ms > 0) || digest.counted.run_ms > 0;
    let durations = Distribution::of(counted.iter().map(|task| task.duration_ms()));
    let measured = |value: fn(&Task) -> i64| match has_metrics {
        true => Distribution::of(counted.iter().map(|task| value(task))),
        false => Distribution::Absent,
    };
    let whole = |value: Option<f64>| value.map(|value| value.round() as i64);
    let records = measured(Task::read_records);
    let bytes = measured(Task::read_bytes);
    let slowest = counted.iter().max_by_key(|task| task.duration_ms()).filter(|_| has_metrics);
    let place = (digest.id, digest.attempt);
    let of_stage = |finding: &&Finding| {
        finding.scope.stage_id == Some(place.0) && finding.scope.stage_attempt.unwrap_or(0) == place.1
    };
    StageLine {
        stage_id: place.0,
        stage_attempt: place.1,
        name: stage.name.to_string(),
        submitted_after_ms: stage.submitted_ms.map(|at| at - context.start_ms),
        waiting_ms: stage.waiting_ms(),
        running_ms: stage.running_ms(),
        tasks: digest.attempts,
        failed: digest.failed,
        run_time_ms: has_metrics.then_some(digest.counted.run_ms),
        duration_median_ms: whole(durations.median()),
        duration_p95_ms: whole(durations.quantile(0.95)),
        duration_max_ms: whole(durations.max()),
        records_median: whole(records.median()),
        records_max: whole(records.max()),
        bytes_median: whole(bytes.median()),
        bytes_max: whole(bytes.max()),
        slowest_deserialize_ms: slowest.map(|task| task.deserialize_ms),
        memory_spilled_bytes: has_metrics.then_some(digest.counted.memory_spilled_bytes),
        findings: findings.iter().filter(of_stage).map(|finding| finding.tag.to_owned()).collect(),
    }
}

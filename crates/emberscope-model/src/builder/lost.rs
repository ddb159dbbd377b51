//! Events that must have been and are not in the log: a listener that could not keep up drops them, and
//! then every total is too low without a word.

use crate::accounting::RowFacts;
use crate::run::{Job, JobStatus, StageAttempt, UnsubmittedStage};
use crate::trust::{StageCoverage, Trust};
use std::collections::BTreeSet;

/// Finds what is missing, adds it to the coverage and tells it.
pub(super) fn count(
    jobs: &[Job],
    stages: &[StageAttempt],
    facts: &[RowFacts],
    unsubmitted: &mut [UnsubmittedStage],
    trust: &mut Trust,
) {
    stages_of_ended_jobs(jobs, stages, unsubmitted, trust);
    job_ids(jobs, trust);
    task_ids(stages, facts, trust);
    trust.coverage.update_ratio();
}

/// A job that succeeded ran at least its last stage. Where none of its stages is in the log, their
/// events are missing, and the last one was not skipped.
fn stages_of_ended_jobs(
    jobs: &[Job],
    stages: &[StageAttempt],
    unsubmitted: &mut [UnsubmittedStage],
    trust: &mut Trust,
) {
    let executed: BTreeSet<u32> = stages.iter().map(|stage| stage.id).collect();
    let mut silent_jobs = 0;
    for job in jobs.iter().filter(|job| job.status == JobStatus::Succeeded) {
        let Some(last) = job.stage_ids.last() else { continue };
        if job.stage_ids.iter().any(|id| executed.contains(id)) {
            continue;
        }
        silent_jobs += 1;
        if let Some(stage) = unsubmitted.iter_mut().find(|stage| stage.id == *last) {
            stage.is_skipped = false;
            trust.coverage.tasks_expected = trust.coverage.tasks_expected.saturating_add(stage.num_tasks);
            trust.coverage.stages.push(StageCoverage {
                stage_id: stage.id,
                stage_attempt: 0,
                tasks_expected: stage.num_tasks,
                tasks_seen: 0,
            });
        }
    }
    if silent_jobs > 0 {
        trust.notes.push(format!(
            "{} succeeded, but none of the stages is in the log: stage and task events are missing",
            jobs_text(silent_jobs)
        ));
    }
}

/// Spark numbers jobs from 0 without gaps.
fn job_ids(jobs: &[Job], trust: &mut Trust) {
    let without_start = jobs.iter().filter(|job| job.start_ms.is_none()).count();
    if without_start > 0 {
        trust.notes.push(format!("{} ended, but their start is not in the log", jobs_text(without_start)));
    }
    let Some(last) = jobs.last() else { return };
    let missing = (u64::from(last.id) + 1).saturating_sub(jobs.len() as u64);
    if missing > 0 {
        trust.notes.push(format!("{} below job {} are not in the log", jobs_text(missing as usize), last.id));
    }
}

/// Spark numbers task attempts from 0 without gaps, over all stages.
fn task_ids(stages: &[StageAttempt], facts: &[RowFacts], trust: &mut Trust) {
    let attempts: u64 = stages.iter().map(|stage| stage.tasks.rows() as u64).sum();
    let last = facts.iter().filter_map(|facts| facts.last_task_id).max();
    let Some(last) = last else { return };
    let missing = (last as u64).saturating_add(1).saturating_sub(attempts);
    // Ids far beyond the number of attempts are damage, not gaps.
    if missing == 0 || missing > attempts.saturating_mul(100) {
        return;
    }
    let known: u64 = trust.coverage.stages.iter().map(|stage| stage.tasks_expected - stage.tasks_seen).sum();
    trust.coverage.tasks_expected =
        trust.coverage.tasks_expected.saturating_add(missing.saturating_sub(known));
    let attempts =
        if missing == 1 { "1 task attempt is".to_owned() } else { format!("{missing} task attempts are") };
    trust.notes.push(format!("{attempts} not in the log at all, by the gaps in their ids"));
}

fn jobs_text(n: usize) -> String {
    if n == 1 { "1 job".to_owned() } else { format!("{n} jobs") }
}

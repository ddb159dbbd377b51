//! `/jobs`.

use super::{Answer, json};
use crate::opened::Opened;
use crate::spark_rest::figures::JobFigures;
use crate::spark_rest::{Params, Refusal, time};
use emberscope_model::redact;
use emberscope_model::run::{Job, JobStatus};
use serde::Serialize;
use std::collections::BTreeMap;

const STATUSES: &[&str] = &["RUNNING", "SUCCEEDED", "FAILED", "UNKNOWN"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobData {
    job_id: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    submission_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_time: Option<String>,
    stage_ids: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_group: Option<String>,
    job_tags: Vec<String>,
    status: &'static str,
    num_tasks: i64,
    num_active_tasks: i64,
    num_completed_tasks: i64,
    num_skipped_tasks: i64,
    num_failed_tasks: i64,
    num_killed_tasks: i64,
    num_completed_indices: i64,
    num_active_stages: i64,
    num_completed_stages: i64,
    num_skipped_stages: i64,
    num_failed_stages: i64,
    killed_tasks_summary: BTreeMap<String, i64>,
}

fn status_name(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Running => "RUNNING",
        JobStatus::Succeeded => "SUCCEEDED",
        JobStatus::Failed => "FAILED",
    }
}

fn job_data(opened: &Opened, job: &Job) -> JobData {
    let run = &opened.run;
    let figures = JobFigures::of(run, opened.figures(), job);
    let counts = figures.counts;
    JobData {
        job_id: job.id,
        name: last_stage_name(opened, job),
        description: job.description.as_deref().map(|text| redact::text(text).into_owned()),
        submission_time: job.start_ms.map(time::shown),
        completion_time: job.end_ms.filter(|_| job.status != JobStatus::Running).map(time::shown),
        stage_ids: job.stage_ids.clone(),
        job_group: job.group.clone(),
        job_tags: job.tags.iter().cloned().collect(),
        status: status_name(job.status),
        num_tasks: figures.tasks,
        num_active_tasks: counts.active,
        num_completed_tasks: counts.complete,
        num_skipped_tasks: figures.skipped_tasks,
        num_failed_tasks: counts.failed,
        num_killed_tasks: counts.killed,
        num_completed_indices: figures.completed_indices,
        num_active_stages: figures.active_stages,
        num_completed_stages: figures.completed_stages,
        num_skipped_stages: figures.skipped_stages,
        num_failed_stages: figures.failed_stages,
        killed_tasks_summary: figures.killed_summary,
    }
}

/// A job is called after its last stage.
fn last_stage_name(opened: &Opened, job: &Job) -> String {
    let run = &opened.run;
    let Some(last) = job.stage_ids.last() else { return job.call_site.clone().unwrap_or_default() };
    let ran = run.attempts(*last).first().map(|stage| stage.name.to_string());
    let skipped =
        || run.unsubmitted_stages.iter().find(|stage| stage.id == *last).map(|stage| stage.name.clone());
    ran.or_else(skipped).unwrap_or_default()
}

pub(super) fn list(run: &Opened, params: &Params) -> Answer {
    let wanted = params.words("status", STATUSES)?;
    let jobs = run.run.jobs.iter().rev().filter(|job| job.start_ms.is_some());
    let is_wanted = |job: &&Job| wanted.is_empty() || wanted.contains(&status_name(job.status));
    json(&jobs.filter(is_wanted).map(|job| job_data(run, job)).collect::<Vec<_>>())
}

pub(super) fn one(run: &Opened, id: u32) -> Answer {
    let job = run.run.job(id).ok_or_else(|| Refusal::not_found(format!("unknown job: {id}")))?;
    json(&job_data(run, job))
}

//! What pictures of a diagnosis are drawn from: plain data, downsampled to what an eye can take in.
//!
//! Times are milliseconds since the run's start.

pub(crate) mod buckets;
mod distribution;
mod lanes;

pub use distribution::{Measure, StageDistribution, TaskMark, Unit};

use crate::diagnosis::Diagnosis;
use crate::finding::Severity;
use buckets::Buckets;
use emberscope_log::columns::TaskColumn;
use emberscope_model::occupancy::task_cpus;
use emberscope_model::run::{Run, StageStatus};
use serde::Serialize;
use std::cmp::Reverse;

/// Pieces of time that a curve has.
const PIECES: usize = 240;
/// Spans that are kept, and rows that they may take.
const SPANS: usize = 600;
const STAGE_LANES: usize = 14;
const QUERY_LANES: usize = 4;

/// All that is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plots {
    /// The run over time.
    pub timeline: Timeline,
    /// How task times, records and bytes are spread in the stages that findings are about.
    pub distributions: Vec<StageDistribution>,
}

/// The run over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Start, epoch milliseconds; `None` when the log has no time at all.
    pub start_time_ms: Option<i64>,
    /// Length.
    pub duration_ms: i64,
    /// Root SQL executions.
    pub queries: Vec<QuerySpan>,
    /// Queries for which there was no room: the shortest.
    pub queries_left_out: usize,
    /// Stage attempts.
    pub stages: Vec<StageSpan>,
    /// Stage attempts for which there was no room: the shortest ones without a finding.
    pub stages_left_out: usize,
    /// Cores over time, in pieces of equal length.
    pub cores: Vec<CoreUse>,
}

/// A root SQL execution over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuerySpan {
    /// Execution id.
    pub sql_id: u64,
    /// Description as logged.
    pub description: String,
    /// Start.
    pub from_ms: i64,
    /// End.
    pub to_ms: i64,
    /// Row, from 0, in which it overlaps no other.
    pub lane: usize,
}

/// A stage attempt over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageSpan {
    /// Stage id.
    pub stage_id: u32,
    /// Stage attempt.
    pub stage_attempt: u32,
    /// Name as logged.
    pub name: String,
    /// Submission.
    pub submitted_ms: i64,
    /// First launch; `None` when no task was launched.
    pub running_ms: Option<i64>,
    /// End.
    pub to_ms: i64,
    /// Task attempts.
    pub attempts: usize,
    /// Whether it failed.
    pub is_failed: bool,
    /// Whether the log has no end of it.
    pub is_open: bool,
    /// The worst severity of the findings about it.
    pub severity: Option<Severity>,
    /// Findings about it.
    pub findings: Vec<String>,
    /// Row, from 0, in which it overlaps no other.
    pub lane: usize,
}

/// Cores in a piece of time; means over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CoreUse {
    /// Executors that lived.
    pub executors: f64,
    /// Cores that they offered.
    pub offered: f64,
    /// Cores that task attempts held, from launch to finish.
    pub held: f64,
}

/// Draws up the data of a run and what was found in it.
pub fn plots(run: &Run, diagnosis: &Diagnosis) -> Plots {
    Plots { timeline: timeline(run, diagnosis), distributions: distribution::distributions(run, diagnosis) }
}

/// Start and end of a run, epoch milliseconds, from whatever has a time.
pub(crate) fn span_of(run: &Run) -> Option<(i64, i64)> {
    let submitted = run.stages.iter().filter_map(|stage| stage.submitted_ms).min();
    let finished = run.stages.iter().filter_map(|stage| stage.last_finish_ms).max();
    let start = run.application.start_ms.or(submitted)?;
    Some((start, run.application.end_ms.or(finished).unwrap_or(start).max(start)))
}

fn timeline(run: &Run, diagnosis: &Diagnosis) -> Timeline {
    let Some((start, end)) = span_of(run) else { return Timeline::default() };
    let (queries, queries_left_out) = queries(run, start, end);
    let (stages, stages_left_out) = stages(run, diagnosis, start, end);
    Timeline {
        start_time_ms: Some(start),
        duration_ms: end - start,
        queries,
        queries_left_out,
        stages,
        stages_left_out,
        cores: cores(run, start, end),
    }
}

fn queries(run: &Run, start: i64, end: i64) -> (Vec<QuerySpan>, usize) {
    let mut spans: Vec<QuerySpan> = run
        .sql_executions
        .iter()
        .filter(|execution| execution.is_root())
        .filter_map(|execution| {
            let from = execution.start_ms?.clamp(start, end);
            Some(QuerySpan {
                sql_id: execution.id,
                description: execution.description.clone().unwrap_or_default(),
                from_ms: from - start,
                to_ms: execution.end_ms.unwrap_or(end).clamp(from, end) - start,
                lane: 0,
            })
        })
        .collect();
    spans.sort_by_key(|span| (Reverse(span.to_ms - span.from_ms), span.sql_id));
    let all = spans.len();
    spans.truncate(SPANS);
    let lanes = lanes::lanes(spans.iter().map(|span| (span.from_ms, span.to_ms)), QUERY_LANES);
    let mut kept: Vec<QuerySpan> = spans
        .into_iter()
        .zip(lanes)
        .filter_map(|(span, lane)| Some(QuerySpan { lane: lane?, ..span }))
        .collect();
    kept.sort_by_key(|span| (span.from_ms, span.sql_id));
    let left_out = all - kept.len();
    (kept, left_out)
}

fn stages(run: &Run, diagnosis: &Diagnosis, start: i64, end: i64) -> (Vec<StageSpan>, usize) {
    let mut spans: Vec<StageSpan> = run
        .stages
        .iter()
        .filter_map(|stage| {
            let submitted = stage.submitted_ms.or(stage.first_launch_ms)?.clamp(start, end);
            let ended = stage.completed_ms.max(stage.last_finish_ms);
            let is_open = stage.status == StageStatus::Active;
            let about: Vec<_> = diagnosis
                .findings
                .iter()
                .filter(|finding| {
                    finding.scope.stage_id == Some(stage.id)
                        && finding.scope.stage_attempt.is_none_or(|attempt| attempt == stage.attempt)
                })
                .collect();
            Some(StageSpan {
                stage_id: stage.id,
                stage_attempt: stage.attempt,
                name: stage.name.to_string(),
                submitted_ms: submitted - start,
                running_ms: stage.first_launch_ms.map(|launch| launch.clamp(submitted, end) - start),
                to_ms: ended.unwrap_or(end).clamp(submitted, end) - start,
                attempts: stage.tasks.rows(),
                is_failed: stage.status == StageStatus::Failed,
                is_open,
                severity: about.iter().map(|finding| finding.severity).max(),
                findings: about.iter().map(|finding| finding.id.clone()).collect(),
                lane: 0,
            })
        })
        .collect();
    let length = |span: &StageSpan| span.to_ms - span.submitted_ms;
    spans.sort_by_key(|span| {
        (Reverse(span.severity), Reverse(length(span)), span.stage_id, span.stage_attempt)
    });
    let all = spans.len();
    spans.truncate(SPANS);
    // By length alone, so that what a finding is about stands where it would without it.
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|n| (Reverse(length(&spans[*n])), spans[*n].stage_id, spans[*n].stage_attempt));
    let placed = lanes::lanes(order.iter().map(|n| (spans[*n].submitted_ms, spans[*n].to_ms)), STAGE_LANES);
    let mut lane_of = vec![None; spans.len()];
    order.iter().zip(placed).for_each(|(n, lane)| lane_of[*n] = lane);
    let mut kept: Vec<StageSpan> = spans
        .into_iter()
        .zip(lane_of)
        .filter_map(|(span, lane)| Some(StageSpan { lane: lane?, ..span }))
        .collect();
    kept.sort_by_key(|span| (span.submitted_ms, span.stage_id, span.stage_attempt));
    let left_out = all - kept.len();
    (kept, left_out)
}

fn cores(run: &Run, start: i64, end: i64) -> Vec<CoreUse> {
    if end <= start {
        return Vec::new();
    }
    let new = || Buckets::new(start, end, PIECES);
    let (mut executors, mut offered, mut held) = (new(), new(), new());
    for executor in &run.executors {
        if let (Some((added, removed)), Some(cores)) = (executor.lifetime(end), executor.cores) {
            executors.add(added, removed, 1.0);
            offered.add(added, removed, f64::from(cores));
        }
    }
    for stage in &run.stages {
        let cpus = task_cpus(run, stage);
        let launch = stage.tasks.column(TaskColumn::LaunchTime);
        let finish = stage.tasks.column(TaskColumn::FinishTime);
        for (launch, finish) in launch.into_iter().zip(finish) {
            if let Some(launch) = launch {
                held.add(launch, finish.unwrap_or(end), cpus);
            }
        }
    }
    let (executors, offered, held) = (executors.means(), offered.means(), held.means());
    (0..PIECES).map(|n| CoreUse { executors: executors[n], offered: offered[n], held: held[n] }).collect()
}

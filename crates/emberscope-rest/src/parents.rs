//! What a stage waited for, by times: the monitoring API does not tell the parents of stages.
//!
//! A stage is submitted when its parents are complete, and all of them are stages of its job with smaller numbers. So
//! parents are sought among those that had ended by then. Some may be too many, which run beside the true ones;
//! whatever waits for all of them was submitted at the same moment.

use crate::shapes::{Job, Stage, time_ms};
use std::collections::BTreeMap;

/// Stages of a job beyond which nothing is sought: it would take the square of them.
const MOST_STAGES: usize = 5_000;

/// When a stage ran first.
#[derive(Clone, Copy, Debug)]
struct Span {
    submitted_ms: i64,
    completed_ms: i64,
}

/// Likely parents by stage; of a skipped stage none. A parent may be a skipped one.
pub(crate) fn parents(jobs: &[Job], stages: &[Stage]) -> BTreeMap<u32, Vec<u32>> {
    let spans = spans(stages);
    let mut by_first_rdd: BTreeMap<u32, Span> = BTreeMap::new();
    for stage in stages {
        if let (Some(rdd), Some(span)) = (stage.rdd_ids.iter().min(), spans.get(&stage.stage_id)) {
            by_first_rdd.entry(*rdd).or_insert(*span);
        }
    }
    // A skipped stage stands for the one that had computed its output.
    let of_skipped = stages
        .iter()
        .filter(|stage| stage.status == "SKIPPED")
        .filter_map(|stage| Some((stage.stage_id, *by_first_rdd.get(stage.rdd_ids.iter().min()?)?)))
        .collect::<BTreeMap<u32, Span>>();
    let span_of = |id: &u32| spans.get(id).or_else(|| of_skipped.get(id)).copied();
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.stage_ids.len() <= MOST_STAGES) {
        let known: Vec<(u32, Span)> =
            job.stage_ids.iter().filter_map(|id| Some((*id, span_of(id)?))).collect();
        for id in &job.stage_ids {
            let Some(own) = spans.get(id) else { continue };
            found.entry(*id).or_insert_with(|| before(*id, *own, &known));
        }
    }
    found
}

/// When stages ran first, by their numbers.
fn spans(stages: &[Stage]) -> BTreeMap<u32, Span> {
    let mut spans: BTreeMap<u32, Span> = BTreeMap::new();
    for stage in stages.iter().filter(|stage| stage.status != "SKIPPED") {
        let Some(submitted_ms) = time_ms(stage.submission_time.as_deref()) else { continue };
        let completed_ms = time_ms(stage.completion_time.as_deref()).unwrap_or(i64::MAX);
        let span = spans.entry(stage.stage_id).or_insert(Span { submitted_ms, completed_ms });
        if submitted_ms < span.submitted_ms {
            *span = Span { submitted_ms, completed_ms };
        }
    }
    spans
}

/// Those that had ended when a stage was submitted, but for what is before another one of them.
fn before(id: u32, own: Span, known: &[(u32, Span)]) -> Vec<u32> {
    let has_ended = |(other, span): &&(u32, Span)| *other < id && span.completed_ms <= own.submitted_ms;
    let ended: Vec<&(u32, Span)> = known.iter().filter(has_ended).collect();
    let latest = ended.iter().map(|(_, span)| span.submitted_ms).max().unwrap_or(i64::MIN);
    let mut parents: Vec<u32> =
        ended.into_iter().filter(|(_, span)| span.completed_ms > latest).map(|(id, _)| *id).collect();
    parents.sort_unstable();
    parents.dedup();
    parents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_the_last_that_had_ended() {
        let at = |second: u32| Some(format!("2026-01-01T00:00:{second:02}.000GMT"));
        let stage = |stage_id, status: &str, from, to, rdd| Stage {
            stage_id,
            status: status.to_owned(),
            submission_time: at(from).filter(|_| status != "SKIPPED"),
            completion_time: at(to).filter(|_| status == "COMPLETE"),
            rdd_ids: vec![rdd],
            ..Stage::default()
        };
        let stages = [
            stage(0, "COMPLETE", 1, 4, 10),
            stage(1, "COMPLETE", 1, 6, 11),
            stage(2, "COMPLETE", 6, 9, 12),
            stage(3, "COMPLETE", 9, 11, 13),
            stage(4, "SKIPPED", 0, 0, 13),
            stage(5, "ACTIVE", 12, 0, 15),
        ];
        let job = |stage_ids: &[u32]| Job { stage_ids: stage_ids.to_vec(), ..Job::default() };
        let found = parents(&[job(&[3, 2, 1, 0]), job(&[4, 5])], &stages);
        let of = |id: u32| found.get(&id).cloned().unwrap_or_default();
        assert_eq!((of(0), of(1), of(2), of(3)), (vec![], vec![], vec![0, 1], vec![2]));
        assert_eq!((of(4), of(5)), (vec![], vec![4]));
    }
}

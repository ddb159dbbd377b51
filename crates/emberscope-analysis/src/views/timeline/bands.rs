//! SQL executions, jobs and stage attempts as spans.

use super::rows::Rows;
use super::{BAND, Band, MergedSpans, Span};
use crate::context::Digests;
use crate::views::jobs::Outcome;
use crate::views::stages::StageState;
use crate::views::{Clock, masked};
use emberscope_model::run::{Run, StageStatus};
use std::cmp::Reverse;

/// All spans of one kind, by start.
#[derive(Clone, Debug, Default)]
pub(super) struct BandIndex {
    rows: u32,
    spans: Vec<Span>,
}

impl BandIndex {
    fn of(mut spans: Vec<Span>) -> BandIndex {
        spans.sort_by_key(|span| (span.from_ms, Reverse(span.to_ms), span.id, span.attempt));
        let mut rows = Rows::default();
        for span in &mut spans {
            span.row = rows.place(span.from_ms, span.to_ms);
        }
        BandIndex { rows: rows.len(), spans }
    }

    /// Rows, and all spans.
    pub(super) fn all(&self) -> (u32, &[Span]) {
        (self.rows, &self.spans)
    }

    /// The spans between two times; those shorter than `px_ms` are merged, and more if there are too many.
    pub(super) fn between(
        &self,
        from_ms: i64,
        to_ms: i64,
        px_ms: f64,
        is_wanted: impl Fn(&Span) -> bool,
    ) -> Band {
        let inside: Vec<&Span> = self
            .spans
            .iter()
            .filter(|span| span.from_ms <= to_ms && span.to_ms >= from_ms && is_wanted(span))
            .collect();
        let mut lengths: Vec<i64> = inside.iter().map(|span| span.to_ms - span.from_ms).collect();
        lengths.sort_unstable_by_key(|length| Reverse(*length));
        let few = inside.len() <= BAND;
        // Of equal ones at the limit all are merged.
        let least = match lengths.get(BAND) {
            Some(limit) => (*limit as f64 + 0.5).max(px_ms),
            None => px_ms,
        };
        let is_whole = |span: &Span| few || (span.to_ms - span.from_ms) as f64 >= least;
        let (whole, short): (Vec<&Span>, Vec<&Span>) = inside.iter().partition(|span| is_whole(span));
        Band {
            rows: self.rows,
            total: inside.len(),
            spans: whole.into_iter().cloned().collect(),
            merged: merged(&short, px_ms),
        }
    }
}

/// Neighbours of a row together, farther and farther ones until there are few.
fn merged(spans: &[&Span], px_ms: f64) -> Vec<MergedSpans> {
    let mut gap_ms = px_ms;
    loop {
        let found = merged_within(spans, gap_ms);
        if found.len() <= BAND {
            return found;
        }
        gap_ms *= 2.0;
    }
}

fn merged_within(spans: &[&Span], gap_ms: f64) -> Vec<MergedSpans> {
    let rows = spans.iter().map(|span| span.row as usize + 1).max().unwrap_or(0);
    // Rows beyond what can be seen share the last.
    let rows = rows.min(BAND / 4);
    let mut open: Vec<Option<MergedSpans>> = vec![None; rows];
    let mut done = Vec::new();
    for span in spans {
        let row = (span.row as usize).min(rows - 1);
        let failed = usize::from(span.status == "failed");
        match &mut open[row] {
            Some(known) if (span.from_ms - known.to_ms) as f64 <= gap_ms => {
                known.to_ms = known.to_ms.max(span.to_ms);
                known.spans += 1;
                known.failed += failed;
            }
            slot => {
                done.extend(slot.take());
                let (from_ms, to_ms) = (span.from_ms, span.to_ms);
                *slot = Some(MergedSpans { row: row as u32, from_ms, to_ms, spans: 1, failed });
            }
        }
    }
    done.extend(open.into_iter().flatten());
    done.sort_by_key(|merged| (merged.from_ms, merged.row));
    done
}

/// SQL executions, jobs, stage attempts.
pub(super) fn bands(run: &Run, digests: &Digests, clock: Clock) -> (BandIndex, BandIndex, BandIndex) {
    let until = |to: Option<i64>, from: i64| clock.at(to.unwrap_or(clock.end_ms).max(from));
    let sql = run.sql_executions.iter().filter_map(|execution| {
        let from = execution.start_ms?;
        Some(Span {
            id: execution.id,
            attempt: None,
            label: execution.description.as_deref().map(masked).unwrap_or_default(),
            from_ms: clock.at(from),
            running_ms: None,
            to_ms: until(execution.end_ms, from),
            row: 0,
            status: Outcome::from(execution.status).name(),
            sql_id: execution.root_id.filter(|root| *root != execution.id),
            job_id: None,
        })
    });
    let jobs = run.jobs.iter().filter_map(|job| {
        let from = job.start_ms?;
        let label = job.description.as_deref().or(job.call_site.as_deref());
        Some(Span {
            id: u64::from(job.id),
            attempt: None,
            label: label.map(masked).unwrap_or_default(),
            from_ms: clock.at(from),
            running_ms: None,
            to_ms: until(job.end_ms, from),
            row: 0,
            status: Outcome::from(job.status).name(),
            sql_id: job.sql_execution_id,
            job_id: None,
        })
    });
    let stages = run.stages.iter().zip(&digests.stages).filter_map(|(stage, digest)| {
        let from = stage.submitted_ms.or(stage.first_launch_ms)?;
        let ended = stage.completed_ms.max(stage.last_finish_ms);
        Some(Span {
            id: u64::from(stage.id),
            attempt: Some(stage.attempt),
            label: masked(&stage.name),
            from_ms: clock.at(from),
            running_ms: stage.first_launch_ms.map(|ms| clock.at(ms)),
            to_ms: until(ended.filter(|_| stage.status != StageStatus::Active), from),
            row: 0,
            status: StageState::from(stage.status).name(),
            sql_id: digest.sql_id,
            job_id: digest.job_id,
        })
    });
    (BandIndex::of(sql.collect()), BandIndex::of(jobs.collect()), BandIndex::of(stages.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: u64, from_ms: i64, to_ms: i64) -> Span {
        Span {
            id,
            attempt: None,
            label: String::new(),
            from_ms,
            running_ms: None,
            to_ms,
            row: 0,
            status: "succeeded",
            sql_id: None,
            job_id: None,
        }
    }

    #[test]
    fn a_band_is_bounded_and_loses_nothing() {
        let few = BandIndex::of((0..10).map(|n| span(n, n as i64 * 10, n as i64 * 10 + 1)).collect());
        let shown = few.between(0, 1_000_000, 1000.0, |_| true);
        assert_eq!((shown.spans.len(), shown.merged.len(), shown.total), (10, 0, 10));
        let many = BandIndex::of(
            (0..20_000).map(|n| span(n, n as i64 * 10, n as i64 * 10 + 1 + (n as i64 % 40))).collect(),
        );
        let shown = many.between(0, 200_000, 200.0, |_| true);
        assert!(shown.spans.len() <= BAND && shown.merged.len() <= BAND, "{shown:?}");
        let merged: usize = shown.merged.iter().map(|merged| merged.spans).sum();
        assert_eq!(shown.spans.len() + merged, 20_000);
        let close = many.between(1000, 1100, 0.1, |_| true);
        assert_eq!((close.spans.len(), close.merged.len()), (close.total, 0));
    }
}

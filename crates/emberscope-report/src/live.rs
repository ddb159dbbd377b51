//! Rows of a run that still goes on.
//!
//! A row is written as soon as what it is about has ended: a job with its end, a SQL execution with its end, a stage
//! attempt and its tasks when all jobs that list the stage have ended. When the run has ended all tables are written
//! again from what is known then, since a late event may change a row and the order is another; so the files that
//! stay are those of a report from the finished log.

use crate::ReportError;
use crate::schema::Report;
use crate::sink::{LogSink, Sink, Written, write_run};
use crate::tables::Unit;
use crate::{FileSink, Format};
use emberscope_model::run::{Job, Run, StageAttempt};
use emberscope_model::sql::SqlExecution;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Writes the reports of a run while it goes on.
pub struct LiveReports {
    sink: LiveSink,
    reports: Vec<Report>,
    jobs: FxHashSet<u32>,
    stages: FxHashSet<(u32, u32)>,
    executions: FxHashSet<u64>,
    rows: u64,
}

enum LiveSink {
    /// Parquet cannot be read before its end, so that nothing is written before the run's.
    Files {
        sink: Box<FileSink>,
        writes_early: bool,
    },
    Log(Box<dyn Sink>),
}

impl LiveReports {
    /// Into files; `sink` comes from [`FileSink::open_live`].
    pub fn into_files(sink: FileSink, reports: &[Report], format: Format) -> Self {
        let writes_early = format == Format::Ndjson;
        LiveReports::new(LiveSink::Files { sink: Box::new(sink), writes_early }, reports)
    }

    /// Onto a logger, a line each. A row that changed after it was written is written again; the last one counts.
    pub fn onto_log<W: Write + Send + 'static>(out: W, reports: &[Report]) -> Self {
        LiveReports::new(LiveSink::Log(Box::new(LogSink::of_news(out, reports))), reports)
    }

    fn new(sink: LiveSink, reports: &[Report]) -> Self {
        LiveReports {
            sink,
            reports: reports.to_vec(),
            jobs: FxHashSet::default(),
            stages: FxHashSet::default(),
            executions: FxHashSet::default(),
            rows: 0,
        }
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the rows of what has ended since the last time. The run is used up: parts of it are taken out.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn update(&mut self, mut run: Run) -> Result<(), ReportError> {
        let sink: &dyn Sink = match &self.sink {
            LiveSink::Files { writes_early: false, .. } => return Ok(()),
            LiveSink::Files { sink, .. } => &**sink,
            LiveSink::Log(sink) => &**sink,
        };
        let ended: BTreeSet<u32> =
            run.jobs.iter().filter(|job| job.end_ms.is_some()).map(|job| job.id).collect();
        let is_ended = |job: &Job| ended.contains(&job.id);
        // Rows of queries are made of all jobs and stages, those of stages of all jobs: each is reduced to what is new
        // when nothing else needs it any more.
        let executions = &mut self.executions;
        run.sql_executions.retain(|sql: &SqlExecution| sql.end_ms.is_some() && executions.insert(sql.id));
        let mut rows = write(&run, &self.reports, &[Report::Sql, Report::PlanNode], sink)?;
        let stages = &mut self.stages;
        run.stages.retain(|stage: &StageAttempt| {
            let is_done = !stage.job_ids.is_empty() && stage.job_ids.iter().all(|id| ended.contains(id));
            is_done && stages.insert((stage.id, stage.attempt))
        });
        rows += write(&run, &self.reports, &[Report::Stage, Report::StageAttempt, Report::Task], sink)?;
        let jobs = &mut self.jobs;
        run.jobs.retain(|job| is_ended(job) && jobs.insert(job.id));
        rows += write(&run, &self.reports, &[Report::Job], sink)?;
        self.rows += rows;
        Ok(())
    }

    /// Writes the run that has ended, and makes everything final.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self, run: &Run, threads: usize) -> Result<BTreeMap<Report, Written>, ReportError> {
        match self.sink {
            LiveSink::Files { sink, .. } => {
                sink.begin_again(&run.source)?;
                write_run(run, &self.reports, &*sink, threads)?;
                sink.close()
            }
            LiveSink::Log(sink) => {
                write_run(run, &self.reports, &*sink, 1)?;
                sink.close()
            }
        }
    }
}

/// Writes those of `wanted` that were chosen, and says how many rows that were.
fn write(run: &Run, chosen: &[Report], wanted: &[Report], sink: &dyn Sink) -> Result<u64, ReportError> {
    let reports: Vec<Report> = wanted.iter().copied().filter(|report| chosen.contains(report)).collect();
    let mut rows = 0;
    for unit in Unit::of(&reports) {
        unit.produce(run, &mut |batch| {
            rows += batch.rows as u64;
            sink.write(batch)
        })?;
    }
    Ok(rows)
}

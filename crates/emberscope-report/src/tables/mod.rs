//! The tables: one file each, with its columns and how a run gives its rows.

pub(crate) mod application;
pub(crate) mod config;
pub(crate) mod data_quality;
pub(crate) mod executor;
pub(crate) mod failure;
pub(crate) mod job;
pub(crate) mod plan_node;
pub(crate) mod sql;
pub(crate) mod stage;
pub(crate) mod stage_attempt;
pub(crate) mod streaming_batch;
pub(crate) mod task;

use crate::ReportError;
use crate::cells::{Batch, BatchBuilder, Cell};
use crate::schema::{Column, Report};
use emberscope_model::run::Run;

/// Takes batches.
pub type Emit<'e> = dyn FnMut(&Batch<'_>) -> Result<(), ReportError> + 'e;

/// Tables that are made together, since they need the same of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One table.
    One(Report),
    /// `sql` and `plan_node`.
    Plans,
}

impl Unit {
    /// The units that make `reports`, in their order.
    pub fn of(reports: &[Report]) -> Vec<Unit> {
        let has_both = [Report::Sql, Report::PlanNode].iter().all(|report| reports.contains(report));
        let units = reports.iter().filter_map(|report| match report {
            Report::Sql if has_both => Some(Unit::Plans),
            Report::PlanNode if has_both => None,
            report => Some(Unit::One(*report)),
        });
        units.collect()
    }

    /// Its tables.
    pub fn reports(&self) -> &[Report] {
        match self {
            Unit::One(report) => std::slice::from_ref(report),
            Unit::Plans => &[Report::Sql, Report::PlanNode],
        }
    }

    /// How much work it mostly is; the more of it, the earlier it should begin.
    pub(crate) fn effort(self) -> u8 {
        match self {
            Unit::One(Report::Task) => 3,
            Unit::Plans | Unit::One(Report::Sql | Report::PlanNode) => 2,
            Unit::One(Report::StageAttempt | Report::Application) => 1,
            Unit::One(_) => 0,
        }
    }

    /// Makes all rows, a batch of one table at a time.
    pub fn produce(self, run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
        match self {
            Unit::Plans => sql::produce(run, true, true, emit),
            Unit::One(report) => produce(run, report, emit),
        }
    }
}

/// Makes all rows of a table, a batch at a time.
pub fn produce(run: &Run, report: Report, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    match report {
        Report::Job => job::produce(run, emit),
        Report::Sql => sql::produce(run, true, false, emit),
        Report::Stage => stage::produce(run, emit),
        Report::Task => task::produce(run, emit),
        Report::Application => application::produce(run, emit),
        Report::Executor => executor::produce(run, emit),
        Report::StageAttempt => stage_attempt::produce(run, emit),
        Report::PlanNode => sql::produce(run, false, true, emit),
        Report::Failure => failure::produce(run, emit),
        Report::Config => config::produce(run, emit),
        Report::StreamingBatch => streaming_batch::produce(run, emit),
        Report::DataQuality => data_quality::produce(run, emit),
    }
}

/// Makes the rows of a table of things, one for each.
fn produce_rows<'r, Row>(
    report: Report,
    rows: impl Iterator<Item = Row>,
    cell: impl Fn(&Row, usize) -> Cell<'r>,
    emit: &mut Emit<'_>,
) -> Result<(), ReportError> {
    let mut builder = BatchBuilder::new(report);
    for row in rows {
        if builder.push(|column| cell(&row, column)) {
            emit(&builder.take())?;
        }
    }
    let last = builder.take();
    if last.rows > 0 { emit(&last) } else { Ok(()) }
}

/// A sorted list of texts.
fn texts<'r>(items: impl IntoIterator<Item = &'r String>) -> Cell<'r> {
    Cell::Texts(items.into_iter().map(|item| item.as_str().into()).collect())
}

/// A list of ids.
fn ids(items: impl IntoIterator<Item = u32>) -> Cell<'static> {
    Cell::Ints(items.into_iter().map(i64::from).collect())
}

/// `F` with the columns' own lifetimes erased: what all files here declare.
type Columns<F> = &'static [Column<F>];

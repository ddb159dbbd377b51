//! All evidence of one query in one report.
//!
//! A run, whatever it was read from, is brought together with the SQL text, the output of `EXPLAIN` and the driver's
//! log: [`locate`] finds the execution that a text and a time mean, [`statement`] the text that a log has itself,
//! [`mapping`] says which clause became which operator and ran in which stages ([`view`]: for the page), [`report`]
//! puts it into data, [`sections`] into the eight parts of a document that each door renders. The diagnosis itself stays what it is. This is a room of its own so that detectors know
//! no parser of SQL.

pub mod hot_keys;
pub mod locate;
pub mod mapping;
pub mod merging;
mod plan_risks;
pub mod report;
pub mod runs;
pub mod schema;
pub mod sections;
mod stages;
pub mod statement;
pub mod view;

use emberscope_log::source::KnownFrom;
use emberscope_text::driver_log::DriverLog;
use emberscope_text::explain::Explained;
use emberscope_text::sql::Outline;

/// What a run was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Its event log: everything.
    #[default]
    EventLog,
    /// The monitoring API: tasks exact, operators rounded.
    MonitoringApi,
    /// The driver's log: times of stages and tasks, no metrics.
    DriverLog,
    /// No run at all: the output of `EXPLAIN`.
    Explain,
}

impl From<KnownFrom> for RunKind {
    fn from(known_from: KnownFrom) -> Self {
        match known_from {
            KnownFrom::EventLog => Self::EventLog,
            KnownFrom::MonitoringApi => Self::MonitoringApi,
            KnownFrom::DriverLog => Self::DriverLog,
            KnownFrom::Explain => Self::Explain,
        }
    }
}

/// A text with the name of its file.
#[derive(Clone, Debug, Default)]
pub struct Named<T> {
    /// File, as typed.
    pub name: String,
    /// What was read from it.
    pub content: T,
}

/// A SQL text.
#[derive(Clone, Debug, Default)]
pub struct SqlText {
    /// As written.
    pub text: String,
    /// By its clauses.
    pub outline: Outline,
}

/// What there is beside the run.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What the run was read from.
    pub run_kind: RunKind,
    /// The query.
    pub sql: Option<Named<SqlText>>,
    /// What `EXPLAIN` said of it.
    pub explain: Option<Named<Explained>>,
    /// The driver's log.
    pub driver_log: Option<Named<DriverLog>>,
    /// What was tried and did not work, such as an address in the log that nobody answers at.
    pub notes: Vec<String>,
}

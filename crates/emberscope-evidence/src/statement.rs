//! The SQL text that a log itself has of an execution.

use emberscope_model::redact;
use emberscope_model::run::Run;
use emberscope_model::sql::SqlExecution;
use emberscope_text::sql::{has_statement, outline};
use schemars::JsonSchema;
use serde::Serialize;

/// Where a SQL text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementOrigin {
    /// The log: `spark-sql`, the Thrift server and Kyuubi describe an execution by its statement.
    Log,
    /// Whoever asks.
    Given,
}

/// The statement of an execution, or of the one that contains it, secrets masked. `None` where it is described by a
/// call site or in words, as programs do.
pub fn statement(run: &Run, execution: &SqlExecution) -> Option<String> {
    let root = execution.root_id.and_then(|id| run.sql_execution(id));
    let descriptions = std::iter::once(execution).chain(root).filter_map(|one| one.description.as_deref());
    let is_statement = |text: &str| has_statement(text, &outline(text));
    descriptions.map(redact::text).find(|text| is_statement(text)).map(|text| text.trim_end().to_owned())
}

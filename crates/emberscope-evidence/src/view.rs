//! The mapping of one execution as the page and the API show it.

use crate::hot_keys::{HotKey, hot_keys};
use crate::mapping::{Mapped, mapping};
use crate::statement::{StatementOrigin, statement};
use emberscope_analysis::context::Context;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_analysis::plan::SqlView;
use emberscope_model::redact;
use emberscope_model::sql::SqlExecution;
use emberscope_text::sql::{Fragment, outline};
use schemars::JsonSchema;
use serde::Serialize;

/// Operators of a plan with the clauses they come from, their stages and tasks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SqlMapping {
    /// Execution.
    pub sql_id: u64,
    /// Number of the plan's version, from 0.
    pub version: usize,
    /// The SQL text; `None` where the log has none and none was given.
    pub statement: Option<Statement>,
    /// Operators that a clause can stand for, in pre-order.
    pub operators: Vec<Mapped>,
    /// Statements that would show hot values of skewed operators. They were not run. Of the last version only.
    pub hot_keys: Vec<HotKey>,
}

/// A SQL text by its clauses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Statement {
    /// The text, secrets masked. Places of clauses are places in it.
    pub text: String,
    /// Where it comes from.
    pub origin: StatementOrigin,
    /// Its clauses, in the order of the text, and then the functions it calls.
    pub fragments: Vec<Fragment>,
    /// What could not be understood.
    pub notes: Vec<String>,
}

impl Statement {
    fn of(text: String, origin: StatementOrigin) -> Self {
        let outline = outline(&text);
        Statement { text, origin, fragments: outline.with_calls(), notes: outline.notes }
    }
}

/// Maps a version of an execution's plan to `given`, or to the statement in the log; `None` where the version has no
/// tree that could be read.
pub fn sql_mapping(
    context: &Context<'_>,
    diagnosis: &Diagnosis,
    execution: &SqlExecution,
    version: usize,
    given: Option<&str>,
) -> Option<SqlMapping> {
    let run = context.run;
    let tree = run.plan_tree(execution.versions.get(version)?)?;
    let view = SqlView::of_tree(run, execution, &tree);
    let statement = match given {
        Some(text) => Some(Statement::of(redact::text(text).into_owned(), StatementOrigin::Given)),
        None => statement(run, execution).map(|text| Statement::of(text, StatementOrigin::Log)),
    };
    let fragments = statement.as_ref().map(|statement| statement.fragments.as_slice());
    let tasks_of = |(stage, attempt)| context.digest_of(stage, attempt).map(|digest| digest.useful);
    let operators = mapping(&view, fragments, &tasks_of);
    // Findings name nodes of the last plan.
    let is_last = execution.versions.iter().rposition(|one| run.plan_tree(one).is_some()) == Some(version);
    let findings =
        diagnosis.findings.iter().filter(|finding| is_last && finding.scope.sql_id == Some(execution.id));
    let hot_keys = hot_keys(findings, &operators, fragments);
    Some(SqlMapping { sql_id: execution.id, version, statement, operators, hot_keys })
}

//! `/sql-console`: statements of the user, answered from the tables of runs; its ready-made questions; and
//! answers as files.

use super::failure::{Failure, number};
use super::{Param, window};
use crate::app::App;
use crate::catalog::Entry;
use crate::console::{Console, ConsoleError};
use crate::spark_rest::Params;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use axum::response::{IntoResponse, Response};
use emberscope_report::Report;
use emberscope_sql_client::analyses::{self, ANALYSES, Analysis};
use emberscope_sql_client::client::{Answer, AskError};
use emberscope_sql_client::parameters::{Parameter, Parameters};
use emberscope_sql_client::rows::{self, Form, value, with_own_names};
use emberscope_sql_client::tables::columns;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// Runs that one statement may ask about.
const MOST_RUNS: usize = 200;
/// Rows of an answer unless asked otherwise.
const ROWS: u64 = 1000;
/// Most rows of an answer.
const MOST_ROWS: u64 = 100_000;
/// Most rows of a file.
const MOST_FILE_ROWS: u64 = 5_000_000;

const RUNS: Param = Param {
    name: "runs",
    kind: "string",
    doc: "Ids of runs, by comma, or `all`, which at most 200 are. Required.",
};
const STATEMENT: Param =
    Param { name: "statement", kind: "string", doc: "One statement; or name a ready-made one." };
const NAMED: Param = Param { name: "named", kind: "string", doc: "Name of a ready-made question." };
const VALUES: Param = Param {
    name: "param",
    kind: "string",
    doc: "A value for a `:name` of the statement, as `limit=5`; may be repeated.",
};

pub(super) const PARAMS: &[Param] = &[
    RUNS,
    STATEMENT,
    NAMED,
    VALUES,
    Param { name: "limit", kind: "integer", doc: "Most rows, up to 100000. [default: 1000]" },
];

pub(super) const FILE_PARAMS: &[Param] = &[
    RUNS,
    STATEMENT,
    NAMED,
    VALUES,
    Param { name: "format", kind: "string", doc: "csv, tsv, json, ndjson, parquet or arrow. [default: csv]" },
];

/// The answer to a statement.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SqlAnswer {
    /// The statement, with the values of its parameters.
    statement: String,
    /// Columns; names are unique.
    columns: Vec<SqlColumn>,
    /// Rows, each with a value for every column.
    rows: Vec<Vec<Value>>,
    /// Whether there are more rows.
    is_cut: bool,
    /// Runs that were asked about.
    runs: usize,
    /// Time it took.
    elapsed_ms: u64,
}

/// A column of an answer or of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SqlColumn {
    /// Name.
    name: String,
    /// Type, as Spark SQL writes it.
    #[serde(rename = "type")]
    ty: String,
}

/// Ready-made questions and tables, and whether there is somebody to ask.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct SqlCatalog {
    /// Why nothing can be answered: the program that does is not there. Absent where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingProgram>,
    /// Ready-made questions.
    named: Vec<NamedQuestion>,
    /// Tables.
    tables: Vec<SqlTable>,
}

/// The program that answers SQL is not there.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct MissingProgram {
    /// Where it was looked for.
    message: String,
    /// How to get it.
    hint: String,
}

/// A ready-made question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct NamedQuestion {
    /// Name.
    name: &'static str,
    /// What it answers.
    title: &'static str,
    /// Its statement for one run, with the defaults of its parameters.
    statement: String,
    /// What can be set in it.
    parameters: Vec<QuestionParameter>,
}

/// A parameter of a ready-made question.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct QuestionParameter {
    /// Name.
    name: &'static str,
    /// Default, as SQL.
    default: &'static str,
    /// What it is.
    doc: &'static str,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SqlTable {
    /// Name.
    name: &'static str,
    /// Columns.
    columns: Vec<SqlColumn>,
}

impl From<ConsoleError> for Failure {
    fn from(error: ConsoleError) -> Self {
        match error {
            ConsoleError::NoProcess(refused) => Failure::no_sql(&refused),
            ConsoleError::Ask(error) => Failure::of_sql(&error),
            ConsoleError::Open(error) => Failure::unreadable(error.to_string()),
            ConsoleError::Tables(error) => Failure::internal(error.to_string()),
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Failure::of_sql(&error)
    }
}

pub(super) fn catalog(console: &Console) -> Result<SqlCatalog, Failure> {
    let missing = console
        .missing()
        .map(|refused| MissingProgram { message: refused.message, hint: refused.hint.into_owned() });
    let parameter =
        |known: &Parameter| QuestionParameter { name: known.name, default: known.default, doc: known.doc };
    let question = |analysis: &Analysis| {
        let statement = analyses::statement(analysis, &Parameters::default(), false);
        Ok(NamedQuestion {
            name: analysis.name,
            title: analysis.title,
            statement: statement.map_err(|refused| Failure::refused(&refused))?,
            parameters: analysis.parameters.iter().map(parameter).collect(),
        })
    };
    let column = |of: emberscope_sql_protocol::Column| SqlColumn { name: of.name, ty: of.ty };
    let table = |report: &Report| SqlTable {
        name: report.name(),
        columns: columns(*report).into_iter().map(column).collect(),
    };
    Ok(SqlCatalog {
        missing,
        named: ANALYSES.iter().map(question).collect::<Result<_, Failure>>()?,
        tables: Report::ALL.iter().map(table).collect(),
    })
}

/// What is asked, and about which runs.
struct Question {
    entries: Vec<Arc<Entry>>,
    statement: String,
}

impl Question {
    fn of(app: &App, params: &Params) -> Result<Question, Failure> {
        let listing = app.catalog.listing();
        let hint = "runs are named by their ids, by comma; `all` are all";
        let entries: Vec<Arc<Entry>> = match params.first("runs").unwrap_or_default() {
            "" => return Err(Failure::bad("no runs are named", hint)),
            "all" => listing.entries.iter().filter(|entry| entry.glance.has_events).cloned().collect(),
            ids => {
                let entry = |id: &str| listing.entry(id).cloned().ok_or_else(|| Failure::no_run(id));
                ids.split(',').map(|id| entry(id.trim())).collect::<Result<_, Failure>>()?
            }
        };
        if entries.len() > MOST_RUNS {
            let message = format!("{} runs are more than {MOST_RUNS}", entries.len());
            return Err(Failure::bad(message, "`emberscope sql` takes any number"));
        }
        let refused = |refused| Failure::refused(&refused);
        let values = Parameters::new(given(params)?, None).map_err(refused)?;
        let has_several = entries.len() > 1;
        let statement = match (params.first("named"), params.first("statement")) {
            (Some(name), _) => {
                let analysis = analyses::find(name).map_err(refused)?;
                analyses::statement(analysis, &values, has_several).map_err(refused)?
            }
            (None, Some(text)) => {
                let whole = values.apply(text, &[]).map_err(refused)?;
                analyses::pick(&whole, has_several).map_err(refused)?.to_owned()
            }
            (None, None) => return Err(Failure::bad("there is no statement", "statement=SELECT …")),
        };
        Ok(Question { entries, statement })
    }
}

/// Values for parameters.
fn given(params: &Params) -> Result<Vec<(String, String)>, Failure> {
    let values = params.0.iter().filter(|(key, _)| key == "param");
    values
        .map(|(_, text)| {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| Failure::bad(format!("`{text}` is no parameter"), "as in limit=5"))?;
            Ok((name.trim().trim_start_matches(':').to_owned(), value.to_owned()))
        })
        .collect()
}

pub(super) fn ask(app: &App, params: &Params) -> Result<SqlAnswer, Failure> {
    let limit = params.first("limit").map_or(Ok(ROWS), number::<u64>)?.min(MOST_ROWS);
    let question = Question::of(app, params)?;
    let started = Instant::now();
    app.console.ask(&app.runs, &question.entries, &question.statement, Some(limit), |mut answer| {
        let schema = with_own_names(answer.schema()?.as_ref());
        let mut rows = Vec::new();
        while let Some(batch) = answer.batch()? {
            add_rows(&batch, &mut rows)?;
        }
        let done = answer.done()?;
        Ok(SqlAnswer {
            statement: question.statement.clone(),
            columns: shown(&schema),
            rows,
            is_cut: done.is_cut,
            runs: question.entries.len(),
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    })
}

fn shown(schema: &Schema) -> Vec<SqlColumn> {
    let column = |field: &Arc<arrow_schema::Field>| SqlColumn {
        name: field.name().clone(),
        ty: type_name(field.data_type()),
    };
    schema.fields().iter().map(column).collect()
}

/// A type as Spark SQL writes it.
fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "bigint".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(..) => "timestamp".to_owned(),
        DataType::List(_) => "array".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
        _ => "string".to_owned(),
    }
}

fn add_rows(batch: &RecordBatch, rows: &mut Vec<Vec<Value>>) -> Result<(), Failure> {
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        let mut values = Vec::with_capacity(batch.num_columns());
        for column in batch.columns() {
            text.clear();
            value::json(column.as_ref(), row, &mut text);
            values.push(serde_json::from_str(&text).map_err(|error| Failure::internal(error.to_string()))?);
        }
        rows.push(values);
    }
    Ok(())
}

/// An answer as a file.
pub(super) fn file(app: &App, params: &Params) -> Result<Response, Failure> {
    let (form, kind, ending) = match params.first("format").unwrap_or("csv") {
        "csv" => (Form::Csv, "text/csv; charset=utf-8", "csv"),
        "tsv" => (Form::Tsv, "text/tab-separated-values; charset=utf-8", "tsv"),
        "json" => (Form::Json, "application/json", "json"),
        "ndjson" => (Form::Ndjson, "application/x-ndjson", "ndjson"),
        "parquet" => (Form::Parquet, "application/vnd.apache.parquet", "parquet"),
        "arrow" => (Form::Arrow, "application/vnd.apache.arrow.stream", "arrows"),
        other => {
            let hint = "csv, tsv, json, ndjson, parquet or arrow";
            return Err(Failure::bad(format!("no format `{other}`"), hint));
        }
    };
    let question = Question::of(app, params)?;
    let written = |answer: Answer<'_>| write(answer, form);
    let bytes =
        app.console.ask(&app.runs, &question.entries, &question.statement, Some(MOST_FILE_ROWS), written)?;
    Ok(window::attachment(kind, &format!("answer.{ending}"), bytes).into_response())
}

fn write(mut answer: Answer<'_>, form: Form) -> Result<Vec<u8>, Failure> {
    let failed = |error: rows::RowsError| Failure::internal(error.to_string());
    let mut rows = rows::begin(form, answer.schema()?.as_ref(), Vec::new()).map_err(failed)?;
    while let Some(batch) = answer.batch()? {
        rows.batch(&batch).map_err(failed)?;
    }
    answer.done()?;
    rows.finish().map_err(failed)
}

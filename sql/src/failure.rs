//! What went wrong, in words for the one who wrote the statement.

use crate::words::plain;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::error::DataFusionError as Error;
use emberscope_sql_protocol::{Failure, FailureKind, Position};

/// A failure with its place, if it has one.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    failure: Box<Failure>,
}

impl Problem {
    pub(crate) fn new(
        kind: FailureKind,
        message: impl Into<String>,
        hint: Option<impl Into<String>>,
    ) -> Self {
        let failure = Failure { kind, message: message.into(), hint: hint.map(Into::into), position: None };
        Problem { failure: Box::new(failure) }
    }

    /// A statement that makes no sense.
    pub(crate) fn statement(message: impl Into<String>, hint: Option<impl Into<String>>) -> Self {
        Problem::new(FailureKind::Statement, message, hint)
    }

    /// A statement that does more than reading.
    pub(crate) fn read_only() -> Self {
        let message = "only statements that read are answered: SELECT, WITH, VALUES, EXPLAIN";
        Problem::new(FailureKind::ReadOnly, message, None::<&str>)
    }

    /// If it is about a table that is not there, with the names of those that are.
    pub(crate) fn with_tables(mut self, tables: &[String]) -> Self {
        let text = &self.failure.message;
        let named = text.strip_prefix("table '").and_then(|rest| rest.split_once("' not found"));
        let Some((name, _)) = named else { return self };
        let failure = Problem::no_table(name.trim_start_matches("datafusion."), tables).failure;
        self.failure.message = failure.message;
        self.failure.hint = failure.hint;
        self
    }

    /// About a table that is not among `tables`.
    pub(crate) fn no_table(name: &str, tables: &[String]) -> Self {
        let known: Vec<&str> = tables.iter().map(String::as_str).collect();
        let all = format!("the tables are {}", known.join(", "));
        let near = nearest(name, &known).filter(|hint| hint.starts_with("did you mean"));
        Problem::statement(
            format!("there is no table `{name}`"),
            Some(near.map_or(all.clone(), |near| format!("{near} {all}"))),
        )
    }

    /// With the place in `sql` that its words tell, if it has none.
    pub(crate) fn placed_in(self, sql: &str) -> Self {
        if self.failure.kind != FailureKind::Statement || self.failure.position.is_some() {
            return self;
        }
        match crate::place::of(sql, &self.failure.message) {
            Some(place) => self.at(place.line, place.column),
            None => self,
        }
    }

    /// With its place.
    pub(crate) fn at(mut self, line: u64, column: u64) -> Self {
        if line > 0 && column > 0 {
            self.failure.position = Some(Position { line, column });
        }
        self
    }

    /// Takes the place out of a text that ends with it, as the parser's do.
    pub(crate) fn place_from_text(mut self) -> Self {
        let Some(at) = self.failure.message.rfind(" at Line: ") else { return self };
        let tail = self.failure.message[at..].to_owned();
        let mut numbers = tail.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        if let (Some(line), Some(column)) = (numbers.next(), numbers.next()) {
            self.failure.message.truncate(at);
            return self.at(line, column);
        }
        self
    }

    pub(crate) fn into_failure(self) -> Failure {
        *self.failure
    }
}

impl From<DataFusionError> for Problem {
    fn from(error: DataFusionError) -> Self {
        let place = error.diagnostic().and_then(|diagnostic| diagnostic.span).map(|span| span.start);
        let problem = of(error.find_root(), &error);
        match place {
            Some(place) => problem.at(place.line, place.column),
            None => problem.place_from_text(),
        }
    }
}

fn of(root: &Error, whole: &Error) -> Problem {
    match root {
        Error::ResourcesExhausted(text) => {
            let hint = "select fewer rows or columns, join on applicationId, or raise --memory";
            let is_disk = text.contains("disk") || text.contains("temp");
            let message =
                format!("the query needs more {} than it may use", if is_disk { "disk" } else { "memory" });
            Problem::new(FailureKind::Memory, message, Some(hint))
        }
        Error::SchemaError(schema, _) => of_schema(schema),
        Error::SQL(parser, _) => Problem::from((**parser).clone()),
        Error::Plan(text) | Error::NotImplemented(text) => Problem::statement(plain(text), None::<&str>),
        Error::Execution(text) => Problem::statement(plain(text), None::<&str>),
        Error::IoError(_) | Error::ObjectStore(_) | Error::ParquetError(_) => {
            let message = whole.strip_backtrace().lines().next().unwrap_or_default().to_owned();
            let hint = "the file may have been replaced or damaged: write the report again";
            Problem::new(FailureKind::Data, message, Some(hint))
        }
        Error::External(error) => {
            Problem::statement(plain(&format!("External error: {error}")), None::<&str>)
        }
        Error::ArrowError(error, _) => Problem::statement(plain(&error.to_string()), None::<&str>),
        other => {
            Problem::new(FailureKind::Internal, first_line(&other.strip_backtrace()).to_owned(), None::<&str>)
        }
    }
}

fn of_schema(error: &SchemaError) -> Problem {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            // Of the table that was named, if one was.
            let of_table = |column: &&Column| field.relation.is_none() || column.relation == field.relation;
            let known: Vec<&str> = valid_fields.iter().filter(of_table).map(|column| column.name()).collect();
            let message = match &field.relation {
                Some(table) => format!("{table} has no column `{}`", field.name),
                None => format!("there is no column `{}`", field.name),
            };
            Problem::statement(message, nearest(&field.name, &known))
        }
        SchemaError::AmbiguousReference { field } => {
            let message = format!("more than one table has a column `{}`", field.name);
            Problem::statement(message, Some("say which, as in `s.stageId`"))
        }
        other => Problem::statement(plain(&other.to_string()), None::<&str>),
    }
}

/// A hint with the names that are spelled most alike.
fn nearest(name: &str, known: &[&str]) -> Option<String> {
    let name = name.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .map(|other| {
            (datafusion::common::utils::datafusion_strsim::levenshtein(&name, &other.to_lowercase()), *other)
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    match ranked.first() {
        Some((distance, best)) if *distance <= (name.len() / 2).clamp(1, 4) => {
            Some(format!("did you mean `{best}`?"))
        }
        _ if known.is_empty() => None,
        _ => {
            let mut names: Vec<&str> = known.to_vec();
            names.dedup();
            names.truncate(12);
            Some(format!("columns are {}", names.join(", ")))
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

//! `emberscope sql`: questions in SQL, of one run or a thousand.
//!
//! Logs become Parquet in the cache, directories of reports are looked through ([`reports`]), and the process that
//! holds the query engine is told of all files ([`sources`]). Its answers come as Arrow and are written as asked
//! ([`rows`]). What other doors need too is in `emberscope-sql-client`.

mod prompt;
mod reports;
mod rows;
mod snippets;
mod sources;

use crate::cli::{Question, RowsFormat, SqlCommand, SqlOptions};
use crate::exit::{Exit, UsageError};
use crate::messages;
use crate::output::Output;
use anyhow::Context;
use emberscope_sql_client::analyses;
use emberscope_sql_client::client::{self, AskError, Client};
use emberscope_sql_client::parameters::Parameters;
use emberscope_sql_protocol::{Done, FailureKind};
use std::io::Read;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: SqlCommand) -> anyhow::Result<Exit> {
    match command {
        SqlCommand::List => print(&analyses::list()),
        SqlCommand::Show { name, params, prices, for_spark } => {
            let analysis = analyses::find(&name)?;
            let params = Parameters::new(params, prices.as_deref())?;
            print(&analyses::show(analysis, &params, for_spark)?)
        }
        SqlCommand::Snippets(dir) => print(&snippets::of_dir(&dir)?),
        SqlCommand::Ask(options) => ask(&options),
    }
}

fn print(text: &str) -> anyhow::Result<Exit> {
    let mut output = Output::open(None)?;
    output.write(text)?;
    output.finish()?;
    Ok(Exit::Done)
}

fn ask(options: &SqlOptions) -> anyhow::Result<Exit> {
    let params = Parameters::new(options.params.clone(), options.prices.as_deref())?;
    // What cannot be asked or written is told before a large log is read.
    let statement = match &options.question {
        Question::Prompt => None,
        Question::Statement(text) => Some(params.apply(text, &[])?),
        Question::File(path) => Some(params.apply(&read_statement(path)?, &[])?),
        Question::Named(name) => Some(analyses::statement(analyses::find(name)?, &params, false)?),
    };
    if let Some(statement) = &statement {
        analyses::pick(statement, false)?;
    }
    let program = client::find(true)?;
    let output = Output::open(options.out.as_deref())?;
    let guards: Vec<_> = output.guard().into_iter().collect();
    let sources = sources::find(&options.reading, &guards)?;
    let exit = sources.exit(&options.reading);
    if !sources.has_runs() {
        return Ok(exit);
    }
    let statement = match &options.question {
        Question::Named(name) => {
            Some(analyses::statement(analyses::find(name)?, &params, sources.runs() > 1)?)
        }
        _ => match &statement {
            Some(text) => Some(analyses::pick(text, sources.runs() > 1)?.to_owned()),
            None => None,
        },
    };
    let Some(statement) = statement else {
        prompt::run(&program, &sources, options, &params)?;
        return Ok(exit);
    };
    let mut client = Client::start(&program)?;
    client.open(sources.tables(), options.limits.spendable(options.reading.scan.threads))?;
    let max_rows = options.limits.rows(options.format);
    match answer(&mut client, &statement, options.format, max_rows, output) {
        Ok(done) => {
            tell_cut(&done);
            Ok(exit)
        }
        Err(error) => match error.downcast::<AskError>() {
            Ok(failure) => Ok(tell(&failure, &statement)),
            Err(error) => Err(error),
        },
    }
}

fn answer(
    client: &mut Client,
    statement: &str,
    format: RowsFormat,
    max_rows: Option<u64>,
    output: Output,
) -> anyhow::Result<Done> {
    let mut answer = client.ask(statement, max_rows)?;
    let mut rows = rows::begin(format, answer.schema()?.as_ref(), output)?;
    while let Some(batch) = answer.batch()? {
        rows.batch(&batch)?;
    }
    let done = answer.done()?;
    rows.finish()?;
    Ok(done)
}

fn tell_cut(done: &Done) {
    if done.is_cut {
        let message = format!("there are more than these {}", crate::format::counted(done.rows, "row"));
        messages::note(&message, Some("--max-rows 0 shows all; --out FILE.csv writes all"));
    }
}

/// Tells why there is no answer, with the place in the statement.
fn tell(error: &AskError, statement: &str) -> Exit {
    let mut message = error.to_string();
    if let AskError::Failed(failure) = error
        && let Some(position) = failure.position
    {
        message = format!("{message} (line {}, column {})", position.line, position.column);
        let shown = place(statement, position.line, position.column);
        messages::error(&message, error.hint().as_deref());
        messages::excerpt(&shown);
        return exit_of(error);
    }
    messages::error(&message, error.hint().as_deref());
    exit_of(error)
}

/// How the program ends with an error.
fn exit_of(error: &AskError) -> Exit {
    match error {
        AskError::Failed(failure)
            if matches!(failure.kind, FailureKind::Statement | FailureKind::ReadOnly) =>
        {
            Exit::Usage
        }
        _ => Exit::Internal,
    }
}

/// The line of a statement with a mark under a place.
fn place(statement: &str, line: u64, column: u64) -> Vec<String> {
    let Some(text) = usize::try_from(line).ok().and_then(|line| statement.lines().nth(line.checked_sub(1)?))
    else {
        return Vec::new();
    };
    let text = crate::format::plain(text);
    let before: String = text.chars().take(usize::try_from(column.saturating_sub(1)).unwrap_or(0)).collect();
    let indent = " ".repeat(crate::render::page::width_of(&before));
    vec![text, format!("{indent}^")]
}

fn read_statement(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("standard input: cannot be read")?;
    } else {
        text = std::fs::read_to_string(path).map_err(|error| {
            UsageError::new(
                format!("{}: cannot be read: {error}", path.display()),
                "name a file with a statement",
            )
        })?;
    }
    if text.trim().is_empty() {
        return Err(UsageError::new("there is no statement", "give it as the last word: 'SELECT ...'").into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(place("SELECT a\nFROM jib", 2, 6), ["FROM jib", "     ^"]);
        assert_eq!(place("SELECT", 1, 1), ["SELECT", "^"]);
        assert!(place("SELECT", 7, 1).is_empty());
        assert!(place("SELECT", 0, 0).is_empty());
    }
}

//! What the arguments of `emberscope sql` mean.

use super::low::{DialectName, RowsFormatName, SqlArgs};
use super::{Reading, ending, no_form, reading};
use crate::exit::UsageError;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `sql` does.
#[derive(Debug)]
pub(crate) enum SqlCommand {
    /// Answer, or prompt.
    Ask(Box<SqlOptions>),
    /// List the ready-made questions.
    List,
    /// Print the statement of one.
    Show {
        /// Its name.
        name: String,
        /// Values of parameters.
        params: Vec<(String, String)>,
        /// Prices that are parameters, too.
        prices: Option<PathBuf>,
        /// Whether Spark is to read it.
        for_spark: bool,
    },
    /// Print view statements for the reports in a directory.
    Snippets(PathBuf),
}

/// What answering needs to know.
#[derive(Debug)]
pub(crate) struct SqlOptions {
    /// What to read.
    pub(crate) reading: Reading,
    /// What to ask.
    pub(crate) question: Question,
    /// Values of parameters.
    pub(crate) params: Vec<(String, String)>,
    /// Prices that are parameters, too.
    pub(crate) prices: Option<PathBuf>,
    /// How to write.
    pub(crate) format: RowsFormat,
    /// Where to; `None` is standard output.
    pub(crate) out: Option<PathBuf>,
    /// What may be spent.
    pub(crate) limits: Limits,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// A statement.
    Statement(String),
    /// The statement in a file; `-` is standard input.
    File(PathBuf),
    /// A ready-made one.
    Named(String),
    /// One after the other, as they are typed.
    Prompt,
}

/// A form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsFormat {
    /// For people.
    Table,
    /// Comma-separated.
    Csv,
    /// Tab-separated.
    Tsv,
    /// An array of objects.
    Json,
    /// An object a line.
    Ndjson,
    /// Parquet.
    Parquet,
    /// Arrow IPC stream.
    Arrow,
}

impl RowsFormat {
    /// All, with the names they go by.
    pub(crate) const ALL: [(&str, RowsFormat); 7] = [
        ("table", RowsFormat::Table),
        ("csv", RowsFormat::Csv),
        ("tsv", RowsFormat::Tsv),
        ("json", RowsFormat::Json),
        ("ndjson", RowsFormat::Ndjson),
        ("parquet", RowsFormat::Parquet),
        ("arrow", RowsFormat::Arrow),
    ];

    /// Whether it is nothing for a terminal.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, RowsFormat::Parquet | RowsFormat::Arrow)
    }

    /// By the end of a file's name, if it has one.
    fn of_name(path: &Path) -> Result<Option<RowsFormat>, UsageError> {
        let Some(ending) = ending(path) else { return Ok(None) };
        Ok(Some(match ending.as_str() {
            "txt" => RowsFormat::Table,
            "csv" => RowsFormat::Csv,
            "tsv" => RowsFormat::Tsv,
            "json" => RowsFormat::Json,
            "ndjson" | "jsonl" => RowsFormat::Ndjson,
            "parquet" => RowsFormat::Parquet,
            "arrow" | "arrows" | "ipc" => RowsFormat::Arrow,
            _ => {
                let known = "`.txt`, `.csv`, `.tsv`, `.json`, `.ndjson`, `.parquet` or `.arrow`";
                return Err(no_form(path, "rows", known));
            }
        }))
    }
}

impl From<RowsFormatName> for RowsFormat {
    fn from(name: RowsFormatName) -> Self {
        match name {
            RowsFormatName::Table => RowsFormat::Table,
            RowsFormatName::Csv => RowsFormat::Csv,
            RowsFormatName::Tsv => RowsFormat::Tsv,
            RowsFormatName::Json => RowsFormat::Json,
            RowsFormatName::Ndjson => RowsFormat::Ndjson,
            RowsFormatName::Parquet => RowsFormat::Parquet,
            RowsFormatName::Arrow => RowsFormat::Arrow,
        }
    }
}

/// What may be spent on an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// As typed; `None` where nothing was.
    pub(crate) max_rows: Option<u64>,
    /// `None` for any time.
    pub(crate) timeout: Option<Duration>,
    /// Of the process that answers.
    pub(crate) memory_bytes: u64,
    /// On disk.
    pub(crate) spill_bytes: u64,
}

/// Rows of a table for people, unless they ask for more.
const TABLE_ROWS: u64 = 1000;

impl Limits {
    /// What the process may spend, with this many threads.
    pub(crate) fn spendable(&self, threads: usize) -> emberscope_sql_protocol::Limits {
        emberscope_sql_protocol::Limits {
            memory_bytes: self.memory_bytes,
            spill_bytes: self.spill_bytes,
            timeout_ms: self.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            threads,
        }
    }

    /// Rows after which an answer of this form is cut; `None` for all.
    pub(crate) fn rows(&self, format: RowsFormat) -> Option<u64> {
        match self.max_rows {
            Some(0) => None,
            Some(rows) => Some(rows),
            None => (format == RowsFormat::Table).then_some(TABLE_ROWS),
        }
    }
}

/// `limit=5`.
pub(super) fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is a name, `=` and a value, like limit=5")?;
    let name = name.trim().trim_start_matches(':');
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err("a parameter's name has letters, digits and _ only".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn mean(args: SqlArgs) -> anyhow::Result<SqlCommand> {
    if args.list {
        return Ok(SqlCommand::List);
    }
    if let Some(name) = args.show {
        let for_spark = args.dialect == DialectName::Spark;
        return Ok(SqlCommand::Show { name, params: args.param, prices: args.prices, for_spark });
    }
    if let Some(dir) = args.snippets {
        return Ok(SqlCommand::Snippets(dir));
    }
    let prompts = args.prompt || std::io::stdin().is_terminal();
    let (sources, question) = question(args.words, args.named, args.file, prompts)?;
    let format = match (args.format, &args.out) {
        (Some(format), _) => Some(format.into()),
        (None, Some(out)) => RowsFormat::of_name(out)?,
        (None, None) => None,
    };
    let format = format.unwrap_or(RowsFormat::Table);
    let to_terminal =
        args.out.as_deref().is_none_or(|out| out == Path::new("-")) && std::io::stdout().is_terminal();
    if format.is_binary() && to_terminal {
        return Err(UsageError::new("this form is nothing for a terminal", "add `--out FILE`").into());
    }
    let limits = Limits {
        max_rows: args.max_rows,
        timeout: Some(args.timeout).filter(|time| !time.is_zero()),
        memory_bytes: args.memory,
        spill_bytes: args.spill,
    };
    Ok(SqlCommand::Ask(Box::new(SqlOptions {
        reading: reading(sources, &args.reading, &args.remote)?,
        question,
        params: args.param,
        prices: args.prices,
        format,
        out: args.out,
        limits,
    })))
}

/// Sources, and what is asked of them: the last word, unless it is a source or the question is elsewhere.
fn question(
    mut words: Vec<String>,
    named: Option<String>,
    file: Option<PathBuf>,
    prompts: bool,
) -> anyhow::Result<(Vec<String>, Question)> {
    let question = match (named, file) {
        (Some(name), _) => Question::Named(name),
        (None, Some(file)) => Question::File(file),
        (None, None) => match words.pop_if(|word| is_statement(word)) {
            Some(statement) => Question::Statement(statement),
            None if prompts => Question::Prompt,
            None => Question::File("-".into()),
        },
    };
    if words.is_empty() {
        let hint = "name an event log or a directory of reports, then the statement: emberscope sql app-1 'SELECT ...'";
        return Err(UsageError::new("there is nothing to ask about", hint).into());
    }
    if question == Question::File("-".into()) && words.iter().any(|word| word == "-") {
        let hint = "give the statement as the last word";
        return Err(UsageError::new("standard input cannot be both log and statement", hint).into());
    }
    Ok((words, question))
}

/// Whether a word is a statement: it has blanks, and no file is called so.
fn is_statement(word: &str) -> bool {
    let has_words = word.trim().contains(char::is_whitespace);
    has_words && !Path::new(word).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str], is_terminal: bool) -> Option<(usize, Question)> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        question(words, None, None, is_terminal).ok().map(|(sources, question)| (sources.len(), question))
    }

    #[test]
    fn the_last_word_is_the_statement() {
        let statement = Question::Statement("select 1".to_owned());
        assert_eq!(asked(&["log", "select 1"], true), Some((1, statement.clone())));
        assert_eq!(asked(&["log", "reports", "select 1"], false), Some((2, statement)));
        assert_eq!(asked(&["log"], true), Some((1, Question::Prompt)));
        assert_eq!(asked(&["log"], false), Some((1, Question::File("-".into()))));
        assert_eq!(asked(&["-"], false), None);
        assert_eq!(asked(&["select 1"], true), None);
        assert_eq!(asked(&[], true), None);
    }

    #[test]
    fn parameters() {
        assert_eq!(parameter("limit=5"), Ok(("limit".to_owned(), "5".to_owned())));
        assert_eq!(parameter(":name = a=b"), Ok(("name".to_owned(), " a=b".to_owned())));
        assert!(parameter("limit").is_err());
        assert!(parameter("a b=1").is_err());
    }
}

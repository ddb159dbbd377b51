//! The prompt: statements one after the other, with history and completion.

use super::sources::Sources;
use super::{answer, exit_of, tell, tell_cut};
use crate::cli::{RowsFormat, SqlOptions};
use crate::messages;
use crate::output::Output;
use emberscope_report::Report;
use emberscope_sql_client::analyses::{self, ANALYSES};
use emberscope_sql_client::client::{AskError, Client};
use emberscope_sql_client::parameters::Parameters;
use emberscope_sql_client::tables;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper, Highlighter, Hinter};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

const HELP: &str = "\
Statements end with `;`. Ctrl-C stops one, Ctrl-D ends.
  \\d         tables           \\d NAME    columns of a table
  \\l         ready-made       \\n NAME    ask one
  \\s NAME    its statement    \\f FORMAT  table, csv, tsv, json, ndjson
  \\q         end              \\?         this
";

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "JOIN",
    "LEFT JOIN",
    "LATERAL VIEW",
    "EXPLODE",
    "ARRAY_CONTAINS",
    "PERCENTILE",
    "STDDEV",
    "ROUND",
    "COUNT",
    "SUM",
    "MAX",
    "MIN",
    "AVG",
    "CAST",
    "WITH",
    "DISTINCT",
    "BETWEEN",
    "LIKE",
    "CASE",
    "WHEN",
    "DESC",
];

/// Runs until the user ends it.
pub(super) fn run(
    program: &Path,
    sources: &Sources,
    options: &SqlOptions,
    params: &Parameters,
) -> anyhow::Result<()> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(10_000)?
        .auto_add_history(true);
    let mut editor: Editor<Completion, DefaultHistory> = Editor::with_config(config.build())?;
    editor.set_helper(Some(Completion::new()));
    // What a program asks is no history of a person's.
    let history = std::io::stdin().is_terminal().then(history_file).flatten();
    if let Some(history) = &history {
        // There is none the first time.
        _ = editor.load_history(history);
    }
    // While a statement runs, Ctrl-C reaches the process that answers, and this one goes on.
    _ = ctrlc::set_handler(|| {});
    let mut prompt = Prompt { program, sources, options, params, client: None, format: options.format };
    prompt.print(&format!("{} \\? for help.\n", prompt.overview()))?;
    loop {
        match editor.readline("sql> ") {
            Ok(line) => {
                if prompt.take(line.trim())? == Next::End {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(history) = &history
        && let Err(error) = editor.save_history(history)
    {
        messages::warning(&format!("{}: cannot be written: {error}", history.display()), None);
    }
    Ok(())
}

fn history_file() -> Option<PathBuf> {
    let place = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state =
        place("XDG_STATE_HOME").or_else(|| Some(place("HOME")?.join(".local/state")))?.join("emberscope");
    std::fs::create_dir_all(&state).ok()?;
    Some(state.join("sql_history"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Go,
    End,
}

struct Prompt<'p> {
    program: &'p Path,
    sources: &'p Sources,
    options: &'p SqlOptions,
    params: &'p Parameters,
    client: Option<Client>,
    format: RowsFormat,
}

impl Prompt<'_> {
    fn print(&self, text: &str) -> anyhow::Result<()> {
        let mut output = Output::open(None)?;
        output.write(text)?;
        output.finish()
    }

    fn overview(&self) -> String {
        let runs = crate::format::counted(self.sources.runs() as u64, "run");
        format!("{runs}, {} tables.", Report::ALL.len())
    }

    fn take(&mut self, line: &str) -> anyhow::Result<Next> {
        let Some(command) = line.strip_prefix('\\') else {
            let statement = line.trim_end_matches(';').trim();
            if !statement.is_empty() {
                match self.params.apply(line, &[]) {
                    Ok(statement) => self.ask(&statement)?,
                    Err(error) => _ = crate::exit::of_error(&error.into()),
                }
            }
            return Ok(Next::Go);
        };
        let (command, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim().trim_end_matches(';');
        match (command.trim_end_matches(';'), rest) {
            ("q", _) => return Ok(Next::End),
            ("d", "") => self.print(&tables())?,
            ("d", name) => match Report::from_name(&name.to_ascii_lowercase()) {
                Some(report) => self.print(&columns(report))?,
                None => messages::error(&format!("no table is called `{name}`"), Some("\\d lists them")),
            },
            ("l", _) => self.print(&analyses::list())?,
            ("n" | "s", name) => match analyses::find(name) {
                Ok(analysis) if command == "s" => {
                    self.print(&analyses::show(analysis, self.params, false)?)?;
                }
                Ok(analysis) => {
                    let statement = analyses::statement(analysis, self.params, self.sources.runs() > 1)?;
                    self.ask(&statement)?;
                }
                Err(error) => _ = crate::exit::of_error(&error.into()),
            },
            ("f", name) => {
                match RowsFormat::ALL.iter().find(|(known, format)| *known == name && !format.is_binary()) {
                    Some((_, format)) => self.format = *format,
                    None => messages::error("a form is table, csv, tsv, json or ndjson", None),
                }
            }
            _ => self.print(HELP)?,
        }
        Ok(Next::Go)
    }

    fn ask(&mut self, statement: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut client = match self.client.take() {
            Some(client) => client,
            None => {
                let mut client = Client::start(self.program)?;
                client.open(
                    self.sources.tables(),
                    self.options.limits.spendable(self.options.reading.scan.threads),
                )?;
                client
            }
        };
        let max_rows = self.options.limits.rows(self.format);
        match answer(&mut client, statement, self.format, max_rows, Output::open(None)?) {
            Ok(done) => {
                tell_cut(&done);
                let took =
                    crate::format::duration(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX));
                self.print(&format!("{took}\n"))?;
                self.client = Some(client);
            }
            Err(error) => match error.downcast::<AskError>() {
                Ok(AskError::Gone(_)) => messages::note("stopped", None),
                Ok(error) => {
                    tell(&error, statement);
                    // After a limit the process has ended; a mistake it survives.
                    if exit_of(&error) == crate::exit::Exit::Usage {
                        self.client = Some(client);
                    }
                }
                Err(error) => return Err(error),
            },
        }
        Ok(())
    }
}

fn tables() -> String {
    let lines = Report::ALL.iter().map(|report| {
        let doc = report.doc().split_inclusive(". ").next().unwrap_or_default().trim();
        format!("{:16} {doc}\n", report.name())
    });
    lines.collect()
}

fn columns(report: Report) -> String {
    let columns = report.columns();
    let width = columns.iter().map(|def| def.name.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", report.doc());
    for def in columns {
        // The one long type is told by its fields in the documentation.
        let ty = def.ty.sql().split_once("STRUCT<").map_or(def.ty.sql(), |_| "ARRAY<STRUCT>");
        let unit = if def.unit.is_empty() { String::new() } else { format!(" ({})", def.unit) };
        text.push_str(&format!("  {:width$}  {ty:19}  {}{unit}\n", def.name, def.doc));
    }
    text
}

#[derive(Helper, Highlighter, Hinter)]
struct Completion {
    words: Vec<String>,
}

impl Completion {
    fn new() -> Self {
        let mut words: Vec<String> = Vec::new();
        for report in Report::ALL {
            words.push(report.name().to_owned());
            words.extend(tables::columns(*report).into_iter().map(|column| column.name));
        }
        words.sort();
        words.dedup();
        words.extend(WORDS.iter().map(|word| (*word).to_owned()));
        Completion { words }
    }

    /// What may stand at the end of `line`, and where it begins.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        if let Some(start) = line.strip_prefix("\\n ").or_else(|| line.strip_prefix("\\s ")) {
            let names = ANALYSES.iter().map(|analysis| analysis.name.to_owned());
            return (3, names.filter(|name| name.starts_with(start)).collect());
        }
        let from = line
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let start = line[from..].to_lowercase();
        if start.is_empty() {
            return (from, Vec::new());
        }
        let fitting = self.words.iter().filter(|word| word.to_lowercase().starts_with(&start));
        (from, fitting.cloned().collect())
    }
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (from, words) = self.candidates(&line[..at]);
        let pairs = words.into_iter().map(|word| Pair { display: word.clone(), replacement: word });
        Ok((from, pairs.collect()))
    }
}

impl Validator for Completion {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let is_whole = text.is_empty() || text.starts_with('\\') || text.ends_with(';');
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let completion = Completion::new();
        let (from, words) = completion.candidates("SELECT s.execC");
        assert_eq!((from, words), (9, vec!["execCpuNs".to_owned()]));
        let (from, words) = completion.candidates("\\n skew");
        assert_eq!((from, words), (3, vec!["skew-detection".to_owned()]));
        assert!(completion.candidates("sel").1.contains(&"SELECT".to_owned()));
        assert_eq!(completion.candidates("SELECT ").1, Vec::<String>::new());
    }
}

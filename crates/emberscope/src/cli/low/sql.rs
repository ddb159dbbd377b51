//! Arguments of `sql` as typed.

use super::{ReadingArgs, RemoteArgs};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

pub(super) const SQL_HELP: &str = "\
Examples:
  emberscope sql app-20240101-0001.zstd 'SELECT jobId, jobName, status FROM job'
  emberscope sql logs/ reports/ --named sql-by-core-time
  emberscope sql reports/ --named cost --prices prices.toml --format csv --out cost.csv
  emberscope sql app-1 --param limit=5 --named sql-by-spill
  emberscope sql app-1                       a prompt: \\d lists the tables
  emberscope sql --show skew-detection       the statement behind a name
  emberscope sql --snippets reports          views of the same tables for Spark

A SOURCE is an event log (as for `summary`), a directory of reports as `report` or
PerfGazer writes them (NDJSON or Parquet; key=value directories become columns), or a
report's file. Logs are read once: their tables are kept in ~/.cache/emberscope.

The dialect is Spark's: ARRAY_CONTAINS, PERCENTILE, LATERAL VIEW EXPLODE, FROM_JSON,
backticks, double quotes for text; 7 / 2 is 3.5, x / 0 is null. Names may be written in
any case. Statements can only read. Across runs, join on applicationId too.

Tables: job, sql, stage, task, application, executor, stage_attempt, plan_node, failure,
config, streaming_batch, data_quality; their columns are in docs/data_model.md and in the
prompt's \\d TABLE. Statements are answered by the program emberscope-sql, which is found
beside this one, by EMBERSCOPE_SQL, or on PATH.";

#[derive(Debug, Args)]
pub(in crate::cli) struct SqlArgs {
    /// Event logs, directories of reports, or report files; the statement comes last
    #[arg(value_name = "SOURCE... \"QUERY\"", value_hint = ValueHint::AnyPath)]
    pub(in crate::cli) words: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) reading: ReadingArgs,
    #[command(flatten)]
    pub(in crate::cli) remote: RemoteArgs,
    /// Read the statement from a file; `-` is standard input
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "named", help_heading = "Question")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Ask a ready-made question
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub(in crate::cli) named: Option<String>,
    /// Take statement after statement in one session, from a pipe as from a terminal; each ends with `;`
    #[arg(long, conflicts_with_all = ["file", "named"], help_heading = "Question")]
    pub(in crate::cli) prompt: bool,
    /// Value of a parameter `:name` of the statement
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::cli::sql::parameter, help_heading = "Question")]
    pub(in crate::cli) param: Vec<(String, String)>,
    /// Prices for `--named cost`, as TOML: core_hour, gib_hour, currency
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Question")]
    pub(in crate::cli) prices: Option<PathBuf>,
    /// List the ready-made questions
    #[arg(long, conflicts_with_all = ["words", "named", "file"], help_heading = "Question")]
    pub(in crate::cli) list: bool,
    /// Print the statement of a ready-made question
    #[arg(long, value_name = "NAME", conflicts_with_all = ["words", "named", "file", "list"], help_heading = "Question")]
    pub(in crate::cli) show: Option<String>,
    /// Dialect of --show: the statements are the same in both
    #[arg(long, value_name = "DIALECT", value_enum, default_value_t = DialectName::Emberscope, help_heading = "Question")]
    pub(in crate::cli) dialect: DialectName,
    /// Print the SQL that makes Spark views of the reports in DIR and below
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["words", "named", "file", "list", "show"], help_heading = "Question")]
    pub(in crate::cli) snippets: Option<PathBuf>,
    /// Form of the answer [default: by the name of --out, else table]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub(in crate::cli) format: Option<RowsFormatName>,
    /// Write to a file, which appears when it is whole
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(in crate::cli) out: Option<PathBuf>,
    /// Rows after which the answer is cut; 0 for all [default: 1000 for tables, else all]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(in crate::cli) max_rows: Option<u64>,
    /// Time an answer may take; 0 for any
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = crate::cli::report::time, help_heading = "Limits")]
    pub(in crate::cli) timeout: std::time::Duration,
    /// Memory that answering may take
    #[arg(long, value_name = "SIZE", default_value = "900MiB", value_parser = crate::cli::report::size, help_heading = "Limits")]
    pub(in crate::cli) memory: u64,
    /// Disk that answering may take when memory is not enough
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::cli::report::size, help_heading = "Limits")]
    pub(in crate::cli) spill: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DialectName {
    /// As `emberscope sql` takes it
    Emberscope,
    /// As Spark takes it
    Spark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RowsFormatName {
    /// For people; fits the terminal
    Table,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header
    Tsv,
    /// One array of objects
    Json,
    /// One object a line
    Ndjson,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC stream
    Arrow,
}

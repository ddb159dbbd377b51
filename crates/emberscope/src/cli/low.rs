//! Arguments as typed. Doc comments are the help text.

mod export;
mod flame;
mod follow;
mod remote;
mod sql;

pub(super) use export::{ExportArgs, ExportFormatName};
pub(super) use flame::{FlameArgs, FlameEventName, FlameFormatName};
pub(super) use follow::FollowArgs;
pub(super) use remote::RemoteArgs;
pub(super) use sql::{DialectName, RowsFormatName, SqlArgs};

use clap::builder::Styles;
use clap::builder::styling::{AnsiColor, Effects};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use export::EXPORT_HELP;
use flame::FLAME_HELP;
use follow::FOLLOW_HELP;
use sql::SQL_HELP;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Yellow.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  emberscope summary app-20240101-0001.zstd     what the run was, on one screen
  emberscope summary --json logs/ > runs.jsonl  all runs below a directory
  emberscope diagnose app-20240101-0001.zstd    what cost time, what to change
  emberscope diagnose app-1 --out report.html   the same as a page to mail
  emberscope doctor app-20240101-0001.zstd      what fills the log or is missing
  emberscope report app-20240101-0001.zstd --out reports --format parquet
                                                tables for Spark, DuckDB, pandas
  emberscope follow app-1.inprogress            findings while it runs
  emberscope serve logs/                        all of it in a browser
  emberscope sql app-20240101-0001.zstd 'SELECT status, count(*) FROM task GROUP BY 1'
  emberscope flame profile-exec-1.jfr           which methods took the time

A SOURCE is a log file, a directory (a rolled log, or a tree of logs), a zip
archive of the History Server, or `-`. Codecs (zstd, lz4, snappy, lzf, gzip)
are told by content. It may also be the address of an application in the History
Server, the Spark UI or YARN's proxy, as the browser shows it.

Exit codes:
  0 done    1 internal error    2 usage    3 no input usable
  4 partial, with --strict
  10 a finding, with --fail-on    11 inconclusive, with --fail-on";

/// Performance forensics for Apache Spark: where the time of a run went, from its event log.
#[derive(Debug, Parser)]
#[command(name = "emberscope", version, styles = STYLES, after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct LowArgs {
    #[command(subcommand)]
    pub(super) command: LowCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum LowCommand {
    /// What a run was: times, work, executors, and how far the numbers can be trusted
    #[command(after_help = "\
Examples:
  emberscope summary app-20240101-0001.zstd
  emberscope summary --json logs/ | jq '.totals.driver_only_ms'
  hdfs dfs -cat /logs/app-1.lz4 | emberscope summary -
  emberscope summary --strict --out summary.json --json app-1

`useful` is the work of the attempts that counted, `all work` that of all
attempts, `lost` the difference: failed and killed attempts, losing speculative
copies, stages run again. `in task slots` is the time tasks held a core, from
launch to end; it leaves out the time in which a result was on its way to the
driver, when the slot is free again. What the log does not
hold is `not measured`, in JSON null, and never 0.")]
    Summary(ShowArgs),
    /// What cost the time, what to change, and how many seconds that saves
    #[command(after_help = DIAGNOSE_HELP)]
    Diagnose(Box<DiagnoseArgs>),
    /// Print the page of the reference about a finding, or the list of pages
    #[command(after_help = "\
Examples:
  emberscope docs                 all findings, one line each
  emberscope docs SKEW            one page
  emberscope docs stageShape      the page of a type of finding")]
    Docs {
        /// Tag, type, or the `doc` of a finding
        name: Option<String>,
    },
    /// What fills a log, what it lacks, and which Spark setting would change that
    #[command(after_help = "\
Examples:
  emberscope doctor app-20240101-0001.zstd
  emberscope doctor --format json app-1 | jq '.advice[].setting'

Savings are measured in this log or estimated from a part of it, and say which.
Only settings that the log's Spark version has, and that are not in effect
already, are proposed.")]
    Doctor(ShowArgs),
    /// Keep every run as tables (NDJSON or Parquet) for Spark SQL, DuckDB, pandas
    #[command(after_help = REPORT_HELP)]
    Report(Box<ReportArgs>),
    /// Watch a running application by its log: tables and findings as they appear
    #[command(after_help = FOLLOW_HELP)]
    Follow(Box<FollowArgs>),
    /// Write a run as a file of other tools: a trace for Perfetto, or a page
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Serve runs to browsers and tools: pages, and the API of Spark's History Server
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeArgs>),
    /// Ask questions in SQL, of one run or a thousand: event logs, directories of reports, or both
    #[command(after_help = SQL_HELP)]
    Sql(Box<SqlArgs>),

    /// Which methods took CPU, time, memory or locks, from recordings of Java Flight Recorder
    #[command(after_help = FLAME_HELP)]
    Flame(Box<FlameArgs>),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  emberscope completions bash > ~/.local/share/bash-completion/completions/emberscope
  emberscope completions zsh > ~/.zfunc/_emberscope
  emberscope completions fish > ~/.config/fish/completions/emberscope.fish")]
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
    /// Print the manual page, or write one for each command
    #[command(after_help = "\
Examples:
  emberscope man | man -l -
  emberscope man --out /usr/local/share/man/man1")]
    Man {
        /// Directory for the pages of all commands
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

const SERVE_HELP: &str = "\
Examples:
  emberscope serve /var/log/spark-events        list the runs, open the browser
  emberscope serve logs --no-browser --port 0   print the address, on any port
  emberscope serve http://shs:18080/history/app-1/1   a run of the History Server
  emberscope serve logs --jfr profiles          with flame graphs of its recordings
  emberscope serve logs --open &                Spark's API without a token:
  curl http://127.0.0.1:18480/api/v1/applications

Logs are listed by their first and last bytes, and read when somebody asks for
them; new and growing ones appear by themselves.

With --jfr, runs have flame graphs of their tasks, of recordings by async-profiler
or the JDK that lie in DIR/APP_ID; beside a single log they may lie in DIR itself.

The address that is printed lets one browser in, once. Tools send the token:
  curl -H \"Authorization: Bearer $EMBERSCOPE_TOKEN\" http://127.0.0.1:18480/...
  /api/v1                Spark's monitoring API, as Spark 4.3 answers it
  /api/emberscope/v1     runs, findings, tasks; openapi.json describes it
  /healthz, /metrics     for probes and Prometheus
The token is random at each start unless EMBERSCOPE_TOKEN holds one. Secrets of
configurations are masked, in downloaded logs too. There is no TLS: for other
machines put a proxy that has it in front.";

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Event logs: files, or directories that hold them; or addresses of runs, as they are now
    #[arg(required = true, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<String>,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
    /// Directory of JVM recordings: DIR/APP_ID/profile-exec-ID.jfr and profile-driver.jfr; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) jfr: Vec<String>,
    /// Address or name of this machine to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", help_heading = "Listening")]
    pub(super) host: String,
    /// Port to listen on; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 18480, help_heading = "Listening")]
    pub(super) port: u16,
    /// Name under which others reach this server, as through a proxy; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Listening")]
    pub(super) allow_host: Vec<String>,
    /// Answer Spark's API without a token, on this machine only
    #[arg(long, help_heading = "Access")]
    pub(super) open: bool,
    /// Leave downloaded logs as they are, secrets included
    #[arg(long, help_heading = "Access")]
    pub(super) raw_logs: bool,
    /// Do not open the browser
    #[arg(long)]
    pub(super) no_browser: bool,
    /// Memory for runs that were read; the ones used longest ago are forgotten
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = super::report::size)]
    pub(super) memory: u64,
    /// Threads that read and parse [default: one per core, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) threads: Option<u16>,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// Form of the output; JSON is one object per run and line
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(super) format: Option<FormatName>,
    /// The same as `--format json`
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Write to a file, which appears when it is whole
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatName {
    /// For people
    Text,
    /// For programs
    Json,
}

const REPORT_HELP: &str = "\
Examples:
  emberscope report app-20240101-0001.zstd --out reports
  emberscope report logs/ --out reports --format parquet --tasks
  emberscope report app-1 --out 'reports/date={{perfgazer.now.year}}-{{perfgazer.now.month}}'
  emberscope report app-1 --sink log --reports job,stage | jq .report
  emberscope report --recover reports

Reports: job, sql, stage, task, application, executor, stage_attempt, plan_node,
failure, config, streaming_batch, data_quality. All but `task` are written unless
--reports names others.

DIR may hold {{perfgazer.now.year}}, .month, .day, .hour, .minute, .second (the
run's start, UTC), {{perfgazer.runid}} and {{spark.*}}, any property of the log.
Unless it has {{spark.app.id}} or {{perfgazer.runid}}, and with several runs,
applicationId=ID/attempt=N is appended. A file appears when it is whole; running
again replaces exactly the files of the same run.";

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Event log: file, directory, zip archive, `-` for standard input; or the address of a run
    #[arg(required_unless_present = "recover", value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<String>,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
    #[command(flatten)]
    pub(super) tables: TableArgs,
    /// Take over what a killed report left in DIR and below, instead of reading logs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["sources", "out"], help_heading = "Recovery")]
    pub(super) recover: Option<PathBuf>,
}

/// Which tables, and where to.
#[derive(Debug, Args)]
pub(super) struct TableArgs {
    /// Tables to write, by comma [default: all but task]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tables")]
    pub(super) reports: Vec<String>,
    /// Write the task table too
    #[arg(long, help_heading = "Tables")]
    pub(super) tasks: bool,
    /// Files, or lines on standard output, one per row
    #[arg(long, value_name = "SINK", value_enum, default_value_t = SinkName::File, help_heading = "Output")]
    pub(super) sink: SinkName,
    /// Directory of the files, with placeholders
    #[arg(long, value_name = "DIR", visible_alias = "destination", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(super) out: Option<String>,
    /// Form of the files [default: ndjson]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub(super) format: Option<FileFormatName>,
    /// Rows after which NDJSON goes to disk
    #[arg(long, value_name = "ROWS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Output")]
    pub(super) batch_size: u32,
    /// Size after which a new file begins
    #[arg(long, value_name = "SIZE", default_value = "200MiB", value_parser = super::report::size, help_heading = "Output")]
    pub(super) file_size_limit: u64,
    /// Time after which NDJSON goes to disk, however few rows there are
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = super::report::time, help_heading = "Output")]
    pub(super) flush_every: std::time::Duration,
    /// How long the last bytes of a run may take to reach the disk
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = super::report::time, help_heading = "Output")]
    pub(super) close_timeout: std::time::Duration,
    /// Print the SQL that makes Spark views of what was written
    #[arg(long, help_heading = "Output")]
    pub(super) snippets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SinkName {
    /// Files in a directory
    File,
    /// Lines on standard output
    Log,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FileFormatName {
    /// One JSON object per line
    Ndjson,
    /// Apache Parquet
    Parquet,
}

const DIAGNOSE_HELP: &str = "\
Examples:
  emberscope diagnose app-20240101-0001.zstd
  emberscope diagnose app-1 --out report.html
  emberscope diagnose app-1 --out report.md --json report.json
  emberscope diagnose app-1 --format json | jq '.findings[].title'
  emberscope diagnose app-1 --fail-on warning --only SKEW,SPILL,FAIL
  emberscope diagnose app-1 --stage 14 --all
  emberscope diagnose http://host:18080/history/app-1/ --sql-id 94 \\
    --sql-file q.sql --explain e.txt --driver-log run.log --out report.md
  emberscope diagnose --driver-log run.log --sql-file q.sql
  emberscope diagnose app-1 --jfr profiles

A finding is critical where its fix can save 2 % of the run's wall time or more, a
warning from 0.5 % on, else info; a job or stage that failed is critical. Savings
are ranges, found by replaying the run task by task with the fix applied.
`emberscope docs TAG` explains a finding and its thresholds.

With --jfr, findings about a stage name the methods that took its tasks' time, as
recordings by async-profiler or the JDK tell: `emberscope flame` draws them in full.

--thresholds takes TOML with a table for each tag, such as
  [SKEW]
  ratio = 4

With the options under Evidence the report has eight parts, from conclusion to what
has to be checked elsewhere, with the clauses of the query beside the operators. A
log that names the Spark UI is followed there, without credentials; where nobody
answers, the log itself is the run. Nothing is run, only read.

With several runs each is diagnosed in turn; JSON is one object per run and line,
HTML holds one run. Exit codes with --fail-on: 10 for a finding at or above the
level; 11 for none, where a log is not whole, so that more may be hidden. 4, with
--strict, goes first.";

#[derive(Debug, Args)]
pub(super) struct DiagnoseArgs {
    /// Event log: file, directory, zip archive, `-` for standard input; or the address of a run
    #[arg(required_unless_present_any = ["json", "url", "driver_log", "explain"], value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<String>,
    /// Address of a run, as a further SOURCE
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Evidence")]
    pub(super) url: Option<String>,
    /// The query: clauses are mapped to operators, and the execution is found by it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Evidence")]
    pub(super) sql_file: Option<PathBuf>,
    /// When the query was submitted, such as 2026-11-02T08:06:50Z: finds the execution
    #[arg(long, value_name = "TIME", visible_alias = "exec-time", value_parser = super::diagnose::moment, help_heading = "Evidence")]
    pub(super) submitted_at: Option<i64>,
    /// What EXPLAIN said of the query; alone, the plan it shows
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Evidence")]
    pub(super) explain: Option<PathBuf>,
    /// Log of the driver or of Kyuubi, packed or not, `-` for a pipe; alone, the run it tells, or leads to
    #[arg(long, value_name = "FILE", visible_alias = "log", value_hint = ValueHint::FilePath, help_heading = "Evidence")]
    pub(super) driver_log: Option<PathBuf>,
    /// Do not ask the Spark UI whose address the log of the driver names
    #[arg(long, help_heading = "Evidence")]
    pub(super) no_follow: bool,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
    /// Checks to make: tags, by comma [default: all]
    #[arg(long, value_name = "TAGS", value_delimiter = ',', help_heading = "Checks")]
    pub(super) only: Vec<String>,
    /// Findings about this SQL execution
    #[arg(long, value_name = "ID", visible_alias = "exec-id", help_heading = "Checks")]
    pub(super) sql_id: Option<u64>,
    /// Findings about this stage, or this attempt of it
    #[arg(long, value_name = "N[.A]", value_parser = super::diagnose::stage, help_heading = "Checks")]
    pub(super) stage: Option<(u32, Option<u32>)>,
    /// Directory of JVM recordings, DIR/APP_ID/profile-exec-ID.jfr: names the hottest frames; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Checks")]
    pub(super) jfr: Vec<String>,
    /// Thresholds that differ from the defaults
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Checks")]
    pub(super) thresholds: Option<PathBuf>,
    /// Exit with 10 when there is a finding at or above this level
    #[arg(long, value_name = "LEVEL", value_enum, help_heading = "Checks")]
    pub(super) fail_on: Option<FailOnName>,
    /// Form of the output [default: by the name of --out, else text]
    #[arg(long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    pub(super) format: Option<DiagnoseFormatName>,
    /// Write to a file, which appears when it is whole
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// JSON into this file, beside what --out and --format ask for; without a file `--format json`
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) json: Option<Option<PathBuf>>,
    /// In text, everything: not only what fits on a screen
    #[arg(long, help_heading = "Output")]
    pub(super) all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DiagnoseFormatName {
    /// For people, on a terminal
    Text,
    /// For people, in a ticket
    #[value(alias = "md")]
    Markdown,
    /// For programs; one object per run and line
    Json,
    /// One page, with pictures, that needs no network
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOnName {
    /// Findings that save 2 % of the run or more, and failures
    Critical,
    /// Also those that save 0.5 % or more
    Warning,
}

#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Event log: file, directory, zip archive, `-` for standard input; or the address of a run
    #[arg(required = true, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<String>,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

#[derive(Debug, Default, Args)]
pub(super) struct ReadingArgs {
    /// Exit with 4 unless everything named was read, whole
    #[arg(long, help_heading = "Reading")]
    pub(super) strict: bool,
    /// Threads that read and parse [default: one per core, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Reading")]
    pub(super) threads: Option<u16>,
    /// Bytes that are parsed at a time
    #[arg(long, value_name = "BYTES", hide = true, value_parser = clap::value_parser!(u32).range(1..=(1 << 30)))]
    pub(super) chunk_size: Option<u32>,
    /// No progress bar
    #[arg(long, help_heading = "Reading")]
    pub(super) no_progress: bool,
    /// Only results and errors: no progress bar, no word on paths that were skipped
    #[arg(long, short, help_heading = "Reading")]
    pub(super) quiet: bool,
}

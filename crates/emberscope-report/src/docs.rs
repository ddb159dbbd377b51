//! Documentation of the tables, made from their definitions: for people, for programs, for agents.

use crate::destination::PLACEHOLDERS;
use crate::file::Format;
use crate::schema::{ColumnDef, Report, SQL_NODE_FIELDS, Type};
use crate::snippets;
use std::fmt::Write;

const HEAD: &str = "\
# Data model

<!-- Generated from the table definitions: `EMBERSCOPE_BLESS=1 cargo test -p emberscope-report docs`. -->

`emberscope report` keeps a run as tables, one set of files per table: `<report>-reports-<n>.json`
(one JSON object per line) or `.parquet`. The tables `job`, `sql`, `stage` and `task` have PerfGazer's
columns, types and units, and further columns after them. In those four names are PerfGazer's; in all
others a name ends in its unit.

- `null` is *not measured*: the log does not hold the value. Zero is zero.
- *All work* is every task attempt, whatever its end; *useful* are the attempts whose output counted.
  The `stage` table sums all work, as Spark's History Server does.
- Times are epoch milliseconds, UTC.
- Secrets are masked.

## Where files are

Each run has its own directory. Unless the destination tells runs apart itself, it is
`DIR/applicationId=<id>/attempt=<n>/`, with attempt 0 where the cluster manager has none. The
destination may hold

";

const AFTER_PLACEHOLDERS: &str = "
While it is written, a file is called `.<name>.inprogress`, which no reader takes for a result. Files get
their names when all of a run are whole; `.emberscope-<run>-<format>.manifest` lists them. Reporting a
run again replaces exactly its files: other runs' are untouched, and reports that were not asked for
this time stay. After a killed writer, reporting the run again writes everything once; `emberscope report
--recover DIR` takes over the whole lines it left instead.

## Reading

`emberscope report --snippets` prints the statements for what was written. For NDJSON the view spells
its columns out, so that it has them also when a report is empty (its file then has no lines) or a column
has no values. Parquet carries its columns: an empty report is a file with no rows.

";

const AFTER_SNIPPETS: &str = "
All runs at once: put `*` for the directories, as in `DIR/*/*/job-reports-*.parquet`, and join on
`applicationId` and `applicationAttempt`, which every table has. Do not give Spark a `basePath` that
makes partition columns of the directories: it would put the directory's `attempt` in place of the
column `attempt` of `stage` and `task`.

In DuckDB: `read_parquet('DIR/*/*/job-reports-*.parquet', hive_partitioning = false)`, or `read_json` with
the same and `columns = {…}` of the types below for an empty file. In pandas: `read_parquet(path,
partitioning = None)`, or `read_json(path, lines = True)`. Left to themselves, both make columns of the
directories, too.

## Differences from PerfGazer

- `execRunNs` and `execJvmGcNs` of `stage` are nanoseconds; PerfGazer writes milliseconds.
- `totalRecordsRead`, `shuffleBytesWritten` and `shuffleRecordsWritten` of `task` are the shuffle's;
  PerfGazer writes input and output values.
- What is unset is null; PerfGazer writes the word \"null\".
- `task` has failed, killed and running attempts; `job`, `sql` and `stage` those without an end.
- `details` of `sql` is the final physical plan: an event log holds no logical plans.
- `nodes` of `sql` are the final plan as the log has it, without a prefix on names, with query stages
  and subqueries as nodes of their own.
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// `docs/data_model.md`.
pub fn data_model() -> String {
    let mut out = HEAD.to_owned();
    for (name, doc) in PLACEHOLDERS {
        let _ = writeln!(out, "- `{{{{{name}}}}}`: {doc}");
    }
    out.push_str(AFTER_PLACEHOLDERS);
    for format in [Format::Ndjson, Format::Parquet] {
        let snippet = snippets::view(Report::Job, format, "DIR/applicationId=app-1/attempt=0");
        let _ = writeln!(out, "```sql\n{snippet}\n```\n");
    }
    let out_len = out.trim_end().len();
    out.truncate(out_len);
    out.push('\n');
    out.push_str(AFTER_SNIPPETS);
    for report in Report::ALL {
        let _ = writeln!(out, "\n## `{}`\n\n{}\n", report.name(), report.doc());
        if report.seed_columns() > 0 {
            let seed = report.seed_columns();
            let last = report.columns()[seed - 1].name;
            let _ = writeln!(out, "PerfGazer's columns end with `{last}`.\n");
        }
        if !report.is_default() {
            let _ = writeln!(out, "Off unless asked for (`--tasks` or `--reports`).\n");
        }
        columns_of(&mut out, report.columns().iter().copied());
        if report.columns().iter().any(|def| def.ty == Type::SqlNodes) {
            out.push_str("\n### `SqlNode`\n\n");
            columns_of(&mut out, SQL_NODE_FIELDS.iter());
        }
    }
    out
}

fn columns_of<'d>(out: &mut String, defs: impl Iterator<Item = &'d ColumnDef>) {
    out.push_str("| Column | SQL Type | Unit | Description | From |\n|---|---|---|---|---|\n");
    for def in defs {
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} | {} |",
            def.name,
            def.ty.sql(),
            def.unit,
            cell(def.doc),
            cell(def.source)
        );
    }
}

fn field(def: &ColumnDef) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut out = format!("{{ \"name\": {}, \"type\": {}", text(def.name), text(def.ty.sql()));
    if !def.unit.is_empty() {
        let _ = write!(out, ", \"unit\": {}", text(def.unit));
    }
    let _ = write!(out, ", \"description\": {}, \"source\": {}", text(def.doc), text(def.source));
    if def.ty == Type::SqlNodes {
        let fields: Vec<String> =
            SQL_NODE_FIELDS.iter().map(|def| format!("              {}", field(def))).collect();
        let _ = write!(
            out,
            ",\n          \"nestedSchema\": {{\n            \"name\": \"SqlNode\",\n            \"fields\": [\n{}\n            ]\n          }}\n        ",
            fields.join(",\n")
        );
    }
    out + " }"
}

/// `docs/schema/emberscope-schema.json`.
pub fn schema_json() -> String {
    let views: Vec<String> = Report::ALL
        .iter()
        .map(|report| {
            let fields: Vec<String> =
                report.columns().iter().map(|def| format!("        {}", field(def))).collect();
            format!(
                "    {{\n      \"name\": \"{}\",\n      \"description\": {},\n      \"fields\": [\n{}\n      ]\n    }}",
                report.name(),
                serde_json::Value::from(report.doc()),
                fields.join(",\n")
            )
        })
        .collect();
    format!(
        "{{\n  \"project\": \"Emberscope\",\n  \"description\": \"Schema reference for the tables of `emberscope report`. Each view corresponds to a SQL temporary view over its files.\",\n  \"views\": [\n{}\n  ]\n}}\n",
        views.join(",\n")
    )
}

/// `llms.txt`.
pub fn llms_txt() -> String {
    let mut out = "\
# Emberscope

> Performance forensics for Apache Spark: reads event logs of Spark 2.4 to 4.3 and says where the time
> of a run went. One binary, no cluster. `emberscope summary LOG` shows a run, `emberscope report LOG
> --out DIR --format parquet --tasks` keeps it as tables.

`emberscope diagnose http://host:18080/history/APP/ --sql-id N --sql-file q.sql --json report.json` reads a run
from a History Server or a live UI; `--explain FILE` and `--driver-log FILE` add to it or stand for a run that is
gone. Only GET is sent.

null is not measured, never 0. `stage` sums all task attempts; `useful` marks the attempts that counted.
Join jobs to stages with `array_contains(job.stages, stage.stageId)`, tasks to stages with `stageId` and
`task.stageAttempt = stage.attempt`, jobs to SQL with `job.sqlId = cast(sql.sqlId as string)`. Across
runs also join on `applicationId` and `applicationAttempt`.

## Documentation

- [Data model](docs/data_model.md): every table and column with type, unit and origin
- [Schema](docs/schema/emberscope-schema.json): the same for programs
- [Recording](docs/recording.md): live reports, task threads and profiles by what Spark loads, PerfGazer set-up
- [Architecture](docs/architecture.md): how the program is built

## Tables

"
    .to_owned();
    for report in Report::ALL {
        let names: Vec<&str> = report.columns().iter().map(|def| def.name).collect();
        let _ = writeln!(out, "- {}: {} Columns: {}.", report.name(), report.doc(), names.join(", "));
    }
    out
}

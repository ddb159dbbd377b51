//! Views for Spark over reports that are there.

use super::reports::{self, Found};
use crate::exit::UsageError;
use emberscope_report::snippets::{literal, view};
use emberscope_report::{Format, Report};
use emberscope_sql_protocol as protocol;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The statements for the reports in `dir` and below: of its one run, or of all runs.
pub(super) fn of_dir(dir: &Path) -> anyhow::Result<String> {
    let found = reports::find(dir);
    if found.is_empty() {
        let message = format!("{}: no reports in it", dir.display());
        let hint = "name a directory that `emberscope report --out` or PerfGazer wrote";
        return Err(UsageError::new(message, hint).into());
    }
    let base = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let dirs: BTreeSet<PathBuf> =
        found.iter().filter_map(|found| Some(Path::new(&found.file.path).parent()?.to_owned())).collect();
    let mut text = String::new();
    if let [one] = dirs.iter().collect::<Vec<_>>().as_slice() {
        _ = writeln!(text, "-- The run in {}", one.display());
        statements(&found, &literal(one), None, &mut text);
        return Ok(text);
    }
    _ = writeln!(text, "-- All {} directories of runs in {}", dirs.len(), base.display());
    _ = writeln!(text, "-- Join on applicationId and applicationAttempt (<=>) too.");
    let depths: BTreeSet<usize> =
        dirs.iter().filter_map(|dir| Some(dir.strip_prefix(&base).ok()?.components().count())).collect();
    let literal = literal(&base);
    match depths.iter().collect::<Vec<_>>().as_slice() {
        [depth] => {
            statements(&found, &format!("{literal}{}", "/*".repeat(**depth)), Some(&literal), &mut text);
        }
        // Runs lie at different depths: look everywhere.
        _ => statements(&found, &format!("{literal}/**"), Some(&literal), &mut text),
    }
    Ok(text)
}

fn statements(found: &[Found], glob: &str, base: Option<&str>, text: &mut String) {
    for report in Report::ALL {
        let files: Vec<&Found> = found.iter().filter(|found| found.report == *report).collect();
        let Some(first) = files.first() else { continue };
        let format = match first.file.format {
            protocol::Format::Parquet => Format::Parquet,
            protocol::Format::Ndjson => Format::Ndjson,
        };
        let is_own = files.iter().all(|found| found.file.is_own);
        match base.filter(|_| !is_own) {
            // What another program wrote says its run by directories only.
            Some(base) => {
                let (name, extension) = (report.name(), format.extension());
                let using = if format == Format::Parquet { "parquet" } else { "json" };
                _ = writeln!(
                    text,
                    "\nCREATE OR REPLACE TEMPORARY VIEW {name}\nUSING {using}\nOPTIONS (\n  path \"{glob}/{name}-reports-*.{extension}\",\n  basePath \"{base}/\"\n);"
                );
            }
            None => _ = writeln!(text, "\n{}", view(*report, format, glob)),
        }
    }
}

//! SQL with which Spark reads the files: one view per table.

use crate::file::Format;
use crate::schema::Report;
use std::path::Path;

/// The statement that creates the view of a table over all files of `glob`, a directory that may hold
/// wildcards.
///
/// The columns of JSON are spelled out: so the view has them all, in order and with their types, also
/// when a report has no rows or a column no values. Parquet carries them. There is no `basePath`: with
/// it, Spark would put a directory's `attempt=` in place of the column of that name.
pub fn view(report: Report, format: Format, glob: &str) -> String {
    let name = report.name();
    let path = format!("{}/{name}-reports-*.{}", glob.trim_end_matches('/'), format.extension());
    let path = path.replace('\\', "\\\\").replace('"', "\\\"");
    match format {
        Format::Parquet => {
            format!("CREATE OR REPLACE TEMPORARY VIEW {name}\nUSING parquet\nOPTIONS (path \"{path}\");")
        }
        Format::Ndjson => {
            let columns: Vec<String> =
                report.columns().iter().map(|def| format!("  `{}` {}", def.name, def.ty.sql())).collect();
            format!(
                "CREATE OR REPLACE TEMPORARY VIEW {name} (\n{}\n)\nUSING json\nOPTIONS (path \"{path}\");",
                columns.join(",\n")
            )
        }
    }
}

/// A directory as Spark should see it: absolute, with its own wildcards escaped.
pub fn literal(dir: &Path) -> String {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let mut out = String::new();
    for c in dir.display().to_string().chars() {
        if "*?[]{}\\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

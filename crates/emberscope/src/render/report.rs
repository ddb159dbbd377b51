//! What was written of a run.

use super::page::{Align, Line, Tone, items, table};
use super::{join, title};
use crate::format::{bytes, count, counted, plain};
use crate::output::Look;
use emberscope_model::run::Run;
use emberscope_report::Report;
use emberscope_report::sink::Written;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows, files and bytes of every table, and where they are.
pub(crate) fn text(
    run: &Run,
    place: Option<&Path>,
    written: &BTreeMap<Report, Written>,
    look: Look,
    is_first: bool,
) -> String {
    let total = written.values().fold(Written::default(), |sum, one| Written {
        rows: sum.rows + one.rows,
        files: sum.files + one.files,
        bytes: sum.bytes + one.bytes,
    });
    let application = &run.application;
    let whole = if run.trust.is_complete() && application.has_end { "" } else { "from a part of the log" };
    let mut lines =
        vec![title(application.name.as_deref(), application.id.as_deref(), (Tone::Warn, whole), look.width)];
    let mut parts = vec![counted(total.rows, "row")];
    if let Some(place) = place {
        parts.push(counted(total.files, "file"));
        parts.push(bytes(total.bytes as i64));
        parts.push(plain(&place.display().to_string()));
    }
    lines.extend(items(Line::default(), Tone::Plain, &parts, look.width));
    let cell = |text: String| Line::text(Tone::Plain, text);
    let head = |text: &str| Line::text(Tone::Faint, text);
    let mut rows = vec![vec![head("  report"), head("rows"), head("files"), head("size")]];
    for (report, one) in written {
        rows.push(vec![
            cell(format!("  {}", report.name())),
            cell(count(one.rows)),
            cell(count(one.files)),
            cell(bytes(one.bytes as i64)),
        ]);
    }
    lines.extend(table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right]));
    join(&lines, look, is_first)
}

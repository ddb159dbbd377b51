//! What the arguments of `export` mean.

use super::low::{ExportArgs, ExportFormatName};
use super::{Reading, ending, no_form, reading};
use crate::exit::UsageError;
use std::path::{Path, PathBuf};

/// What `export` needs to know.
#[derive(Debug)]
pub(crate) struct ExportOptions {
    /// What to read.
    pub(crate) reading: Reading,
    /// How to write.
    pub(crate) format: ExportFormat,
    /// Where to; `None` is standard output.
    pub(crate) out: Option<PathBuf>,
}

/// A form of an exported run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// One page.
    Html,
    /// A trace.
    Perfetto,
}

pub(super) fn mean(args: ExportArgs) -> anyhow::Result<ExportOptions> {
    let format = match args.format {
        Some(ExportFormatName::Html) => ExportFormat::Html,
        Some(ExportFormatName::Perfetto) => ExportFormat::Perfetto,
        None => args.out.as_deref().map_or(Ok(ExportFormat::Perfetto), by_name)?,
    };
    Ok(ExportOptions {
        reading: reading(args.source.sources, &args.source.reading, &args.source.remote)?,
        format,
        out: args.out,
    })
}

/// The form that a file's name asks for.
fn by_name(path: &Path) -> Result<ExportFormat, UsageError> {
    match ending(path).as_deref() {
        Some("html" | "htm") => Ok(ExportFormat::Html),
        Some("json" | "trace" | "perfetto") | None => Ok(ExportFormat::Perfetto),
        Some(_) => Err(no_form(path, "an exported run", "`.html` or `.json`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_by_name() {
        let cases = [
            ("a.HTML", Some(ExportFormat::Html)),
            ("a.json", Some(ExportFormat::Perfetto)),
            ("a", Some(ExportFormat::Perfetto)),
            ("a.txt", None),
        ];
        for (name, form) in cases {
            assert_eq!(by_name(Path::new(name)).ok(), form, "{name}");
        }
    }
}

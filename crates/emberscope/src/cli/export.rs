//! What the arguments of `export` mean.

use super::low::{ExportArgs, ExportFormatName};
use super::{Reading, reading};
use std::path::PathBuf;

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
    let is_page = args
        .out
        .as_ref()
        .and_then(|out| out.extension())
        .is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"));
    let format = match args.format {
        Some(ExportFormatName::Html) => ExportFormat::Html,
        None if is_page => ExportFormat::Html,
        Some(ExportFormatName::Perfetto) | None => ExportFormat::Perfetto,
    };
    Ok(ExportOptions {
        reading: reading(args.source.sources, &args.source.reading, &args.source.remote)?,
        format,
        out: args.out,
    })
}

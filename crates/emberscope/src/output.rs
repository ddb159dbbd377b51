//! Where results go: standard output or a file, with or without colour, and how wide.

use anyhow::Context;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// How wide text is shaped when nobody says how wide the terminal is.
const DEFAULT_WIDTH: usize = 80;
/// Below this nothing lines up; above it the eye loses the line.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=120;

/// How text may look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Columns.
    pub(crate) width: usize,
    /// Whether to colour.
    pub(crate) colour: bool,
}

/// Whether a stream shows colour: `NO_COLOR` forbids, `CLICOLOR_FORCE` demands, else a terminal does.
pub(crate) fn colour_of(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return false;
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    stream.is_terminal()
        && set("TERM").is_none_or(|term| term != "dumb")
        && set("CLICOLOR").is_none_or(|v| v != "0")
}

fn width() -> usize {
    let by_variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let by_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = by_variable.or_else(by_terminal).unwrap_or(DEFAULT_WIDTH);
    width.clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// A place for results.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout,
    /// A file, written beside its place and moved there when whole.
    File { file: io::BufWriter<File>, written: PathBuf, target: PathBuf },
    /// A device or pipe, which must not be replaced by a file.
    Device(File),
}

impl Output {
    /// Opens `path`, or standard output.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else { return Ok(Output::Stdout) };
        let cannot = || format!("{}: cannot be written", path.display());
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            return Ok(Output::Device(File::options().write(true).open(path).with_context(cannot)?));
        }
        if path.is_dir() {
            anyhow::bail!("{}: is a directory, not a file", path.display());
        }
        let mut name = OsString::from(".");
        name.push(path.file_name().with_context(cannot)?);
        name.push(format!(".{}.inprogress", std::process::id()));
        let written = path.with_file_name(name);
        let file = io::BufWriter::new(File::create(&written).with_context(cannot)?);
        Ok(Output::File { file, written, target: path.to_owned() })
    }

    /// How text may look here.
    pub(crate) fn look(&self) -> Look {
        match self {
            Output::Stdout => Look { width: width(), colour: colour_of(&io::stdout()) },
            Output::File { .. } | Output::Device(_) => Look { width: DEFAULT_WIDTH, colour: false },
        }
    }

    /// Writes whole lines; standard output shows them at once.
    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Output::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()?;
            }
            Output::File { file, target, .. } => file
                .write_all(text.as_bytes())
                .with_context(|| format!("{}: cannot be written", target.display()))?,
            Output::Device(file) => file.write_all(text.as_bytes())?,
        }
        Ok(())
    }

    /// Puts a file in its place.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Output::File { file, written, target } = &mut self {
            file.flush()
                .and_then(|()| std::fs::rename(&*written, &*target))
                .with_context(|| format!("{}: cannot be written", target.display()))?;
            written.clear();
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Not finished: leave nothing that looks like a result.
        if let Output::File { written, .. } = self
            && !written.as_os_str().is_empty()
        {
            _ = std::fs::remove_file(written);
        }
    }
}

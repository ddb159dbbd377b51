//! Where results go: standard output or a file, with or without colour, and how wide.

mod clean;

use crate::exit::UsageError;
use anyhow::Context;
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
    File(InProgress),
    /// A device or pipe, which must not be replaced by a file.
    Device { file: File, shown: String },
}

/// A file that is written beside its place.
#[derive(Debug)]
pub(crate) struct InProgress {
    file: io::BufWriter<File>,
    written: PathBuf,
    /// Its place, links followed: a link is not replaced by a file.
    target: PathBuf,
    /// Its place as typed.
    shown: String,
    /// The option that named it.
    option: &'static str,
}

/// What reading must keep its hands off, and what must not be written over.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    written: PathBuf,
    target: PathBuf,
    option: &'static str,
}

impl Guard {
    /// Whether a path is the file being written, which no directory that is read should tell of.
    pub(crate) fn is_in_progress(&self, path: &str) -> bool {
        let path = Path::new(path);
        path.file_name() == self.written.file_name() && is_same(path, &self.written)
    }

    /// Refuses to write over one of the files that are read.
    pub(crate) fn check(&self, source: &str) -> anyhow::Result<()> {
        // Of a zip entry, the archive.
        let path = source.split_once("!/").map_or(source, |(archive, _)| archive);
        if is_same(Path::new(path), &self.target) || is_same(Path::new(source), &self.target) {
            let message = format!("{} {}: that is one of the sources", self.option, self.target.display());
            return Err(UsageError { message, hint: "write the result to another file".into() }.into());
        }
        Ok(())
    }
}

/// Whether two paths lead to one file, which they do not where one leads nowhere.
fn is_same(path: &Path, other: &Path) -> bool {
    match (path.canonicalize(), other.canonicalize()) {
        (Ok(path), Ok(other)) => path == other,
        _ => false,
    }
}

fn unwritable(option: &str, shown: &str, why: &str, hint: &'static str) -> anyhow::Error {
    UsageError { message: format!("{option} {shown}: cannot be written: {why}"), hint: hint.into() }.into()
}

/// A target that cannot be opened is a mistake of the command line, but for a full disk.
fn not_opened(option: &str, shown: &str, error: io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "make its directory first, or name another file",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            return anyhow::Error::new(error).context(format!("{shown}: cannot be written"));
        }
        _ => "name a file that may be written",
    };
    unwritable(option, shown, &error.to_string(), hint)
}

impl Output {
    /// Opens `path`, or standard output.
    pub(crate) fn open(path: Option<&Path>) -> anyhow::Result<Output> {
        Output::open_for("--out", path)
    }

    /// As [`Output::open`], for another option than `--out`.
    pub(crate) fn open_for(option: &'static str, path: Option<&Path>) -> anyhow::Result<Output> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else { return Ok(Output::Stdout) };
        let shown = path.display().to_string();
        let meta = std::fs::metadata(path).ok();
        if meta.as_ref().is_some_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let file =
                File::options().write(true).open(path).map_err(|error| not_opened(option, &shown, error))?;
            return Ok(Output::Device { file, shown });
        }
        if meta.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(unwritable(option, &shown, "it is a directory", "name a file in it"));
        }
        if meta.is_some_and(|meta| meta.permissions().readonly()) {
            return Err(unwritable(option, &shown, "it is write-protected", "name another file"));
        }
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(name) = target.file_name() else {
            return Err(unwritable(option, &shown, "it names no file", "name a file"));
        };
        clean::remove_stale(&target);
        let written = target.with_file_name(clean::name_for(name, std::process::id()));
        clean::on_signal(&written);
        let file = File::create(&written).map_err(|error| not_opened(option, &shown, error))?;
        let file = io::BufWriter::new(file);
        Ok(Output::File(InProgress { file, written, target, shown, option }))
    }

    /// What reading must know of a file that is written.
    pub(crate) fn guard(&self) -> Option<Guard> {
        match self {
            Output::File(InProgress { written, target, option, .. }) => {
                Some(Guard { written: written.clone(), target: target.clone(), option })
            }
            Output::Stdout | Output::Device { .. } => None,
        }
    }

    /// How text may look here.
    pub(crate) fn look(&self) -> Look {
        match self {
            Output::Stdout => Look { width: width(), colour: colour_of(&io::stdout()) },
            Output::File(_) | Output::Device { .. } => Look { width: DEFAULT_WIDTH, colour: false },
        }
    }

    /// Writes whole lines; standard output shows them at once.
    pub(crate) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// As [`Output::write`], of what is no text.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Output::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout
                    .write_all(bytes)
                    .and_then(|()| stdout.flush())
                    .context("standard output: cannot be written")
            }
            Output::File(InProgress { file, shown, .. }) => {
                file.write_all(bytes).with_context(|| format!("{shown}: cannot be written"))
            }
            Output::Device { file, shown } => {
                file.write_all(bytes).with_context(|| format!("{shown}: cannot be written"))
            }
        }
    }

    /// Puts a file in its place. An output that is dropped instead leaves its place as it was.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Output::File(InProgress { file, written, target, shown, .. }) = &mut self {
            file.flush()
                .and_then(|()| std::fs::rename(&*written, &*target))
                .with_context(|| format!("{shown}: cannot be written"))?;
            written.clear();
        }
        Ok(())
    }
}

/// For results that are not text, or are written piece by piece.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout => io::stdout().lock().write(bytes),
            Output::File(InProgress { file, .. }) => file.write(bytes),
            Output::Device { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout => io::stdout().lock().flush(),
            Output::File(InProgress { file, .. }) => file.flush(),
            Output::Device { file, .. } => file.flush(),
        }
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        // Not finished: leave nothing that looks like a result.
        if !self.written.as_os_str().is_empty() {
            _ = std::fs::remove_file(&self.written);
        }
    }
}

//! Exit codes.

use crate::messages;
use emberscope_report::ReportError;
use emberscope_sql_client::Refused;
use std::borrow::Cow;
use std::fmt;
use std::io;

/// How the program ends. The numbers are a contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All done.
    Done,
    /// Something that should not happen, or an output that cannot be written.
    Internal,
    /// The command line makes no sense.
    Usage,
    /// No source gave a run.
    NoInput,
    /// Not everything could be read, and `--strict` asks for everything.
    Partial,
    /// Something was found that `--fail-on` asks to fail for.
    Found,
    /// Nothing was found that `--fail-on` asks to fail for, in logs that are not whole.
    Inconclusive,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::NoInput => 3,
            Exit::Partial => 4,
            Exit::Found => 10,
            Exit::Inconclusive => 11,
        }
    }
}

/// A mistake in the command line that only shows after parsing it.
#[derive(Debug)]
pub(crate) struct UsageError {
    pub(crate) message: String,
    pub(crate) hint: Cow<'static, str>,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

impl UsageError {
    /// An error with what to do instead.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        UsageError { message: message.into(), hint: hint.into() }
    }
}

/// Tells an error and gives its exit code. A closed pipe is what `| head` does: no error.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if error.chain().any(is_broken_pipe) {
        return Exit::Done;
    }
    if let Some(usage) = error.downcast_ref::<UsageError>() {
        messages::error(&usage.message, Some(&usage.hint));
        return Exit::Usage;
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        messages::error(&refused.message, Some(&refused.hint));
        return Exit::Usage;
    }
    if let Some(report) = error.downcast_ref::<ReportError>() {
        messages::error(&report.to_string(), Some(&report.hint()));
        return if is_no_place(report) { Exit::Usage } else { Exit::Internal };
    }
    messages::error(&format!("{error:#}"), None);
    Exit::Internal
}

/// Whether the directory that was named cannot be made: a mistake of the command line, where a full disk is none.
fn is_no_place(error: &ReportError) -> bool {
    let ReportError::Io { action: "created", source, .. } = error else { return false };
    matches!(
        source.kind(),
        io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

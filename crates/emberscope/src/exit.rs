//! Exit codes.

use crate::messages;
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
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::NoInput => 3,
            Exit::Partial => 4,
        }
    }
}

/// A mistake in the command line that only shows after parsing it.
#[derive(Debug)]
pub(crate) struct UsageError {
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// Tells an error and gives its exit code. A closed pipe is what `| head` does: no error.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if error.chain().any(is_broken_pipe) {
        return Exit::Done;
    }
    let usage = error.downcast_ref::<UsageError>();
    messages::error(&format!("{error:#}"), usage.map(|usage| usage.hint));
    if usage.is_some() { Exit::Usage } else { Exit::Internal }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

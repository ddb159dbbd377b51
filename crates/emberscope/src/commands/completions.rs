//! `emberscope completions`: scripts for shells.

use crate::cli;
use crate::exit::Exit;
use crate::output::Output;
use clap_complete::Shell;

/// Runs the command.
pub(crate) fn run(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "emberscope", &mut script);
    Output::Stdout.write(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}

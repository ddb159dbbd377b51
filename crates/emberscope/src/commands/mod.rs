//! One file per command.

mod completions;
mod diagnose;
mod docs;
mod doctor;
mod export;
mod flame;
mod follow;
mod man;
mod report;
mod serve;
mod sql;
mod summary;

use crate::cli::Command;
use crate::exit::Exit;

/// Runs a command.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Summary(options) => summary::run(&options),
        Command::Diagnose(options) => diagnose::run(&options),
        Command::Docs(name) => docs::run(name.as_deref()),
        Command::Doctor(options) => doctor::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Flame(options) => flame::run(&options),
        Command::Follow(options) => follow::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Recover(options) => report::recover(&options),
        Command::Serve(options) => serve::run(*options),
        Command::Sql(command) => sql::run(*command),
        Command::Completions(shell) => completions::run(shell),
        Command::Man(dir) => man::run(dir.as_deref()),
        Command::Told(exit) => Ok(exit),
    }
}

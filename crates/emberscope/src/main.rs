//! `emberscope`: performance forensics for Apache Spark.
//!
//! From arguments to an exit code. Nothing here analyses: what is typed ([`cli`]) becomes calls of the
//! model, and what the model says is shown ([`render`], [`output`]).

mod cli;
mod commands;
mod exit;
mod facts;
mod format;
mod inputs;
mod messages;
mod output;
mod progress;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match cli::parse().and_then(commands::run) {
        Ok(exit) => exit,
        Err(error) => exit::of_error(&error),
    };
    ExitCode::from(exit.code())
}

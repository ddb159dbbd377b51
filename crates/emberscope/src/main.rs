//! `emberscope`: performance forensics for Apache Spark.
//!
//! From arguments to an exit code. Nothing here analyses: what is typed ([`cli`]) becomes calls of the
//! model, and what the model says is shown ([`render`], [`output`]).

mod cli;
mod commands;
mod diagnosed_recordings;
mod exit;
mod facts;
mod flame_tasks;
mod format;
mod inputs;
mod messages;
mod output;
mod progress;
mod render;

use std::process::ExitCode;

fn main() -> ExitCode {
    outlive_file_size_limits();
    let exit = match cli::parse().and_then(commands::run) {
        Ok(exit) => exit,
        Err(error) => exit::of_error(&error),
    };
    ExitCode::from(exit.code())
}

/// Lets a write beyond `ulimit -f` fail with an error that can be told; by default it kills the process.
#[cfg(unix)]
fn outlive_file_size_limits() {
    let noticed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Where it cannot be registered, the process dies as it would have.
    _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noticed);
}

#[cfg(not(unix))]
fn outlive_file_size_limits() {}

//! The project's chores: `cargo xtask <command>`.
//!
//! One command per file. What CI runs is not here but in its own script; `full` runs the rest.

// These commands exist to print.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod companion;
mod fixtures;
mod full;
mod fuzz;
mod referee;
mod run;
mod ui;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure Emberscope and Spark's History Server on logs of about 1 GB
    Bench(bench::Args),
    /// Build what Spark loads, and run it on real Spark
    Companion(companion::Args),
    /// Run the fuzz targets, and keep small corpora of what they found
    Fuzz(fuzz::Args),
    /// Make the fixtures again with real Spark
    Fixtures(fixtures::Args),
    /// Record again what Spark's History Server answers about the fixtures
    Referee(referee::Args),
    /// Build the page that the server embeds, from `ui/`
    Ui(ui::Args),
    /// Run everything that CI does not: fixtures, referee, MCP tools, Kerberos, page, traces, companion, fuzz, bench
    Full(full::Args),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Companion(args) => companion::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Fixtures(args) => fixtures::run(&args),
        Command::Referee(args) => referee::run(&args),
        Command::Ui(args) => ui::run(&args),
        Command::Full(args) => full::run(&args),
    }
}

//! `cargo xtask referee`: what Spark's own History Server says about the fixtures, recorded again.

use crate::run::{release, run as run_command, script};
use anyhow::Result;

#[derive(Default, clap::Args)]
pub(crate) struct Args {
    /// A fixture, or the start of its name; all when left out
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// A real KDC, and a server that takes only tokens that MIT's library accepts.
pub(crate) fn run_kerberos() -> Result<()> {
    run_command(script("referee/kerberos.py").env("EMBERSCOPE", release()?))
}

/// Findings from answers of live History Servers beside those from the logs.
pub(crate) fn run_rest_findings() -> Result<()> {
    run_command(script("referee/rest_findings.py").env("EMBERSCOPE", release()?))
}

/// Large runs behind a server that keeps all, and behind one that forgets.
pub(crate) fn run_rest_limits() -> Result<()> {
    run_command(script("referee/rest_limits.py").env("EMBERSCOPE", release()?))
}

/// What is said of applications while they run.
pub(crate) fn run_live_ui() -> Result<()> {
    run_command(script("referee/live_ui.py").env("EMBERSCOPE", release()?))
}

/// All tools of the History Server's MCP server, asked of Emberscope and of the History Server.
pub(crate) fn run_mcp_tools() -> Result<()> {
    run_command(script("referee/mcp_tools.py").env("EMBERSCOPE", release()?))
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let names = args.only.iter().flat_map(|name| ["--only", name]);
    run_command(script("referee/history_server.py").args(names))?;
    run_command(&mut script("referee/compare.py"))
}

//! What the arguments of `serve` mean.

use super::Reading;
use super::low::{ReadingArgs, ServeArgs};
use crate::facts::Facts;
use crate::render::Words;
use emberscope_html::TrustWords;
use emberscope_model::run::Run;
use emberscope_server::Options;

/// What `serve` needs to know.
#[derive(Debug)]
pub(crate) struct ServeOptions {
    /// What to serve and to whom.
    pub(crate) server: Options,
    /// How runs on other servers are read.
    pub(crate) reading: Reading,
    /// Whether to open the browser where there is one.
    pub(crate) browser: bool,
}

/// Where a token for tools may be.
const TOKEN: &str = "EMBERSCOPE_TOKEN";

pub(super) fn mean(args: ServeArgs) -> anyhow::Result<ServeOptions> {
    let how = ReadingArgs { threads: args.threads, ..ReadingArgs::default() };
    let reading = super::reading(args.sources, &how, &args.remote)?;
    let server = Options {
        roots: Vec::new(),
        gathered: Vec::new(),
        recordings: args.jfr,
        host: args.host,
        port: args.port,
        is_open: args.open,
        allowed_hosts: args.allow_host,
        token: std::env::var(TOKEN).ok(),
        memory_bytes: args.memory,
        cache: emberscope_store::Store::place().ok(),
        raw_logs: args.raw_logs,
        scan: reading.scan,
        words,
    };
    Ok(ServeOptions { server, reading, browser: !args.no_browser })
}

fn words(run: &Run) -> TrustWords {
    Words::of(&run.trust, &Facts::of(run)).into_html()
}

//! What all requests share.

use crate::catalog::Catalog;
use crate::console::Console;
use crate::error::ServerError;
use crate::metrics::Requests;
use crate::opened::Runs;
use crate::recordings::Recordings;
use crate::security::Guard;
use emberscope_html::TrustWords;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::RunSource;
use emberscope_model::run::Run;
use emberscope_store::RunCache;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use tokio::sync::Semaphore;

/// Requests that are worked on at a time; others wait.
const AT_A_TIME: usize = 64;

/// What to serve and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files and directories.
    pub roots: Vec<String>,
    /// Runs that were gathered before: of other servers, or of answers of theirs. They stay as they are.
    pub gathered: Vec<RunSource>,
    /// Directories with recordings of the JVMs.
    pub recordings: Vec<String>,
    /// Address or name of this machine to listen on.
    pub host: String,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// Whether Spark's API answers without a token, on loopback.
    pub is_open: bool,
    /// Names under which the server may be asked, beside numbers and `localhost`.
    pub allowed_hosts: Vec<String>,
    /// The token for tools; a random one if none is given.
    pub token: Option<String>,
    /// Memory for runs, bytes.
    pub memory_bytes: u64,
    /// Where what was made of logs is kept; nothing is kept without.
    pub cache: Option<PathBuf>,
    /// Whether downloaded logs are as they are, secrets included.
    pub raw_logs: bool,
    /// Threads that read a log.
    pub scan: ScanOptions,
    /// Words for how far a run's numbers go.
    pub words: fn(&Run) -> TrustWords,
}

impl Options {
    /// Whether only this machine can connect.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// What all requests share.
pub struct App {
    pub(crate) catalog: Catalog,
    pub(crate) runs: Runs,
    pub(crate) recordings: Recordings,
    pub(crate) console: Console,
    pub(crate) guard: Guard,
    pub(crate) requests: Requests,
    pub(crate) raw_logs: bool,
    pub(crate) words: fn(&Run) -> TrustWords,
    pub(crate) permits: Arc<Semaphore>,
    /// Clients that listen to events.
    pub(crate) listeners: AtomicUsize,
    /// Set when the server stops, for threads that would go on for as long as a client listens.
    pub(crate) is_stopping: AtomicBool,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the guard: what is printed may be kept.
        f.debug_struct("App")
            .field("catalog", &self.catalog)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Looks for logs; reads none.
    ///
    /// # Errors
    /// When there is nothing to serve, or it would be served to more people than is safe.
    pub fn new(options: Options) -> Result<App, ServerError> {
        if options.is_open && !options.is_loopback() {
            return Err(ServerError::OpenToNetwork { host: options.host });
        }
        let mut hosts = options.allowed_hosts;
        hosts.push(options.host);
        Ok(App {
            recordings: Recordings::new(&options.recordings, options.scan.threads)?,
            console: Console::new(options.cache.as_deref(), options.scan.threads),
            catalog: Catalog::open(options.roots, options.gathered, options.scan.threads)?,
            runs: Runs::new(options.memory_bytes, options.scan, cached_runs(options.cache.as_deref())),
            guard: Guard::new(options.token, hosts, options.is_open)?,
            requests: Requests::default(),
            raw_logs: options.raw_logs,
            words: options.words,
            permits: Arc::new(Semaphore::new(AT_A_TIME)),
            listeners: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
        })
    }
}

/// Runs on disk. A cache that cannot be made is slow, not wrong.
fn cached_runs(cache: Option<&Path>) -> Option<RunCache> {
    RunCache::at(&cache?.join("runs"), emberscope_store::DEFAULT_BYTES).ok()
}

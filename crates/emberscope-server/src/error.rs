//! Why a server cannot start.

use emberscope_log::source::SourceError;
use emberscope_profile::find::PlaceError;
use std::io;

/// Why the server cannot start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another program listens there.
    #[error("port {port} of {host} is taken")]
    PortTaken {
        /// Host as asked for.
        host: String,
        /// Port as asked for.
        port: u16,
    },
    /// It cannot be listened there for another reason.
    #[error("{host}:{port} cannot be listened on: {error}")]
    Listen {
        /// Host as asked for.
        host: String,
        /// Port as asked for.
        port: u16,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Everybody on the network could read.
    #[error("`--open` lets everybody read who reaches {host}")]
    OpenToNetwork {
        /// Host as asked for.
        host: String,
    },
    /// A source cannot be looked at.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Nothing to serve.
    #[error("{paths}: no event log in it")]
    NoLogs {
        /// What was named.
        paths: String,
    },
    /// A directory of recordings cannot be used.
    #[error("--jfr {0}")]
    Recordings(PlaceError),
    /// A pipe can be read only once.
    #[error("standard input cannot be served")]
    Pipe,
    /// The system gives no random numbers for a token.
    #[error("no random numbers for a token: {0}")]
    Random(String),
    /// The server could not be set up or broke off.
    #[error("the server stopped: {0}")]
    Stopped(#[source] io::Error),
}

impl ServerError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ServerError::PortTaken { .. } => {
                "another server may run already; choose another with `--port`, or 0 for any"
            }
            ServerError::Listen { .. } => {
                "`--host` takes an address of this machine; ports below 1024 need privileges"
            }
            ServerError::OpenToNetwork { .. } => {
                "leave `--open` out and let tools send the token, or leave `--host` out"
            }
            ServerError::Source(error) => error.hint(),
            ServerError::NoLogs { .. } => {
                "event logs are what Spark writes to spark.eventLog.dir when spark.eventLog.enabled is true"
            }
            ServerError::Recordings(_) => {
                "name the directory that spark.profiler.dfsDir names: it holds APP_ID/profile-exec-ID.jfr"
            }
            ServerError::Pipe => "name a file or a directory",
            ServerError::Random(_) => "set EMBERSCOPE_TOKEN to a long random text",
            ServerError::Stopped(_) => "start it again",
        }
    }

    /// Whether the command line is to blame.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            ServerError::PortTaken { .. }
                | ServerError::Listen { .. }
                | ServerError::OpenToNetwork { .. }
                | ServerError::Recordings(_)
                | ServerError::Pipe
        )
    }

    /// Whether nothing could be read.
    pub fn is_no_input(&self) -> bool {
        matches!(self, ServerError::Source(_) | ServerError::NoLogs { .. })
    }
}

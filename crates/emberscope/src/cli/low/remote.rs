//! Arguments about servers, as typed.

use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// How to reach a History Server, a Spark UI or a proxy. `--cookie`, `--user` and `--token` take `@FILE` too, so that
/// no secret has to be on a command line.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct RemoteArgs {
    /// Cookies to send, `NAME=VALUE; ...`; `@FILE` reads them
    #[arg(long, value_name = "COOKIES", help_heading = "Servers")]
    pub(in crate::cli) cookie: Option<String>,
    /// A header to send, `NAME: VALUE`; may be repeated
    #[arg(long, value_name = "HEADER", help_heading = "Servers")]
    pub(in crate::cli) header: Vec<String>,
    /// Name and password to log in with; `@FILE` reads them
    #[arg(long, value_name = "NAME:PASSWORD", conflicts_with = "token", help_heading = "Servers")]
    pub(in crate::cli) user: Option<String>,
    /// Token to log in with (Bearer); `@FILE` reads it
    #[arg(long, value_name = "TOKEN", help_heading = "Servers")]
    pub(in crate::cli) token: Option<String>,
    /// Log in with what ~/.netrc, or this file, says of the host
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath, help_heading = "Servers")]
    pub(in crate::cli) netrc: Option<Option<PathBuf>>,
    /// Log in with the Kerberos ticket that `kinit` got
    #[arg(long, conflicts_with_all = ["user", "token", "netrc"], help_heading = "Servers")]
    pub(in crate::cli) kerberos: bool,
    /// Trust the certificates in this file (PEM), beside the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Servers")]
    pub(in crate::cli) ca_cert: Option<PathBuf>,
    /// Do not check certificates
    #[arg(long, help_heading = "Servers")]
    pub(in crate::cli) insecure: bool,
    /// Follow redirects to other hosts, which get no credentials
    #[arg(long, help_heading = "Servers")]
    pub(in crate::cli) allow_redirects: bool,
    /// How long a server may send nothing [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = crate::cli::report::time, help_heading = "Servers")]
    pub(in crate::cli) idle_timeout: Option<Duration>,
    /// How long an answer may take in all [default: 30min]
    #[arg(long, value_name = "TIME", value_parser = crate::cli::report::time, help_heading = "Servers")]
    pub(in crate::cli) max_time: Option<Duration>,
    /// How large a downloaded log may be [default: 64GiB]
    #[arg(long, value_name = "SIZE", value_parser = crate::cli::report::size, help_heading = "Servers")]
    pub(in crate::cli) max_download: Option<u64>,
}

//! Why something could not be fetched, and what to do about it.

use crate::credentials::CredentialError;
use emberscope_negotiate::NegotiateError;
use std::io;
use std::time::Duration;

/// A request that gave nothing. Addresses in it hold no secrets.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Not an address.
    #[error("{address}: {reason}")]
    Address {
        /// What was typed, without what may be secret.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Credentials that cannot be sent.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// No Kerberos, or no ticket.
    #[error(transparent)]
    Kerberos(#[from] NegotiateError),
    /// The certificate authority's file is of no use.
    #[error("--ca-cert {path}: {reason}")]
    CaCert {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The client cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
    /// No connection, or one that broke.
    #[error("{url}: {reason}")]
    Connection {
        /// Address.
        url: String,
        /// What the system said.
        reason: String,
        /// Whether the certificate was refused.
        is_tls: bool,
    },
    /// It took too long.
    #[error("{url}: {what} within {limit:?}")]
    Slow {
        /// Address.
        url: String,
        /// What did not happen.
        what: &'static str,
        /// The limit that was over.
        limit: Duration,
    },
    /// The answer is larger than allowed.
    #[error("{url}: the answer is larger than {limit} bytes")]
    Large {
        /// Address.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// The server refuses or fails.
    #[error("{url}: the server answers {status}{said}")]
    Status {
        /// Address.
        url: String,
        /// HTTP status.
        status: u16,
        /// What the server said, on one line with `: ` before it; may be empty.
        said: String,
        /// Whether it asks for Kerberos.
        wants_kerberos: bool,
    },
    /// It sends us elsewhere.
    #[error("{url}: the server sends us to {to}, and {why}")]
    Redirect {
        /// Address.
        url: String,
        /// Where to.
        to: String,
        /// Why that is not followed.
        why: &'static str,
    },
    /// The answer is not what was asked for.
    #[error("{url}: {reason}")]
    Content {
        /// Address.
        url: String,
        /// What it is instead.
        reason: String,
        /// Whether it looks like a page for people, such as a login.
        is_page: bool,
    },
    /// There is neither Spark's API nor a log.
    #[error("{url}: this is no address of Spark, and no event log: {tried} does not answer as Spark does")]
    NotSpark {
        /// Address.
        url: String,
        /// Where the API would be.
        tried: String,
        /// Where the same server has Spark, if it has.
        spark_at: Option<String>,
        /// Whether there is a page for people, such as a login.
        is_page: bool,
    },
    /// The server has several applications.
    #[error("{url}: the server has {count} applications")]
    Several {
        /// Address.
        url: String,
        /// How many.
        count: usize,
        /// Some addresses of them, newest first, with names.
        examples: Vec<String>,
    },
    /// The server has no application.
    #[error("{url}: the server has no application yet")]
    NoApplication {
        /// Address.
        url: String,
    },
    /// The temporary file cannot be written.
    #[error("the temporary file for the download cannot be written: {0}")]
    Spool(#[from] io::Error),
}

/// Why redirects are not followed any more.
pub(crate) const ENDLESS: &str = "that is one redirect after the other";

impl FetchError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::Address { .. } => {
                "name it as the browser does, such as http://host:18080/history/app-1/".to_owned()
            }
            Self::Credentials(_) => "check what was given; it is not shown here".to_owned(),
            Self::Kerberos(error) => error.hint(),
            Self::CaCert { .. } => "name a file of certificates in PEM".to_owned(),
            Self::Setup(_) => "check the proxy variables of the environment".to_owned(),
            Self::Connection { is_tls: true, .. } => {
                "--ca-cert FILE names the authority of a private certificate; --insecure does without checking"
                    .to_owned()
            }
            Self::Connection { reason, .. } if NO_TLS.iter().any(|words| reason.contains(words)) => {
                "that port may not speak https: try http, or the port that does".to_owned()
            }
            Self::Connection { .. } => {
                "check host, port and proxy variables; the live UI is gone once the application has ended, and \
                 then the History Server or the event log has the run"
                    .to_owned()
            }
            Self::Slow { .. } => {
                "a History Server reads a log when it is first asked for, which may take minutes: try again, or \
                 raise --idle-timeout (without a byte) or --max-time (in all)"
                    .to_owned()
            }
            Self::Large { .. } => "raise --max-download, or copy the event log itself".to_owned(),
            Self::Status { status, wants_kerberos, .. } => status_hint(*status, *wants_kerberos),
            Self::Redirect { why: ENDLESS, .. } => {
                "it may want a login: copy the cookie of your browser into --cookie, or use --token, --user or --header"
                    .to_owned()
            }
            Self::Redirect { .. } => {
                "if that host is right, name it, or add --allow-redirects; credentials go only to the host that \
                 was named"
                    .to_owned()
            }
            Self::Content { is_page: true, .. } => {
                "it may be a login: copy the cookie of your browser into --cookie, or use --token, --user or \
                 --header"
                    .to_owned()
            }
            Self::Content { .. } => {
                "name the address of the application in the Spark UI or History Server, or of an event log"
                    .to_owned()
            }
            Self::NotSpark { spark_at: Some(spark), .. } => {
                format!("Spark answers at {spark}: name that, or a page below it as the browser shows it")
            }
            Self::NotSpark { is_page, .. } => {
                let login = if *is_page { "; if what is there is a login, --cookie or --token passes it" } else { "" };
                format!("{SHAPES}{login}")
            }
            Self::Several { examples, .. } => format!("name one, such as {}", examples.join(" or ")),
            Self::NoApplication { .. } => {
                "event logs appear there after a while (spark.history.fs.update.interval)".to_owned()
            }
            Self::Spool(_) => "TMPDIR names a directory with more room".to_owned(),
        }
    }

    /// The HTTP status, where that is the reason.
    pub fn status(&self) -> Option<u16> {
        if let Self::Status { status, .. } = self { Some(*status) } else { None }
    }
}

/// What addresses of Spark look like.
const SHAPES: &str = "expected is a page of Spark, http://host:4040/ or http://host:18080/history/APP_ID/, with what a \
                      proxy puts before it (http://gateway/PREFIX/history/APP_ID/), or the address of an event log";

/// What is said of an answer that is no TLS.
const NO_TLS: [&str; 2] = ["tls handshake", "InvalidContentType"];

fn status_hint(status: u16, wants_kerberos: bool) -> String {
    match status {
        401 if wants_kerberos => {
            "it asks for Kerberos: `kinit` gets a ticket and --kerberos logs in with it; or give the cookie of a \
             browser that is logged in with --cookie"
        }
        401 | 407 => "log in with --user NAME:PASSWORD, --token, --cookie or --header",
        403 => "this account may not see the application: use one in spark.history.ui.acls, or --cookie",
        404 => {
            "check the application's id; a live UI is gone when the application ends, and a History Server \
             lists a log some seconds after it appears"
        }
        429 | 500..=599 => "the server has trouble: its own log says why; try again later",
        _ => "open the address in a browser to see what the server wants",
    }
    .to_owned()
}

//! GET, bounded in time, size and in where it leads.

use crate::credentials::{self, Credentials};
use crate::download::Download;
use crate::error::{ENDLESS, FetchError};
use crate::limits::Limits;
use crate::secret::shown;
use emberscope_negotiate::Negotiator;
use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// How to talk to servers.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Credentials for the hosts that the user named.
    pub credentials: Credentials,
    /// Limits of a request.
    pub limits: Limits,
    /// Whether to log in with the user's Kerberos ticket.
    pub kerberos: bool,
    /// Certificates of authorities to trust beside the system's, in PEM.
    pub ca_cert: Option<PathBuf>,
    /// Whether certificates go unchecked.
    pub insecure: bool,
    /// Whether redirects to other hosts are followed, without credentials.
    pub allow_redirects: bool,
}

/// A client that blocks. Proxies come from the environment, as for curl.
#[derive(Debug)]
pub struct Client {
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
    options: ClientOptions,
    negotiator: Option<Negotiator>,
    /// Hosts that the user named, in lower case: only they get credentials.
    named: BTreeSet<String>,
}

/// An answer in memory.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Where it came from in the end.
    pub url: Url,
    /// `Content-Type`, in lower case, without parameters.
    pub content_type: String,
    /// Content, unpacked.
    pub body: Vec<u8>,
}

/// Longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Bytes of an error's page that are looked at for what it says.
const SAID_BYTES: u64 = 64 * 1024;

impl Client {
    /// Sets up a client.
    ///
    /// # Errors
    /// When the certificates cannot be read or are none, and when the system has no Kerberos that was asked for.
    pub fn new(options: ClientOptions) -> Result<Self, FetchError> {
        let negotiator = if options.kerberos { Some(Negotiator::load()?) } else { None };
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("emberscope/", env!("CARGO_PKG_VERSION")))
            // Followed here, so that credentials do not travel.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(options.limits.connect)
            .read_timeout(options.limits.idle)
            .danger_accept_invalid_certs(options.insecure);
        if let Some(path) = &options.ca_cert {
            let unusable = |reason: String| FetchError::CaCert { path: path.display().to_string(), reason };
            let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
            let certificates = reqwest::Certificate::from_pem_bundle(&pem)
                .map_err(|_| unusable("it cannot be read as PEM".to_owned()))?;
            if certificates.is_empty() {
                return Err(unusable("there is no certificate in it".to_owned()));
            }
            for certificate in certificates {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let http = builder.build().map_err(|error| FetchError::Setup(cause(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| FetchError::Setup(error.to_string()))?;
        Ok(Client { runtime, http, options, negotiator, named: BTreeSet::new() })
    }

    /// Reads an address that the user named; its host gets credentials from now on. A user and password in the
    /// address are taken out of it and used where no others were given.
    ///
    /// # Errors
    /// When it is no address of HTTP.
    pub fn name(&mut self, address: &str) -> Result<Url, FetchError> {
        let refuse = |shown: &str, reason: String| FetchError::Address { address: shown.to_owned(), reason };
        // An address that cannot be read may hold a password anywhere.
        let mut url = Url::parse(address).map_err(|error| refuse("the address", error.to_string()))?;
        let plain = shown(&url);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse(&plain, "only http and https are fetched".to_owned()));
        }
        let Some(host) = url.host_str() else { return Err(refuse(&plain, "no host in it".to_owned())) };
        self.named.insert(host.to_ascii_lowercase());
        if let Some(password) = url.password() {
            let decoded = |text: &str| percent_decoded(text);
            let user = format!("{}:{}", decoded(url.username()), decoded(password));
            self.options.credentials.user.get_or_insert(crate::secret::Secret::new(user));
        }
        // Neither fails where there is a host.
        _ = url.set_username("");
        _ = url.set_password(None);
        Ok(url)
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Fetches an answer into memory.
    ///
    /// # Errors
    /// When there is no answer with success within the limits.
    pub fn get(&self, url: &Url) -> Result<Answer, FetchError> {
        self.runtime.block_on(self.within(url, async {
            self.with_retries(url, async |deadline| {
                let response = self.follow(url, deadline).await?;
                let url = response.url().clone();
                let content_type = content_type(response.headers());
                let mut body = Vec::new();
                let limit = self.options.limits.answer_bytes;
                self.read(response, limit, |bytes| {
                    body.extend_from_slice(bytes);
                    Ok(())
                })
                .await?;
                Ok(Answer { url, content_type, body })
            })
            .await
        }))
    }

    /// Fetches an answer in JSON.
    ///
    /// # Errors
    /// As [`Client::get`], and when the answer is anything else.
    pub fn get_json<T: serde::de::DeserializeOwned>(&self, url: &Url) -> Result<T, FetchError> {
        let answer = self.get(url)?;
        serde_json::from_slice(&answer.body).map_err(|error| not_json(&answer, &error))
    }

    /// Fetches an answer into a temporary file, which is shown as `name`. `progress` is told the bytes so far.
    ///
    /// # Errors
    /// As [`Client::get`], and when the disk is full.
    pub fn download(
        &self,
        url: &Url,
        name: &str,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(Download, String), FetchError> {
        self.runtime.block_on(self.within(url, async {
            self.with_retries(url, async |deadline| {
                let response = self.follow(url, deadline).await?;
                let content_type = content_type(response.headers());
                // A broken download starts again: an archive that is made while it is sent has no second half.
                let mut file = Download::create(name.to_owned())?;
                let mut so_far = 0;
                self.read(response, self.options.limits.download_bytes, |bytes| {
                    so_far += bytes.len() as u64;
                    progress(so_far);
                    file.append(bytes)
                })
                .await?;
                Ok((file, content_type))
            })
            .await
        }))
    }

    /// Puts the limit in time around everything.
    async fn within<T>(
        &self,
        url: &Url,
        work: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let limit = self.options.limits.total;
        let slow = || FetchError::Slow { url: shown(url), what: "it was not answered in whole", limit };
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(slow()))
    }

    /// Tries again what may be better in a moment.
    async fn with_retries<T>(
        &self,
        url: &Url,
        attempt: impl AsyncFn(Instant) -> Result<T, Failed>,
    ) -> Result<T, FetchError> {
        let deadline = Instant::now() + self.options.limits.total;
        let mut pause = self.options.limits.first_pause;
        for left in (0..=self.options.limits.retries).rev() {
            match attempt(deadline).await {
                Ok(value) => return Ok(value),
                Err(Failed { error, again: None }) => return Err(error),
                Err(Failed { error, .. }) if left == 0 => return Err(error),
                Err(Failed { again: Some(asked), .. }) => {
                    let wait = asked.unwrap_or(pause).min(LONGEST_PAUSE);
                    tokio::time::sleep(wait).await;
                    pause *= 2;
                }
            }
        }
        // Not reached: the last round returns. Said in words, should it ever be.
        Err(FetchError::Connection {
            url: shown(url),
            reason: "no attempt was made".to_owned(),
            is_tls: false,
        })
    }

    /// Follows redirects to an answer with success.
    async fn follow(&self, start: &Url, deadline: Instant) -> Result<Response, Failed> {
        let mut url = start.clone();
        for _ in 0..=self.options.limits.redirects {
            let response = self.send(&url, deadline).await?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(self.refused(response).await);
            }
            url = self.next(&url, response.headers(), status)?;
        }
        Err(refuse(start, &url, ENDLESS).into())
    }

    /// Where a redirect leads, if that is allowed.
    fn next(&self, url: &Url, headers: &HeaderMap, status: StatusCode) -> Result<Url, Failed> {
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let Some(to) = location.and_then(|location| url.join(location).ok()) else {
            let url = shown(url);
            let reason = format!("the server answers {} without saying where to", status.as_u16());
            return Err(FetchError::Content { url, reason, is_page: false }.into());
        };
        if !matches!(to.scheme(), "http" | "https") {
            return Err(refuse(url, &to, "that is not HTTP").into());
        }
        let is_same_host = to.host_str() == url.host_str();
        if !is_same_host && !self.options.allow_redirects {
            return Err(refuse(url, &to, "that is another host").into());
        }
        if url.scheme() == "https" && to.scheme() == "http" && !self.options.allow_redirects {
            return Err(refuse(url, &to, "that is not encrypted").into());
        }
        Ok(to)
    }

    async fn send(&self, url: &Url, deadline: Instant) -> Result<Response, Failed> {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let mut headers = HeaderMap::new();
        if self.named.contains(&host) {
            headers = self.options.credentials.headers_for(url).map_err(FetchError::from)?;
            if let Some(negotiator) = &self.negotiator {
                // May ask the KDC, for which the system's configuration sets the time.
                let token = negotiator.token(&host).map_err(FetchError::from)?;
                headers.insert(AUTHORIZATION, credentials::negotiate(&token).map_err(FetchError::from)?);
            }
        }
        let request = self.http.get(url.clone()).headers(headers).send();
        // Until the head of the answer is there no byte arrives, so that this is the time without one.
        let idle = self.options.limits.idle.min(deadline.saturating_duration_since(Instant::now()));
        match tokio::time::timeout(idle, request).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.broken(url, &error)),
            Err(_) => Err(FetchError::Slow { url: shown(url), what: "no answer came", limit: idle }.into()),
        }
    }

    /// Gives the body piece by piece.
    async fn read(
        &self,
        response: Response,
        limit: u64,
        mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Failed> {
        let url = response.url().clone();
        let large = || Failed::from(FetchError::Large { url: shown(&url), limit });
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(large());
        }
        let mut seen = 0u64;
        let mut stream = response.bytes_stream();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| self.broken(&url, &error))?;
            seen += piece.len() as u64;
            if seen > limit {
                return Err(large());
            }
            take(&piece).map_err(FetchError::from)?;
        }
        Ok(())
    }

    /// What an answer without success says.
    async fn refused(&self, response: Response) -> Failed {
        let (url, status) = (shown(response.url()), response.status());
        let asks = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let wants_kerberos = asks
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.to_ascii_lowercase().starts_with("negotiate"));
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let mut body = Vec::new();
        // An error that comes without its text is told without.
        _ = self
            .read(response, SAID_BYTES, |bytes| {
                body.extend_from_slice(bytes);
                Ok(())
            })
            .await;
        let said = said(&body);
        let is_final = said.contains("not available for app");
        let error = FetchError::Status { url, status: status.as_u16(), said, wants_kerberos };
        let may_pass = matches!(status.as_u16(), 429 | 502..=504) && !is_final;
        Failed { error, again: may_pass.then_some(wait) }
    }

    fn broken(&self, url: &Url, error: &reqwest::Error) -> Failed {
        let url = shown(url);
        if error.is_timeout() {
            let limits = &self.options.limits;
            let (what, limit) = if error.is_connect() {
                ("no connection came about", limits.connect)
            } else {
                ("nothing more came", limits.idle)
            };
            return FetchError::Slow { url, what, limit }.into();
        }
        let reason = cause(error);
        let is_tls = reason.to_ascii_lowercase().contains("certificate");
        // Nobody listens, or the name is not known: that will not change in a second.
        let again = (!error.is_connect()).then_some(None);
        Failed { error: FetchError::Connection { url, reason, is_tls }, again }
    }
}

/// A failed attempt.
struct Failed {
    error: FetchError,
    /// Whether to try again, and after which pause if the server says.
    again: Option<Option<Duration>>,
}

impl From<FetchError> for Failed {
    fn from(error: FetchError) -> Self {
        Failed { error, again: None }
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        FetchError::from(error).into()
    }
}

fn refuse(url: &Url, to: &Url, why: &'static str) -> FetchError {
    FetchError::Redirect { url: shown(url), to: shown(to), why }
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Why an answer is not the JSON that was expected.
pub(crate) fn not_json(answer: &Answer, error: &serde_json::Error) -> FetchError {
    let is_page = looks_like_page(&answer.content_type, &answer.body);
    let reason = if is_page {
        "the answer is a web page, not JSON".to_owned()
    } else if answer.body.is_empty() {
        "the answer is empty".to_owned()
    } else {
        format!("the answer is not the JSON of Spark's monitoring API: {error}")
    };
    FetchError::Content { url: shown(&answer.url), reason, is_page }
}

/// Whether an answer is a page for people.
pub(crate) fn looks_like_page(content_type: &str, head: &[u8]) -> bool {
    let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    content_type.contains("html") || head[start..].starts_with(b"<")
}

/// The innermost cause of an error, without the address, which may hold a secret.
fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = inner.to_string();
    if text.contains("://") { "the connection failed".to_owned() } else { text }
}

/// The first words of an error's body, without markup, as `: words`.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if looks_like_page("", body) {
        return String::new();
    }
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// User and password of an address, as they were before they were put into one.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

//! Who may ask: a token, names of this machine, and nobody else's pages.

use crate::error::ServerError;
use axum::http::{HeaderMap, Method, header};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sent with every answer: nothing from elsewhere, and in no frame.
pub(crate) const PLAIN_POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What anybody may ask for: whether the server lives, the way in, and what the page before it needs.
const FREE: [&str; 4] = ["/healthz", ENTRANCE, "/assets/page.css", "/assets/token.js"];

/// Where browsers are let in; the one place that takes what is posted.
pub(crate) const ENTRANCE: &str = "/enter";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The address it came under is none of ours: a name that was pointed at this machine.
    Host,
    /// It comes from another site's page.
    Origin,
    /// It carries no token.
    Token,
}

/// What guards the server.
#[derive(Debug)]
pub(crate) struct Guard {
    token: String,
    /// Part of the address printed at the start; good for one visit.
    invitation: String,
    is_invited: AtomicBool,
    cookie: String,
    /// Browsers keep one cookie of a name for all ports of a host, so that each server has a name of its own.
    cookie_name: String,
    hosts: Vec<String>,
    is_open: bool,
}

impl Guard {
    /// A guard with a token of its own, unless one is given.
    pub(crate) fn new(
        token: Option<String>,
        hosts: Vec<String>,
        is_open: bool,
    ) -> Result<Guard, ServerError> {
        let token = match token.filter(|token| !token.is_empty()) {
            Some(token) => token,
            None => random()?,
        };
        let cookie = random()?;
        Ok(Guard {
            token,
            invitation: random()?,
            is_invited: AtomicBool::new(true),
            cookie_name: format!("emberscope-{}", &random()?[..8]),
            cookie,
            hosts: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect(),
            is_open,
        })
    }

    /// For tools.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// For one visit of a browser.
    pub(crate) fn invitation(&self) -> &str {
        &self.invitation
    }

    /// Takes an invitation back: the cookie to set, the first time that the right one comes.
    pub(crate) fn accept(&self, invitation: &str) -> Option<String> {
        let is_right = same(invitation, &self.invitation) && self.is_invited.swap(false, Ordering::SeqCst);
        is_right.then(|| self.set_cookie())
    }

    /// The cookie to set for who knows the token.
    pub(crate) fn admit(&self, token: &str) -> Option<String> {
        same(token.trim(), &self.token).then(|| self.set_cookie())
    }

    fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name, self.cookie)
    }

    /// Checks where a request was sent and which page sent it.
    pub(crate) fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, header::HOST).ok_or(Refusal::Host)?;
        if !self.is_own(host) {
            return Err(Refusal::Host);
        }
        if matches!(*method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        match text(headers, header::ORIGIN) {
            Some(origin) if origin.split_once("://").map(|(_, origin)| origin) == Some(host) => Ok(()),
            _ => Err(Refusal::Origin),
        }
    }

    /// Checks the token. `path` is what is asked for.
    pub(crate) fn check_token(&self, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let is_free =
            FREE.contains(&path) || (self.is_open && (path == "/api/v1" || path.starts_with("/api/v1/")));
        if is_free || self.has_token(headers) || self.has_cookie(headers) {
            Ok(())
        } else {
            Err(Refusal::Token)
        }
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let sent = text(headers, header::AUTHORIZATION).and_then(|sent| sent.split_once(' '));
        sent.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && same(token.trim(), &self.token)
        })
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(name, value)| name == self.cookie_name && same(value, &self.cookie))
    }

    /// A name can be made to point here by anybody; a number cannot.
    fn is_own(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        name == "localhost"
            || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
            || self.hosts.contains(&name)
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// Compares secrets in a time that does not tell where they differ.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

fn random() -> Result<String, ServerError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| ServerError::Random(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_own_names_are_served() {
        let guard = Guard::new(None, vec!["Spark.Example".to_owned()], false).unwrap();
        let check = |host| guard.check_origin(&Method::GET, &headers(&[(header::HOST, host)])).is_ok();
        for own in ["127.0.0.1:18480", "localhost", "[::1]:80", "10.1.2.3", "spark.example:1"] {
            assert!(check(own), "{own}");
        }
        for foreign in ["evil.example", "localhost.evil.example:18480", "", "127.0.0.1.evil.example"] {
            assert!(!check(foreign), "{foreign}");
        }
        assert_eq!(guard.check_origin(&Method::GET, &HeaderMap::new()), Err(Refusal::Host));
    }

    #[test]
    fn other_pages_change_nothing() {
        let guard = Guard::new(None, Vec::new(), false).unwrap();
        let check = |origin: Option<&str>| {
            let mut sent = vec![(header::HOST, "127.0.0.1:1")];
            sent.extend(origin.map(|origin| (header::ORIGIN, origin)));
            guard.check_origin(&Method::POST, &headers(&sent))
        };
        assert_eq!(check(Some("http://127.0.0.1:1")), Ok(()));
        for foreign in [None, Some("http://evil.example"), Some("null"), Some("http://127.0.0.1:2")] {
            assert_eq!(check(foreign), Err(Refusal::Origin));
        }
    }

    #[test]
    fn a_token_or_the_cookie_of_one_visit() {
        let guard = Guard::new(Some("secret".to_owned()), Vec::new(), true).unwrap();
        let check = |path, sent: &[(header::HeaderName, &str)]| guard.check_token(path, &headers(sent));
        assert_eq!(check("/", &[]), Err(Refusal::Token));
        assert_eq!(check("/api/emberscope/v1/runs", &[]), Err(Refusal::Token));
        assert_eq!(check("/api/v1x", &[]), Err(Refusal::Token));
        assert_eq!(check("/api/v1/version", &[]), Ok(()));
        assert_eq!(check("/", &[(header::AUTHORIZATION, "Bearer secret")]), Ok(()));
        assert_eq!(check("/", &[(header::AUTHORIZATION, "Bearer secre")]), Err(Refusal::Token));
        assert_eq!(guard.accept("wrong"), None);
        assert_eq!(guard.admit("secre"), None);
        assert!(guard.admit(" secret\n").is_some());
        let cookie = guard.accept(guard.invitation()).unwrap();
        assert_eq!(guard.accept(guard.invitation()), None);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(check("/", &[(header::COOKIE, &format!("other=1; {pair}"))]), Ok(()));
    }
}

//! What a request carries so that the server lets it in.

use crate::netrc;
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// Credentials, for the hosts that the user named and for no others.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// `--cookie`: `name=value; name2=value2`.
    pub cookie: Option<Secret>,
    /// `--header`: name and value.
    pub headers: Vec<(String, Secret)>,
    /// `--user`: `user:password`, sent as Basic.
    pub user: Option<Secret>,
    /// `--token`, sent as Bearer.
    pub token: Option<Secret>,
    /// Content of `.netrc`, asked where neither user nor token is given.
    pub netrc: Option<Secret>,
}

/// Why credentials cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A header is not `Name: value`.
    #[error("--header takes `Name: value`, and one has no name that HTTP allows")]
    Header,
    /// A value has characters that a header cannot carry.
    #[error("{0} has characters that a header cannot carry")]
    Characters(&'static str),
}

impl Credentials {
    /// A header as typed, `Name: value`.
    ///
    /// # Errors
    /// When there is no colon, or a name before it that HTTP does not allow. The text is not repeated.
    pub fn add_header(&mut self, typed: &str) -> Result<(), CredentialError> {
        let (name, value) = typed.split_once(':').ok_or(CredentialError::Header)?;
        let name = name.trim();
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| CredentialError::Header)?;
        self.headers.push((name.to_owned(), Secret::new(value.trim())));
        Ok(())
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.cookie.is_none() && self.headers.is_empty() && self.user.is_none() && self.token.is_none()
    }

    /// The headers for a request to `url`, whose host must be one that the user named.
    ///
    /// # Errors
    /// When a value cannot be carried by a header.
    pub(crate) fn headers_for(&self, url: &Url) -> Result<HeaderMap, CredentialError> {
        let mut headers = HeaderMap::new();
        let basic = |user: &str| Secret::new(format!("Basic {}", BASE64_STANDARD.encode(user)));
        let authorization = if let Some(token) = &self.token {
            Some(Secret::new(format!("Bearer {}", token.reveal())))
        } else if let Some(user) = &self.user {
            Some(basic(user.reveal()))
        } else {
            let login = self.netrc.as_ref().zip(url.host_str());
            let login = login.and_then(|(text, host)| netrc::login(text.reveal(), host));
            login.map(|(name, password)| basic(&format!("{name}:{}", password.reveal())))
        };
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, sensitive(&value, "the token or password")?);
        }
        if let Some(cookie) = &self.cookie {
            headers.insert(COOKIE, sensitive(cookie, "the cookie")?);
        }
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| CredentialError::Header)?;
            headers.insert(name, sensitive(value, "a header")?);
        }
        Ok(headers)
    }
}

/// The header of a Kerberos token.
pub(crate) fn negotiate(token: &[u8]) -> Result<HeaderValue, CredentialError> {
    sensitive(&Secret::new(format!("Negotiate {}", BASE64_STANDARD.encode(token))), "the Kerberos token")
}

fn sensitive(value: &Secret, what: &'static str) -> Result<HeaderValue, CredentialError> {
    let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| CredentialError::Characters(what))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows() {
        let mut credentials = Credentials {
            cookie: Some(Secret::new("a=hunter2")),
            user: Some(Secret::new("bob:hunter2")),
            ..Credentials::default()
        };
        credentials.add_header("X-Token: hunter2").unwrap();
        assert!(credentials.add_header("no colon").is_err());
        assert!(credentials.add_header("bad name : x").is_err());
        assert!(!format!("{credentials:?}").contains("hunter2"));
        let headers = credentials.headers_for(&Url::parse("http://h/").unwrap()).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Basic Ym9iOmh1bnRlcjI=");
        assert_eq!(headers["x-token"], "hunter2");
        assert!(!format!("{headers:?}").contains("hunter2"));
    }
}

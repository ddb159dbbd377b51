//! Values that must not be seen, and addresses without what might be one.

use std::fmt;
use url::Url;

/// A text that no output may hold. It shows only where a request is built.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `value` from being seen.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value, for a request.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Parameters of Spark's pages and API, which hold no secret.
const PLAIN_PARAMETERS: [&str; 11] = [
    "id",
    "attempt",
    "offset",
    "length",
    "details",
    "planDescription",
    "quantiles",
    "sortBy",
    "status",
    "limit",
    "withSummaries",
];

/// An address as it may be shown: without user, password, fragment, and without values of parameters that are not
/// Spark's own, since gateways put tickets there.
pub fn shown(url: &Url) -> String {
    let mut plain = url.clone();
    // Both fail only for addresses without a host, which have neither.
    _ = plain.set_username("");
    _ = plain.set_password(None);
    plain.set_fragment(None);
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(key, value)| {
                let is_plain = PLAIN_PARAMETERS.contains(&&*key);
                (key.into_owned(), if is_plain { value.into_owned() } else { "...".to_owned() })
            })
            .collect();
        plain.query_pairs_mut().clear().extend_pairs(pairs);
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_does_not_show() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(..)");
        let url = Url::parse("https://bob:hunter2@host/x/?id=94&ticket=abc#frag").unwrap();
        assert_eq!(shown(&url), "https://host/x/?id=94&ticket=...");
    }
}

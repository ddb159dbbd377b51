//! Answers to requests that cannot be answered, in Spark's words.

use axum::http::StatusCode;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing there; the words say what.
    NotFound(String),
    /// A parameter makes no sense and Spark says why.
    Bad(String),
    /// A number or a word of the address is none: Spark's framework answers with an empty page.
    NoSuchAddress,
    /// What only a live application has.
    Unavailable(&'static str),
    /// The log cannot be read.
    Unreadable(String),
}

impl Refusal {
    /// Nothing there.
    pub(crate) fn not_found(what: impl Into<String>) -> Refusal {
        Refusal::NotFound(what.into())
    }

    /// Status, type and body.
    pub(crate) fn answer(self) -> (StatusCode, &'static str, String) {
        match self {
            Refusal::NotFound(what) => (StatusCode::NOT_FOUND, "text/plain", what),
            Refusal::Bad(why) => (StatusCode::BAD_REQUEST, "text/plain", why),
            Refusal::NoSuchAddress => {
                let page = "<html><head><title>404</title></head><body>Not Found</body></html>";
                (StatusCode::NOT_FOUND, "text/html", page.to_owned())
            }
            Refusal::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", why.to_owned()),
            Refusal::Unreadable(why) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", why),
        }
    }
}

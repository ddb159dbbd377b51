//! Answers to requests that cannot be answered.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    error: ShownError<'a>,
}

#[derive(Serialize)]
struct ShownError<'a> {
    code: &'a str,
    message: &'a str,
    hint: &'a str,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: String, hint: &str) -> Failure {
        Failure { status, code, message, hint: hint.to_owned() }
    }

    pub(super) fn not_found(message: impl Into<String>, hint: &str) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not_found", message.into(), hint)
    }

    pub(super) fn no_run(id: &str) -> Failure {
        Failure::not_found(format!("no run {id}"), "/api/emberscope/v1/runs lists the runs")
    }

    pub(super) fn bad(message: impl Into<String>, hint: &str) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, "bad_request", message.into(), hint)
    }

    pub(super) fn unreadable(message: String) -> Failure {
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", message, "look at the log")
    }

    pub(super) fn internal(message: String) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message, "report it")
    }

    pub(super) fn answer(self) -> Response {
        let error = ShownError { code: self.code, message: &self.message, hint: &self.hint };
        // Texts cannot fail to be written.
        let body = serde_json::to_vec(&Shown { error }).unwrap_or_default();
        (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// A number of the path or of a parameter.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| Failure::bad(format!("`{text}` is no number"), "numbers are whole and not negative"))
}

//! Answers to requests that cannot be answered.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use emberscope_sql_client::Refused;
use emberscope_sql_client::client::AskError;
use emberscope_sql_protocol::{FailureKind, Position};
use serde::Serialize;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: String,
    position: Option<Position>,
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
    /// Line and column of a statement, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: String, hint: &str) -> Failure {
        Failure { status, code, message, hint: hint.to_owned(), position: None }
    }

    pub(super) fn not_found(message: impl Into<String>, hint: &str) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not_found", message.into(), hint)
    }

    pub(super) fn no_run(id: &str) -> Failure {
        Failure::not_found(
            format!("no run {id}"),
            "the list of runs has those that are there; a log that was renamed or moved has another address",
        )
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

    pub(super) fn busy(message: &str) -> Failure {
        let hint = "try again in a while";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message.to_owned(), hint)
    }

    /// There is no process that answers.
    pub(super) fn no_sql(refused: &Refused) -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "no_sql", refused.message.clone(), &refused.hint)
    }

    /// What cannot be asked.
    pub(super) fn refused(refused: &Refused) -> Failure {
        Failure::bad(refused.message.clone(), &refused.hint)
    }

    /// No answer to a statement.
    pub(super) fn of_sql(error: &AskError) -> Failure {
        let hint = error.hint().unwrap_or_default();
        let AskError::Failed(failed) = error else {
            return Failure::new(StatusCode::BAD_GATEWAY, "sql_gone", error.to_string(), &hint);
        };
        let (status, code) = match failed.kind {
            FailureKind::Statement => (StatusCode::BAD_REQUEST, "statement"),
            FailureKind::ReadOnly => (StatusCode::BAD_REQUEST, "read_only"),
            FailureKind::Memory => (StatusCode::UNPROCESSABLE_ENTITY, "memory"),
            FailureKind::Time => (StatusCode::UNPROCESSABLE_ENTITY, "time"),
            FailureKind::Data => (StatusCode::UNPROCESSABLE_ENTITY, "data"),
            FailureKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let failure = Failure::new(status, code, failed.message.clone(), &hint);
        Failure { position: failed.position, ..failure }
    }

    pub(super) fn answer(self) -> Response {
        let error =
            ShownError { code: self.code, message: &self.message, hint: &self.hint, position: self.position };
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

//! `/runs/{id}`: the report of a run, the same page that `emberscope diagnose` writes into a file.

use super::frame::{document, message};
use crate::app::App;
use crate::catalog::Entry;
use crate::http::apart;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use emberscope_analysis::plots::plots;
use emberscope_analysis::words::size;
use emberscope_html::escape;
use std::sync::Arc;
use std::time::Duration;

/// How long a visitor looks at the page before; then a page says that the log is being read.
const PATIENCE: Duration = Duration::from_millis(1200);

pub(crate) async fn run(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    let listing = app.catalog.listing();
    let Some(entry) = listing.entry(&id).cloned() else {
        return message(
            StatusCode::NOT_FOUND,
            "There is no such run",
            "Its log may have been moved or deleted, or the address is not whole.",
        );
    };
    let of_work = Arc::clone(&entry);
    let work = tokio::spawn(apart(app, move |app| report(app, &of_work)));
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(page)) => page,
        Ok(Err(_)) => {
            message(StatusCode::INTERNAL_SERVER_ERROR, "The report could not be made", "Please report it.")
        }
        // The work goes on, and the next visit finds it done.
        Err(_) => reading(&entry),
    }
}

fn report(app: &App, entry: &Arc<Entry>) -> Response {
    let opened = match app.runs.open(entry) {
        Ok(opened) => opened,
        Err(error) => {
            return message(
                StatusCode::UNPROCESSABLE_ENTITY,
                "This log cannot be read",
                &format!("{error}."),
            );
        }
    };
    let diagnosis = opened.diagnosis();
    let trust = (app.words)(&opened.run);
    let html = emberscope_html::page_with_way_back(
        diagnosis,
        &plots(&opened.run, diagnosis),
        &trust,
        "/",
        "All runs",
    );
    let policy = format!("{}; frame-ancestors 'none'", emberscope_html::policy());
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, html).into_response()
}

/// The log is being read; the page asks again by itself.
fn reading(entry: &Entry) -> Response {
    let name = entry.glance.name.as_deref().or(entry.glance.application_id.as_deref()).unwrap_or("this run");
    let body = format!(
        "<div class=\"top\"><i class=\"dot\"></i><span><a href=\"/\">All runs</a></span></div>\n\
         <h1 class=\"said\">Reading {}</h1>\n<p class=\"sub\" role=\"status\">{} of event log. The report appears \
         here by itself.</p>\n<div class=\"wait\"><i></i></div>\n",
        escape::short(name, 120),
        size(entry.stamp.bytes() as i64),
    );
    document(StatusCode::OK, "Reading", "<meta http-equiv=\"refresh\" content=\"1\">\n", &body)
}

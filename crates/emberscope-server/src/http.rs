//! Addresses, and what holds for all of them.

use crate::app::App;
use crate::recordings::Gone;
use crate::security::{ENTRANCE, PLAIN_POLICY, Refusal as Refused};
use crate::spark_rest::v1::{self, Ask, Reply};
use crate::spark_rest::{Params, Refusal};
use crate::{api, metrics, page, stream};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;

/// No request needs a body.
const BODY_BYTES: usize = 64 << 10;

type Shared = State<Arc<App>>;
type Pairs = Query<Vec<(String, String)>>;

/// Everything that is served.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page::root))
        .route("/list", get(page::runs))
        .route("/runs/{id}", get(page::run))
        .route(ENTRANCE, get(page::enter).post(page::enter_by_token))
        .route("/assets/{name}", get(page::asset))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(measured))
        .route("/api/v1/{*path}", get(spark))
        .route("/api/emberscope/v1/{*path}", get(own))
        .fallback(nowhere)
        .layer(RequestBodyLimitLayer::new(BODY_BYTES))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(Arc::clone(&app), guarded))
        .with_state(app)
}

/// Does what takes time apart from the threads that talk to clients.
pub(crate) async fn apart(
    app: Arc<App>,
    work: impl FnOnce(&Arc<App>) -> Response + Send + 'static,
) -> Response {
    let Ok(permit) = Arc::clone(&app.permits).acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work(&app)
    });
    done.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

pub(crate) fn json(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

async fn measured(State(app): Shared) -> Response {
    let text = metrics::text(&app.requests, &app.catalog.listing(), app.runs.counts());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn nowhere() -> Response {
    page::message(StatusCode::NOT_FOUND, "There is nothing here", "The list of runs is at /.")
}

async fn spark(State(app): Shared, Path(path): Path<String>, Query(pairs): Pairs) -> Response {
    apart(app, move |app| {
        let listing = app.catalog.listing();
        let params = Params(pairs);
        let whole = format!("/api/v1/{path}");
        let ask = Ask { listing: &listing, runs: &app.runs, params: &params, path: &whole };
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        match v1::answer(&ask, &segments) {
            Ok(Reply::Json(bytes)) => json(bytes),
            Ok(Reply::Logs { name, entries }) => logs(&name, entries, app.raw_logs),
            Err(refusal) => refused(refusal),
        }
    })
    .await
}

async fn own(State(app): Shared, Path(path): Path<String>, Query(pairs): Pairs) -> Response {
    let gone = Gone::default();
    let client = Client(Arc::clone(&gone));
    let response = apart(app, move |app| api::answer(app, &path, &Params(pairs), &gone)).await;
    drop(client);
    response
}

/// Lives as long as somebody waits for an answer: a request whose client goes is dropped with it.
struct Client(Gone);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn refused(refusal: Refusal) -> Response {
    let (status, kind, text) = refusal.answer();
    (status, [(header::CONTENT_TYPE, kind)], text).into_response()
}

fn logs(name: &str, entries: Vec<Arc<crate::catalog::Entry>>, is_raw: bool) -> Response {
    let (writer, body) = stream::pipe();
    // A name in a header must not end it.
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    tokio::task::spawn_blocking(move || {
        let mut writer = writer;
        // An error is either the client's going or a file's; the archive then has no end, which tools see.
        if v1::logs::write_archive(&entries, is_raw, &mut writer).is_ok() {
            _ = std::io::Write::flush(&mut writer);
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{safe}\"")),
    ];
    (headers, body).into_response()
}

/// Lets in who may ask, and sends with every answer what keeps it from being misused.
async fn guarded(State(app): Shared, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let checked = app
        .guard
        .check_origin(request.method(), request.headers())
        .and_then(|()| app.guard.check_token(&path, request.headers()));
    let mut response = match checked {
        Err(refusal) => turned_away(refusal, &path),
        Ok(()) if !matches!(*request.method(), Method::GET | Method::HEAD) && path != ENTRANCE => {
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response()
        }
        Ok(()) => next.run(request).await,
    };
    app.requests.count(response.status().as_u16());
    let headers = response.headers_mut();
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(PLAIN_POLICY));
    response
}

fn turned_away(refusal: Refused, path: &str) -> Response {
    let is_api = path.starts_with("/api/") || path == "/metrics";
    let (status, words) = match refusal {
        Refused::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "This name is not one of the server's; `emberscope serve --allow-host NAME` makes it one.",
        ),
        Refused::Origin => (StatusCode::FORBIDDEN, "Requests of other sites' pages are not answered."),
        Refused::Token if is_api => (
            StatusCode::UNAUTHORIZED,
            "Send the token that `emberscope serve` printed: Authorization: Bearer TOKEN",
        ),
        Refused::Token => (
            StatusCode::UNAUTHORIZED,
            "Open the address that the server printed when it started, which is good for one visit. Or enter the token \
             that it printed for tools.",
        ),
    };
    let mut response = match is_api || refusal != Refused::Token {
        true => {
            (status, [(header::CONTENT_TYPE, "text/plain")], Body::from(format!("{words}\n"))).into_response()
        }
        false => page::entrance(status, "Who are you?", words),
    };
    if refusal == Refused::Token {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

//! A server over fixtures, and requests to it.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use emberscope_html::TrustWords;
use emberscope_log::scan::ScanOptions;
use emberscope_server::{App, Options, router};
use http_body_util::BodyExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tower::ServiceExt;

pub(crate) const TOKEN: &str = "token-of-the-tests";

/// Where the project's fixtures are.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().unwrap()
}

pub(crate) fn options(roots: &[&Path]) -> Options {
    Options {
        roots: roots.iter().map(|root| root.display().to_string()).collect(),
        gathered: Vec::new(),
        recordings: Vec::new(),
        host: "127.0.0.1".to_owned(),
        port: 0,
        is_open: false,
        allowed_hosts: Vec::new(),
        token: Some(TOKEN.to_owned()),
        memory_bytes: 1 << 30,
        cache: None,
        raw_logs: false,
        scan: ScanOptions::default(),
        words: |_| TrustWords::default(),
    }
}

pub(crate) fn server(roots: &[&Path]) -> Router {
    with(options(roots))
}

pub(crate) fn with(options: Options) -> Router {
    router(Arc::new(App::new(options).unwrap()))
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }
}

/// Asks with the token.
pub(crate) fn get(server: &Router, path: &str) -> Answer {
    let request = Request::get(path)
        .header(header::HOST, "127.0.0.1:18480")
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    send(server, request.body(Body::empty()).unwrap())
}

pub(crate) fn send(server: &Router, request: Request<Body>) -> Answer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let response = server.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    })
}

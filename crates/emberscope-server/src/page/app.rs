//! The page that runs in the browser, as `cargo xtask ui` built it before this was compiled; there may be none.

use super::frame::{POLICY, message};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
struct Built;

const DOCUMENT: &str = "index.html";
/// The names of these files hold a hash of their content: under a name there is only ever one content.
const FOREVER: &str = "private, max-age=31536000, immutable";

/// Whether there is one.
pub(crate) fn is_built() -> bool {
    Built::get(DOCUMENT).is_some()
}

/// The document, from which everything else is loaded.
pub(super) fn document() -> Response {
    match Built::get(DOCUMENT) {
        Some(file) => {
            let headers = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_SECURITY_POLICY, POLICY),
            ];
            (headers, file.data).into_response()
        }
        None => message(StatusCode::NOT_FOUND, "There is nothing here", "The list of runs is at /list."),
    }
}

/// A script or style of the page.
pub(super) fn asset(name: &str) -> Option<Response> {
    let file: EmbeddedFile = Built::get(&format!("assets/{name}"))?;
    let kind = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, FOREVER)];
    Some((headers, file.data).into_response())
}

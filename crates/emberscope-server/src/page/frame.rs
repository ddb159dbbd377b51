//! The document around what a page shows.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use emberscope_html::escape;

/// What these pages may load: their own style and script, and our API.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A page. `head` goes into the head, `body` into the main part; both are markup.
pub(super) fn document(status: StatusCode, title: &str, head: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title} · Emberscope</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"/assets/page.css\">\n{head}</head>\n<body>\n<main>\n{body}</main>\n\
         </body>\n</html>\n",
        title = escape::short(title, 120),
    );
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    (status, headers, html).into_response()
}

/// A page with a few words, and a field for the token.
pub(crate) fn entrance(status: StatusCode, title: &str, words: &str) -> Response {
    let body = format!(
        "<div class=\"top\"><i class=\"dot\"></i><span>Emberscope</span></div>\n\
         <h1 class=\"said\">{}</h1>\n<p class=\"sub\">{}</p>\n\
         <form class=\"find token\" method=\"post\" action=\"/enter\">\
         <label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus>\
         <button type=\"submit\">Enter</button></form>\n",
        escape::text(title),
        escape::text(words),
    );
    let mut response = document(status, title, "<script src=\"/assets/token.js\" defer></script>\n", &body);
    // Under `no-referrer` browsers say of a form that it comes from nowhere, and it would be refused.
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A page with a few words.
pub(crate) fn message(status: StatusCode, title: &str, words: &str) -> Response {
    let body = format!(
        "<div class=\"top\"><i class=\"dot\"></i><span>Emberscope</span></div>\n\
         <h1 class=\"said\">{}</h1>\n<p class=\"sub\">{}</p>\n<p class=\"sub\"><a href=\"/\">All runs</a></p>\n",
        escape::text(title),
        escape::text(words),
    );
    document(status, title, "", &body)
}

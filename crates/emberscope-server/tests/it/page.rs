//! What is at `/`, with the page that runs in the browser built in and without.

use crate::base::{fixtures, get, server};
use axum::http::{StatusCode, header};

/// Names of the page's files in its document.
fn assets(document: &str) -> Vec<&str> {
    let named = document.split('"').filter(|text| text.starts_with("/assets/"));
    named.collect()
}

#[test]
fn nothing_of_a_document_is_inline_and_all_it_names_is_there() {
    let server = server(&[&fixtures().join("logs/rdd-4.3.0")]);
    for path in ["/", "/list"] {
        let document = get(&server, path);
        assert_eq!(document.status, StatusCode::OK);
        let policy = document.header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.contains("script-src 'self'") && policy.contains("default-src 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let text = document.text();
        assert!(!text.contains("<script>") && !text.contains("<style"), "{text}");
        for name in assets(&text) {
            let asset = get(&server, name);
            assert_eq!(asset.status, StatusCode::OK, "{name}");
            let kind = asset.header(header::CONTENT_TYPE);
            assert!(kind.starts_with("text/javascript") || kind.starts_with("text/css"), "{name}: {kind}");
        }
    }
    assert_eq!(get(&server, "/assets/none.js").status, StatusCode::NOT_FOUND);
    assert_eq!(get(&server, "/assets/..%2Findex.html").status, StatusCode::NOT_FOUND);
}

#[test]
fn files_whose_names_hold_a_hash_are_kept_and_documents_are_not() {
    let server = server(&[&fixtures().join("logs/rdd-4.3.0")]);
    let document = get(&server, "/");
    assert_eq!(document.header(header::CACHE_CONTROL), "no-store");
    let text = document.text();
    for name in assets(&text).into_iter().filter(|name| name.starts_with("/assets/index-")) {
        assert!(get(&server, name).header(header::CACHE_CONTROL).contains("immutable"), "{name}");
    }
}

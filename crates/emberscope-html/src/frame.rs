//! The document around the sections: policy, style, script, and the data.

use crate::escape;
use base64::Engine;
use emberscope_analysis::diagnosis::Diagnosis;
use sha2::{Digest, Sha256};

/// Colours, fonts and the plain elements, for other pages of ours too.
pub const BASE: &str = concat!(include_str!("tokens.css"), include_str!("base.css"));
const STYLE: &str = concat!(include_str!("tokens.css"), include_str!("base.css"), include_str!("style.css"));
const SCRIPT: &str = include_str!("script.js");

/// The one inline element that the policy allows.
pub(crate) fn hash(content: &str) -> String {
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(content)))
}

/// The page's content security policy: its own style and script by their hashes, and nothing else. A server
/// that sends the page sends it too.
pub fn policy() -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// The whole document.
pub(crate) fn document(diagnosis: &Diagnosis, body: &str) -> String {
    let application = &diagnosis.application;
    let name =
        [&application.name, &application.id].into_iter().flatten().find(|name| !name.trim().is_empty());
    let title = escape::short(name.map_or("Spark run", String::as_str), 120);
    let policy = policy();
    // Only a number that JSON cannot hold could make this fail, and there is none.
    let data = serde_json::to_string(diagnosis).unwrap_or_else(|_| "null".to_owned());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"emberscope {version}\">\n\
         <title>{title} · Emberscope</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script type=\"application/json\" id=\"diagnosis\">{data}</script>\n<script>{SCRIPT}</script>\n\
         </body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION"),
        data = escape::json(&data),
    )
}

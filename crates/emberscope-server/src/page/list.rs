//! `/list`, and `/` where no other page was built in: the list of runs. It works without scripts; with them it searches while one types, and by keys.

use super::frame::document;
use crate::api::{RunInfo, RunsPage, find};
use crate::app::App;
use crate::http::apart;
use crate::spark_rest::Params;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use emberscope_analysis::words::{count, duration, size};
use emberscope_html::escape;
use std::fmt::Write;
use std::sync::Arc;

/// Runs that are shown at once.
const STEP: usize = 100;
const MOST: usize = 10_000;
const NAME: usize = 160;

/// The columns: heading, what they sort by first, class.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("Run", "name", ""),
    ("Status", "status", ""),
    ("Started (UTC)", "-start", ""),
    ("Length", "-duration", "r"),
    ("Spark", "", "wide"),
    ("User", "user", "wide"),
    ("Log", "-size", "r wide"),
];

pub(crate) async fn runs(
    State(app): State<Arc<App>>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    apart(app, move |app| {
        let params = Params(pairs);
        let query = params.first("q").unwrap_or_default();
        let limit = params.first("limit").and_then(|limit| limit.parse().ok()).unwrap_or(STEP).min(MOST);
        let wanted = params.first("sort").unwrap_or("-start");
        let found = find(app, query, "", wanted, 0..limit).map(|page| (page, wanted));
        // An order that there is not is the usual one.
        match found.or_else(|| find(app, query, "", "-start", 0..limit).map(|page| (page, "-start"))) {
            Some((page, sort)) => shown(&page, query, sort),
            None => super::message(StatusCode::INTERNAL_SERVER_ERROR, "There is no list", "Try again."),
        }
    })
    .await
}

fn shown(page: &RunsPage, query: &str, sort: &str) -> Response {
    let mut body = String::new();
    // Writing to a string cannot fail.
    _ = write!(
        body,
        "<div class=\"top\"><i class=\"dot\"></i><h1>Emberscope</h1><span id=\"count\">{}</span>\
         <span class=\"sp\"></span><button type=\"button\" id=\"help\" aria-label=\"Keys\" hidden>?</button>\
         <button type=\"button\" id=\"theme\" hidden>◐</button></div>\n\
         <form class=\"find\" id=\"find\" role=\"search\"><input type=\"search\" id=\"q\" name=\"q\" value=\"{}\" \
         placeholder=\"Name, id or user\" aria-label=\"Search runs\" autocomplete=\"off\" spellcheck=\"false\">\
         <button>Search</button></form>\n",
        count(page.total, "run"),
        escape::text(query),
    );
    _ = writeln!(
        body,
        "<div class=\"list\" id=\"list\"><span id=\"rows\" data-sort=\"{}\" data-limit=\"{STEP}\" hidden></span>{}</div>",
        escape::text(sort),
        if page.runs.is_empty() { nothing(page) } else { table(page, query, sort) },
    );
    let rest = page.matched - page.runs.len();
    _ = write!(
        body,
        "<div class=\"more\"><span id=\"told\" role=\"status\">{}</span><button type=\"button\" id=\"more\"{}>Show more</button></div>\n\
         <dialog id=\"keys\" aria-labelledby=\"keys-title\"><h2 id=\"keys-title\">Keys</h2><dl>\
         <dt><kbd>/</kbd></dt><dd>search</dd><dt><kbd>↓</kbd> <kbd>j</kbd></dt><dd>next run</dd>\
         <dt><kbd>↑</kbd> <kbd>k</kbd></dt><dd>previous run</dd><dt><kbd>Enter</kbd></dt><dd>open the run</dd>\
         <dt><kbd>Esc</kbd></dt><dd>leave the search</dd><dt><kbd>?</kbd></dt><dd>these keys</dd></dl>\
         <form method=\"dialog\"><button>Close</button></form></dialog>\n",
        told(page),
        if rest == 0 { " hidden" } else { "" },
    );
    document(StatusCode::OK, "Runs", "<script src=\"/assets/list.js\" defer></script>\n", &body)
}

fn told(page: &RunsPage) -> String {
    let mut words = match (page.runs.len(), page.matched) {
        (0, _) => String::new(),
        (shown, matched) if shown < matched => format!("{shown} of {} shown", count(matched, "run")),
        (_, matched) if matched < page.total => format!("{} of {}", matched, count(page.total, "run")),
        _ => String::new(),
    };
    if page.skipped_paths > 0 {
        let separator = if words.is_empty() { "" } else { " · " };
        _ = write!(words, "{separator}{} held no event log", count(page.skipped_paths, "path"));
    }
    words
}

fn nothing(page: &RunsPage) -> String {
    let (title, words) = match page.total {
        0 => ("No runs yet", "They appear here as soon as Spark writes an event log into the directory."),
        _ => ("No run matches", "Names, ids and users are searched, in any case."),
    };
    format!("<div class=\"none\"><b>{title}</b>{words}</div>")
}

fn table(page: &RunsPage, query: &str, sort: &str) -> String {
    let mut out = String::from("<table><thead><tr>");
    for (heading, order, class) in COLUMNS {
        out.push_str(&head(heading, order, class, query, sort));
    }
    out.push_str("</tr></thead><tbody>");
    for run in &page.runs {
        row(&mut out, run);
    }
    out.push_str("</tbody></table>");
    out
}

/// A heading; a click sorts by it, another one the other way round.
fn head(heading: &str, order: &str, class: &str, query: &str, sort: &str) -> String {
    if order.is_empty() {
        return format!("<th class=\"{class}\"><a>{heading}</a></th>");
    }
    let by = |order: &str| order.trim_start_matches('-').to_owned();
    let is_this = by(order) == by(sort);
    let (state, arrow) = match (is_this, sort.starts_with('-')) {
        (false, _) => ("", ""),
        (true, true) => (" aria-sort=\"descending\"", " ↓"),
        (true, false) => (" aria-sort=\"ascending\"", " ↑"),
    };
    let next = match (is_this, sort.strip_prefix('-')) {
        (false, _) => order.to_owned(),
        (true, Some(ascending)) => ascending.to_owned(),
        (true, None) => format!("-{sort}"),
    };
    let query = match query {
        "" => String::new(),
        query => format!("&amp;q={}", encoded(query)),
    };
    format!("<th class=\"{class}\"{state}><a href=\"/list?sort={next}{query}\">{heading}{arrow}</a></th>")
}

/// Text in an address.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte as char),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

fn row(out: &mut String, run: &RunInfo) {
    let id = run.application_id.as_deref().unwrap_or("no application id");
    let name = run.name.as_deref().filter(|name| !name.trim().is_empty()).unwrap_or(id);
    let attempt =
        run.attempt_id.as_deref().map(|attempt| format!(" · attempt {attempt}")).unwrap_or_default();
    let (class, status) = match run.status.name() {
        "succeeded" => ("ok", "● succeeded"),
        "failed" => ("no", "✕ failed"),
        "incomplete" => ("so", "◐ no end yet"),
        "ended" => ("neutral", "○ ended"),
        _ => ("neutral", "? unknown"),
    };
    let started = run.start_time_ms.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let text =
        |text: &Option<String>| text.as_deref().map(|text| escape::short(text, 40)).unwrap_or_default();
    _ = write!(
        out,
        "<tr><td><a href=\"/runs/{}\">{}</a><small>{}{}</small></td><td class=\"{class}\">{status}</td>\
         <td class=\"mute\">{}</td><td class=\"n r\">{}</td><td class=\"mute wide\">{}</td>\
         <td class=\"mute wide\">{}</td><td class=\"n r mute wide\">{}</td></tr>",
        escape::text(&run.id),
        escape::short(name, NAME),
        escape::short(id, NAME),
        escape::short(&attempt, 40),
        started.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default(),
        run.duration_ms.map(duration).unwrap_or_default(),
        text(&run.spark_version),
        text(&run.user),
        size(run.log_bytes as i64),
    );
}

//! `/runs/{run}/export`: a run as a file of other tools.

use super::failure::Failure;
use super::window::attachment;
use super::{Param, opened};
use crate::app::App;
use crate::spark_rest::Params;
use crate::stream;
use axum::response::{IntoResponse, Response};
use emberscope_analysis::plots::plots;
use emberscope_export::perfetto;

pub(super) const PARAMS: &[Param] = &[Param {
    name: "format",
    kind: "string",
    doc: "html: one page that needs no network; perfetto: a trace for ui.perfetto.dev or chrome://tracing; \
          json: the diagnosis. [default: html]",
}];

pub(super) fn get(app: &App, id: &str, params: &Params) -> Result<Response, Failure> {
    let opened = opened(app, id)?;
    let name = opened.run.application.id.as_deref().unwrap_or(id).to_owned();
    match params.first("format").unwrap_or("html") {
        "html" => {
            let diagnosis = opened.diagnosis();
            let page =
                emberscope_html::page(diagnosis, &plots(&opened.run, diagnosis), &(app.words)(&opened.run));
            Ok(attachment("text/html; charset=utf-8", &format!("{name}.html"), page).into_response())
        }
        "json" => {
            let bytes = super::bytes(opened.diagnosis())?;
            Ok(attachment("application/json", &format!("{name}.json"), bytes).into_response())
        }
        "perfetto" => {
            let (writer, body) = stream::pipe();
            // An error is the client's going; the trace then has no end, which tools see.
            std::thread::spawn(move || _ = perfetto::write(&opened.run, opened.timeline(), writer));
            Ok(attachment("application/json", &format!("{name}.perfetto.json"), body).into_response())
        }
        other => {
            let message = format!("nothing is exported as `{other}`");
            Err(Failure::bad(message, "html, perfetto or json"))
        }
    }
}

//! Our own API, `/api/emberscope/v1`: one module for each address, one line for each in [`ENDPOINTS`].
//!
//! The OpenAPI document is made from that table and the types of the answers, and is committed
//! (`docs/openapi.json`).

mod attribution;
mod endpoints;
mod events;
mod executors;
mod export;
mod failure;
mod findings;
mod flame;
mod jobs;
mod openapi;
mod reference;
mod runs;
mod sql;
mod sql_console;
mod stage;
mod stages;
mod summary;
mod timeline;
mod window;

pub use openapi::document;
pub(crate) use runs::{RunInfo, RunsPage, find};

use crate::app::App;
use crate::http::json;
use crate::opened::Opened;
use crate::recordings::Gone;
use crate::spark_rest::Params;
use axum::response::Response;
use endpoints::{ENDPOINTS, FILES, LONG};
use failure::Failure;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::sync::Arc;

/// A parameter of the query.
struct Param {
    name: &'static str,
    kind: &'static str,
    doc: &'static str,
}

type Answered = Result<Vec<u8>, Failure>;

/// An address.
struct Endpoint {
    path: &'static str,
    name: &'static str,
    doc: &'static str,
    params: &'static [Param],
    schema: fn(&mut SchemaGenerator) -> Schema,
    answer: fn(&App, &[&str], &Params) -> Answered,
}

/// An address whose work takes a while, and is given up when the client goes.
struct LongEndpoint {
    path: &'static str,
    name: &'static str,
    doc: &'static str,
    params: &'static [Param],
    schema: fn(&mut SchemaGenerator) -> Schema,
    answer: fn(&App, &[&str], &Params, &Gone) -> Answered,
}

/// An address that answers with something else than JSON.
struct FileEndpoint {
    path: &'static str,
    name: &'static str,
    doc: &'static str,
    params: &'static [Param],
    /// Types of what is answered.
    media: &'static [&'static str],
    answer: AnswerFile,
}

type AnswerFile = fn(&Arc<App>, &[&str], &Params) -> Result<Response, Failure>;

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Answers a request for `path` below `/api/emberscope/v1`. `gone` is set when nobody waits for it any more.
pub(crate) fn answer(app: &Arc<App>, path: &str, params: &Params, gone: &Gone) -> Response {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments == ["openapi.json"] {
        return json(document().to_string().into_bytes());
    }
    let found = ENDPOINTS.iter().find_map(|endpoint| Some((endpoint, values(endpoint.path, &segments)?)));
    if let Some((endpoint, values)) = found {
        return (endpoint.answer)(app, &values, params).map_or_else(Failure::answer, json);
    }
    let found = LONG.iter().find_map(|long| Some((long, values(long.path, &segments)?)));
    if let Some((long, values)) = found {
        return (long.answer)(app, &values, params, gone).map_or_else(Failure::answer, json);
    }
    let found = FILES.iter().find_map(|file| Some((file, values(file.path, &segments)?)));
    let answered = match found {
        Some((file, values)) => (file.answer)(app, &values, params),
        None => Err(Failure::not_found("no such address", "see /api/emberscope/v1/openapi.json")),
    };
    answered.unwrap_or_else(Failure::answer)
}

/// What stands for the names in braces, if the address is of this form.
fn values<'s>(form: &str, segments: &[&'s str]) -> Option<Vec<&'s str>> {
    let mut parts = form.split('/').skip(1);
    let mut values = Vec::new();
    for segment in segments {
        match parts.next()? {
            part if part.starts_with('{') => values.push(*segment),
            part if part == *segment => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(values)
}

fn bytes<T: Serialize>(value: &T) -> Answered {
    serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))
}

/// A run by the id of its log; read now unless it is in memory.
fn opened(app: &App, id: &str) -> Result<Arc<Opened>, Failure> {
    let listing = app.catalog.listing();
    let entry = listing.entry(id).ok_or_else(|| Failure::no_run(id))?;
    app.runs.open(entry).map_err(|error| Failure::unreadable(error.to_string()))
}

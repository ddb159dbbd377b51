//! Our own API, `/api/emberscope/v1`: one module for each address, one line for each in [`ENDPOINTS`].
//!
//! The OpenAPI document is made from that table and the types of the answers, and is committed
//! (`docs/openapi.json`).

mod attribution;
mod failure;
mod findings;
mod openapi;
mod runs;
mod summary;
mod tasks;

pub use openapi::document;
pub(crate) use runs::{RunInfo, RunsPage, find};

use crate::app::App;
use crate::http::json;
use crate::opened::Opened;
use crate::spark_rest::Params;
use axum::response::Response;
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

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/runs",
        name: "listRuns",
        doc: "Runs, from heads and tails of their logs and from what was read since.",
        params: runs::PARAMS,
        schema: schema::<RunsPage>,
        answer: |app, _, params| bytes(&runs::list(app, params)?),
    },
    Endpoint {
        path: "/runs/{run}",
        name: "getRun",
        doc: "One run of the list. Does not read its log.",
        params: &[],
        schema: schema::<RunInfo>,
        answer: |app, at, _| bytes(&runs::one(app, at[0])?),
    },
    Endpoint {
        path: "/runs/{run}/summary",
        name: "getSummary",
        doc: "Times, work and executors of a run: what `emberscope summary --json` prints.",
        params: &[],
        schema: schema::<emberscope_model::summary::Summary>,
        answer: |app, at, _| bytes(&summary::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/findings",
        name: "getFindings",
        doc: "What cost time and what to change: what `emberscope diagnose --format json` prints.",
        params: &[],
        schema: schema::<emberscope_analysis::diagnosis::Diagnosis>,
        answer: |app, at, _| bytes(findings::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/attribution",
        name: "getAttribution",
        doc: "Where wall time and core-time went, of the run, its queries, jobs and stages. Sums are exact.",
        params: &[],
        schema: schema::<emberscope_analysis::attribution::Attribution>,
        answer: |app, at, _| bytes(attribution::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/tasks",
        name: "getTasks",
        doc: "A window of the task attempts of a stage attempt, filtered and sorted, by columns.",
        params: tasks::PARAMS,
        schema: schema::<tasks::TaskWindow>,
        answer: |app, at, params| {
            let run = opened(app, at[0])?;
            bytes(&tasks::get(&run, failure::number(at[1])?, failure::number(at[2])?, params)?)
        },
    },
];

/// Answers a request for `path` below `/api/emberscope/v1`.
pub(crate) fn answer(app: &App, path: &str, params: &Params) -> Response {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments == ["openapi.json"] {
        return json(document().to_string().into_bytes());
    }
    let found = ENDPOINTS.iter().find_map(|endpoint| Some((endpoint, values(endpoint.path, &segments)?)));
    let answered = match found {
        Some((endpoint, values)) => (endpoint.answer)(app, &values, params),
        None => Err(Failure::not_found("no such address", "see /api/emberscope/v1/openapi.json")),
    };
    answered.map_or_else(Failure::answer, json)
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

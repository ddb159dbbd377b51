//! Pages for people: the one that runs in the browser, where it was built in; a list of runs and a report of each
//! that need no script.

mod app;
mod frame;
mod list;
mod run;

pub(crate) use frame::{entrance, message};
pub(crate) use list::runs;
pub(crate) use run::run;

use crate::app::App;
use axum::extract::{Form, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;

const SCRIPT: &str = include_str!("list.js");
const TOKEN_SCRIPT: &str = include_str!("token.js");
/// How long a wrong token is thought about.
const WRONG_TOKEN: Duration = Duration::from_millis(500);
const STYLE: &str = concat!(include_str!("page.css"), include_str!("list.css"));

/// `/enter`: the address printed at the start.
pub(crate) async fn enter(
    State(app): State<Arc<App>>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    let code = pairs.iter().find(|(key, _)| key == "code").map_or("", |(_, code)| code.as_str());
    match app.guard.accept(code) {
        Some(cookie) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, first_page(&app))];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        None => entrance(
            StatusCode::UNAUTHORIZED,
            "This address lets nobody in any more",
            "It is good for one visit, and only until the server stops. If this browser came in by it, the \
             list of runs is at the server's address without the code. Else enter the token that the server \
             printed for tools.",
        ),
    }
}

/// What the form of [`entrance`] sends.
#[derive(serde::Deserialize)]
pub(crate) struct Token {
    token: String,
}

/// `POST /enter`: the token, typed into a browser, such as that of a colleague who was sent an address.
pub(crate) async fn enter_by_token(State(app): State<Arc<App>>, Form(sent): Form<Token>) -> Response {
    match app.guard.admit(&sent.token) {
        Some(cookie) => {
            let headers = [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        None => {
            // Who guesses shall not guess fast.
            tokio::time::sleep(WRONG_TOKEN).await;
            entrance(
                StatusCode::UNAUTHORIZED,
                "That is not the token",
                "The server prints it where it starts, unless EMBERSCOPE_TOKEN holds it; another start has another one.",
            )
        }
    }
}

/// The list; where there is one run only, that run.
fn first_page(app: &App) -> String {
    match app.catalog.listing().entries.as_slice() {
        [only] if app::is_built() => format!("/#/run/{}", only.id),
        [only] => format!("/runs/{}", only.id),
        _ => "/".to_owned(),
    }
}

/// `/`: the page that runs in the browser, or the list that the server makes.
pub(crate) async fn root(state: State<Arc<App>>, query: Query<Vec<(String, String)>>) -> Response {
    if app::is_built() { app::document() } else { runs(state, query).await }
}

/// `/assets/{name}`: styles and scripts.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    match name.as_str() {
        "page.css" => {
            let style = format!("{}{STYLE}", emberscope_html::BASE);
            ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], style).into_response()
        }
        "token.js" => {
            ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], TOKEN_SCRIPT).into_response()
        }
        "list.js" => ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT).into_response(),
        name => app::asset(name).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response()),
    }
}

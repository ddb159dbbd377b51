//! Finding the application and what is had of it.

use crate::server::{Server, json, respond};
use emberscope_log::input::Input;
use emberscope_source::application::{Fetched, fetch};
use emberscope_source::client::{Client, ClientOptions};
use emberscope_source::credentials::Credentials;
use emberscope_source::error::FetchError;
use emberscope_source::secret::Secret;

const EMPTY_ZIP: [u8; 22] = {
    let mut zip = [0; 22];
    (zip[0], zip[1], zip[2], zip[3]) = (b'P', b'K', 5, 6);
    zip
};

fn fetched(options: ClientOptions, address: &str) -> Result<Fetched, FetchError> {
    fetch(&mut Client::new(options).unwrap(), address, &|_| {})
}

#[test]
fn the_log_of_an_attempt_behind_a_gateway() {
    let server = Server::start(|request, _, out| match request.path.as_str() {
        "/gw/spark/api/v1/applications/app-1" => json(out, r#"{"id":"app-1","attempts":[]}"#),
        "/gw/spark/api/v1/applications/app-1/2/logs" => {
            respond(out, "200 OK", "Content-Type: application/octet-stream\r\n", b"PK\x03\x04rest")
        }
        _ => respond(out, "404 Not Found", "", b""),
    });
    let found = fetched(ClientOptions::default(), &server.url("/gw/spark/history/app-1/2/jobs/")).unwrap();
    let Fetched::Logs(download, target) = found else { panic!("{found:?}") };
    assert_eq!(download.len(), Some(8));
    assert_eq!((target.application_id.as_str(), target.attempt_id.as_deref()), ("app-1", Some("2")));
    assert!(server.requests().iter().all(|request| request.method == "GET"));
}

#[test]
fn a_live_ui_behind_a_proxy_has_the_api_alone() {
    let server = Server::start(|request, _, out| match request.path.as_str() {
        "/proxy/application_1_1/api/v1/applications/application_1_1" => json(
            out,
            r#"{"id":"application_1_1","name":"x","attempts":[{"attemptId":"2","completed":false}]}"#,
        ),
        "/proxy/application_1_1/api/v1/applications/application_1_1/logs" => {
            respond(out, "200 OK", "Content-Type: application/octet-stream\r\n", &EMPTY_ZIP)
        }
        _ => respond(out, "404 Not Found", "", b""),
    });
    let address = server.url("/proxy/application_1_1/SQL/execution/?id=94");
    let found = fetched(ClientOptions::default(), &address).unwrap();
    let Fetched::Api(target) = found else { panic!("{found:?}") };
    assert_eq!(target.address.sql_id, Some(94));
    // Answers are about one attempt, the newest.
    assert!(target.api.path().ends_with("/applications/application_1_1/2/"), "{}", target.api);
}

#[test]
fn several_applications_are_listed_newest_first() {
    let server = Server::start(|_, _, out| {
        json(
            out,
            r#"[{"id":"old","attempts":[{"startTimeEpoch":1}]},{"id":"new","name":"n","attempts":[{"startTimeEpoch":2}]}]"#,
        )
    });
    let error = fetched(ClientOptions::default(), &server.url("/")).unwrap_err();
    assert!(error.hint().contains("/history/new/ (n) or"), "{}", error.hint());
}

#[test]
fn a_file_of_a_web_server() {
    let server = Server::start(|request, _, out| match request.path.as_str() {
        "/logs/app-1" => respond(out, "200 OK", "Content-Type: text/plain\r\n", b"{\"Event\":\"x\"}\n"),
        _ => respond(out, "404 Not Found", "", b""),
    });
    let found = fetched(ClientOptions::default(), &server.url("/logs/app-1")).unwrap();
    assert!(matches!(found, Fetched::File(file) if file.len() == Some(14)));
    assert!(fetched(ClientOptions::default(), &server.url("/logs/none")).is_err());
}

/// A live UI: its API, and a way to its first page from wherever it knows nothing.
fn live_ui(prefix: &'static str) -> Server {
    Server::start(move |request, _, out| match request.path.strip_prefix(prefix) {
        Some("/api/v1/applications") => json(out, r#"[{"id":"app-1","attempts":[]}]"#),
        Some("/api/v1/applications/app-1/logs") => respond(out, "404 Not Found", "", b""),
        Some("/jobs/") => respond(out, "200 OK", "Content-Type: text/html\r\n", b"<!DOCTYPE html><html>"),
        _ => respond(out, "302 Found", &format!("Location: {prefix}/jobs/\r\n"), b""),
    })
}

#[test]
fn a_path_that_is_not_sparks_is_refused_and_told_what_is_expected() {
    let server = live_ui("");
    for path in ["/foo/bar", "/foo/bar/", "/foo/jobs/"] {
        let error = fetched(ClientOptions::default(), &server.url(path)).unwrap_err();
        let words = error.to_string();
        assert!(words.contains("no address of Spark") && words.contains("/api/v1/applications"), "{words}");
        assert_eq!(
            error.hint(),
            format!(
                "Spark answers at {}: name that, or a page below it as the browser shows it",
                server.url("/")
            )
        );
    }
    let other = Server::start(|_, _, out| respond(out, "404 Not Found", "", b""));
    let error = fetched(ClientOptions::default(), &other.url("/foo/bar")).unwrap_err();
    assert!(error.to_string().contains("/foo/bar/api/v1/applications does not answer"), "{error}");
    assert!(error.hint().contains("http://host:18080/history/APP_ID/") && !error.hint().contains("login"));
    let page = Server::start(|_, _, out| respond(out, "200 OK", "Content-Type: text/html\r\n", b"<html>"));
    let error = fetched(ClientOptions::default(), &page.url("/foo/bar")).unwrap_err();
    assert!(
        error.hint().contains("http://host:4040/") && error.hint().contains("--cookie"),
        "{}",
        error.hint()
    );
}

#[test]
fn a_prefix_of_a_proxy_is_taken_as_it_is() {
    let server = live_ui("/foo/bar");
    for path in ["/foo/bar", "/foo/bar/", "/foo/bar/jobs/", "/foo/bar/SQL/execution/?id=3"] {
        let found = fetched(ClientOptions::default(), &server.url(path)).unwrap();
        let Fetched::Api(target) = found else { panic!("{path}: {found:?}") };
        assert_eq!(target.api.path(), "/foo/bar/api/v1/applications/app-1/");
    }
    let notebook = live_ui("/user/bob/proxy/4040");
    assert!(fetched(ClientOptions::default(), &notebook.url("/user/bob/proxy/4040/jobs/")).is_ok());
}

#[test]
fn each_way_to_log_in() {
    let heads = |credentials: Credentials, user: &str| {
        let server = Server::start(|_, _, out| json(out, "[]"));
        let options = ClientOptions { credentials, ..ClientOptions::default() };
        let address = format!("http://{user}127.0.0.1:{}/", server.port);
        fetched(options, &address).unwrap_err();
        server.requests()[0].head.to_lowercase()
    };
    let none = Credentials::default;
    let basic = "authorization: basic ym9iong6eg=="; // bob:x:z
    assert!(!heads(none(), "").contains("authorization"));
    let user = Some(Secret::new("bob:x:z"));
    assert!(heads(Credentials { user: user.clone(), ..none() }, "").contains(basic));
    assert!(heads(none(), "bob:x%3Az@").contains(basic));
    let netrc = Some(Secret::new("machine 127.0.0.1 login bob password x:z"));
    assert!(heads(Credentials { netrc, ..none() }, "").contains(basic));
    let token = Some(Secret::new("t0k"));
    assert!(heads(Credentials { token, ..none() }, "").contains("authorization: bearer t0k"));
    let cookie = Some(Secret::new("a=b; c=d"));
    assert!(heads(Credentials { cookie, ..none() }, "").contains("cookie: a=b; c=d"));
    let mut header = none();
    header.add_header("X-Key: v").unwrap();
    assert!(heads(header, "").contains("x-key: v"));
}

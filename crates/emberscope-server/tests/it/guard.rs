//! Who is let in, and what is never given away.

use crate::base::{TOKEN, fixtures, get, options, send, server, with};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use emberscope_server::{App, ServerError};
use std::io::{Cursor, Read};

fn request(method: &str, path: &str, headers: &[(header::HeaderName, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    request.body(Body::empty()).unwrap()
}

const HOST: (header::HeaderName, &str) = (header::HOST, "127.0.0.1:18480");

#[test]
fn nobody_is_let_in_without_a_token() {
    let log = fixtures().join("logs/rdd-4.3.0");
    let closed = server(&[&log]);
    for path in ["/", "/runs/x", "/metrics", "/api/v1/version", "/api/emberscope/v1/runs", "/assets/list.js"]
    {
        let answer = send(&closed, request("GET", path, &[HOST]));
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert!(!answer.header(header::CONTENT_SECURITY_POLICY).is_empty());
    }
    assert_eq!(send(&closed, request("GET", "/healthz", &[HOST])).text(), "ok\n");
    let asked = send(&closed, request("GET", "/", &[HOST]));
    assert!(asked.text().contains("<form") && asked.text().contains("/assets/token.js"), "{}", asked.text());
    for needed in ["/assets/token.js", "/assets/page.css"] {
        assert_eq!(send(&closed, request("GET", needed, &[HOST])).status, StatusCode::OK);
    }
    assert_eq!(get(&closed, "/api/v1/version").text(), "{\"spark\":\"4.3.0\"}");
    let foreign = send(&closed, request("GET", "/healthz", &[(header::HOST, "evil.example")]));
    assert_eq!(foreign.status, StatusCode::MISDIRECTED_REQUEST);
    let bearer = format!("Bearer {TOKEN}");
    let own = [HOST, (header::AUTHORIZATION, bearer.as_str()), (header::ORIGIN, "http://127.0.0.1:18480")];
    assert_eq!(send(&closed, request("POST", "/", &own)).status, StatusCode::METHOD_NOT_ALLOWED);
    let other = [HOST, (header::AUTHORIZATION, bearer.as_str()), (header::ORIGIN, "http://evil.example")];
    assert_eq!(send(&closed, request("POST", "/", &other)).status, StatusCode::FORBIDDEN);
}

#[test]
fn who_types_the_token_is_let_in() {
    let closed = server(&[&fixtures().join("logs/rdd-4.3.0")]);
    let post = |token: &str, origin: &str| {
        let form = header::CONTENT_TYPE;
        let headers = [HOST, (header::ORIGIN, origin), (form, "application/x-www-form-urlencoded")];
        let mut request = request("POST", "/enter", &headers);
        *request.body_mut() = Body::from(format!("token={token}"));
        send(&closed, request)
    };
    let own = "http://127.0.0.1:18480";
    let wrong = post("guess", own);
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(wrong.text().contains("That is not the token") && wrong.header(header::SET_COOKIE).is_empty());
    assert_eq!(post(TOKEN, "http://evil.example").status, StatusCode::FORBIDDEN);
    let right = post(TOKEN, own);
    // Without a fragment, so that the browser keeps that of the view that was asked for.
    assert_eq!((right.status, right.header(header::LOCATION)), (StatusCode::SEE_OTHER, "/"));
    let cookie = right.header(header::SET_COOKIE);
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let entered = send(&closed, request("GET", "/api/v1/version", &[HOST, (header::COOKIE, pair)]));
    assert_eq!(entered.status, StatusCode::OK);
}

#[test]
fn open_frees_sparks_api_alone_and_on_loopback_alone() {
    let log = fixtures().join("logs/rdd-4.3.0");
    let mut free = options(&[&log]);
    free.is_open = true;
    let server = with(free.clone());
    assert_eq!(send(&server, request("GET", "/api/v1/applications", &[HOST])).status, StatusCode::OK);
    for path in ["/", "/api/emberscope/v1/runs", "/metrics"] {
        assert_eq!(send(&server, request("GET", path, &[HOST])).status, StatusCode::UNAUTHORIZED, "{path}");
    }
    free.host = "0.0.0.0".to_owned();
    assert!(matches!(App::new(free), Err(ServerError::OpenToNetwork { .. })));
}

#[test]
fn what_cannot_be_served_is_told() {
    let empty = tempfile::tempdir().unwrap();
    assert!(App::new(options(&[empty.path()])).is_ok(), "logs may come");
    let missing = empty.path().join("none");
    assert!(matches!(App::new(options(&[&missing])), Err(ServerError::Source(_))));
    let other = empty.path().join("notes.txt");
    std::fs::write(&other, "no log").unwrap();
    assert!(matches!(App::new(options(&[&other])), Err(ServerError::NoLogs { .. })));
    assert!(matches!(App::new(options(&["-".as_ref()])), Err(ServerError::Pipe)));
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"x\",\"App ID\":\"app-1\",\"Timestamp\":1000}\n";
    std::fs::write(outside.path().join("app-1"), log).unwrap();
    std::os::unix::fs::symlink(outside.path().join("app-1"), inside.path().join("app-1")).unwrap();
    std::os::unix::fs::symlink(outside.path(), inside.path().join("below")).unwrap();
    let list = get(&server(&[inside.path()]), "/api/emberscope/v1/runs").json();
    assert_eq!(list["total"], 0);
}

#[test]
fn secrets_stay_out_of_environment_and_logs() {
    let place = tempfile::tempdir().unwrap();
    let log = concat!(
        "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"x\",\"App ID\":\"app-1\",\"Timestamp\":1000}\n",
        "{\"Event\":\"SparkListenerEnvironmentUpdate\",\"JVM Information\":{},\"Spark Properties\":",
        "{\"spark.my.password\":\"hunter2\",\"spark.x\":\"jdbc:h2://u:hunter2@host/db\"},\"System Properties\":{},",
        "\"Classpath Entries\":{}}\n",
    );
    std::fs::write(place.path().join("app-1"), log).unwrap();
    let server = server(&[place.path()]);
    let environment = get(&server, "/api/v1/applications/app-1/environment");
    assert!(environment.text().contains("spark.my.password") && !environment.text().contains("hunter2"));
    let logs = get(&server, "/api/v1/applications/app-1/logs");
    assert!(logs.header(header::CONTENT_DISPOSITION).contains("eventLogs-app-1.zip"));
    let mut archive = zip::ZipArchive::new(Cursor::new(logs.body)).unwrap();
    assert_eq!(archive.len(), 1);
    let mut text = String::new();
    archive.by_index(0).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("spark.my.password") && !text.contains("hunter2"), "{text}");
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn what_is_measured() {
    let server = server(&[&fixtures().join("logs/rdd-4.3.0")]);
    get(&server, "/api/v1/applications/none");
    let text = get(&server, "/metrics").text();
    assert!(text.contains("emberscope_logs 1\n") && text.contains("class=\"4xx\"} 1\n"), "{text}");
}

//! Servers that are slow, endless, huge, wrong, or that send us elsewhere.

use crate::server::{Server, json, respond};
use emberscope_source::application::fetch;
use emberscope_source::client::{Client, ClientOptions};
use emberscope_source::credentials::Credentials;
use emberscope_source::error::FetchError;
use emberscope_source::limits::Limits;
use emberscope_source::secret::Secret;
use std::io::Write;
use std::time::{Duration, Instant};

const SECRET: &str = "hunter2";

fn options() -> ClientOptions {
    ClientOptions {
        limits: Limits {
            connect: Duration::from_millis(500),
            idle: Duration::from_millis(400),
            total: Duration::from_millis(1500),
            answer_bytes: 64 * 1024,
            download_bytes: 256 * 1024,
            retries: 2,
            first_pause: Duration::from_millis(10),
            redirects: 3,
        },
        credentials: Credentials {
            cookie: Some(Secret::new(format!("session={SECRET}"))),
            token: Some(Secret::new(SECRET)),
            ..Credentials::default()
        },
        ..ClientOptions::default()
    }
}

/// Fetches, with every word of the failure.
fn failure(options: ClientOptions, address: &str) -> (FetchError, String) {
    let started = Instant::now();
    let mut client = Client::new(options).unwrap();
    let error = fetch(&mut client, address, &|_| {}).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(8), "it took {:?}", started.elapsed());
    let words = format!("{error}\n{}\n{error:?}\n{client:?}", error.hint());
    assert!(!words.contains(SECRET), "{words}");
    (error, words)
}

#[test]
fn a_server_that_says_nothing() {
    let server = Server::start(|_, _, _| {
        std::thread::sleep(Duration::from_secs(20));
        Ok(())
    });
    let (error, words) = failure(options(), &server.url("/history/app-1/"));
    assert!(matches!(error, FetchError::Slow { .. }), "{words}");
    assert!(words.contains("/api/v1/applications/app-1") && words.contains("--idle-timeout"), "{words}");
}

#[test]
fn a_server_that_drips_for_ever() {
    let server = Server::start(|_, _, out| {
        write!(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")?;
        loop {
            out.write_all(b" ")?;
            out.flush()?;
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Slow { .. }), "{words}");
}

#[test]
fn an_answer_without_end() {
    let server = Server::start(|_, _, out| {
        write!(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")?;
        loop {
            out.write_all(&[b'['; 8192])?;
        }
    });
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Large { limit: 65536, .. }), "{words}");
}

#[test]
fn an_answer_that_unpacks_to_more_than_allowed() {
    // 4 MiB of spaces in gzip, a few kilobytes on the wire.
    let packed = gzip(&vec![b' '; 4 << 20]);
    let server = Server::start(move |_, _, out| {
        respond(out, "200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", &packed)
    });
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Large { .. }), "{words}");
}

#[test]
fn a_log_larger_than_allowed() {
    let server = Server::start(|request, _, out| match request.path.ends_with("/logs") {
        true => respond(out, "200 OK", "Content-Type: application/octet-stream\r\n", &vec![b'P'; 1 << 20]),
        false => json(out, r#"{"id":"app-1"}"#),
    });
    let (error, words) = failure(options(), &server.url("/history/app-1/"));
    assert!(matches!(error, FetchError::Large { .. }) && words.contains("--max-download"), "{words}");
}

#[test]
fn redirects_to_other_hosts_are_not_followed_unless_allowed_and_never_with_credentials() {
    let other = Server::start(|_, _, out| json(out, r#"[]"#));
    // Another name of the same machine is another host.
    let to = format!("http://localhost:{}/api/v1/applications?ticket={SECRET}", other.port);
    let server =
        Server::start(move |_, _, out| respond(out, "302 Found", &format!("Location: {to}\r\n"), b""));
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Redirect { .. }) && words.contains("--allow-redirects"), "{words}");
    assert!(other.requests().is_empty());

    let allowed = ClientOptions { allow_redirects: true, ..options() };
    let (error, words) = failure(allowed, &server.url("/"));
    assert!(matches!(error, FetchError::NoApplication { .. }), "{words}");
    let asked = other.requests();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].head.to_lowercase().contains("authorization"), "{}", asked[0].head);
    assert!(!asked[0].head.to_lowercase().contains("cookie"), "{}", asked[0].head);
    assert!(server.requests().iter().all(|request| request.head.contains(SECRET)));
}

#[test]
fn redirects_in_a_circle_end() {
    let server =
        Server::start(|_, _, out| respond(out, "302 Found", "Location: /api/v1/applications\r\n", b""));
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Redirect { .. }), "{words}");
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_redirect_to_a_file_is_refused() {
    let server =
        Server::start(|_, _, out| respond(out, "302 Found", "Location: file:///etc/passwd\r\n", b""));
    let (error, words) = failure(ClientOptions { allow_redirects: true, ..options() }, &server.url("/"));
    assert!(matches!(error, FetchError::Redirect { .. }), "{words}");
}

#[test]
fn json_that_is_broken() {
    let server = Server::start(|_, _, out| json(out, r#"[{"id": "app"#));
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::Content { is_page: false, .. }), "{words}");
}

#[test]
fn a_login_page_instead_of_json() {
    let server = Server::start(|_, _, out| {
        respond(out, "200 OK", "Content-Type: text/html\r\n", b"<html>Please log in</html>")
    });
    let (error, words) = failure(options(), &server.url("/history/app-1/"));
    assert!(
        matches!(error, FetchError::Content { is_page: true, .. }) && words.contains("--cookie"),
        "{words}"
    );
}

#[test]
fn a_server_that_refuses() {
    let server = Server::start(|_, _, out| {
        respond(out, "401 Unauthorized", "WWW-Authenticate: Negotiate\r\n", b"<html>no</html>")
    });
    let (error, words) = failure(options(), &server.url("/history/app-1/"));
    assert_eq!(error.status(), Some(401));
    assert!(words.contains("Kerberos"), "{words}");
    assert_eq!(server.requests().len(), 1, "a refusal is not tried again");
}

#[test]
fn a_server_that_fails() {
    let server =
        Server::start(|_, _, out| respond(out, "500 Server Error", "", b"java.lang.OutOfMemoryError"));
    let (error, words) = failure(options(), &server.url("/history/app-1/"));
    assert_eq!(error.status(), Some(500));
    assert!(words.contains("OutOfMemoryError"), "{words}");
}

#[test]
fn what_may_pass_is_tried_again() {
    let server = Server::start(|_, n, out| match n {
        1 => respond(out, "503 Service Unavailable", "", b"busy"),
        // Hangs up without a word.
        2 => Ok(()),
        _ => json(out, r#"[]"#),
    });
    let (error, words) = failure(options(), &server.url("/"));
    assert!(matches!(error, FetchError::NoApplication { .. }), "{words}");
    assert_eq!(server.requests().len(), 3);

    let never = Server::start(|_, _, out| respond(out, "502 Bad Gateway", "", b""));
    let (error, _) = failure(options(), &never.url("/history/app-1/"));
    assert_eq!((error.status(), never.requests().len()), (Some(502), 3));
}

#[test]
fn nobody_listens() {
    let (error, words) = failure(options(), &format!("http://bob:{SECRET}@127.0.0.1:9/history/app-1/"));
    assert!(matches!(error, FetchError::Connection { is_tls: false, .. }), "{words}");
}

#[test]
fn what_is_no_address() {
    for address in ["http://", "ftp://host/x", "http://[", "http://host:99999/"] {
        let mut client = Client::new(options()).unwrap();
        assert!(matches!(fetch(&mut client, address, &|_| {}), Err(FetchError::Address { .. })), "{address}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

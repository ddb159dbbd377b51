//! `emberscope serve` as a user meets it: what it prints, that it answers, how it ends.

use crate::base::log;
use crate::command::Dir;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A server that is stopped when the test is over.
pub(crate) struct Server {
    child: Child,
    pub(crate) told: Vec<String>,
}

impl Server {
    pub(crate) fn start(dir: &Dir, args: &[&str]) -> Server {
        Self::start_with(dir, args, &[])
    }

    /// As [`Server::start`], with variables of its environment.
    pub(crate) fn start_with(dir: &Dir, args: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = dir.command(&[&["serve", "--no-browser", "--port", "0"], args].concat());
        command.envs(variables.iter().copied());
        command.env("EMBERSCOPE_TOKEN", "of-the-test").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = Vec::new();
        while let Some(Ok(line)) = lines.next() {
            let is_last = line.starts_with("Stop it");
            told.push(line);
            if is_last {
                break;
            }
        }
        Server { child, told }
    }

    pub(crate) fn address(&self) -> &str {
        self.told[0].rsplit("http://").next().unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer of-the-test\r\nConnection: close\r\n\r\n",
            self.address()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serves_what_it_says_and_stops_when_asked() {
    let dir = Dir::new(&[("logs/app-1", log().as_bytes())]);
    let mut server = Server::start(&dir, &["logs"]);
    assert!(server.told[0].starts_with("Serving 1 run at http://127.0.0.1:"), "{:?}", server.told);
    assert!(server.told.iter().any(|line| line.contains("/enter?code=")), "{:?}", server.told);
    assert!(!server.told.iter().any(|line| line.contains("of-the-test")), "{:?}", server.told);
    assert!(server.get("/healthz").ends_with("ok\n"));
    // The list leaves out what started before 2010, as Spark's does, and this log's clock begins in 1970.
    let listed = server.get("/api/v1/applications/app-1");
    assert!(listed.contains("\"id\":\"app-1\"") && listed.contains("\"duration\":3000"), "{listed}");
    let entrance = server.told.iter().find_map(|line| line.split_once("/enter")).unwrap().1;
    let entered = server.get(&format!("/enter{entrance}"));
    // Where the page that runs in the browser was built in, it shows the only run.
    let is_led = entered.contains("location: /runs/") || entered.contains("location: /#/run/");
    assert!(entered.contains("HttpOnly") && is_led, "{entered}");
    #[cfg(unix)]
    {
        let id = server.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn new_logs_appear() {
    let dir = Dir::new(&[("logs/app-1", log().as_bytes())]);
    let server = Server::start(&dir, &["logs"]);
    let other = log().replace("app-1", "app-2");
    std::fs::write(dir.path().join("logs/app-2"), other).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !server.get("/api/emberscope/v1/runs").contains("app-2") {
        assert!(std::time::Instant::now() < deadline, "the new log does not appear");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

#[test]
fn mistakes_are_told() {
    let dir = Dir::new(&[("logs/app-1", log().as_bytes()), ("notes.txt", b"no log")]);
    let server = Server::start(&dir, &["logs"]);
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let shown = |args: &[&str]| dir.show(&[&["serve", "--no-browser"], args].concat()).replace(&port, "PORT");
    insta::assert_snapshot!(
        [
            shown(&["logs", "--port", &port]),
            shown(&["nowhere", "--port", "0"]),
            shown(&["notes.txt", "--port", "0"]),
            shown(&["-", "--port", "0"]),
            shown(&["logs", "--port", "0", "--open", "--host", "0.0.0.0"]),
        ]
        .join("\n")
    );
}

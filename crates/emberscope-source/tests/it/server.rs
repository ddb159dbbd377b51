//! A server that answers each request with what a closure writes, and keeps what was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a request said.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) head: String,
}

/// A server on a port of its own; it lives as long as the process.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts one. `answer` writes the whole response, head included.
    pub(crate) fn start(
        answer: impl Fn(&Request, usize, &mut dyn Write) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        Server::start_on(|stream| stream, answer)
    }

    /// As [`Server::start`], with something around each connection.
    pub(crate) fn start_on<S: Read + Write>(
        wrap: impl Fn(TcpStream) -> S + Send + Sync + 'static,
        answer: impl Fn(&Request, usize, &mut dyn Write) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let kept = Arc::clone(&requests);
        let shared = Arc::new((wrap, answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, shared) = (Arc::clone(&kept), Arc::clone(&shared));
                std::thread::spawn(move || {
                    let (wrap, answer) = &*shared;
                    let mut stream = BufReader::new(wrap(stream));
                    let Some(request) = read(&mut stream) else { return };
                    let n = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(request.clone());
                        kept.len()
                    };
                    // A client that has heard enough hangs up.
                    _ = answer(&request, n, stream.get_mut());
                    _ = stream.get_mut().flush();
                });
            }
        });
        Server { port, requests }
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// What was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut words = head.split_whitespace();
    Some(Request { method: words.next()?.to_owned(), path: words.next()?.to_owned(), head: head.clone() })
}

/// A whole response.
pub(crate) fn respond(out: &mut dyn Write, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    write!(out, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len())?;
    out.write_all(body)
}

/// A response of JSON.
pub(crate) fn json(out: &mut dyn Write, body: &str) -> std::io::Result<()> {
    respond(out, "200 OK", "Content-Type: application/json\r\n", body.as_bytes())
}

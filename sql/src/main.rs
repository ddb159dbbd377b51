//! `emberscope-sql`: answers SQL over Emberscope's reports.
//!
//! Started by `emberscope`, it talks over its standard input and output as `emberscope-sql-protocol` says,
//! reads the Parquet and NDJSON files it is told of and nothing else, and ends when its input does.

mod catalog;
mod describe;
mod dialect;
mod failure;
mod functions;
mod output;
mod place;
mod reading;
mod run_keys;
mod scan;
mod session;
#[cfg(test)]
mod tests;
mod types;
mod watch;
mod words;

use emberscope_sql_protocol::{BUILD, Failure, FailureKind, Frame, Hello, Limits, PROTOCOL, Request};
use output::{Pipe, Writer};
use session::Session;
use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use watch::Watch;

/// Many threads take and give back small pieces, which the system's own allocator does slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ABOUT: &str = "answers SQL over reports for `emberscope sql`, which starts it; it takes no arguments";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a person looks, not a program")]
fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some() {
        println!("emberscope-sql {BUILD}, protocol {PROTOCOL}: {ABOUT}");
        return ExitCode::SUCCESS;
    }
    if std::io::stdin().is_terminal() {
        eprintln!("emberscope-sql {ABOUT}");
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("emberscope-sql: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> std::io::Result<()> {
    let pipe = Arc::new(Pipe::new(std::io::stdout()));
    pipe.send(&Frame::Hello(Hello::of_this_build()))?;
    let watch = Watch::start(Arc::clone(&pipe));
    let mut server = Server { pipe, watch, open: None };
    for request in requests() {
        match request {
            Ok(request) => server.take(request)?,
            Err(reason) => server.fail(FailureKind::Internal, reason)?,
        }
    }
    Ok(())
}

/// Requests as they come. The process ends with its input, whatever it is doing.
fn requests() -> mpsc::Receiver<Result<Request, String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let request =
                serde_json::from_str(&line).map_err(|error| format!("a request is not understood: {error}"));
            if sender.send(request).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    receiver
}

struct Server {
    pipe: Arc<Pipe>,
    watch: Watch,
    open: Option<Open>,
}

struct Open {
    session: Session,
    limits: Limits,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    fn take(&mut self, request: Request) -> std::io::Result<()> {
        match request {
            Request::Open { tables, limits } => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                if limits.threads > 0 {
                    builder.worker_threads(limits.threads);
                }
                let runtime = builder.enable_time().build()?;
                match Session::open(tables, &limits) {
                    Ok(session) => {
                        self.open = Some(Open { session, limits, runtime });
                        Ok(())
                    }
                    Err(problem) => self.pipe.send(&Frame::Failure(problem.into_failure())),
                }
            }
            Request::Query { sql, max_rows } => {
                let Some(open) = &self.open else {
                    return self.fail(FailureKind::Internal, "no tables were named".to_owned());
                };
                self.watch.begin(&open.limits);
                let mut writer = Writer::new(&self.pipe);
                let answer = open.runtime.block_on(open.session.answer(&sql, max_rows, &mut writer));
                self.watch.end();
                match answer {
                    Ok(done) => self.pipe.send(&Frame::Done(done)),
                    Err(problem) => self.pipe.send(&Frame::Failure(problem.into_failure())),
                }
            }
        }
    }

    fn fail(&self, kind: FailureKind, message: String) -> std::io::Result<()> {
        self.pipe.send(&Frame::Failure(Failure { kind, message, hint: None, position: None }))
    }
}

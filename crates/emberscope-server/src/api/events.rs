//! `/runs/{run}/events`: how far reading a log has come, and whether it grew, as server-sent events.

use super::failure::Failure;
use super::runs::RunInfo;
use crate::app::App;
use crate::catalog::Entry;
use crate::stream;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Clients that listen at a time; each takes a thread.
const LISTENERS: usize = 64;
/// Between looks while a log is read.
const WHILE_READING: Duration = Duration::from_millis(100);
/// Between looks at a run that is read.
const WHILE_WAITING: Duration = Duration::from_millis(500);
/// Without anything to tell, a sign of life is sent this often, so that a client's going is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How far reading has come.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Progress {
    bytes_read: u64,
    bytes_total: u64,
}

#[derive(Serialize)]
struct Failed<'f> {
    message: &'f str,
}

pub(super) fn get(app: &Arc<App>, id: &str) -> Result<Response, Failure> {
    let entry = app.catalog.listing().entry(id).cloned().ok_or_else(|| Failure::no_run(id))?;
    if app.listeners.fetch_add(1, Ordering::Relaxed) >= LISTENERS {
        app.listeners.fetch_sub(1, Ordering::Relaxed);
        return Err(Failure::busy("too many clients listen"));
    }
    let (writer, body) = stream::pipe();
    let app = Arc::clone(app);
    std::thread::spawn(move || {
        let mut events = Events { app: &app, writer, last: Instant::now() };
        // An error is the client's going.
        _ = events.tell(entry);
        app.listeners.fetch_sub(1, Ordering::Relaxed);
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], body).into_response())
}

/// What is told to one client.
struct Events<'a, W> {
    app: &'a Arc<App>,
    writer: W,
    last: Instant,
}

impl<W: Write> Events<'_, W> {
    /// Reads the log unless it is read, and tells of it until the client or the server goes.
    fn tell(&mut self, mut entry: Arc<Entry>) -> io::Result<()> {
        self.state(&entry)?;
        self.read(&entry)?;
        while self.pause(WHILE_WAITING)? {
            let now = self.app.catalog.listing().entry(&entry.id).cloned();
            let Some(now) = now else { return self.event("gone", &Failed { message: "the log is gone" }) };
            if now.stamp != entry.stamp {
                entry = now;
                self.state(&entry)?;
            }
        }
        Ok(())
    }

    /// Waits for the run, telling how far it is.
    fn read(&mut self, entry: &Arc<Entry>) -> io::Result<()> {
        let (app, of_thread) = (Arc::clone(self.app), Arc::clone(entry));
        let reading = std::thread::spawn(move || app.runs.open(&of_thread).map(|_| ()));
        let mut told = None;
        while !reading.is_finished() {
            let now = self.app.runs.progress(entry);
            if now != told
                && let Some((bytes_read, bytes_total)) = now
            {
                self.event("progress", &Progress { bytes_read, bytes_total })?;
                told = now;
            }
            if !self.pause(WHILE_READING)? {
                return Ok(());
            }
        }
        match reading.join() {
            Ok(Ok(())) => self.state(entry),
            Ok(Err(error)) => self.event("failed", &Failed { message: &error.to_string() }),
            Err(_) => self.event("failed", &Failed { message: "reading the log broke off" }),
        }
    }

    /// The run as in the list.
    fn state(&mut self, entry: &Entry) -> io::Result<()> {
        self.event("state", &RunInfo::of(self.app, entry))
    }

    fn event(&mut self, name: &str, data: &impl Serialize) -> io::Result<()> {
        // JSON in one line: a text of the log cannot end an event.
        let data = serde_json::to_string(data)?;
        write!(self.writer, "event: {name}\ndata: {data}\n\n")?;
        self.last = Instant::now();
        self.writer.flush()
    }

    /// Waits; false when the server stops.
    fn pause(&mut self, time: Duration) -> io::Result<bool> {
        std::thread::sleep(time);
        if self.last.elapsed() > SIGN_OF_LIFE {
            self.last = Instant::now();
            self.writer.write_all(b": \n\n")?;
            self.writer.flush()?;
        }
        Ok(!self.app.is_stopping.load(Ordering::Relaxed))
    }
}

//! `emberscope follow`: tables and findings of a run while it goes on.

use crate::cli::{FollowOptions, ReportTarget};
use crate::exit::Exit;
use crate::inputs::without_events;
use crate::messages;
use crate::output::Output;
use crate::render;
use anyhow::Context;
use emberscope_analysis::diagnosis::Options;
use emberscope_analysis::live::LiveFindings;
use emberscope_log::block::ParseOptions;
use emberscope_log::follow::{Followed, open};
use emberscope_model::builder::RunBuilder;
use emberscope_model::follow::follow;
use emberscope_model::run::Run;
use emberscope_report::destination::run_id;
use emberscope_report::live::LiveReports;
use emberscope_report::sink::Sink;
use emberscope_report::{FileSink, RunKey};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(200);
/// The shortest time between two looks for findings.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// What is done now and then may take one part of so many of the time: a long run takes longer each time.
const SHARE: u32 = 50;
/// How often the memory in use is asked for.
const WEIGH_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(options: &FollowOptions) -> anyhow::Result<Exit> {
    let followed = match open(&options.source, options.idle_end) {
        Ok(followed) => followed,
        Err(error) => {
            messages::error(&error.to_string(), Some(error.hint()));
            return Ok(Exit::NoInput);
        }
    };
    let asked_to_end = signals(options.ignore_signals)?;
    let parse = ParseOptions { keep_plan_text: options.tables.is_some(), ..ParseOptions::default() };
    let mut watcher = Watcher::new(options, asked_to_end);
    let builder = follow(&followed, options.scan, parse, TICK, |builder| watcher.turn(builder, &followed));
    watcher.end(&builder.finish())
}

/// Tells whether the process was asked to end. Of a second such signal it dies.
#[cfg(unix)]
fn signals(ignored: bool) -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        if ignored {
            // Noted and never looked at.
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        } else {
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
    }
    Ok(asked)
}

#[cfg(not(unix))]
fn signals(ignored: bool) -> anyhow::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&asked);
    ctrlc::set_handler(move || told.store(!ignored, Ordering::Relaxed))?;
    Ok(asked)
}

/// Something that is done now and then, and less often the longer it takes.
struct Due {
    every: Duration,
    next: Instant,
}

impl Due {
    fn new(every: Duration) -> Self {
        Due { every, next: Instant::now() + every }
    }

    fn is_now(&self) -> bool {
        Instant::now() >= self.next
    }

    fn done_since(&mut self, start: Instant) {
        self.next = Instant::now() + self.every.max(start.elapsed() * SHARE);
    }
}

/// What goes on beside reading.
struct Watcher<'o> {
    options: &'o FollowOptions,
    asked_to_end: Arc<AtomicBool>,
    reports: Option<LiveReports>,
    /// Directory and views of the tables, once they are known.
    dir: Option<PathBuf>,
    snippets: Vec<String>,
    findings: Option<LiveFindings>,
    flush: Due,
    look: Due,
    weigh: Due,
    /// Events at the last flush and at the last look: nothing is done for none.
    flushed_events: u64,
    looked_events: u64,
    failed: Option<anyhow::Error>,
}

impl<'o> Watcher<'o> {
    fn new(options: &'o FollowOptions, asked_to_end: Arc<AtomicBool>) -> Self {
        Watcher {
            options,
            asked_to_end,
            reports: None,
            dir: None,
            snippets: Vec::new(),
            findings: options.findings.then(|| LiveFindings::new(Options::default())),
            flush: Due::new(options.flush_every),
            look: Due::new(LOOK_EVERY),
            weigh: Due::new(WEIGH_EVERY),
            flushed_events: 0,
            looked_events: 0,
            failed: None,
        }
    }

    fn turn(&mut self, builder: &RunBuilder, followed: &Followed) -> ControlFlow<()> {
        if self.asked_to_end.load(Ordering::Relaxed) {
            followed.stop().now();
            if self.options.source == "-" {
                return ControlFlow::Break(());
            }
        }
        if self.weighs_too_much() {
            let message = "the run takes more memory than --memory allows: the tables tell it up to here";
            messages::warning(message, None);
            return ControlFlow::Break(());
        }
        match self.work(builder) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn weighs_too_much(&mut self) -> bool {
        let Some(most) = self.options.memory.filter(|_| self.weigh.is_now()) else { return false };
        self.weigh.done_since(Instant::now());
        resident_bytes().is_some_and(|bytes| bytes > most)
    }

    fn work(&mut self, builder: &RunBuilder) -> anyhow::Result<()> {
        if self.options.tables.is_some() && self.reports.is_none() && builder.knows_application() {
            self.open(&builder.snapshot())?;
        }
        let flushes = self.reports.is_some() && self.flush.is_now() && builder.events() > self.flushed_events;
        let looks = self.findings.is_some() && self.look.is_now() && builder.events() > self.looked_events;
        if !flushes && !looks {
            return Ok(());
        }
        let start = Instant::now();
        let run = builder.snapshot();
        if looks {
            self.looked_events = builder.events();
            self.tell_findings(&run, false)?;
            self.look.done_since(start);
        }
        if flushes && let Some(reports) = &mut self.reports {
            self.flushed_events = builder.events();
            reports.update(run)?;
            self.flush.done_since(start);
        }
        Ok(())
    }

    /// Opens the place of the tables.
    fn open(&mut self, run: &Run) -> anyhow::Result<()> {
        let Some((reports, target)) = &self.options.tables else { return Ok(()) };
        self.reports = Some(match target {
            ReportTarget::Log => LiveReports::onto_log(BufWriter::new(std::io::stdout()), reports),
            ReportTarget::Files { destination, options } => {
                let dir = destination.resolve(run, false).map_err(crate::cli::usage)?;
                let sink = FileSink::open_live(&dir, &RunKey::of(run), reports, options.clone())?;
                self.snippets = reports.iter().filter_map(|report| sink.view_snippet(*report)).collect();
                self.announce(&dir, run)?;
                self.dir = Some(dir);
                LiveReports::into_files(sink, reports, options.format)
            }
        });
        Ok(())
    }

    fn announce(&self, dir: &Path, run: &Run) -> anyhow::Result<()> {
        let Some(file) = &self.options.announce else { return Ok(()) };
        let (id, attempt) = (run.application.id.as_deref(), run.application.attempt_id.as_deref());
        let told = serde_json::json!({
            "directory": dir,
            "snippets": self.snippets,
            "applicationId": id,
            "attempt": attempt.unwrap_or("0"),
            "runId": run_id(id, attempt).to_string(),
        });
        let written = file.with_extension("inprogress");
        std::fs::write(&written, told.to_string())
            .and_then(|()| std::fs::rename(&written, file))
            .with_context(|| format!("--announce {}", file.display()))
    }

    /// Tells what was found; beside rows on standard output, on standard error.
    fn tell_findings(&mut self, run: &Run, is_last: bool) -> anyhow::Result<()> {
        let Some(findings) = &mut self.findings else { return Ok(()) };
        let mut output = Output::open(None)?;
        for finding in findings.news(run, is_last) {
            let text = render::follow::finding(&finding, run, output.look());
            if matches!(&self.options.tables, Some((_, ReportTarget::Log))) {
                std::io::stderr().write_all(text.as_bytes())?;
            } else {
                output.write(&text)?;
            }
        }
        output.finish()
    }

    /// The run has ended.
    fn end(mut self, run: &Run) -> anyhow::Result<Exit> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if run.trust.events == 0 {
            messages::error(&format!("{}: {}", run.source, without_events(run)), None);
            return Ok(Exit::NoInput);
        }
        if self.options.tables.is_some() && self.reports.is_none() {
            self.open(run)?;
        }
        self.tell_findings(run, true)?;
        let Some(reports) = self.reports.take() else { return Ok(Exit::Done) };
        let written = reports.finish(run, self.options.scan.threads)?;
        let mut output = Output::open(None)?;
        let text = render::report::text(run, self.dir.as_deref(), &written, output.look(), true);
        match &self.dir {
            _ if self.options.quiet => {}
            // Standard output has the rows.
            None => std::io::stderr().write_all(text.as_bytes())?,
            Some(_) => output.write(&text)?,
        }
        for snippet in self.snippets.iter().filter(|_| self.options.snippets) {
            output.write(&format!("\n{snippet}\n"))?;
        }
        output.finish()?;
        Ok(Exit::Done)
    }
}

/// Memory of this process that is in use; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_done_less_often() {
        let mut due = Due::new(Duration::from_millis(1));
        due.done_since(Instant::now() - Duration::from_secs(1));
        assert!(due.next > Instant::now() + Duration::from_secs(49));
        due.done_since(Instant::now());
        assert!(due.next < Instant::now() + Duration::from_secs(1));
    }
}

//! From the sources a user names to runs, with a verdict on everything else.

use crate::cli::Reading;
use crate::exit::Exit;
use crate::messages;
use crate::progress::Progress;
use emberscope_log::source::{PathStatus, RunSource, SkippedPath, discover};
use emberscope_model::run::{Run, RunIdentity};
use std::collections::BTreeMap;

/// Reads all sources: `read` makes a run of each, `show` takes those that count. Copies of a log are
/// told and not shown again.
pub(crate) fn for_each_run<T>(
    reading: &Reading,
    read: impl Fn(&RunSource, &(dyn Fn(u64) + Sync)) -> (Run, T),
    mut show: impl FnMut(Run, T) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut tally = Tally::default();
    for source in &reading.sources {
        let found = find(reading, source, &mut tally);
        tally.read(reading, found, &read, &mut |run, more| show(run, more))?;
    }
    Ok(tally.exit(reading))
}

/// As [`for_each_run`], for who must know beforehand whether there are several: `show` is told.
pub(crate) fn for_all_runs<T>(
    reading: &Reading,
    read: impl Fn(&RunSource, &(dyn Fn(u64) + Sync)) -> (Run, T),
    mut show: impl FnMut(Run, T, bool) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut tally = Tally::default();
    let mut found = Vec::new();
    for source in &reading.sources {
        found.extend(find(reading, source, &mut tally));
    }
    let several = found.len() > 1;
    tally.read(reading, found, &read, &mut |run, more| show(run, more, several))?;
    Ok(tally.exit(reading))
}

/// What a source holds; what it does not is told.
fn find(reading: &Reading, source: &str, tally: &mut Tally) -> Vec<RunSource> {
    let found = match discover(source) {
        Ok(found) => found,
        Err(error) => {
            tally.is_partial = true;
            messages::error(&error.to_string(), Some(error.hint()));
            return Vec::new();
        }
    };
    tally.is_partial |= found.skipped.iter().any(|path| path.status == PathStatus::Failed);
    if found.runs.is_empty() {
        // The user asked for this very thing, so it is an error where in a directory it is a note.
        tally.is_partial = true;
        no_run(source, &found.skipped);
    } else if !reading.quiet {
        messages::skipped(&found.skipped);
    }
    found.runs
}

const WHAT_IT_READS: &str =
    "event logs are what Spark writes to spark.eventLog.dir when spark.eventLog.enabled is true";

fn no_run(source: &str, skipped: &[SkippedPath]) {
    match skipped {
        [only] if only.path == source => {
            let hint = only.hint.as_deref().unwrap_or(WHAT_IT_READS);
            messages::error(&format!("{source}: {}", only.reason), Some(hint));
        }
        _ => {
            messages::skipped(skipped);
            messages::error(&format!("{source}: no event log in it"), Some(WHAT_IT_READS));
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    /// Where each run was first read from.
    seen: BTreeMap<RunIdentity, String>,
    /// Something that was asked for could not be read, or not whole.
    is_partial: bool,
}

type Read<'r, T> = &'r dyn Fn(&RunSource, &(dyn Fn(u64) + Sync)) -> (Run, T);

impl Tally {
    fn read<T>(
        &mut self,
        reading: &Reading,
        sources: Vec<RunSource>,
        read: Read<'_, T>,
        show: &mut dyn FnMut(Run, T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for source in sources {
            let (run, more) = {
                let progress = Progress::start(&source, reading.progress);
                read(&source, &|bytes| progress.at(bytes))
            };
            if run.trust.events == 0 {
                self.without_events(reading, &run);
                continue;
            }
            if let Some(first) = self.seen.get(&run.identity()) {
                if !reading.quiet {
                    let message = format!("{} is a copy of {first}: the same run, shown once", run.source);
                    messages::note(&message, None);
                }
                continue;
            }
            self.seen.insert(run.identity(), run.source.clone());
            self.runs += 1;
            // A log without an end is part of a run, however well it was read.
            self.is_partial |= !run.trust.is_complete() || !run.application.has_end;
            show(run, more)?;
        }
        Ok(())
    }

    fn without_events(&mut self, reading: &Reading, run: &Run) {
        self.is_partial = true;
        let trust = &run.trust;
        let bad_line = trust.bad_lines.first.first();
        let reason = match (bad_line, trust.files.iter().find_map(|file| file.reason.as_deref())) {
            (Some(bad), _) => format!("no Spark event in it; line {}: {}", bad.line, bad.reason),
            (None, Some(damage)) => format!("no Spark event in it: {damage}"),
            (None, None) => "no events yet".to_owned(),
        };
        let message = format!("{}: {reason}", run.source);
        if reading.sources.contains(&run.source) {
            messages::error(&message, Some(WHAT_IT_READS));
        } else if !reading.quiet {
            messages::warning(&message, None);
        }
    }

    fn exit(&self, reading: &Reading) -> Exit {
        if self.runs == 0 {
            Exit::NoInput
        } else if reading.strict && self.is_partial {
            Exit::Partial
        } else {
            Exit::Done
        }
    }
}

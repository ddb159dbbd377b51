//! From the sources a user names to runs, with a verdict on everything else.

mod answers;
pub(crate) mod evidence;
pub(crate) mod remote;

use crate::cli::Reading;
use crate::exit::Exit;
use crate::messages;
use crate::output::Guard;
use crate::progress::Progress;
use crate::render;
use emberscope_evidence::merging::best;
use emberscope_log::source::{Discovery, PathStatus, RunSource, SkippedPath, discover};
use emberscope_model::run::{Run, RunIdentity};
use std::collections::BTreeMap;

/// Reads all sources: `read` makes a run of each, `show` takes those that count. Copies of a log are
/// told and not shown again.
pub(crate) fn for_each_run<T>(
    reading: &Reading,
    guards: &[Guard],
    read: impl Fn(&RunSource, &(dyn Fn(u64) + Sync)) -> (Run, T),
    mut show: impl FnMut(Run, T) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let mut tally = Tally::default();
    check_all(guards, reading.sources.iter().map(String::as_str))?;
    for source in &reading.sources {
        let found = find(reading, guards, source, &mut tally);
        check_members(guards, &found)?;
        tally.read(reading, found, &read, &mut |run, more| show(run, more))?;
    }
    Ok(tally.exit(reading))
}

/// Refuses to write over what is read.
pub(crate) fn check_all<'s>(
    guards: &[Guard],
    mut sources: impl Iterator<Item = &'s str>,
) -> anyhow::Result<()> {
    sources.try_for_each(|source| guards.iter().try_for_each(|guard| guard.check(source)))
}

pub(crate) fn check_members(guards: &[Guard], found: &[RunSource]) -> anyhow::Result<()> {
    let members = found.iter().flat_map(|source| &source.members);
    check_all(guards, members.map(|member| member.name.as_str()))
}

/// How reading all sources went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAll {
    /// How to end, if what was shown does not say otherwise.
    pub(crate) exit: Exit,
    /// Whether everything named gave a run, from start to end.
    pub(crate) is_whole: bool,
}

/// As [`for_each_run`], for who must know beforehand whether there are several: `show` is told.
pub(crate) fn for_all_runs<T>(
    reading: &Reading,
    guards: &[Guard],
    read: impl Fn(&RunSource, &(dyn Fn(u64) + Sync)) -> (Run, T),
    mut show: impl FnMut(Run, T, bool) -> anyhow::Result<()>,
) -> anyhow::Result<ReadAll> {
    let mut tally = Tally::default();
    let mut found = Vec::new();
    check_all(guards, reading.sources.iter().map(String::as_str))?;
    for source in &reading.sources {
        found.extend(find(reading, guards, source, &mut tally));
    }
    found.extend(reading.extra.iter().cloned());
    if found.is_empty() {
        found.extend(reading.fallback.iter().cloned());
        for run in &mut found {
            let tried = tally.misses.iter().map(|(message, _)| format!("this is all there is: {message}"));
            run.provenance.notes.extend(tried);
        }
    }
    let found = best(found);
    tell_left_aside(reading, &found);
    check_members(guards, &found)?;
    let several = found.len() > 1;
    tally.read(reading, found, &read, &mut |run, more| show(run, more, several))?;
    let is_whole = !tally.is_partial && tally.gaps.is_empty();
    Ok(ReadAll { exit: tally.exit(reading), is_whole })
}

fn tell_left_aside(reading: &Reading, found: &[RunSource]) {
    for run in found.iter().filter(|_| !reading.quiet) {
        for other in &run.provenance.left_aside {
            let message =
                format!("{} is the same application: its event log {} is used", other.name, run.label);
            messages::note(&message, None);
        }
    }
}

/// What to do about a source that is not there: `host:18080/history/app-1` may be meant as an address.
fn hint_of(source: &str, otherwise: &str) -> String {
    let port = source.split('/').next().and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
    match port.is_some_and(|port| port.parse::<u16>().is_ok()) {
        true => format!("if this is an address, begin it with http://: http://{source}"),
        false => otherwise.to_owned(),
    }
}

/// The runs of a server, or of its saved answers; `None` if the source names neither.
pub(crate) fn elsewhere(reading: &Reading, source: &str) -> Option<Result<Discovery, (String, String)>> {
    if remote::is_address(source) {
        return Some(remote::fetch(reading, source));
    }
    answers::saved(source, reading.sql_id)
}

/// What a source holds; what it does not is told, or kept for the end.
pub(crate) fn find(reading: &Reading, guards: &[Guard], source: &str, tally: &mut Tally) -> Vec<RunSource> {
    let found = elsewhere(reading, source).unwrap_or_else(|| {
        discover(source).map_err(|error| (error.to_string(), hint_of(source, error.hint())))
    });
    let mut found = match found {
        Ok(found) => found,
        Err((message, hint)) => {
            tally.misses(message, &hint);
            return Vec::new();
        }
    };
    found.skipped.retain(|path| !guards.iter().any(|guard| guard.is_in_progress(&path.path)));
    let failed = found.skipped.iter().filter(|path| path.status == PathStatus::Failed);
    tally.gaps.extend(failed.map(|path| format!("{}: {}", path.path, path.reason)));
    if found.runs.is_empty() {
        // The user asked for this very thing, so it is an error where in a directory it is a note.
        no_run(reading, source, &found.skipped, tally);
    } else if !reading.quiet {
        messages::skipped(&found.skipped);
    }
    found.runs
}

const WHAT_IT_READS: &str =
    "event logs are what Spark writes to spark.eventLog.dir when spark.eventLog.enabled is true";

fn no_run(reading: &Reading, source: &str, skipped: &[SkippedPath], tally: &mut Tally) {
    match skipped {
        [only] if only.path == source => {
            let hint = only.hint.as_deref().unwrap_or(WHAT_IT_READS);
            tally.misses(format!("{source}: {}", only.reason), hint);
        }
        _ => {
            if !reading.quiet {
                messages::skipped(skipped);
            }
            tally.misses(format!("{source}: no event log in it"), WHAT_IT_READS);
        }
    }
}

/// Why a run that was read has no event.
pub(crate) fn without_events(run: &Run) -> String {
    let trust = &run.trust;
    match (trust.bad_lines.first.first(), trust.files.iter().find_map(|file| file.reason.as_deref())) {
        (Some(bad), _) => format!("no Spark event in it; line {}: {}", bad.line, bad.reason),
        (None, Some(damage)) => format!("no Spark event in it: {damage}"),
        (None, None) => "no events yet".to_owned(),
    }
}

/// What became of the sources, to be told at the end.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    runs: usize,
    /// Where each run was first read from.
    seen: BTreeMap<RunIdentity, String>,
    /// Something that was asked for gave no run.
    is_partial: bool,
    /// What is said of that at the end, each with a hint: an error, or beside other runs a warning.
    misses: Vec<(String, String)>,
    /// What is not whole or could not be read, and what is missing.
    gaps: Vec<String>,
}

/// Gaps that are told one by one when they fail the program.
const TOLD_GAPS: usize = 20;

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
                self.without_events(reading, &run.source, &without_events(&run));
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
            if !run.is_whole() {
                self.lacks(&run.source, &render::gaps(&run.trust, run.application.has_end));
            }
            show(run, more)?;
        }
        Ok(())
    }

    /// A source has no event: an error if it was named, else a warning.
    pub(crate) fn without_events(&mut self, reading: &Reading, source: &str, reason: &str) {
        self.is_partial = true;
        let message = format!("{source}: {reason}");
        if reading.sources.iter().any(|named| named == source) {
            self.misses(message, &evidence::meant(std::path::Path::new(source), WHAT_IT_READS));
        } else if !reading.quiet {
            messages::warning(&message, None);
        }
    }

    /// A run is not whole.
    pub(crate) fn lacks(&mut self, source: &str, gaps: &[String]) {
        self.gaps.push(format!("{source}: {}", gaps.join("; ")));
    }

    /// A source that the user named gives no run.
    fn misses(&mut self, message: String, hint: &str) {
        self.is_partial = true;
        self.misses.push((message, hint.to_owned()));
    }

    fn exit(&self, reading: &Reading) -> Exit {
        self.exit_with(reading, self.runs)
    }

    /// Tells what gave nothing and, as --strict asks, what is not whole: how to end with so many runs.
    pub(crate) fn exit_with(&self, reading: &Reading, runs: usize) -> Exit {
        let is_fatal = runs == 0 || reading.strict;
        for (message, hint) in &self.misses {
            match is_fatal {
                true => messages::error(message, Some(hint)),
                false if reading.quiet => {}
                false => messages::warning(message, Some(hint)),
            }
        }
        if runs == 0 {
            Exit::NoInput
        } else if reading.strict && (self.is_partial || !self.gaps.is_empty()) {
            for gap in self.gaps.iter().take(TOLD_GAPS) {
                messages::error(&format!("not whole: {gap}"), None);
            }
            let rest = self.gaps.len().saturating_sub(TOLD_GAPS);
            if rest > 0 {
                messages::error(&format!("not whole: {rest} more"), None);
            }
            if self.gaps.is_empty() {
                messages::error("not everything that was named could be read, as --strict asks", None);
            }
            Exit::Partial
        } else {
            Exit::Done
        }
    }
}

//! Everything that was named, as the files of tables.

use super::reports::{self, Found, RunOfFiles};
use crate::cli::Reading;
use crate::exit::Exit;
use crate::inputs::{self, Tally};
use crate::messages;
use crate::output::Guard;
use crate::progress::Progress;
use crate::render;
use emberscope_log::block::ParseOptions;
use emberscope_log::source::RunSource;
use emberscope_model::load::load;
use emberscope_sql_client::tables::{self, Files, LogTables, RUN_ID, Tables, TablesError, Words};
use emberscope_sql_protocol::Table;
use emberscope_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Logs that are not whole and told one by one.
const TOLD_GAPS: usize = 20;

/// All runs that were named.
#[derive(Default)]
pub(super) struct Sources {
    logs: Vec<LogTables>,
    reports: Vec<Found>,
    /// What gave nothing, and what is not whole.
    tally: Tally,
}

/// Reads all sources; what is wrong with them is told.
pub(super) fn find(reading: &Reading, guards: &[Guard]) -> anyhow::Result<Sources> {
    let mut sources = Sources::default();
    let logs = cached(reading);
    for source in &reading.sources {
        inputs::check_all(guards, std::iter::once(source.as_str()))?;
        let found = reports::find(Path::new(source));
        if !found.is_empty() {
            inputs::check_all(guards, found.iter().map(|found| found.file.path.as_str()))?;
            sources.reports.extend(found);
            continue;
        }
        let runs = inputs::find(reading, guards, source, &mut sources.tally);
        inputs::check_members(guards, &runs)?;
        for run in runs {
            let tables = tables_of(&logs, &run, reading)?;
            sources.add_log(reading, tables);
        }
    }
    sources.drop_copies(reading);
    sources.warn_of_equal_ids();
    sources.tell_gaps(reading);
    Ok(sources)
}

impl Sources {
    fn add_log(&mut self, reading: &Reading, tables: LogTables) {
        let meta = &tables.meta;
        if let Some(reason) = &meta.nothing {
            self.tally.without_events(reading, &meta.source, reason);
            return;
        }
        if !meta.gaps.is_empty() {
            self.tally.lacks(&meta.source, &meta.gaps);
        }
        let same = |other: &LogTables| {
            let other = &other.meta;
            meta.application_id.is_some()
                && (&meta.application_id, &meta.attempt_id) == (&other.application_id, &other.attempt_id)
        };
        for n in 0..self.logs.len() {
            let other = &self.logs[n].meta;
            if !same(&self.logs[n]) {
                continue;
            }
            if meta.content_hash == other.content_hash {
                note(
                    reading,
                    &format!("{} is a copy of {}: the same run, counted once", meta.source, other.source),
                );
                return;
            }
            // A log that was cut short, and the whole one.
            if meta.start_time_ms == other.start_time_ms {
                let (more, fewer) = if meta.events > other.events { (meta, other) } else { (other, meta) };
                let message =
                    format!("{} is the same run as {}, with fewer events", fewer.source, more.source);
                messages::warning(&format!("{message}: it is left out"), None);
                if meta.events > other.events {
                    self.logs[n] = tables;
                }
                return;
            }
        }
        self.logs.push(tables);
    }

    /// Leaves out reports of runs that are there already.
    fn drop_copies(&mut self, reading: &Reading) {
        let of_logs: BTreeMap<_, _> = self
            .logs
            .iter()
            .map(|log| {
                ((log.meta.application_id.clone(), log.meta.attempt_id.clone()), log.meta.source.clone())
            })
            .collect();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut left_out: BTreeSet<String> = BTreeSet::new();
        let mut paths: BTreeSet<String> = BTreeSet::new();
        self.reports.retain(|found| {
            // A directory within another, or named twice.
            if !paths.insert(found.file.path.clone()) {
                return false;
            }
            let Some(run) = &found.run else { return true };
            if let Some(source) = of_logs.get(&(run.application_id.clone(), run.attempt_id.clone())) {
                left_out.insert(format!("{}: the reports of {source}, which is read itself", run.dir));
                return false;
            }
            let first = seen.entry(run.content.clone()).or_insert_with(|| run.dir.clone());
            if *first != run.dir {
                left_out.insert(format!("{}: a copy of the reports in {first}", run.dir));
                return false;
            }
            true
        });
        left_out.iter().for_each(|text| note(reading, &format!("left out {text}")));
    }

    /// Whether there is anything to ask about.
    pub(super) fn has_runs(&self) -> bool {
        !self.logs.is_empty() || !self.reports.is_empty()
    }

    /// How many runs there are. Files of no manifest are told apart by their directories.
    pub(super) fn runs(&self) -> usize {
        let of_file = |found: &Found| match &found.run {
            Some(run) => run.content.clone(),
            None => {
                Path::new(&found.file.path).parent().map(|dir| dir.display().to_string()).unwrap_or_default()
            }
        };
        let reports: BTreeSet<String> = self.reports.iter().map(of_file).collect();
        self.logs.len() + reports.len()
    }

    /// Tells of the logs that are not whole. `--strict` does so itself.
    fn tell_gaps(&self, reading: &Reading) {
        if reading.quiet || reading.strict {
            return;
        }
        let lacking: Vec<&LogTables> = self.logs.iter().filter(|log| !log.meta.gaps.is_empty()).collect();
        for log in lacking.iter().take(TOLD_GAPS) {
            let gaps = log.meta.gaps.join("; ");
            messages::warning(&format!("{} is not whole: {gaps}", log.meta.source), None);
        }
        let rest = lacking.len().saturating_sub(TOLD_GAPS);
        if rest > 0 {
            let logs = crate::format::counted(rest as u64, "more log");
            messages::warning(&format!("not whole: {logs}"), Some("--strict makes that an error"));
        }
    }

    /// How to end if all goes well; what gave nothing is told.
    pub(super) fn exit(&self, reading: &Reading) -> Exit {
        self.tally.exit_with(reading, self.runs())
    }

    /// All tables, with the files of all runs.
    pub(super) fn tables(&self) -> Vec<Table> {
        let told_apart = self.runs_told_apart();
        let mut files = Files::new();
        for log in &self.logs {
            tables::add_log(log, told_apart, &mut files);
        }
        for found in &self.reports {
            let mut file = found.file.clone();
            if let (true, Some(run)) = (told_apart, &found.run) {
                file.directories.push((RUN_ID.to_owned(), run.dir.clone()));
            }
            files.entry(found.report).or_default().push(file);
        }
        tables::tables(files)
    }

    /// Whether some runs share application and attempt, so that they need a further column.
    fn runs_told_apart(&self) -> bool {
        let of_logs = self.logs.iter().map(|log| (&log.meta.application_id, &log.meta.attempt_id));
        let reports: BTreeSet<&RunOfFiles> =
            self.reports.iter().filter_map(|found| found.run.as_ref()).collect();
        let of_reports: BTreeSet<_> =
            reports.iter().map(|run| (&run.application_id, &run.attempt_id, &run.dir)).collect();
        let of_reports = of_reports.iter().map(|(id, attempt, _)| (*id, *attempt));
        tables::share_names(of_logs.chain(of_reports))
    }

    /// Warns of runs that joins on the application would mix.
    fn warn_of_equal_ids(&self) {
        if self.runs_told_apart() {
            let hint = format!("join on {RUN_ID} too, a column that all tables have now");
            messages::warning("several runs have the same application id and attempt", Some(&hint));
        }
    }
}

/// Tables that are kept, if there is a place for them.
fn cached(reading: &Reading) -> Tables {
    let store = Store::open("tables").inspect_err(|error| {
        messages::warning(&format!("tables are not kept: {error}"), Some(error.hint()));
    });
    let words = Words {
        nothing: inputs::without_events,
        gaps: |run| render::gaps(&run.trust, run.application.has_end),
    };
    Tables::new(store.ok(), words, reading.scan.threads)
}

fn tables_of(tables: &Tables, source: &RunSource, reading: &Reading) -> anyhow::Result<LogTables> {
    let read = || {
        let parse = ParseOptions { keep_plan_text: true, ..ParseOptions::default() };
        let progress = Progress::start(source, reading.progress);
        Ok::<_, TablesError>(load(source, reading.scan, parse, &|bytes| progress.at(bytes)))
    };
    let made = tables.of(source, read, |error| {
        messages::warning(&format!("tables are not kept: {error}"), Some(error.hint()));
    });
    made.map_err(|error| match error {
        // It knows itself how to be told.
        TablesError::Report(error) => error.into(),
        error => error.into(),
    })
}

fn note(reading: &Reading, text: &str) {
    if !reading.quiet {
        messages::note(text, None);
    }
}

//! `emberscope report`: runs as tables that stay.

use crate::cli::{RecoverOptions, ReportOptions, ReportTarget};
use crate::exit::{Exit, UsageError};
use crate::format::{bytes, counted};
use crate::inputs::for_all_runs;
use crate::messages;
use crate::output::Output;
use crate::render;
use emberscope_log::block::ParseOptions;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_report::sink::{LogSink, Sink, write_run};
use emberscope_report::{FileSink, Recovered, RunKey};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// Runs the command.
pub(crate) fn run(options: &ReportOptions) -> anyhow::Result<Exit> {
    let mut output = Output::open(None)?;
    let look = output.look();
    let parse = ParseOptions { keep_plan_text: true, ..ParseOptions::default() };
    // Application and attempt of what was written, with how much of the run there was.
    let mut seen: BTreeMap<uuid::Uuid, (String, u64)> = BTreeMap::new();
    let mut is_first = true;
    let read = for_all_runs(
        &options.reading,
        &[],
        |source, progress| (load(source, options.reading.scan, parse, progress), ()),
        |run, (), several| {
            let key = RunKey::of(&run);
            if !is_news(&mut seen, &key, &run) {
                return Ok(());
            }
            let (place, written, snippets) = match &options.target {
                ReportTarget::Log => {
                    let sink = LogSink::new(BufWriter::new(std::io::stdout()), &options.reports);
                    // One after the other, so that lines come in order.
                    write_run(&run, &options.reports, &sink, 1)?;
                    (None, Box::new(sink).close()?, Vec::new())
                }
                ReportTarget::Files { destination, options: file_options } => {
                    let dir = destination.resolve(&run, several).map_err(crate::cli::usage)?;
                    let sink = FileSink::open(&dir, &key, &options.reports, file_options.clone())?;
                    write_run(&run, &options.reports, &sink, options.reading.scan.threads)?;
                    let wanted = options.reports.iter().filter(|_| options.snippets);
                    let snippets: Vec<String> =
                        wanted.filter_map(|report| sink.view_snippet(*report)).collect();
                    (Some(dir), Box::new(sink).close()?, snippets)
                }
            };
            let text = render::report::text(&run, place.as_deref(), &written, look, is_first);
            is_first = false;
            match place {
                // Standard output has the rows.
                None if !options.reading.quiet => std::io::stderr().write_all(text.as_bytes())?,
                None => {}
                Some(_) => output.write(&text)?,
            }
            for snippet in snippets {
                output.write(&format!("\n{snippet}\n"))?;
            }
            Ok(())
        },
    )?;
    Ok(read.exit)
}

/// Whether this run says more than an earlier one of the same application and attempt, if any: of a
/// log cut short and the whole one, the whole one is kept.
fn is_news(seen: &mut BTreeMap<uuid::Uuid, (String, u64)>, key: &RunKey, run: &Run) -> bool {
    let events = run.trust.events;
    if let Some((source, other_events)) = seen.get(&key.id()) {
        let (kept, left) = if events > *other_events { (&run.source, source) } else { (source, &run.source) };
        let message =
            format!("{left} is the same run as {kept}, with fewer events: the tables are of {kept}");
        messages::warning(&message, None);
        if events <= *other_events {
            return false;
        }
    }
    seen.insert(key.id(), (run.source.clone(), events));
    true
}

/// Takes over what dead writers left.
pub(crate) fn recover(options: &RecoverOptions) -> anyhow::Result<Exit> {
    let dir = &options.dir;
    if !dir.is_dir() {
        let hint = "name the directory that was given to --out";
        return Err(UsageError::new(format!("{}: no such directory", dir.display()), hint).into());
    }
    let found = emberscope_report::recover(dir)?;
    let mut text = String::new();
    for one in &found {
        let line = match one {
            Recovered::Lines { path, rows, cut_bytes: 0 } => {
                format!("{}: {}", path.display(), counted(*rows, "row"))
            }
            Recovered::Lines { path, rows, cut_bytes } => {
                let cut = bytes(*cut_bytes as i64);
                format!("{}: {}, and {cut} of a cut row left out", path.display(), counted(*rows, "row"))
            }
            Recovered::Whole { path } => format!("{}: was whole", path.display()),
            Recovered::Superseded { path } => {
                format!("{}: removed, the earlier report of the run is whole", path.display())
            }
            Recovered::Unreadable { path } => {
                format!("{}: cannot be read without its end; run the report again", path.display())
            }
            Recovered::Busy { path } => format!("{}: is being written", path.display()),
        };
        text.push_str(&crate::format::plain(&line));
        text.push('\n');
    }
    if found.is_empty() {
        text = format!("{}: nothing was left over\n", crate::format::plain(&dir.display().to_string()));
    }
    let mut output = Output::open(None)?;
    output.write(&text)?;
    output.finish()?;
    Ok(Exit::Done)
}

//! `emberscope diagnose`: what cost the time of each run, and what to change.

use crate::cli::{DiagnoseFormat, DiagnoseOptions};
use crate::diagnosed_recordings::DiagnosedRecordings;
use crate::exit::{Exit, UsageError};
use crate::facts::Facts;
use crate::format::counted;
use crate::inputs::{ReadAll, for_all_runs};
use crate::messages;
use crate::output::{Guard, Look, Output};
use crate::render;
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose};
use emberscope_analysis::finding::Severity;
use emberscope_analysis::plots::plots;
use emberscope_analysis::reference;
use emberscope_analysis::thresholds::{ThresholdError, Thresholds};
use emberscope_log::block::ParseOptions;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(options: &DiagnoseOptions) -> anyhow::Result<Exit> {
    let what = Options {
        thresholds: thresholds(options.thresholds.as_deref())?,
        only: options.only.clone(),
        sql_id: options.sql_id,
        stage: options.stage,
    };
    let recordings = DiagnosedRecordings::of(options)?;
    let mut main = match &options.target {
        Some(target) => Some((target.format, Output::open(target.out.as_deref())?)),
        None => None,
    };
    let mut json = match &options.json_file {
        Some(file) => Some(Output::open_for("--json", Some(file))?),
        None => None,
    };
    let outputs = main.iter().map(|(_, output)| output).chain(&json);
    let guards: Vec<Guard> = outputs.filter_map(Output::guard).collect();
    let parse = ParseOptions::default();
    let mut seen = Seen::default();
    let mut is_first = true;
    let read = for_all_runs(
        &options.reading,
        &guards,
        |source, progress| (load(source, options.reading.scan, parse, progress), ()),
        |run, (), several| {
            if several && matches!(main, Some((DiagnoseFormat::Html, _))) {
                let message = "HTML holds one run, and there are several";
                let hint = "name one of them, or use `--format json` or `markdown`";
                return Err(UsageError::new(message, hint).into());
            }
            if !has_place(&run, options) {
                return Ok(());
            }
            seen.place = true;
            let mut diagnosis = diagnose(&run, &what);
            recordings.add_to(&mut diagnosis, &run, !several, &guards)?;
            seen.look_at(&diagnosis, options.fail_on);
            if let Some((format, output)) = &mut main {
                let shape = Shape { look: output.look(), is_first, all: options.all };
                output.write(&shown(*format, &run, &diagnosis, shape)?)?;
            }
            if let Some(output) = &mut json {
                output.write(&as_json(&diagnosis)?)?;
            }
            is_first = false;
            Ok(())
        },
    )?;
    if read.exit == Exit::NoInput {
        return Ok(read.exit);
    }
    if !seen.place {
        return Err(no_such_place(options));
    }
    for output in main.into_iter().map(|(_, output)| output).chain(json) {
        output.finish()?;
    }
    Ok(exit(options, read, &seen))
}

/// What the exit code depends on.
#[derive(Debug, Default)]
struct Seen {
    /// Whether any run has the stage and the query that were asked for.
    place: bool,
    /// Findings at or above the level to fail for.
    findings: u64,
}

impl Seen {
    fn look_at(&mut self, diagnosis: &Diagnosis, level: Option<Severity>) {
        let Some(level) = level else { return };
        self.findings += diagnosis.findings.iter().filter(|finding| finding.severity >= level).count() as u64;
    }
}

fn exit(options: &DiagnoseOptions, read: ReadAll, seen: &Seen) -> Exit {
    let Some(level) = options.fail_on else { return read.exit };
    if read.exit != Exit::Done {
        return read.exit;
    }
    if seen.findings > 0 {
        let found = counted(seen.findings, "finding");
        messages::error(&format!("{found} at or above `{}`, as --fail-on asks", level.name()), None);
        return Exit::Found;
    }
    if !read.is_whole {
        let message =
            format!("no finding at or above `{}`, but not everything was there to be read", level.name());
        messages::error(&message, Some("`--strict` tells what is missing"));
        return Exit::Inconclusive;
    }
    Exit::Done
}

/// How text is to be laid out.
#[derive(Clone, Copy, Debug)]
struct Shape {
    look: Look,
    is_first: bool,
    all: bool,
}

fn shown(format: DiagnoseFormat, run: &Run, diagnosis: &Diagnosis, shape: Shape) -> anyhow::Result<String> {
    let facts = Facts::of(run);
    Ok(match format {
        DiagnoseFormat::Text => {
            render::diagnose::text(diagnosis, &facts, shape.look, shape.is_first, shape.all)
        }
        DiagnoseFormat::Markdown => {
            render::markdown::text(diagnosis, &render::Words::of(&diagnosis.trust, &facts), shape.is_first)
        }
        DiagnoseFormat::Json => as_json(diagnosis)?,
        DiagnoseFormat::Html => {
            let trust = render::Words::of(&diagnosis.trust, &facts).into_html();
            emberscope_html::page(diagnosis, &plots(run, diagnosis), &trust)
        }
    })
}

fn as_json(diagnosis: &Diagnosis) -> anyhow::Result<String> {
    Ok(serde_json::to_string(diagnosis)? + "\n")
}

/// Whether the run has the stage and the query that are asked for.
fn has_place(run: &Run, options: &DiagnoseOptions) -> bool {
    let has_stage = options.stage.is_none_or(|(id, attempt)| {
        run.attempts(id).iter().any(|stage| attempt.is_none_or(|attempt| attempt == stage.attempt))
    });
    has_stage && options.sql_id.is_none_or(|id| run.sql_execution(id).is_some())
}

fn no_such_place(options: &DiagnoseOptions) -> anyhow::Error {
    let mut names = Vec::new();
    names.extend(options.sql_id.map(|id| format!("SQL execution {id}")));
    names.extend(options.stage.map(|(id, attempt)| match attempt {
        Some(attempt) => format!("stage {id}.{attempt}"),
        None => format!("stage {id}"),
    }));
    let message = format!("no run that was read has {}", names.join(" and "));
    UsageError::new(message, "`emberscope report LOG --sink log --reports stage,sql` lists what there is")
        .into()
}

/// The thresholds of a file.
fn thresholds(path: Option<&Path>) -> anyhow::Result<Thresholds> {
    let Some(path) = path else { return Ok(Thresholds::default()) };
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        UsageError::new(format!("--thresholds {name}: {error}"), "name a file in TOML that may be read")
    })?;
    Thresholds::from_toml(&text).map_err(|error| {
        let hint = match &error {
            ThresholdError::Tag(_) => format!("known are RUN, {}", reference::tags().join(", ")),
            ThresholdError::Name { tag, .. } | ThresholdError::Value { tag, .. } => {
                format!("`emberscope docs {tag}` lists them with their defaults")
            }
            ThresholdError::Syntax(_) => {
                "a table for each tag: `[SKEW]`, and below it `ratio = 4`".to_owned()
            }
        };
        UsageError::new(format!("--thresholds {name}: {error}"), hint).into()
    })
}

//! `emberscope diagnose`: what cost the time of each run, and what to change.

use crate::cli::{DiagnoseFormat, DiagnoseOptions};
use crate::diagnosed_recordings::DiagnosedRecordings;
use crate::exit::{Exit, UsageError};
use crate::facts::Facts;
use crate::format::{counted, instant, plain};
use crate::inputs::evidence::{Gathered, gather};
use crate::inputs::{ReadAll, for_all_runs};
use crate::messages;
use crate::output::{Guard, Look, Output};
use crate::render;
use emberscope_analysis::context::Context;
use emberscope_analysis::diagnosis::{Diagnosis, Options, diagnose_in};
use emberscope_analysis::finding::Severity;
use emberscope_analysis::plots::plots;
use emberscope_analysis::reference;
use emberscope_analysis::thresholds::{ThresholdError, Thresholds};
use emberscope_evidence::locate::{Located, locate, working};
use emberscope_evidence::report::{EvidenceReport, report};
use emberscope_evidence::sections::sections;
use emberscope_evidence::{Evidence, RunKind};
use emberscope_log::block::ParseOptions;
use emberscope_model::load::load;
use emberscope_model::run::Run;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(options: &DiagnoseOptions) -> anyhow::Result<Exit> {
    let Gathered { evidence, reading } = gather(&options.evidence, &options.reading)?;
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
        &reading,
        &guards,
        |source, progress| {
            (load(source, reading.scan, parse, progress), RunKind::from(source.provenance.known_from))
        },
        |run, kind, several| {
            if several && matches!(main, Some((DiagnoseFormat::Html, _))) {
                let message = "HTML holds one run, and there are several";
                let hint = "name one of them, or use `--format json` or `markdown`";
                return Err(UsageError::new(message, hint).into());
            }
            if !has_place(&run, options) {
                seen.known.extend(places(&run, options));
                return Ok(());
            }
            seen.place = true;
            let context = Context::of(&run, &what.thresholds);
            // Of a log or a plan alone there is nothing to choose from.
            let has_queries = matches!(kind, RunKind::EventLog | RunKind::MonitoringApi);
            let located = has_queries.then(|| locate_in(&context, options, &evidence)).flatten();
            let named = what.sql_id.map(|id| working_in(&run, id, options.reading.quiet));
            let what =
                Options { sql_id: named.or(located.as_ref().and_then(|one| one.sql_id)), ..what.clone() };
            let mut diagnosis = diagnose_in(&context, &what);
            recordings.add_to(&mut diagnosis, &run, !several, &guards)?;
            let report = options.evidence.is_any().then(|| {
                let evidence = Evidence { run_kind: kind, ..evidence.clone() };
                report(&context, &diagnosis, &evidence, what.sql_id, located)
            });
            let answer = Answer { diagnosis: &diagnosis, report: report.as_ref() };
            seen.look_at(&diagnosis, options.fail_on);
            if let Some((format, output)) = &mut main {
                let shape = Shape { look: output.look(), is_first, all: options.all };
                output.write(&shown(*format, &run, answer, shape)?)?;
            }
            if let Some(output) = &mut json {
                output.write(&as_json(answer)?)?;
            }
            is_first = false;
            Ok(())
        },
    )?;
    if read.exit == Exit::NoInput {
        return Ok(read.exit);
    }
    if !seen.place {
        return Err(no_such_place(options, &seen.known.join("; ")));
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
    /// What runs without it have instead.
    known: Vec<String>,
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

/// What is told of a run.
#[derive(Clone, Copy, Debug, serde::Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    #[serde(rename = "evidence_report", skip_serializing_if = "Option::is_none")]
    report: Option<&'a EvidenceReport>,
}

fn shown(format: DiagnoseFormat, run: &Run, answer: Answer<'_>, shape: Shape) -> anyhow::Result<String> {
    let facts = Facts::of(run);
    let diagnosis = answer.diagnosis;
    let parts = answer.report.map_or_else(Vec::new, |report| sections(diagnosis, report));
    Ok(match format {
        DiagnoseFormat::Text => {
            let text = render::diagnose::text(diagnosis, &facts, shape.look, shape.is_first, shape.all);
            text + &render::evidence::text(&parts)
        }
        DiagnoseFormat::Markdown => {
            let words = render::Words::of(&diagnosis.trust, &facts);
            render::markdown::text(diagnosis, &parts, &words, shape.is_first)
        }
        DiagnoseFormat::Json => as_json(answer)?,
        DiagnoseFormat::Html => {
            let trust = render::Words::of(&diagnosis.trust, &facts).into_html();
            emberscope_html::page_with(diagnosis, &plots(run, diagnosis), &trust, &parts)
        }
    })
}

fn as_json(answer: Answer<'_>) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&answer)? + "\n")
}

/// The execution that a text and a time mean, where none was named.
fn locate_in(context: &Context<'_>, options: &DiagnoseOptions, evidence: &Evidence) -> Option<Located> {
    let text = evidence.sql.as_ref().map(|sql| (sql.content.text.as_str(), &sql.content.outline));
    let is_asked = text.is_some() || options.evidence.submitted_ms.is_some();
    if options.sql_id.is_some() || !is_asked {
        return None;
    }
    let located = locate(context, text, options.evidence.submitted_ms);
    if !options.reading.quiet {
        match located.sql_id {
            Some(id) => messages::note(&format!("SQL execution {id} is taken: {}", located.reason), None),
            None => tell_candidates(&located),
        }
    }
    Some(located)
}

/// The execution that did the work of the one that was named.
fn working_in(run: &Run, named: u64, is_quiet: bool) -> u64 {
    let id = working(run, named);
    if id != named && !is_quiet {
        let text = format!(
            "SQL execution {named} has no job of its own: execution {id} within it, which did its work, is taken"
        );
        messages::note(&text, None);
    }
    id
}

fn tell_candidates(located: &Located) {
    let hint = (!located.candidates.is_empty())
        .then_some("name one with --sql-id; the whole run is told until then");
    messages::warning(&located.reason, hint);
    let lines: Vec<String> = located
        .candidates
        .iter()
        .map(|one| {
            let started = one.start_time_ms.map_or_else(|| "start not known".to_owned(), instant);
            let words: Vec<&str> = one.description.split_whitespace().take(20).collect();
            let description: String = words.join(" ").chars().take(60).collect();
            plain(&format!("SQL {}  {:.2}  {started}  {description}", one.sql_id, one.score))
        })
        .collect();
    messages::excerpt(&lines);
}

/// Whether the run has the stage and the query that are asked for.
fn has_place(run: &Run, options: &DiagnoseOptions) -> bool {
    let has_stage = options.stage.is_none_or(|(id, attempt)| {
        run.attempts(id).iter().any(|stage| attempt.is_none_or(|attempt| attempt == stage.attempt))
    });
    has_stage && options.sql_id.is_none_or(|id| run.sql_execution(id).is_some())
}

/// What a run has in place of what was asked for.
fn places(run: &Run, options: &DiagnoseOptions) -> Option<String> {
    let (what, ids): (_, Vec<u64>) = match options.sql_id {
        Some(_) => ("SQL executions", run.sql_executions.iter().map(|one| one.id).collect()),
        None => ("stages", run.stages.iter().map(|stage| u64::from(stage.id)).collect()),
    };
    let (first, last) = (ids.first()?, ids.last()?);
    Some(match ids.len() {
        1 => format!("{what} {first} alone"),
        ..=LISTED_IDS => {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            format!("{what} {}", ids.join(", "))
        }
        n => format!("{n} {what} from {first} to {last}"),
    })
}

/// Ids that are listed one by one.
const LISTED_IDS: usize = 12;

/// `known` is what there is instead, in words.
fn no_such_place(options: &DiagnoseOptions, known: &str) -> anyhow::Error {
    let mut names = Vec::new();
    names.extend(options.sql_id.map(|id| format!("SQL execution {id}")));
    names.extend(options.stage.map(|(id, attempt)| match attempt {
        Some(attempt) => format!("stage {id}.{attempt}"),
        None => format!("stage {id}"),
    }));
    let message = format!("no run that was read has {}", names.join(" and "));
    let hint = match known.is_empty() {
        true => "nothing that was read has any".to_owned(),
        false => format!("there are {known}"),
    };
    UsageError::new(message, hint).into()
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
            ThresholdError::Tag(_) => format!("known are RUN, LOCATE, {}", reference::tags().join(", ")),
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

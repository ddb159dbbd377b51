//! `emberscope flame`: recordings as a flame graph.

use crate::cli::{FlameFormat, FlameOptions, Moment, Wanted};
use crate::exit::{Exit, UsageError};
use crate::flame_tasks::task_table;
use crate::format::counted;
use crate::messages;
use crate::output::Output;
use crate::render;
use anyhow::Context;
use emberscope_jfr::export::{Caption, FlameJson, firefox, folded, pprof, speedscope};
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::fold::{Profile, Request, fold};
use emberscope_jfr::inspect::{Inventory, inspect, start_ns, threads};
use emberscope_jfr::open::{Recording, open};
use emberscope_jfr::select::{Selection, ThreadPattern};
use emberscope_jfr::tasks::TaskTable;
use emberscope_jfr::tree::Limits;
use emberscope_jfr::view::{View, ViewLimits};
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};

/// Runs the command.
pub(crate) fn run(options: &FlameOptions) -> anyhow::Result<Exit> {
    let mut output = Output::open(options.out.as_deref())?;
    let (mut recordings, is_whole) = open_all(options, &output)?;
    if recordings.is_empty() {
        return Ok(Exit::NoInput);
    }
    let selections = [Some(&options.wanted), options.against.as_ref()];
    let tasks = task_table(options, &mut recordings)?;
    for wanted in selections.into_iter().flatten() {
        check(wanted, &recordings, &tasks, options)?;
    }
    let inventory = match options.event.is_none() || is_for_people(options.format) {
        true => Some(inspect(&recordings, &Selection::default())?),
        false => None,
    };
    let recorded = inventory.as_ref().map(|inventory| inventory.flame_events.as_slice()).unwrap_or_default();
    let Some(event) = options.event.or(recorded.first().map(|(event, _)| *event)) else {
        messages::error("the recordings hold no samples of any kind", Some(WHAT_TO_RECORD));
        return Ok(Exit::NoInput);
    };
    let fold_one = |wanted: &Wanted| -> anyhow::Result<Profile> {
        let request = Request {
            event,
            selection: selection(wanted, &recordings)?,
            limits: Limits::NONE,
            threads: options.reading.scan.threads,
            keep_samples: options.format == FlameFormat::Firefox,
            keep_heat: matches!(options.format, FlameFormat::Html | FlameFormat::Json),
            stop: None,
        };
        Ok(fold(&recordings, &request, &tasks)?)
    };
    let profile = fold_one(&options.wanted)?;
    let baseline = options.against.as_ref().map(fold_one).transpose()?;
    if profile.tree.is_empty() && baseline.as_ref().is_none_or(|baseline| baseline.tree.is_empty()) {
        nothing(event, &recordings)?;
        return Ok(Exit::NoInput);
    }
    let shown = Shown {
        options,
        event,
        profile: &profile,
        baseline: baseline.as_ref(),
        inventory: inventory.as_ref(),
    };
    shown.write(&mut output)?;
    output.finish()?;
    Ok(tell(options, &profile, is_whole))
}

const WHAT_TO_RECORD: &str = "async-profiler with `event=wall,alloc=2m,lock=10ms,jfr`, or the JDK with \
                              `-XX:StartFlightRecording:settings=profile`, records what is needed";

/// Opens what was named; whether all of it is a recording.
fn open_all(options: &FlameOptions, output: &Output) -> anyhow::Result<(Vec<Recording>, bool)> {
    let mut recordings: Vec<Recording> = Vec::new();
    let mut failed = Vec::new();
    for name in &options.reading.sources {
        if let Some(guard) = output.guard() {
            guard.check(name)?;
        }
        match open(name) {
            Ok(found) => recordings.extend(found),
            Err(error) => failed.push(error),
        }
    }
    for error in &failed {
        let tell =
            if recordings.is_empty() || options.reading.strict { messages::error } else { messages::warning };
        tell(&error.to_string(), Some(error.hint()));
    }
    Ok((recordings, failed.is_empty()))
}

fn is_for_people(format: FlameFormat) -> bool {
    matches!(format, FlameFormat::Top | FlameFormat::Html)
}

/// What is asked for must be there to be had.
fn check(
    wanted: &Wanted,
    recordings: &[Recording],
    tasks: &TaskTable,
    options: &FlameOptions,
) -> anyhow::Result<()> {
    let known: BTreeSet<&str> = recordings.iter().map(|recording| recording.executor.as_str()).collect();
    if let Some(unknown) = wanted.executors.iter().find(|id| !known.contains(id.as_str())) {
        let known: Vec<&str> = known.into_iter().collect();
        let hint = format!("the recordings are of {}", known.join(", "));
        return Err(UsageError::new(format!("no recording is of executor `{unknown}`"), hint).into());
    }
    if wanted.tasks.is_any() && !tasks.has(wanted.tasks) {
        let (message, hint) = match (tasks.rows().is_empty(), &options.log) {
            (true, None) => (
                "the recordings do not say which thread ran which task".to_owned(),
                "add `--log EVENTLOG` of a run that logs it: spark.profiler.executor.taskThreadEvent.enabled=true",
            ),
            (true, Some(log)) => (
                format!("neither {log} nor the recordings say which thread ran which task"),
                "the log has it with spark.profiler.executor.taskThreadEvent.enabled=true",
            ),
            (false, None) => (
                "no task in the recordings is the one that is asked for".to_owned(),
                "attempts and partitions are known with `--log EVENTLOG`",
            ),
            (false, Some(_)) => (
                "no task is the one that is asked for".to_owned(),
                "`emberscope summary LOG` tells the stages",
            ),
        };
        return Err(UsageError::new(message, hint).into());
    }
    let Some(text) = &wanted.thread else { return Ok(()) };
    let selection = Selection { executors: wanted.executors.clone(), ..Selection::default() };
    let threads = threads(recordings, &selection)?;
    let pattern = ThreadPattern::parse(text);
    if threads.iter().any(|thread| pattern.matches(thread.java_id, &thread.name)) {
        return Ok(());
    }
    let names: Vec<String> = threads
        .iter()
        .filter(|thread| thread.java_id > 0)
        .take(8)
        .map(|thread| format!("{} {}", thread.java_id, thread.name))
        .collect();
    let hint = format!("{} are there, such as {}", counted(threads.len() as u64, "thread"), names.join(", "));
    Err(UsageError::new(format!("no thread is `{text}`"), hint).into())
}

fn selection(wanted: &Wanted, recordings: &[Recording]) -> anyhow::Result<Selection> {
    let start = match (wanted.from, wanted.to) {
        (Some(Moment::After(_)), _) | (_, Some(Moment::After(_))) => start_ns(recordings)?.unwrap_or(0),
        _ => 0,
    };
    let moment = |moment: Moment| match moment {
        Moment::At(ns) => ns,
        Moment::After(ns) => start.saturating_add(ns),
    };
    Ok(Selection {
        executors: wanted.executors.clone(),
        thread: wanted.thread.as_deref().map(ThreadPattern::parse),
        state: wanted.state.clone(),
        from_ns: wanted.from.map(moment),
        to_ns: wanted.to.map(moment),
        tasks: wanted.tasks,
    })
}

/// Says that nothing was selected, and what there is.
fn nothing(event: FlameEvent, recordings: &[Recording]) -> anyhow::Result<()> {
    let inventory = inspect(recordings, &Selection::default())?;
    let recorded: Vec<String> = inventory
        .flame_events
        .iter()
        .map(|(event, events)| format!("{} ({})", event.name(), counted(*events, "event")))
        .collect();
    let hint = match recorded.is_empty() {
        true => WHAT_TO_RECORD.to_owned(),
        false => format!("recorded are {}", recorded.join(", ")),
    };
    messages::error(&format!("no `{}` is among what is asked for", event.name()), Some(&hint));
    Ok(())
}

/// A graph and what is known beside it.
struct Shown<'r> {
    options: &'r FlameOptions,
    event: FlameEvent,
    profile: &'r Profile,
    baseline: Option<&'r Profile>,
    inventory: Option<&'r Inventory>,
}

impl Shown<'_> {
    fn write(&self, output: &mut Output) -> anyhow::Result<()> {
        let title = render::flame::title(self.options, self.event);
        let caption = Caption { event: self.event, title, times_ns: self.profile.times_ns };
        if self.options.format == FlameFormat::Top {
            let view = self.view(self.options.limits.or(ViewLimits::NONE));
            let text = render::flame::text(
                self.profile,
                &view,
                &caption,
                self.inventory,
                self.options.rows,
                output.look(),
            );
            return output.write(&text);
        }
        let mut writer = BufWriter::new(output);
        self.export(&caption, &mut writer)
            .and_then(|()| writer.flush())
            .context("the graph cannot be written")
    }

    fn export(&self, caption: &Caption, out: &mut dyn Write) -> std::io::Result<()> {
        let limits = self.options.limits;
        match self.options.format {
            // Shown as text instead.
            FlameFormat::Top => Ok(()),
            FlameFormat::Folded => folded(&self.view(limits.or(ViewLimits::NONE)), out),
            FlameFormat::Pprof => pprof(&self.view(limits.or(ViewLimits::NONE)), caption, out),
            FlameFormat::Speedscope => speedscope(&self.view(limits.or(ViewLimits::NONE)), caption, out),
            FlameFormat::Firefox => firefox(self.profile, caption, out),
            FlameFormat::Json => writeln!(out, "{}", self.json(caption)?),
            FlameFormat::Html => {
                let words = render::flame::words(self.profile, self.inventory);
                let page = emberscope_html::flame_page(&caption.title, &words, &self.json(caption)?);
                out.write_all(page.as_bytes())
            }
        }
    }

    fn json(&self, caption: &Caption) -> std::io::Result<String> {
        let view = self.view(self.options.limits.or(ViewLimits::default()));
        Ok(serde_json::to_string(&FlameJson::new(self.profile, &view, &caption.title))?)
    }

    fn view(&self, limits: ViewLimits) -> View {
        match self.baseline {
            Some(baseline) => View::diff(self.profile, baseline, limits),
            None => View::of(self.profile, limits),
        }
    }
}

/// Tells what was not as it should be.
fn tell(options: &FlameOptions, profile: &Profile, is_whole: bool) -> Exit {
    let mut is_whole = is_whole;
    for remark in render::flame::remarks(&profile.notes) {
        is_whole &= !remark.is_gap;
        match (remark.is_gap, options.reading.quiet) {
            (true, _) if options.reading.strict => messages::error(&remark.text, None),
            (_, true) => {}
            (true, false) => messages::warning(&remark.text, None),
            (false, false) => messages::note(&remark.text, None),
        }
    }
    if options.reading.strict && !is_whole { Exit::Partial } else { Exit::Done }
}

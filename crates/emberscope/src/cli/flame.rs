//! What the arguments of `emberscope flame` mean.

use super::low::{FlameArgs, FlameEventName, FlameFormatName, RemoteArgs};
use super::{Reading, ending, no_form, reading};
use crate::exit::UsageError;
use emberscope_jfr::flame_event::FlameEvent;
use emberscope_jfr::tasks::TaskQuery;
use emberscope_jfr::view::ViewLimits;
use std::path::{Path, PathBuf};

/// What `flame` needs to know.
#[derive(Debug)]
pub(crate) struct FlameOptions {
    /// Recordings, threads, and what is told.
    pub(crate) reading: Reading,
    /// What the graph is of; `None` = the first that was recorded.
    pub(crate) event: Option<FlameEvent>,
    /// Event log with tasks.
    pub(crate) log: Option<String>,
    /// Which samples count.
    pub(crate) wanted: Wanted,
    /// Which samples they are compared with.
    pub(crate) against: Option<Wanted>,
    /// What limits were given.
    pub(crate) limits: GivenLimits,
    /// Form.
    pub(crate) format: FlameFormat,
    /// File; `None` is standard output.
    pub(crate) out: Option<PathBuf>,
    /// Frames in a table.
    pub(crate) rows: usize,
}

/// Which samples count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Tasks.
    pub(crate) tasks: TaskQuery,
    /// Executors; empty = all.
    pub(crate) executors: Vec<String>,
    /// Thread, as typed.
    pub(crate) thread: Option<String>,
    /// State, as typed.
    pub(crate) state: Option<String>,
    /// From when on.
    pub(crate) from: Option<Moment>,
    /// Until when.
    pub(crate) to: Option<Moment>,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Epoch nanoseconds.
    At(i64),
    /// Nanoseconds after the start of the recordings.
    After(i64),
}

/// Limits as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GivenLimits {
    min_fraction: Option<f64>,
    max_nodes: Option<u32>,
    max_depth: Option<u32>,
}

impl GivenLimits {
    /// The limits, with `defaults` where none were given.
    pub(crate) fn or(self, defaults: ViewLimits) -> ViewLimits {
        ViewLimits {
            min_fraction: self.min_fraction.unwrap_or(defaults.min_fraction),
            max_nodes: self.max_nodes.map_or(defaults.max_nodes, |nodes| nodes as usize),
            max_depth: self.max_depth.map_or(defaults.max_depth, |depth| depth as usize),
        }
    }

    /// Whether any was given.
    pub(crate) fn is_any(self) -> bool {
        self != GivenLimits::default()
    }
}

/// A form of a flame graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlameFormat {
    /// The hottest frames.
    Top,
    /// A line for each stack.
    Folded,
    /// For programs.
    Json,
    /// A page.
    Html,
    /// pprof's.
    Pprof,
    /// speedscope's.
    Speedscope,
    /// The Firefox Profiler's.
    Firefox,
}

pub(super) fn mean(args: FlameArgs) -> anyhow::Result<FlameOptions> {
    let format = match args.format {
        Some(FlameFormatName::Top) => FlameFormat::Top,
        Some(FlameFormatName::Folded) => FlameFormat::Folded,
        Some(FlameFormatName::Json) => FlameFormat::Json,
        Some(FlameFormatName::Html) => FlameFormat::Html,
        Some(FlameFormatName::Pprof) => FlameFormat::Pprof,
        Some(FlameFormatName::Speedscope) => FlameFormat::Speedscope,
        Some(FlameFormatName::Firefox) => FlameFormat::Firefox,
        None => args.out.as_deref().map_or(Ok(FlameFormat::Top), by_name)?,
    };
    let limits =
        GivenLimits { min_fraction: args.min_fraction, max_nodes: args.max_nodes, max_depth: args.max_depth };
    let compares = !args.against.is_empty();
    if format == FlameFormat::Firefox && (limits.is_any() || compares) {
        let what = if compares { "compares nothing" } else { "holds each sample, and takes no limits" };
        let message = format!("`--format firefox` {what}");
        return Err(UsageError::new(message, "use html, json, pprof or folded").into());
    }
    if format == FlameFormat::Firefox
        && matches!(args.event, Some(FlameEventName::Malloc | FlameEventName::Live))
    {
        let message = "`--format firefox` shows events in time, and of memory only the end is known";
        return Err(UsageError::new(message, "use html, json, pprof or folded").into());
    }
    if format == FlameFormat::Speedscope && compares {
        let message = "`--format speedscope` compares nothing";
        return Err(UsageError::new(message, "use html, json, pprof or folded").into());
    }
    let wanted = Wanted {
        tasks: TaskQuery { stage: args.stage, partition: args.partition, task: args.task },
        executors: args.executor,
        thread: args.thread,
        state: args.state,
        from: args.from,
        to: args.to,
    };
    let against = match compares {
        true => Some(against(&wanted, &args.against)?),
        false => None,
    };
    Ok(FlameOptions {
        reading: reading(args.files, &args.reading, &RemoteArgs::default())?,
        event: args.event.map(event),
        log: args.log,
        wanted,
        against,
        limits,
        format,
        out: args.out,
        rows: args.rows as usize,
    })
}

fn event(name: FlameEventName) -> FlameEvent {
    match name {
        FlameEventName::Cpu => FlameEvent::Cpu,
        FlameEventName::Wall => FlameEvent::Wall,
        FlameEventName::Alloc => FlameEvent::Alloc,
        FlameEventName::Lock => FlameEvent::Lock,
        FlameEventName::Sleep => FlameEvent::Sleep,
        FlameEventName::Io => FlameEvent::Io,
        FlameEventName::Native => FlameEvent::Native,
        FlameEventName::Malloc => FlameEvent::Malloc,
        FlameEventName::Live => FlameEvent::Live,
    }
}

/// The form that a file's name asks for.
fn by_name(path: &Path) -> Result<FlameFormat, UsageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let forms = [
        (".speedscope.json", FlameFormat::Speedscope),
        (".json", FlameFormat::Json),
        (".html", FlameFormat::Html),
        (".htm", FlameFormat::Html),
        (".folded", FlameFormat::Folded),
        (".collapsed", FlameFormat::Folded),
        (".pb.gz", FlameFormat::Pprof),
        (".pprof", FlameFormat::Pprof),
        (".txt", FlameFormat::Top),
    ];
    match forms.iter().find(|(end, _)| name.ends_with(end)) {
        Some((_, form)) => Ok(*form),
        None if ending(path).is_none() => Ok(FlameFormat::Top),
        None => Err(no_form(
            path,
            "a flame graph",
            "`.html`, `.txt`, `.folded`, `.json`, `.speedscope.json` or `.pb.gz`",
        )),
    }
}

/// The selection that differs from `wanted` in what `pairs` say.
fn against(wanted: &Wanted, pairs: &[String]) -> anyhow::Result<Wanted> {
    let mut other = wanted.clone();
    let mut executors = Vec::new();
    for pair in pairs {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        set(&mut other, &mut executors, key.trim(), value.trim()).map_err(|reason| {
            UsageError::new(
                format!("--against {pair}: {reason}"),
                "write KEY=VALUE, like `stage=12.0,executor=3`",
            )
        })?;
    }
    if !executors.is_empty() {
        other.executors = executors;
    }
    Ok(other)
}

fn set(other: &mut Wanted, executors: &mut Vec<String>, key: &str, value: &str) -> Result<(), String> {
    let number = || "the value is no number".to_owned();
    match key {
        _ if value.is_empty() => return Err("a value is missing".to_owned()),
        "stage" => other.tasks.stage = Some(super::diagnose::stage(value)?),
        "partition" => other.tasks.partition = Some(value.parse().map_err(|_| number())?),
        "task" => other.tasks.task = Some(value.parse().map_err(|_| number())?),
        "executor" => executors.push(value.to_owned()),
        "thread" => other.thread = Some(value.to_owned()),
        "state" => other.state = Some(value.to_owned()),
        "from" => other.from = Some(moment(value)?),
        "to" => other.to = Some(moment(value)?),
        _ => {
            let known = "stage, partition, task, executor, thread, state, from and to";
            return Err(format!("known keys are {known}"));
        }
    }
    Ok(())
}

/// `2026-01-31T12:00:00Z`, `1769860800000`, `+90s`.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    let wrong =
        || "a time is like 2026-01-31T12:00:00Z, epoch milliseconds, or +90s after the start".to_owned();
    if let Some(after) = text.strip_prefix('+') {
        let after = super::report::time(after).map_err(|_| wrong())?;
        return i64::try_from(after.as_nanos()).map(Moment::After).map_err(|_| wrong());
    }
    let nanoseconds = match text.parse::<i64>() {
        Ok(ms) => ms.checked_mul(1_000_000),
        Err(_) => text.parse::<jiff::Timestamp>().ok().and_then(|at| i64::try_from(at.as_nanosecond()).ok()),
    };
    nanoseconds.map(Moment::At).ok_or_else(wrong)
}

/// `0.001`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1, like 0.001".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_shares() {
        assert_eq!(moment("1000"), Ok(Moment::At(1_000_000_000)));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(Moment::At(1_000_000_000)));
        assert_eq!(moment("+2s"), Ok(Moment::After(2_000_000_000)));
        for text in ["", "soon", "+", "+x", "9223372036854775807"] {
            assert!(moment(text).is_err(), "{text}");
        }
        assert_eq!(share("0.5"), Ok(0.5));
        assert!(share("1.5").is_err() && share("NaN").is_err());
    }

    #[test]
    fn forms_by_name() {
        for (name, form) in [
            ("a.html", Some(FlameFormat::Html)),
            ("a.speedscope.json", Some(FlameFormat::Speedscope)),
            ("a.JSON", Some(FlameFormat::Json)),
            ("a.pb.gz", Some(FlameFormat::Pprof)),
            ("a.txt", Some(FlameFormat::Top)),
            ("a", Some(FlameFormat::Top)),
            ("a.svg", None),
        ] {
            assert_eq!(by_name(Path::new(name)).ok(), form, "{name}");
        }
    }

    #[test]
    fn comparisons_keep_what_they_do_not_name() {
        let wanted =
            Wanted { executors: vec!["1".to_owned()], state: Some("x".to_owned()), ..Wanted::default() };
        let pairs = |pairs: &[&str]| pairs.iter().map(|pair| (*pair).to_owned()).collect::<Vec<_>>();
        let other = against(&wanted, &pairs(&["stage=3.1", "executor=2", "executor=3"])).unwrap();
        assert_eq!(other.tasks.stage, Some((3, Some(1))));
        assert_eq!(
            (other.executors, other.state),
            (vec!["2".to_owned(), "3".to_owned()], wanted.state.clone())
        );
        assert!(against(&wanted, &pairs(&["stage"])).is_err() && against(&wanted, &pairs(&["x=1"])).is_err());
    }
}

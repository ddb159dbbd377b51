//! What a reader of the verdict must know: how far the log and the savings can be trusted, and what the time was
//! where no finding tells.

use crate::attribution::{Attribution, Part};
use crate::context::{Context, StageDigest};
use crate::pricing::Pricer;
use crate::words::{duration, grouped, share, size};
use emberscope_model::run::StageStatus;
use emberscope_model::trust::StageCoverage;

/// Share of the wall time from which a part of it is named where nothing was found.
const LARGEST: f64 = 0.4;
/// The same for the session's start, which every run has.
const STARTUP: f64 = 0.6;
/// Share of the wall time from which waiting without data is told.
const NO_DATA: f64 = 0.2;
/// Share of the core-time from which waiting that nothing explains is told, and of it, in one stage, from which the
/// stage is named.
const UNEXPLAINED: f64 = 0.15;
const MOSTLY: f64 = 0.5;

/// The largest part of the wall time in a sentence, where it is much of it.
pub(crate) fn largest(attribution: &Attribution) -> Option<String> {
    let parts = attribution.wall.parts();
    let total = attribution.wall.total_ms().max(1) as f64;
    let is_start = |(part, ms): &&(Part, i64)| *part == Part::DriverStartup && (*ms as f64) < STARTUP * total;
    let (part, ms) = *parts.iter().find(|part| !is_start(part))?;
    let of_all = ms as f64 / total;
    (of_all >= LARGEST).then(|| format!("{} of its time {}", share(of_all), clause(part)))
}

/// What a part of the wall time was, after `its time`.
fn clause(part: Part) -> &'static str {
    match part {
        Part::Cpu => "its tasks computed",
        Part::Other => "its tasks waited or worked outside the JVM",
        Part::Python => "its tasks waited for Python",
        Part::InputWait => "its tasks waited for input",
        Part::Commit => "its tasks committed files and state",
        Part::NoData => "its tasks waited and moved no data",
        Part::FetchWait => "its tasks waited for shuffle data",
        Part::ShuffleWrite => "its tasks wrote shuffle data",
        Part::Gc => "its executors collected garbage",
        Part::Deserialize => "went into starting tasks",
        Part::ResultHandling => "went into handling results",
        Part::Scheduling => "tasks waited to be launched",
        Part::WaitingForExecutors => "stages waited for executors",
        Part::LostWork => "went into work that was lost",
        Part::Unfinished => "went into tasks without an end",
        Part::DriverStartup => "passed in the driver before the first job",
        Part::DriverPlanning => "passed in the driver within a query",
        Part::DriverBetween => "passed between jobs",
        Part::DriverShutdown => "passed after the last job",
        Part::IdleStarting
        | Part::IdleNoStage
        | Part::IdleTooFewTasks
        | Part::IdleTail
        | Part::IdlePending
        | Part::OtherWork => "passed with idle cores",
    }
}

/// All notes.
pub(crate) fn notes(
    context: &Context<'_>,
    pricer: Option<&Pricer>,
    attribution: &Attribution,
) -> Vec<String> {
    if context.is_plan_only() {
        return Vec::new();
    }
    let mut notes = of_the_log(context);
    let run = context.run;
    if run.stages.iter().any(|stage| !stage.tasks.useful().is_empty()) && !context.has_metrics() {
        notes.push(
            "What tasks did while they ran is not in the log: all of it is shown as waiting.".to_owned(),
        );
    }
    match pricer {
        None => notes.push("The run cannot be replayed, since its length or its tasks are unknown: no savings are given.".to_owned()),
        Some(pricer) if !pricer.is_faithful() => {
            let off = attribution.model_error.free_ratio.unwrap_or(0.0).abs();
            notes.push(format!("Replayed without a change the run comes out {} off: savings are estimates, and may be nothing.", share(off)));
        }
        Some(pricer) if pricer.has_concurrent_units() => notes.push(
            "Queries or jobs ran side by side: savings assume that each driver thread would go on as soon as its own work is done.".to_owned(),
        ),
        Some(_) => {}
    }
    let queries = run.sql_executions.len();
    if context.queries().len() < queries {
        notes.push(format!(
            "Of {} queries the plans of the {} longest were searched.",
            grouped(queries as i64),
            grouped(context.queries().len() as i64)
        ));
    }
    notes.extend(python(attribution));
    notes.extend(no_data(attribution));
    notes.extend(unexplained(context, attribution));
    notes.extend(idle(context, attribution));
    notes
}

/// What is missing in the log.
fn of_the_log(context: &Context<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let run = context.run;
    let is_running = run.trust.is_running;
    if is_running {
        notes
            .push("The application is still running: all numbers are of the moment it was asked.".to_owned());
    } else if !run.application.has_end {
        notes.push(
            "The log has no end of the application: all numbers hold for the part that is there.".to_owned(),
        );
    }
    // What is at work is not missing.
    let is_at_work = |stage: &StageCoverage| {
        let attempt = run.attempts(stage.stage_id).iter().find(|one| one.attempt == stage.stage_attempt);
        attempt.is_some_and(|attempt| attempt.status == StageStatus::Active)
    };
    let is_covered = is_running && run.trust.coverage.stages.iter().all(is_at_work);
    if let Some(ratio) = run.trust.coverage.ratio.filter(|ratio| *ratio < 0.999 && !is_covered) {
        notes.push(format!(
            "{} of the expected task ends are in the log: what tasks cost is a lower bound.",
            share(ratio)
        ));
    }
    if run.trust.compacted {
        notes.push("Spark compacted this log: finished work was removed from it.".to_owned());
    }
    if context.is_native {
        notes.push(format!("{} ran the tasks: what it does not measure is not judged.", run.trust.engine));
    }
    notes
}

fn python(attribution: &Attribution) -> Option<String> {
    let operators = &attribution.operators;
    let python_ms = operators.parts.iter().find(|part| part.key == "python").map_or(0, |part| part.ms);
    (operators.total_ms > 0 && python_ms * 2 >= operators.total_ms).then(|| {
        format!(
            "{} of the run time of the tasks of queries went into Python: what its functions do decides the run.",
            share(python_ms as f64 / operators.total_ms as f64)
        )
    })
}

fn no_data(attribution: &Attribution) -> Option<String> {
    let (ms, total) = (attribution.wall.get(Part::NoData), attribution.wall.total_ms());
    (total > 0 && ms as f64 >= NO_DATA * total as f64).then(|| {
        format!(
            "For {} tasks neither computed nor moved data that would explain it: their host had no free CPU (more slots than cores, other processes, a limit), or the program waited (sleep, lock, service). Thread dumps tell which.",
            duration(ms)
        )
    })
}

/// Where tasks waited for what no timer tells, and what is known of them.
fn unexplained(context: &Context<'_>, attribution: &Attribution) -> Option<String> {
    let (ms, total) = (attribution.core.get(Part::Other), attribution.core.total_ms());
    if total <= 0 || (ms as f64) < UNEXPLAINED * total as f64 {
        return None;
    }
    let stage = attribution.stages.iter().max_by_key(|stage| stage.core.get(Part::Other))?;
    let own = stage.core.get(Part::Other);
    let (id, attempt) = stage.id.split_once('.')?;
    let digest = context.digest_of(id.parse().ok()?, attempt.parse().ok()?)?;
    if (own as f64) < MOSTLY * ms as f64 || digest.counted.run_ms <= 0 {
        return None;
    }
    let busy = share((digest.counted.cpu_ms as f64 / digest.counted.run_ms as f64).min(1.0));
    let moved = moved(digest);
    let moved = if moved.is_empty() { String::new() } else { format!("; they {}", moved.join(", ")) };
    Some(format!(
        "{} of the waiting that no timer explains is in stage {}: its tasks used a CPU for {busy} of their run time{moved}.",
        share(own as f64 / ms as f64),
        stage.id
    ))
}

/// The bytes that a stage moved, as far as they are worth a word.
fn moved(digest: &StageDigest) -> Vec<String> {
    let sums = &digest.counted;
    [
        ("spilled", "to disk", sums.disk_spilled_bytes),
        ("read", "of input", sums.input_bytes),
        ("read", "of shuffle data", sums.shuffle_read_bytes),
        ("wrote", "of shuffle data", sums.shuffle_write_bytes),
        ("wrote", "of output", sums.output_bytes),
    ]
    .into_iter()
    .filter(|(_, _, bytes)| *bytes >= 1 << 20)
    .map(|(verb, what, bytes)| format!("{verb} {} {what}", size(bytes)))
    .collect()
}

fn idle(context: &Context<'_>, attribution: &Attribution) -> Option<String> {
    let idle: i64 =
        [Part::IdleStarting, Part::IdleNoStage, Part::IdleTooFewTasks, Part::IdleTail, Part::IdlePending]
            .into_iter()
            .map(|part| attribution.core.get(part))
            .sum();
    let total = attribution.core.total_ms();
    (total > 0 && idle * 10 >= total * 4 && context.allocated_core_ms.is_some()).then(|| {
        format!("{} of the core-time was idle: see where under core-time.", share(idle as f64 / total as f64))
    })
}

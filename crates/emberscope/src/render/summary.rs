//! The summary of a run on one screen.

use super::page::{Align, Line, Tone, bar, beside, items, table};
use super::{LONGEST_NAME, join, spark_version, title, trust};
use crate::facts::Facts;
use crate::format::{
    NOT_MEASURED, bytes, count, counted, duration, instant, nanos, present, share_of, shown, signed_count,
};
use crate::output::Look;
use emberscope_model::run::ApplicationStatus;
use emberscope_model::summary::{ApplicationSummary, Summary, Totals, Work};
use emberscope_model::trust::Trust;

/// A summary as text.
pub(crate) fn text(summary: &Summary, facts: &Facts, look: Look, is_first: bool) -> String {
    let mut lines = head(&summary.application, facts, &summary.trust, look.width);
    lines.extend(items(Line::default(), Tone::Plain, &counts(&summary.totals), look.width));
    lines.push(Line::default());
    let middle = look.width.div_ceil(2);
    let bars = (look.width >= 100).then_some(12);
    let time = time(&summary.totals, summary.application.duration_ms, bars);
    lines.extend(beside(time, executors(&summary.totals, bars), middle, look.width));
    lines.push(Line::default());
    lines.extend(work(&summary.totals));
    lines.extend(lost_causes(&summary.totals, look.width));
    lines.push(Line::default());
    lines.extend(trust::lines(&summary.trust, facts, look.width));
    join(&lines, look, is_first)
}

pub(super) fn head(
    application: &ApplicationSummary,
    facts: &Facts,
    trust: &Trust,
    width: usize,
) -> Vec<Line> {
    let status = match application.status {
        ApplicationStatus::Succeeded => (Tone::Good, "succeeded"),
        ApplicationStatus::Failed => (Tone::Bad, "FAILED"),
        _ if trust.is_running => (Tone::Warn, "still running"),
        ApplicationStatus::Incomplete => (Tone::Warn, "incomplete"),
        ApplicationStatus::Unknown => (Tone::Warn, "status unknown"),
    };
    let mut parts = Vec::new();
    parts.push(spark_version(application.spark_version.as_deref()));
    if trust.engine != "spark" {
        parts.push(format!("engine {}", shown(&trust.engine, LONGEST_NAME)));
    }
    parts.extend(cluster(facts));
    if let Some(user) = present(application.user.as_deref()) {
        parts.push(format!("user {}", shown(user, LONGEST_NAME)));
    }
    if let Some(attempt) = present(application.attempt_id.as_deref()) {
        parts.push(format!("attempt {}", shown(attempt, LONGEST_NAME)));
    }
    match (application.start_time_ms, application.duration_ms) {
        (Some(start), Some(ms)) => parts.push(format!("from {} for {}", instant(start), duration(ms))),
        (start, ms) => {
            parts
                .push(start.map_or_else(|| "start unknown".to_owned(), |at| format!("from {}", instant(at))));
            parts
                .push(ms.map_or_else(|| "duration unknown".to_owned(), |ms| format!("for {}", duration(ms))));
        }
    }
    let mut lines = vec![title(application.name.as_deref(), application.id.as_deref(), status, width)];
    lines.extend(items(Line::default(), Tone::Plain, &parts, width));
    lines
}

/// Where it ran, and how many cores an executor had.
fn cluster(facts: &Facts) -> Option<String> {
    let master = present(facts.master.as_deref())?;
    let is_local = master == "local" || master.starts_with("local[");
    let place = match master {
        _ if is_local => "local mode".to_owned(),
        "yarn" | "yarn-client" | "yarn-cluster" => "YARN".to_owned(),
        _ if master.starts_with("k8s://") => "Kubernetes".to_owned(),
        _ if master.starts_with("spark://") => "standalone cluster".to_owned(),
        _ if master.starts_with("local-cluster") => "local cluster".to_owned(),
        _ => format!("master {}", shown(master, LONGEST_NAME)),
    };
    Some(match facts.cores {
        Some(cores) if is_local => format!("{place}, {}", counted(u64::from(cores), "core")),
        Some(cores) => format!("{place}, {} per executor", counted(u64::from(cores), "core")),
        None => place,
    })
}

/// What there was of everything; what there was none of is left out, but for the main counts.
fn counts(totals: &Totals) -> Vec<String> {
    let with = |text: String, extras: &[(u64, &str)]| {
        let extras: Vec<String> = extras
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number)))
            .collect();
        if extras.is_empty() { text } else { format!("{text} ({})", extras.join(", ")) }
    };
    let tasks = &totals.tasks;
    let mut parts = vec![
        with(counted(totals.jobs, "job"), &[(totals.jobs_failed, "failed")]),
        with(
            counted(totals.stages, "stage"),
            &[
                (totals.stage_attempts.saturating_sub(totals.stages), "retried"),
                (totals.stages_skipped, "skipped"),
            ],
        ),
        with(
            counted(tasks.partitions, "task"),
            &[
                (if tasks.attempts == tasks.partitions { 0 } else { tasks.attempts }, "attempts"),
                (tasks.failed, "failed"),
                (tasks.killed, "killed"),
                (tasks.resubmitted, "resubmitted"),
                (tasks.speculative, "speculative"),
                (tasks.running, "without an end"),
            ],
        ),
    ];
    if totals.sql_executions > 0 {
        let plural = if totals.sql_executions == 1 { "y" } else { "ies" };
        parts.push(format!("{} SQL quer{plural}", count(totals.sql_executions)));
    }
    parts
}

/// A row: label, value, its share of a whole, and a bar of it where there is room.
fn share_row(label: &str, value: Option<i64>, whole: Option<i64>, bars: Option<usize>) -> Vec<Line> {
    let text = value.map_or_else(|| NOT_MEASURED.to_owned(), duration);
    let mut row = vec![
        Line::text(Tone::Faint, format!("  {label}")),
        Line::text(Tone::Plain, text),
        Line::text(Tone::Plain, value.map_or_else(String::new, |value| share_of(value, whole))),
    ];
    if let Some(width) = bars {
        let share = match (value, whole) {
            (Some(value), Some(whole)) if whole > 0 => value as f64 / whole as f64,
            _ => 0.0,
        };
        row.push(Line::text(Tone::Accent, bar(share, width)));
    }
    row
}

const SHARE_COLUMNS: &[Align] = &[Align::Left, Align::Right, Align::Right, Align::Left];

fn time(totals: &Totals, run_ms: Option<i64>, bars: Option<usize>) -> Vec<Line> {
    let mut rows = vec![
        share_row("run", run_ms, None, bars),
        share_row("jobs running", totals.job_wall_ms, run_ms, bars),
        share_row("driver only", totals.driver_only_ms, run_ms, bars),
    ];
    if totals.sql_executions > 0 {
        rows.push(share_row("SQL queries", totals.sql_wall_ms, run_ms, bars));
    }
    let mut lines = vec![Line::text(Tone::Strong, "Time")];
    lines.extend(table(&rows, SHARE_COLUMNS));
    lines
}

fn executors(totals: &Totals, bars: Option<usize>) -> Vec<Line> {
    let executors = &totals.executors;
    let mean =
        executors.mean.map_or_else(|| format!("mean {NOT_MEASURED}"), |mean| format!("mean {mean:.1}"));
    let head = Line::text(Tone::Strong, "Executors")
        .and(Tone::Plain, format!("  peak {} · {mean}", count(executors.peak)));
    let allocated = executors.allocated_core_ms;
    let rows = vec![
        share_row("core-time", allocated, None, bars),
        share_row("in task slots", executors.occupied_core_ms, allocated, bars),
        share_row("running tasks", executors.busy_core_ms, allocated, bars),
    ];
    let mut lines = vec![head];
    lines.extend(table(&rows, SHARE_COLUMNS));
    lines
}

type Show = fn(i64) -> String;
type Take = fn(&Work) -> Option<i64>;

const CPU_TIME: &str = "CPU time";

/// Rows of the table of work: label, how to show it, the value, and the records that go with it.
const WORK_ROWS: &[(&str, Show, Take, Option<Take>)] = &[
    ("run time", duration, |work| work.run_time_ms, None),
    (CPU_TIME, nanos, |work| work.cpu_time_ns, None),
    ("GC time", duration, |work| work.gc_time_ms, None),
    ("input", bytes, |work| work.input_bytes, Some(|work| work.input_records)),
    ("output", bytes, |work| work.output_bytes, Some(|work| work.output_records)),
    ("shuffle read", bytes, |work| work.shuffle_read_bytes, Some(|work| work.shuffle_read_records)),
    ("shuffle write", bytes, |work| work.shuffle_write_bytes, Some(|work| work.shuffle_write_records)),
    ("spill, memory", bytes, |work| work.memory_spilled_bytes, None),
    ("spill, disk", bytes, |work| work.disk_spilled_bytes, None),
];

fn work(totals: &Totals) -> Vec<Line> {
    let (useful, all) = (&totals.useful, &totals.all_work);
    let cell = |value: Option<i64>, show: Show| match value {
        Some(value) => Line::text(Tone::Plain, show(value)),
        None => Line::text(Tone::Faint, NOT_MEASURED),
    };
    let head = ["Work", "useful", "all work", "lost", "useful records"];
    let mut rows = vec![head.iter().map(|label| Line::text(Tone::Strong, *label)).collect::<Vec<Line>>()];
    for (label, show, take, records) in WORK_ROWS {
        let (useful_value, all_value) = (take(useful), take(all));
        let lost = all_value.map(|all| all - useful_value.unwrap_or(0));
        // Spark gives attempts that failed a run time and no CPU time.
        let is_measured = *label != CPU_TIME || lost != Some(0) || totals.lost.run_time_ms.unwrap_or(0) == 0;
        let lost = lost.filter(|_| is_measured);
        let mut lost_cell = cell(lost, *show);
        if lost.is_some_and(|lost| lost > 0) {
            lost_cell = Line::text(Tone::Warn, lost.map_or_else(String::new, show));
        }
        let mut row = vec![
            Line::text(Tone::Faint, format!("  {label}")),
            cell(useful_value, *show),
            cell(all_value, *show),
            lost_cell,
        ];
        if let Some(records) = records {
            row.push(cell(records(useful), signed_count));
        }
        rows.push(row);
    }
    table(&rows, &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right])
}

/// The time of attempts that did not count, by cause.
fn lost_causes(totals: &Totals, width: usize) -> Vec<Line> {
    let lost = &totals.lost;
    if lost.attempt_time_ms == 0 {
        return Vec::new();
    }
    let mut causes: Vec<(&str, i64)> =
        lost.by_cause.iter().filter(|(_, ms)| **ms > 0).map(|(cause, ms)| (*cause, *ms)).collect();
    causes.sort_by_key(|(_, ms)| std::cmp::Reverse(*ms));
    let causes: Vec<String> =
        causes.iter().map(|(cause, ms)| format!("{} {}", cause.replace('_', " "), duration(*ms))).collect();
    let label = format!("  lost {} of attempts: ", duration(lost.attempt_time_ms));
    items(Line::text(Tone::Warn, label), Tone::Plain, &causes, width)
}

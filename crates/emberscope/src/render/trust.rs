//! How far the numbers can be trusted, in words.

use super::page::{Line, Tone, items, labelled};
use crate::facts::Facts;
use crate::format::{bytes, count, counted, plain, share, shown};
use emberscope_html::TrustWords;
use emberscope_model::trust::{AnsweredBy, AnswersTrust, FileStatus, FileTrust, Trust};

const LABEL: &str = "Trust   ";
/// Names in a list before the rest is only counted.
const TOLD: usize = 4;
/// Columns of a reason and of a name: both may come from the log and be of any length.
const REASON: usize = 240;
const NAME: usize = 60;
/// What a log without an end may mean.
const STILL_RUNNING: &str = "the application may still be running, or its driver was killed";

/// The trust block in words.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Whether all is well.
    pub(crate) is_good: bool,
    /// That in a word or two.
    pub(crate) verdict: &'static str,
    /// What was read.
    pub(crate) read: Vec<String>,
    /// Everything that is not as it should be.
    pub(crate) concerns: Vec<String>,
}

impl Words {
    /// The trust block of a run.
    pub(crate) fn of(trust: &Trust, facts: &Facts) -> Words {
        let mut concerns = gaps(trust, facts.has_end);
        concerns.extend(remarks(trust));
        let (is_good, verdict) = match (facts.is_whole, concerns.is_empty()) {
            (true, true) => (true, "complete"),
            (true, false) => (false, "with notes"),
            (false, _) => (false, "not whole"),
        };
        Words { is_good, verdict, read: what_was_read(trust), concerns }
    }

    /// The same for a page.
    pub(crate) fn into_html(self) -> TrustWords {
        let Words { is_good, verdict, read, concerns } = self;
        TrustWords { is_good, verdict: verdict.to_owned(), read, concerns }
    }
}

/// The lines of the trust block: one where all is well, one more for everything that is not.
pub(super) fn lines(trust: &Trust, facts: &Facts, width: usize) -> Vec<Line> {
    let words = Words::of(trust, facts);
    let tone = if words.is_good { Tone::Good } else { Tone::Warn };
    let label = Line::text(Tone::Strong, LABEL).and(tone, words.verdict).and(Tone::Plain, "  ");
    let mut lines = items(label, Tone::Plain, &words.read, width);
    for concern in words.concerns {
        lines.extend(labelled(Line::text(Tone::Warn, "  ! "), Tone::Plain, &concern, width));
    }
    lines
}

fn what_was_read(trust: &Trust) -> Vec<String> {
    let (seen, expected) = (trust.coverage.tasks_seen, trust.coverage.tasks_expected);
    // No number where all is well: tasks of each attempt of a stage are counted here, so that it would
    // differ from the number of tasks above.
    let tasks = match trust.coverage.ratio {
        Some(_) if seen == expected => "all task ends".to_owned(),
        Some(ratio) => format!("{} of {} ({})", count(seen), counted(expected, "task end"), share(ratio)),
        None => "no tasks".to_owned(),
    };
    let mut read = match &trust.answers {
        Some(answers) => of_answers(answers),
        None => of_files(trust),
    };
    read.push(tasks);
    read
}

/// The files of a log: how many, how they are packed, and what is in them.
fn of_files(trust: &Trust) -> Vec<String> {
    let mut codecs: Vec<&str> = trust.files.iter().map(|file| file.codec.as_str()).collect();
    codecs.sort_unstable();
    codecs.dedup();
    let stored: u64 = trust.files.iter().map(|file| file.bytes).sum();
    let decoded: u64 = trust.files.iter().map(|file| file.decoded_bytes).sum();
    let mut size = format!("{} {}", codecs.join("+"), bytes(stored as i64));
    if decoded != stored {
        size.push_str(&format!(" → {}", bytes(decoded as i64)));
    }
    vec![counted(trust.files.len() as u64, "file"), size, counted(trust.lines, "line")]
}

/// Answers of the monitoring API. The events that were made of them are this program's own, and no word about what
/// was read.
fn of_answers(answers: &AnswersTrust) -> Vec<String> {
    let by = match answers.by {
        AnsweredBy::HistoryServer => "answers of a History Server",
        AnsweredBy::LiveUi => "answers of a live UI",
        AnsweredBy::Files => "saved answers",
    };
    let of = match answers.by {
        AnsweredBy::HistoryServer | AnsweredBy::LiveUi => "request",
        AnsweredBy::Files => "file",
    };
    vec![by.to_owned(), counted(answers.count, of), format!("JSON {}", bytes(answers.bytes as i64))]
}

/// All that makes a log less than whole.
pub(crate) fn gaps(trust: &Trust, has_end: bool) -> Vec<String> {
    let mut gaps = Vec::new();
    unread(trust, has_end, &mut gaps);
    if !trust.mixed_applications.is_empty() {
        let others = trust.mixed_applications.iter().map(|id| shown(id, NAME)).collect();
        gaps.push(format!(
            "events of other applications are mixed in, so every total is wrong: {}",
            some_of(others)
        ));
    }
    let stages = &trust.coverage.stages;
    if !stages.is_empty() {
        let names = stages.iter().map(|stage| {
            format!(
                "{} has {} of {}",
                stage_name(stage.stage_id, stage.stage_attempt),
                count(stage.tasks_seen),
                count(stage.tasks_expected)
            )
        });
        gaps.push(format!("task ends are missing: {}", some_of(names.collect())));
    }
    gaps
}

fn stage_name(id: u32, attempt: u32) -> String {
    if attempt == 0 { format!("stage {id}") } else { format!("stage {id} attempt {attempt}") }
}

/// Everything else that is not as the log has it.
fn remarks(trust: &Trust) -> Vec<String> {
    let mut remarks = Vec::new();
    if !trust.estimated.is_empty() {
        let names = trust.estimated.iter().map(|name| in_words(name)).collect();
        remarks.push(format!("estimated, since the log has no such event: {}", some_of(names)));
    }
    if !trust.clamped.is_empty() {
        let names =
            trust.clamped.iter().map(|(name, times)| format!("{} ({})", in_words(name), count(*times)));
        remarks.push(format!(
            "values that cannot be (negative, beyond reason, against the clock) are left out or 0: {}",
            some_of(names.collect())
        ));
    }
    if !trust.unknown_events.is_empty() {
        let names = trust.unknown_events.iter().map(|(name, times)| {
            format!("{} ({})", shown(name.rsplit(['.', '$']).next().unwrap_or(name), NAME), count(*times))
        });
        remarks.push(format!("events unknown here and only counted: {}", some_of(names.collect())));
    }
    remarks.extend(trust.notes.iter().map(|note| shown(note, REASON)));
    remarks
}

/// A value's name in JSON, as people say it.
fn in_words(name: &str) -> String {
    let words: Vec<&str> = name.split(' ').collect();
    match words.as_slice() {
        ["application.start_time_ms"] => "start of the application".to_owned(),
        ["application.end_time_ms"] => "end of the application".to_owned(),
        ["application.duration_ms"] => "duration of the application".to_owned(),
        ["task", "duration_ms"] => "durations of tasks".to_owned(),
        ["scheduler_delay_ms"] => "scheduler delays".to_owned(),
        ["sql", id, "end_time_ms"] => format!("end of SQL query {}", plain(id)),
        ["job", id, "end_time_ms"] => format!("end of job {}", plain(id)),
        ["stage", id, "attempt", "0", "completion_time_ms"] => format!("end of stage {}", plain(id)),
        ["stage", id, "attempt", attempt, "completion_time_ms"] => {
            format!("end of stage {} attempt {}", plain(id), plain(attempt))
        }
        _ => shown(name, NAME),
    }
}

/// What stopped the reading of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// It ends too early.
    Cut,
    /// It is damaged, or cannot be read.
    Damage,
    /// Nothing: some of its lines are bad, whose count and place are told by themselves.
    BadLines,
}

fn stop_of(file: &FileTrust) -> Stop {
    // The model tells a cut by its hint, and counts bad lines in its reason.
    if file.hint.as_deref().is_some_and(|hint| hint.contains("may still be running")) {
        Stop::Cut
    } else if file.reason.as_deref().is_some_and(|reason| reason.ends_with("line could not be read"))
        || file.reason.as_deref().is_some_and(|reason| reason.ends_with("lines could not be read"))
    {
        Stop::BadLines
    } else {
        Stop::Damage
    }
}

/// Bytes, members and lines that could not be read.
fn unread(trust: &Trust, has_end: bool, gaps: &mut Vec<String>) {
    let mut is_end_explained = has_end;
    for file in trust.files.iter().filter(|file| file.status != FileStatus::Ok) {
        let stop = stop_of(file);
        let reason = shown(file.reason.as_deref().unwrap_or("not read to its end"), REASON);
        match stop {
            Stop::BadLines => continue,
            Stop::Damage => {
                let hint = file.hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
                gaps.push(format!("{}: {reason}{}", plain(&file.path), plain(&hint)));
            }
            Stop::Cut => {
                let meaning = if reason.contains("zip archive ends") {
                    "the zip archive broke off, download it again"
                } else if has_end {
                    "the copy may have broken off"
                } else {
                    STILL_RUNNING
                };
                let cut_line = trust.truncated_at.as_ref().filter(|cut| cut.file == file.path);
                gaps.push(match cut_line {
                    Some(cut) => {
                        let place = place(trust, &cut.file);
                        format!("the log is cut at line {}{place}: {meaning}", count(cut.line))
                    }
                    None => format!("{}: {reason} ({meaning})", plain(&file.path)),
                });
            }
        }
        is_end_explained |= stop == Stop::Cut;
    }
    let is_damaged = trust.files.iter().any(|file| {
        file.status == FileStatus::Failed || (file.status != FileStatus::Ok && stop_of(file) == Stop::Damage)
    });
    if trust.is_running {
        gaps.push("the application is still running".to_owned());
    } else if !is_end_explained {
        gaps.push(if is_damaged {
            "the end of the application is not in what could be read".to_owned()
        } else {
            format!(
                "the log has no end of the application: {}",
                STILL_RUNNING.replace("the application", "it")
            )
        });
    }
    if trust.bad_lines.count > 0 {
        let lines = counted(trust.bad_lines.count, "line");
        let first = trust.bad_lines.first.first().map_or_else(String::new, |bad| {
            let place = place(trust, &bad.file);
            format!("; the first is line {}{place}: {}", count(bad.line), shown(&bad.reason, REASON))
        });
        gaps.push(format!("{lines} could not be read{first}"));
    }
    if !trust.missing_members.is_empty() {
        let names = trust.missing_members.iter().map(|name| shown(name, NAME)).collect();
        gaps.push(format!("parts of the rolled log are missing: {}", some_of(names)));
    }
}

/// Names the file only where there are several.
fn place(trust: &Trust, file: &str) -> String {
    if trust.files.len() > 1 { format!(" of {}", plain(file)) } else { String::new() }
}

fn some_of(mut names: Vec<String>) -> String {
    let rest = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    let list = names.join(", ");
    if rest == 0 { list } else { format!("{list} and {} more", count(rest as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_archive_says_nothing_of_the_application() {
        let file = FileTrust {
            path: "a.zip!/app-1".to_owned(),
            codec: "plain".to_owned(),
            bytes: 1,
            decoded_bytes: 1,
            status: FileStatus::Partial,
            reason: Some("the zip archive ends inside the entry".to_owned()),
            hint: Some(STILL_RUNNING.to_owned()),
        };
        let trust = Trust { files: vec![file], truncated_tail: true, ..Trust::default() };
        let expected = "a.zip!/app-1: the zip archive ends inside the entry (the zip archive broke off, download it again)";
        assert_eq!(gaps(&trust, false), [expected]);
    }

    #[test]
    fn answers_are_told_instead_of_the_events_made_of_them() {
        let file = FileTrust {
            path: "answers".to_owned(),
            codec: "zstd".to_owned(),
            bytes: 100,
            decoded_bytes: 1_000,
            status: FileStatus::Ok,
            reason: None,
            hint: None,
        };
        let read = |answers: Option<AnswersTrust>| {
            let trust = Trust { files: vec![file.clone()], answers, lines: 3, ..Trust::default() };
            what_was_read(&trust).join(" · ")
        };
        let by = |by: AnsweredBy, count: u64| read(Some(AnswersTrust { by, count, bytes: 2_048 }));
        assert_eq!(read(None), "1 file · zstd 100 B → 1000 B · 3 lines · no tasks");
        let history = by(AnsweredBy::HistoryServer, 12);
        assert_eq!(history, "answers of a History Server · 12 requests · JSON 2.0 KiB · no tasks");
        assert_eq!(by(AnsweredBy::LiveUi, 1), "answers of a live UI · 1 request · JSON 2.0 KiB · no tasks");
        assert_eq!(by(AnsweredBy::Files, 6), "saved answers · 6 files · JSON 2.0 KiB · no tasks");
    }
}

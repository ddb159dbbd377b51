//! Lost executors, what was lost with them, and why.

use crate::words;
use emberscope_model::run::{Executor, JobStatus, Run, StageAttempt, StageStatus};

/// Why an executor went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossCause {
    /// It took more memory than it was given: exit code 137 or 52, or the resource manager says so.
    OutOfMemory,
    /// The resource manager took it back.
    Preempted,
    /// It was decommissioned.
    Decommissioned,
    /// No heartbeat came for too long.
    HeartbeatTimeout,
    /// Its process ended with another code, or its machine went.
    Crashed,
    /// The driver let it go: idle, or at the end.
    Released,
    /// The log does not say.
    Unknown,
}

impl LossCause {
    /// Name in evidence.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfMemory => "out_of_memory",
            Self::Preempted => "preempted",
            Self::Decommissioned => "decommissioned",
            Self::HeartbeatTimeout => "heartbeat_timeout",
            Self::Crashed => "crashed",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }

    /// From `Removed Reason`.
    pub fn of(reason: &str) -> Self {
        let reason = reason.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| reason.contains(part));
        if has(&["preempt", "spot instance", "spot termination"]) {
            Self::Preempted
        } else if has(&["decommission"]) {
            Self::Decommissioned
        } else if has(&[
            "exceeding memory",
            "exceeding physical memory",
            "exceeding virtual memory",
            "beyond the 'physical",
            "oomkilled",
            "outofmemory",
            "out of memory",
        ]) || matches!(exit_code(&reason), Some(137 | 52))
        {
            // 137 is a kill from outside, which memory limits are the usual reason for; 52 is Spark's own for
            // an OutOfMemoryError.
            Self::OutOfMemory
        } else if has(&["heartbeat"]) {
            Self::HeartbeatTimeout
        } else if has(GIVEN_BACK) || has(&["stop requested"]) {
            Self::Released
        } else if exit_code(&reason).is_some()
            || has(&["lost", "disassociated", "unreachable", "exited", "failed", "disconnect"])
        {
            Self::Crashed
        } else {
            Self::Unknown
        }
    }
}

/// The code in `Command exited with code 137` or `Exit status: 143`.
pub fn exit_code(reason: &str) -> Option<i32> {
    let reason = reason.to_ascii_lowercase();
    let at = ["exited with code", "exit code", "exit status", "exitcode", "exit_code"]
        .iter()
        .find_map(|name| reason.find(name).map(|at| at + name.len()))?;
    let rest = reason[at..].trim_start_matches(|c: char| !c.is_ascii_digit() && c != '-');
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// What `Removed Reason` says, in small letters, of executors that the driver let go: asked for by itself, or by YARN's
/// word for it.
pub const GIVEN_BACK: &[&str] = &["killed by driver", "idle", "explicit termination request"];

/// Why an executor was lost; `None` for one that lived to the end.
pub fn cause_of(executor: &Executor) -> Option<LossCause> {
    match (executor.removed_ms, executor.removed_reason.as_deref()) {
        (None, _) => None,
        (Some(_), None) => Some(LossCause::Unknown),
        (Some(_), Some(reason)) => Some(LossCause::of(reason)),
    }
}

/// Whether a failed stage attempt was the end: no later attempt did its work, and a job failed with it.
pub fn was_given_up(run: &Run, stage: &StageAttempt) -> bool {
    let is_last = run.attempts(stage.id).last().is_none_or(|last| last.attempt <= stage.attempt);
    stage.status == StageStatus::Failed
        && is_last
        && stage.job_ids.iter().filter_map(|id| run.job(*id)).any(|job| job.status == JobStatus::Failed)
}

/// The line of an error's text that says most: without where the task ran, and after a Python traceback
/// the exception itself.
pub fn telling_line(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let first = lines.clone().map(str::trim).find(|line| !line.is_empty())?;
    if first.ends_with("Traceback (most recent call last):") {
        lines.by_ref().find(|line| line.contains("Traceback"));
        // Frames are indented; the exception is not.
        return lines
            .map(str::trim_end)
            .find(|line| !line.is_empty() && !line.starts_with([' ', '\t']))
            .or(Some(first));
    }
    // `Job aborted ..: Task 0 in stage 5.0 failed 3 times, most recent failure: Lost task 0.2 in stage 5.0
    // (TID 17) (host executor 1): java.lang.X: message`
    let failure = first.find("most recent failure: ").map(|at| &first[at..]);
    let message = failure.and_then(|failure| failure.find("): ").map(|at| &failure[at + "): ".len()..]));
    Some(message.filter(|message| !message.is_empty()).unwrap_or(first))
}

/// The line of an error that says most, as a sentence may quote it: the class without its package, long paths by their
/// last part, at most `longest` characters.
pub fn quoted(text: &str, longest: usize) -> Option<String> {
    /// Shorter paths tell more whole.
    const LONG_PATH: usize = 60;
    let line = telling_line(text)?.trim_start_matches("Job aborted due to stage failure: ");
    let line = line.split(" SQLSTATE: ").next().unwrap_or(line);
    let (class, rest) = line.split_once(": ").map_or((line, None), |(class, rest)| (class, Some(rest)));
    let is_class =
        class.contains('.') && class.chars().all(|c| c.is_ascii_alphanumeric() || "._$".contains(c));
    let class = if is_class { class.rsplit('.').next().unwrap_or(class) } else { class };
    let short = |word: &str| match word.rsplit_once('/') {
        Some((_, last)) if word.starts_with('/') && word.len() > LONG_PATH && !last.is_empty() => {
            format!("…/{last}")
        }
        _ => word.to_owned(),
    };
    let rest = rest.map(|rest| rest.split(' ').map(short).collect::<Vec<String>>().join(" "));
    let line = rest.map_or_else(|| class.to_owned(), |rest| format!("{class}: {rest}"));
    Some(words::cut(&line, longest))
}

/// Whether an error is that the data of a shuffle could not be read.
pub fn is_fetch_failure(text: &str) -> bool {
    ["FetchFailedException", "MetadataFetchFailed"].iter().any(|name| text.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_tell() {
        let python = "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    raise ValueError(x)\nValueError: bad row 7\n\n\tat org.apache.spark.X";
        assert_eq!(telling_line(python), Some("ValueError: bad row 7"));
        assert_eq!(telling_line("\njava.io.IOException: full\n\tat a.b"), Some("java.io.IOException: full"));
        assert_eq!(
            telling_line("x: Traceback (most recent call last):"),
            Some("x: Traceback (most recent call last):")
        );
        assert_eq!(
            telling_line(
                "Task 0 in stage 5.0 failed 3 times, most recent failure: Lost task 0.2 in stage 5.0 (TID 17) (h executor 1): a.B: no such day\n\tat c.D"
            ),
            Some("a.B: no such day")
        );
        assert_eq!(telling_line(""), None);
    }

    #[test]
    fn errors_as_sentences_quote_them() {
        for (text, expected) in [
            ("java.io.IOException: full", "IOException: full"),
            (
                "org.apache.spark.shuffle.FetchFailedException: /disk0/local/usercache/someone/appcache/application_1_2/blockmgr-3/2d/shuffle_54_8347_0.index",
                "FetchFailedException: …/shuffle_54_8347_0.index",
            ),
            (
                "java.io.IOException: Mkdirs failed to create /a/b (exists=false)",
                "IOException: Mkdirs failed to create /a/b (exists=false)",
            ),
            (
                "Job aborted due to stage failure: ResultStage 3 is no good. Rest: x",
                "ResultStage 3 is no good. Rest: x",
            ),
            ("[A.B] refused SQLSTATE: P0001", "[A.B] refused"),
        ] {
            assert_eq!(quoted(text, 110).as_deref(), Some(expected));
        }
        assert_eq!(quoted("a.b.C: one two three", 9).as_deref(), Some("C: one…"));
        assert!(
            is_fetch_failure("org.apache.spark.shuffle.FetchFailedException\n\tat a.B")
                && !is_fetch_failure("a.B")
        );
    }

    #[test]
    fn reasons() {
        for (reason, cause) in [
            ("Command exited with code 137", LossCause::OutOfMemory),
            ("Executor killed by driver.", LossCause::Released),
            ("Container container_e87_1 exited from explicit termination request.", LossCause::Released),
            (
                "Container killed by YARN for exceeding memory limits. 5.5 GB of 5.5 GB physical memory used",
                LossCause::OutOfMemory,
            ),
            (
                "Container from a bad node: container_1 on host: h. Exit status: 143. Diagnostics: ",
                LossCause::Crashed,
            ),
            ("Container container_1 on host: h was preempted.", LossCause::Preempted),
            ("Executor heartbeat timed out after 130000 ms", LossCause::HeartbeatTimeout),
            ("Executor decommission: worker decommissioned", LossCause::Decommissioned),
            (
                "Remote RPC client disassociated. Likely due to containers exceeding thresholds",
                LossCause::Crashed,
            ),
            ("Command exited with code 1", LossCause::Crashed),
            ("The executor with id 3 exited with exit code 52(JVM OOM).", LossCause::OutOfMemory),
            ("", LossCause::Unknown),
        ] {
            assert_eq!(LossCause::of(reason), cause, "{reason}");
        }
        assert_eq!(exit_code("Exit status: -100. Diagnostics"), Some(-100));
        assert_eq!(exit_code("killed"), None);
    }
}

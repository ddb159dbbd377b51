//! What the names of files and directories say, as Spark's `EventLogFileWriter` composes them.

/// Suffix of a file its application still writes (`EventLogFileWriter.IN_PROGRESS`).
const IN_PROGRESS: &str = ".inprogress";
/// Suffix of a compacted file (`EventLogFileWriter.COMPACTED`).
const COMPACTED: &str = ".compact";
/// Prefix of a rolled log's directory (`RollingEventLogFilesWriter.EVENT_LOG_DIR_NAME_PREFIX`).
const ROLLED_DIR: &str = "eventlog_v2_";
/// Codec names as suffixes: Spark's short names, and those users and Databricks append.
const CODECS: [&str; 8] = [".zstd", ".zst", ".lz4", ".snappy", ".lzf", ".gz", ".gzip", ".zip"];

/// What a log's name tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogName {
    /// Application id, when the name looks like one.
    pub app_id: Option<String>,
    /// Attempt, when the name ends in one.
    pub attempt: Option<String>,
    /// `Some(true)` with the suffix `.inprogress`, `Some(false)` for a name Spark gives to finished logs, `None`
    /// for any other.
    pub in_progress: Option<bool>,
}

/// The last component of a `/`-separated path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Everything before the last component, without the slash.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Takes `.inprogress`, `.compact` and codec suffixes off, in any order and number.
pub(crate) fn stem(name: &str) -> &str {
    let mut stem = name;
    loop {
        let shorter =
            [IN_PROGRESS, COMPACTED].iter().chain(&CODECS).find_map(|suffix| stem.strip_suffix(suffix));
        match shorter {
            Some(shorter) if !shorter.is_empty() => stem = shorter,
            _ => return stem,
        }
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Splits `application_1_0001_2` and its like into application id and attempt.
fn app_and_attempt(stem: &str) -> (Option<String>, Option<String>) {
    let known = ["application_", "app-", "local-", "spark-"].iter().any(|prefix| stem.starts_with(prefix));
    if !known {
        return (None, None);
    }
    // YARN ids have two numbers of their own, so only a third is an attempt.
    let own = usize::from(stem.starts_with("application_")) * 2;
    match stem.rsplit_once('_') {
        Some((id, attempt)) if digits(attempt) && id.matches('_').count() >= own => {
            (Some(id.to_owned()), Some(attempt.to_owned()))
        }
        _ => (Some(stem.to_owned()), None),
    }
}

/// Reads the name of a single-file log: `application_1_0001_2.zstd.inprogress`, `local-1700000000000`, and the
/// History Server's `eventLogs-application_1_0001-2.zip`.
pub fn log_name(name: &str) -> LogName {
    let stem = stem(name);
    let (app_id, attempt) = match stem.strip_prefix("eventLogs-") {
        None => app_and_attempt(stem),
        Some(rest) => match rest.rsplit_once('-') {
            Some((id, attempt)) if digits(attempt) && attempt.len() < 4 && id.contains(['_', '-']) => {
                (Some(id.to_owned()), Some(attempt.to_owned()))
            }
            _ => (Some(rest.to_owned()), None),
        },
    };
    let in_progress = match name.ends_with(IN_PROGRESS) {
        true => Some(true),
        false => app_id.is_some().then_some(false),
    };
    LogName { app_id, attempt, in_progress }
}

/// Reads the name of a file that was named itself, and so may be a single member of a rolled log.
pub(crate) fn member_name(name: &str) -> LogName {
    match events_name(name) {
        Some(events) => {
            let (app_id, attempt) = rolled_app(events.app);
            LogName { app_id, attempt, in_progress: None }
        }
        None => log_name(name),
    }
}

/// Whether a directory is named like a rolled log.
pub(crate) fn is_rolled_dir(dir: &str) -> bool {
    file_name(dir).starts_with(ROLLED_DIR)
}

/// Reads what follows `eventlog_v2_`, `events_<n>_` or `appstatus_`. The writer guarantees it is an application
/// id, so unknown shapes (EMR Serverless job ids) count as ids too.
pub(crate) fn rolled_app(rest: &str) -> (Option<String>, Option<String>) {
    let stem = stem(rest);
    match app_and_attempt(stem) {
        (None, _) if !stem.is_empty() => (Some(stem.to_owned()), None),
        known => known,
    }
}

/// The part of a rolled directory's name behind the prefix.
pub(crate) fn rolled_dir_app(dir: &str) -> Option<&str> {
    file_name(dir).strip_prefix(ROLLED_DIR)
}

/// A member of a rolled log: `events_<index>_<app>[.codec][.compact]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventsName<'a> {
    pub(crate) index: u64,
    pub(crate) app: &'a str,
    pub(crate) compacted: bool,
}

pub(crate) fn events_name(name: &str) -> Option<EventsName<'_>> {
    let (index, app) = name.strip_prefix("events_")?.split_once('_')?;
    if !digits(index) {
        return None;
    }
    let compacted = name.strip_suffix(IN_PROGRESS).unwrap_or(name).ends_with(COMPACTED);
    Some(EventsName { index: index.parse().ok()?, app, compacted })
}

/// `appstatus_<app>[.inprogress]`: the application's part and whether it is still running.
pub(crate) fn appstatus_name(name: &str) -> Option<(&str, bool)> {
    Some((name.strip_prefix("appstatus_")?, name.ends_with(IN_PROGRESS)))
}

/// Databricks names a cluster's current log `eventlog` and rolls it to `eventlog-2024-01-01--10-00[.gz]`. Gives
/// the sort key: the date, or the end of time for the current one.
pub(crate) fn databricks_name(name: &str) -> Option<&str> {
    let stem = stem(name);
    if stem == "eventlog" {
        return Some("~");
    }
    let date = stem.strip_prefix("eventlog-")?;
    let shape = date.len() >= 10
        && date.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        && date.as_bytes()[4] == b'-'
        && date.as_bytes()[7] == b'-';
    shape.then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_log_names() {
        let cases = [
            (
                "application_1713000000000_0001_2.zstd",
                Some("application_1713000000000_0001"),
                Some("2"),
                Some(false),
            ),
            ("application_1713000000000_0001", Some("application_1713000000000_0001"), None, Some(false)),
            ("application_1_0001_1.lz4.inprogress", Some("application_1_0001"), Some("1"), Some(true)),
            ("local-1776286786993.zstd", Some("local-1776286786993"), None, Some(false)),
            ("local-1776286786993_1", Some("local-1776286786993"), Some("1"), Some(false)),
            (
                "spark-cc4d115f011443d787f03a71a476a745",
                Some("spark-cc4d115f011443d787f03a71a476a745"),
                None,
                Some(false),
            ),
            ("app-20240101120000-0001.inprogress", Some("app-20240101120000-0001"), None, Some(true)),
            ("my.run.v2", None, None, None),
            ("my.run.inprogress", None, None, Some(true)),
            ("eventLogs-application_1_0001-2.zip", Some("application_1_0001"), Some("2"), Some(false)),
            ("eventLogs-local-1776286786993.zip", Some("local-1776286786993"), None, Some(false)),
            (".gz", None, None, None),
        ];
        for (name, app, attempt, in_progress) in cases {
            let expected =
                LogName { app_id: app.map(Into::into), attempt: attempt.map(Into::into), in_progress };
            assert_eq!(log_name(name), expected, "{name}");
        }
    }

    #[test]
    fn reads_member_names() {
        let event = |index, app, compacted| Some(EventsName { index, app, compacted });
        assert_eq!(events_name("events_10_app-1"), event(10, "app-1", false));
        assert_eq!(events_name("events_3_app-1.zstd.compact"), event(3, "app-1.zstd.compact", true));
        assert_eq!(
            events_name("events_3_app-1.compact.inprogress"),
            event(3, "app-1.compact.inprogress", true)
        );
        assert_eq!(events_name("events_x_app"), None);
        assert_eq!(events_name("events_99999999999999999999999_app"), None);
        assert_eq!(appstatus_name("appstatus_app-1.inprogress"), Some(("app-1.inprogress", true)));
        assert_eq!(rolled_app("00fk3jd.zstd"), (Some("00fk3jd".into()), None));
        assert_eq!(rolled_app("application_1_0001_2"), (Some("application_1_0001".into()), Some("2".into())));
    }

    #[test]
    fn reads_databricks_names() {
        assert_eq!(databricks_name("eventlog"), Some("~"));
        assert_eq!(databricks_name("eventlog-2021-06-15--15-00.gz"), Some("2021-06-15--15-00"));
        assert_eq!(databricks_name("eventlog-of-mine"), None);
        assert_eq!(databricks_name("eventlog_v2_app-1"), None);
        assert_eq!(databricks_name("eventlog-ünïcödé-x"), None);
    }
}

//! Where a run's reports go: a directory with `{{placeholders}}`.

use crate::ReportError;
use emberscope_model::redact::is_secret_key;
use emberscope_model::run::Run;
use std::path::PathBuf;
use uuid::Uuid;

/// What a destination may hold.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    ("perfgazer.now.year", "year of the run's start, UTC (4 digits)"),
    ("perfgazer.now.month", "month (2 digits)"),
    ("perfgazer.now.day", "day (2 digits)"),
    ("perfgazer.now.hour", "hour (2 digits)"),
    ("perfgazer.now.minute", "minute (2 digits)"),
    ("perfgazer.now.second", "second (2 digits)"),
    ("perfgazer.runid", "UUID of the run: the same each time the run is reported"),
    ("spark.*", "any Spark property the log holds, e.g. {{spark.app.id}}"),
];

/// Schemes of stores that Spark knows and that are not written to yet.
const REMOTE_SCHEMES: &[&str] =
    &["s3", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "gs", "dbfs", "hdfs", "viewfs", "webhdfs"];

/// Namespace of run ids: a version 5 UUID of the project's name under the URL namespace.
const NAMESPACE: Uuid = Uuid::from_u128(0x3f6c_94d8_9f5d_5f0b_8a52_6d6b_1f0f_52c1);

/// A UUID that depends on nothing but application and attempt.
pub fn run_id(application_id: Option<&str>, attempt_id: Option<&str>) -> Uuid {
    let name = format!("{}\n{}", application_id.unwrap_or(""), attempt_id.unwrap_or(""));
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// A destination as typed, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(String),
}

fn wrong(message: String, hint: impl Into<String>) -> ReportError {
    ReportError::Destination { message, hint: hint.into() }
}

fn known() -> String {
    let names: Vec<String> = PLACEHOLDERS.iter().map(|(name, _)| format!("{{{{{name}}}}}")).collect();
    format!("known are {}", names.join(", "))
}

impl Destination {
    /// Understands a destination. Schemes and names of placeholders are checked, values not yet.
    pub fn parse(text: &str) -> Result<Destination, ReportError> {
        let text = local_path(text)?;
        if text.is_empty() {
            return Err(wrong("the destination is empty".to_owned(), "name a directory"));
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let Some(len) = rest[start..].find("}}") else {
                return Err(wrong(format!("{text}: a placeholder without its end `}}}}`"), known()));
            };
            let name = rest[start + 2..start + len].trim();
            let is_spark = name.starts_with("spark.") && name.len() > "spark.".len();
            if !is_spark && !PLACEHOLDERS.iter().any(|(known, _)| *known == name && *known != "spark.*") {
                return Err(wrong(format!("{text}: unknown placeholder {{{{{name}}}}}"), known()));
            }
            if is_secret_key(name) {
                let hint = "secrets are masked before anything is kept, so their values are not known";
                return Err(wrong(format!("{text}: {{{{{name}}}}} is a secret"), hint));
            }
            if start > 0 {
                parts.push(Part::Text(rest[..start].to_owned()));
            }
            parts.push(Part::Placeholder(name.to_owned()));
            rest = &rest[start + len + 2..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Destination { parts })
    }

    /// Whether two runs never get the same directory.
    fn tells_runs_apart(&self) -> bool {
        let has =
            |name: &str| self.parts.iter().any(|part| matches!(part, Part::Placeholder(p) if p == name));
        has("perfgazer.runid") || has("spark.app.id")
    }

    /// The directory up to the first segment that differs between runs.
    pub fn base(&self) -> PathBuf {
        match self.parts.first() {
            Some(Part::Text(text)) if self.parts.len() == 1 => PathBuf::from(text),
            Some(Part::Text(text)) => PathBuf::from(&text[..text.rfind('/').map_or(0, |at| at + 1)]),
            _ => PathBuf::from("."),
        }
    }

    /// The directory of a run. Where the placeholders do not tell runs apart, or several runs are
    /// reported at once, `applicationId=…/attempt=…` is appended.
    pub fn resolve(&self, run: &Run, several_runs: bool) -> Result<PathBuf, ReportError> {
        let mut path = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Placeholder(name) => path.push_str(&escape(&value(name, run)?)),
            }
        }
        let mut path = PathBuf::from(path);
        let application = &run.application;
        let unknown = || format!("unknown-{}", run_id(None, Some(&run.source)));
        let attempt = application.attempt_id.as_deref();
        if several_runs || !self.tells_runs_apart() {
            let id = application.id.clone().unwrap_or_else(unknown);
            path.push(format!("applicationId={}", escape(&id)));
            path.push(format!("attempt={}", escape(attempt.unwrap_or("0"))));
        }
        Ok(path)
    }
}

/// Cuts `file:`; refuses every other scheme.
fn local_path(text: &str) -> Result<&str, ReportError> {
    let Some((scheme, rest)) = text.split_once(":/") else { return Ok(text) };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    if scheme.is_empty()
        || !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme.chars().all(is_scheme)
    {
        return Ok(text);
    }
    let scheme_name = scheme.to_ascii_lowercase();
    let hint = "write to a local directory and copy it; local paths and file:/ are known";
    if scheme_name == "file" {
        let path = &text[scheme.len() + 1..];
        // `file:///a` has an empty host; `file:/a` has none.
        return Ok(path.strip_prefix("//").filter(|_| rest.starts_with("//")).unwrap_or(path));
    }
    if REMOTE_SCHEMES.contains(&scheme_name.as_str()) {
        return Err(wrong(format!("{text}: {scheme_name} is not written to yet"), hint));
    }
    Err(wrong(
        format!("{text}: unknown scheme {scheme_name}"),
        format!("{hint}; not yet: {}", REMOTE_SCHEMES.join(", ")),
    ))
}

fn value(name: &str, run: &Run) -> Result<String, ReportError> {
    let application = &run.application;
    if name == "perfgazer.runid" {
        return Ok(run_id(application.id.as_deref(), application.attempt_id.as_deref()).to_string());
    }
    if let Some(field) = name.strip_prefix("perfgazer.now.") {
        let start = application.start_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let Some(start) = start else {
            let hint = "leave the date out of the destination for this log";
            return Err(wrong(format!("{}: no start time for {{{{{name}}}}}", run.source), hint));
        };
        let format = match field {
            "year" => "%Y",
            "month" => "%m",
            "day" => "%d",
            "hour" => "%H",
            "minute" => "%M",
            _ => "%S",
        };
        return Ok(start.strftime(format).to_string());
    }
    let known = match name {
        "spark.app.id" => application.id.as_deref(),
        "spark.app.name" => application.name.as_deref(),
        "spark.app.attempt.id" => application.attempt_id.as_deref(),
        _ => None,
    };
    known
        .or_else(|| run.spark_property(name))
        .filter(|value| !value.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| {
            let message = format!("{}: the log has no property {name} for {{{{{name}}}}}", run.source);
            wrong(message, "see the `config` report for what it has")
        })
}

/// A value as one segment of a path, with the characters escaped that Spark escapes in partition
/// directories; Spark reads them back.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let is_dots = value.chars().all(|c| c == '.');
    for c in value.chars() {
        if c.is_control() || "\"#%'*/:=?\\{}[]^".contains(c) || is_dots {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use emberscope_log::event::lenient::TextOrJson;

    fn run() -> Run {
        let mut run = Run::default();
        run.application.id = Some("app-1".to_owned());
        run.application.start_ms = Some(1_796_020_118_068);
        for (key, value) in [("spark.x", "a/../b=c"), ("spark.dots", ".."), ("spark.empty", "")] {
            run.environment.spark.insert(key.to_owned(), TextOrJson(Some(value.to_owned())));
        }
        run
    }

    fn resolved(text: &str) -> Result<String, String> {
        let path = Destination::parse(text).and_then(|destination| destination.resolve(&run(), false));
        path.map(|path| path.display().to_string()).map_err(|error| format!("{error} ({})", error.hint()))
    }

    #[test]
    fn placeholders() {
        let id = run_id(Some("app-1"), None);
        let cases = [
            ("out", "out/applicationId=app-1/attempt=0".to_owned()),
            ("/o/{{spark.app.id}}/", "/o/app-1/".to_owned()),
            (
                "o/date={{perfgazer.now.year}}-{{ perfgazer.now.month }}-{{perfgazer.now.day}}/a={{spark.app.id}}",
                "o/date=2026-11-30/a=app-1".to_owned(),
            ),
            (
                "o/{{perfgazer.now.hour}}{{perfgazer.now.minute}}{{perfgazer.now.second}}/{{perfgazer.runid}}",
                format!("o/062838/{id}"),
            ),
            ("o/{{spark.x}}", "o/a%2F..%2Fb%3Dc/applicationId=app-1/attempt=0".to_owned()),
            ("o/{{spark.dots}}/x", "o/%2E%2E/x/applicationId=app-1/attempt=0".to_owned()),
            ("file:///o/{{spark.app.id}}", "/o/app-1".to_owned()),
            ("file:/o/{{spark.app.id}}", "/o/app-1".to_owned()),
        ];
        for (text, path) in cases {
            assert_eq!(resolved(text), Ok(path), "{text}");
        }
    }

    #[test]
    fn mistakes_name_what_is_known() {
        let cases = [
            ("o/{{nope}}", "unknown placeholder {{nope}}", "{{perfgazer.runid}}"),
            ("o/{{perfgazer.now.week}}", "unknown placeholder", "{{perfgazer.now.second}}"),
            ("o/{{spark.}}", "unknown placeholder", "{{spark.*}}"),
            ("o/{{spark.app.id", "without its end", "known are"),
            ("o/{{spark.my.password}}", "is a secret", "masked"),
            ("o/{{spark.none}}", "the log has no property spark.none", "config"),
            ("o/{{spark.empty}}", "the log has no property spark.empty", "config"),
            ("s3a://b/x", "s3a is not written to yet", "local directory"),
            ("dbfs:/x", "dbfs is not written to yet", "local directory"),
            ("ftp://h/x", "unknown scheme ftp", "hdfs"),
            ("", "is empty", "directory"),
        ];
        for (text, message, hint) in cases {
            let told = resolved(text).unwrap_err();
            assert!(told.contains(message) && told.contains(hint), "{text}: {told}");
        }
    }

    #[test]
    fn base_of_all_runs() {
        for (text, base) in [
            ("out", "out"),
            ("/o/{{spark.app.id}}", "/o/"),
            ("{{spark.app.id}}", "."),
            ("o/d={{perfgazer.now.day}}/x", "o/"),
        ] {
            assert_eq!(Destination::parse(text).unwrap().base(), PathBuf::from(base), "{text}");
        }
    }
}

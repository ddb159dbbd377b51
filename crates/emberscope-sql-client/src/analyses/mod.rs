//! Ready-made questions. Their statements are read by Spark as they are.

use crate::parameters::{self, Parameter, Parameters};
use crate::{Refused, plain};
use std::fmt::Write;

/// A ready-made question.
#[derive(Debug)]
pub struct Analysis {
    /// Its name.
    pub name: &'static str,
    /// What it answers.
    pub title: &'static str,
    /// The statement for one run.
    one: &'static str,
    /// The statement for several runs, where it is another one.
    many: Option<&'static str>,
    /// What can be set in it.
    pub parameters: &'static [Parameter],
}

const LIMIT: Parameter = Parameter { name: "limit", default: "20", doc: "rows" };

/// A question of the PerfGazer documentation, verbatim but for what its text says, and the same of several runs.
macro_rules! seed {
    ($name:literal, $title:literal) => {
        Analysis {
            name: $name,
            title: $title,
            one: include_str!(concat!("seed/", $name, ".sql")),
            many: Some(include_str!(concat!("runs/", $name, ".sql"))),
            parameters: &[],
        }
    };
}

macro_rules! more {
    ($name:literal, $title:literal, $parameters:expr) => {
        Analysis {
            name: $name,
            title: $title,
            one: include_str!(concat!("more/", $name, ".sql")),
            many: None,
            parameters: $parameters,
        }
    };
}

/// All of them.
pub const ANALYSES: &[Analysis] = &[
    seed!("tasks-with-stage-and-job", "All tasks with their stage and job"),
    seed!("jobs-by-cpu-usage", "Jobs by executor CPU time"),
    seed!("jobs-by-io-volumes", "Jobs by input, output and shuffle"),
    seed!("jobs-with-spill", "Jobs that spilled, to memory or disk"),
    seed!("joins-with-cpu-and-io", "Joins with CPU time and I/O of their job"),
    seed!("join-node-metrics", "Metrics of join operators"),
    seed!("scan-node-metrics", "Metrics of Parquet scans"),
    seed!("wall-clock-duration-of-jobs", "Jobs by wall-clock duration"),
    seed!("skew-detection", "Stages whose slowest task is far from the others"),
    more!("sql-by-core-time", "SQL executions by executor run time", &[LIMIT]),
    more!("sql-by-lost-work", "SQL executions by work that did not count", &[LIMIT]),
    more!("sql-by-spill", "SQL executions by spill", &[LIMIT]),
    more!(
        "stages-by-skew",
        "Stage attempts by the slowest task over the median one",
        &[
            LIMIT,
            Parameter { name: "min_seconds", default: "1", doc: "the slowest task runs at least so long" }
        ]
    ),
    more!("executors-by-failures", "Executors by task attempts that failed or were killed", &[LIMIT]),
    more!(
        "cost",
        "Cost of each application and of its user",
        &[
            Parameter { name: "limit", default: "100", doc: "rows" },
            Parameter { name: "core_hour", default: "0.05", doc: "price of a core for an hour" },
            Parameter {
                name: "gib_hour",
                default: "0.0",
                doc: "price of a GiB of executor memory for an hour"
            },
            Parameter { name: "currency", default: "'USD'", doc: "name of the currency" },
        ]
    ),
    more!(
        "runs-over-time",
        "Runs of one name in order, and where they became slower or faster",
        &[
            Parameter { name: "limit", default: "1000", doc: "rows" },
            Parameter { name: "name", default: "'%'", doc: "name of the application, as LIKE takes it" },
            Parameter {
                name: "factor",
                default: "1.5",
                doc: "times the mean of the five runs before that is a change"
            },
        ]
    ),
    more!("scans", "Scans by bytes and files read", &[LIMIT]),
    more!("python-time", "Python operators by time and data", &[LIMIT]),
    more!(
        "configuration-differences",
        "Spark settings in which the runs differ",
        &[Parameter { name: "limit", default: "1000", doc: "rows" }]
    ),
];

/// The question of that name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Analysis, Refused> {
    ANALYSES.iter().find(|analysis| analysis.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let message = format!("no question is called `{}`", plain(name));
        Refused::new(message, "`emberscope sql --list` names them")
    })
}

/// The statement with its parameters' values.
///
/// # Errors
/// A value is missing, too many or of the wrong kind.
pub fn statement(
    analysis: &Analysis,
    params: &Parameters,
    has_several_runs: bool,
) -> Result<String, Refused> {
    let text = analysis.many.filter(|_| has_several_runs).unwrap_or(analysis.one);
    params.apply(text, analysis.parameters)
}

/// What `--list` prints.
pub fn list() -> String {
    let width = ANALYSES.iter().map(|analysis| analysis.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for analysis in ANALYSES {
        _ = writeln!(text, "{:width$}  {}", analysis.name, analysis.title);
        for Parameter { name, default, doc } in analysis.parameters {
            _ = writeln!(text, "{:width$}    :{name} {doc}, {default} unless given", "");
        }
    }
    text.push_str("\nRun one with `emberscope sql SOURCE... --named NAME [--param limit=50]`; --show prints its statement.\n");
    text
}

/// What `--show` prints: statements to paste.
///
/// # Errors
/// As [`statement`].
pub fn show(analysis: &Analysis, params: &Parameters, for_spark: bool) -> Result<String, Refused> {
    let ended = |has_several_runs| -> Result<String, Refused> {
        Ok(format!("{};\n", statement(analysis, params, has_several_runs)?.trim_end()))
    };
    let mut text = format!("-- {}\n", analysis.title);
    if for_spark {
        text.push_str("-- Views: emberscope sql --snippets DIR\n");
    }
    text.push_str(&ended(false)?);
    if analysis.many.is_some() {
        _ = write!(text, "\n{OF_SEVERAL}\n{}", ended(true)?);
    }
    Ok(text)
}

/// What parts the statement for one run from that for several.
const OF_SEVERAL: &str = "-- The same of several runs";

/// The one statement of a text; of what `--show` prints, that for so many runs.
///
/// # Errors
/// There is none, or there are several.
pub fn pick(text: &str, has_several_runs: bool) -> Result<&str, Refused> {
    match parameters::statements(text).as_slice() {
        [] => Err(Refused::new("there is no statement", "give it as the last word: 'SELECT ...'")),
        // Its place in the text is that which errors tell.
        [_] => Ok(text),
        [one, many] if many.trim_start().starts_with(OF_SEVERAL) => {
            Ok(if has_several_runs { many } else { one })
        }
        several => {
            let message = format!("there are {} statements", several.len());
            Err(Refused::new(message, "ask one at a time: leave the one you mean"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_different_and_statements_whole() {
        let names: BTreeSet<&str> = ANALYSES.iter().map(|analysis| analysis.name).collect();
        assert_eq!(names.len(), ANALYSES.len());
        let none = Parameters::default();
        for analysis in ANALYSES {
            for has_several_runs in [false, true] {
                let text = statement(analysis, &none, has_several_runs).unwrap();
                assert!(!text.contains(';') && text.ends_with('\n'), "{}", analysis.name);
            }
            assert!(find(&analysis.name.to_uppercase()).is_ok());
        }
        assert!(find("nothing").is_err());
    }

    #[test]
    fn what_is_shown_can_be_asked() {
        let none = Parameters::default();
        for analysis in ANALYSES {
            for for_spark in [false, true] {
                let shown = show(analysis, &none, for_spark).unwrap();
                for has_several_runs in [false, true] {
                    let picked = pick(&shown, has_several_runs).unwrap();
                    let wanted = statement(analysis, &none, has_several_runs).unwrap();
                    let ended = picked.trim_end().trim_end_matches(';');
                    assert!(ended.ends_with(wanted.trim_end()), "{picked}");
                }
            }
        }
        assert_eq!(pick("SELECT 1;", true).unwrap(), "SELECT 1;");
        assert!(pick("SELECT 1; SELECT 2", true).is_err());
        assert!(pick("-- nothing", true).is_err());
    }
}

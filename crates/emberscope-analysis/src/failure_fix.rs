//! What to change for a failure, by its cause.

use crate::config::Conf;
use crate::context::Context;
use crate::finding::Change;
use crate::losses::{self, LossCause};
use crate::words;

mod known;

/// Frames of these are the platform's and its libraries', and not the place to look at.
const FOREIGN: [&str; 10] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "scala.",
    "org.apache.",
    "org.slf4j.",
    "py4j.",
    "com.fasterxml.",
    "io.netty.",
];

/// What to do about a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// In words.
    pub text: String,
    /// As data; empty where the log does not tell what to change.
    pub changes: Vec<Change>,
}

/// The fix for an error with a stack trace.
pub fn of_error(context: &Context<'_>, text: &str) -> Fix {
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let conf = context.conf(None);
    if has(&["Total size of serialized results", "spark.driver.maxResultSize"]) {
        return Fix {
            text: "The results that tasks sent to the driver are too large for it: write them to a table instead of collecting them.".to_owned(),
            changes: vec![Change::code("collect", "write the result, or aggregate it first")],
        };
    }
    if has(&["OutOfMemoryError", "SparkOutOfMemoryError", "GC overhead limit", "MemoryError"]) {
        return out_of_memory(context, &conf, text);
    }
    if let Some(class) = missing_class(text) {
        return Fix {
            text: format!(
                "`{class}` is not on the class path of the executors: ship what holds it with the application."
            ),
            changes: vec![Change::code(
                "dependencies",
                format!("the jar that holds {class} (--jars, --packages)"),
            )],
        };
    }
    if let Some(module) = after(text, "ModuleNotFoundError: No module named ") {
        let module = module.trim_matches(['\'', '"']);
        return Fix {
            text: format!(
                "The Python of the executors has no module `{module}`: ship it with the application, or install it on every node."
            ),
            changes: vec![Change::code(
                "dependencies",
                format!("the Python module {module} (--py-files, --archives)"),
            )],
        };
    }
    if has(&["No space left on device"]) {
        return Fix {
            text: "A local disk of an executor was full: give spark.local.dir more room, or spill and shuffle less.".to_owned(),
            changes: vec![Change::resource("local disks", None, "more room for shuffle and spill files")],
        };
    }
    let place = code_place(text);
    if let Some(known) = known::of(text) {
        let mut changes: Vec<Change> =
            place.into_iter().map(|place| Change::code(place, known.change)).collect();
        changes.extend(known.key.and_then(|(key, value)| conf.propose(key, value)));
        if changes.is_empty() {
            changes.push(Change::code(known.subject, known.change));
        }
        return Fix { text: known.text.to_owned(), changes };
    }
    if let Some(place) = place {
        return Fix {
            text: "Find the rows or calls behind the message and handle them where they occur.".to_owned(),
            changes: vec![Change::code(place, "handle what throws here")],
        };
    }
    Fix {
        text: "Find the rows or calls behind the message and handle them where they occur; the log does not tell the line.".to_owned(),
        changes: Vec::new(),
    }
}

/// Memory outside the heap is the overhead's; the rest the heap's. Half as much again in either case.
fn out_of_memory(context: &Context<'_>, conf: &Conf<'_>, text: &str) -> Fix {
    let is_outside =
        ["Direct buffer memory", "MemoryError", "unable to create"].iter().any(|part| text.contains(part))
            && !text.contains("OutOfMemoryError: Java heap space");
    if is_outside && !context.is_local {
        return of_loss(context, LossCause::OutOfMemory);
    }
    let key = if context.is_local { "spark.driver.memory" } else { "spark.executor.memory" };
    let memory = conf.bytes(key).unwrap_or(1 << 30);
    Fix {
        text: format!(
            "The tasks ran out of memory: use smaller partitions, or give each task more memory ({key}, or fewer cores per executor)."
        ),
        changes: conf.propose(key, words::setting_size(memory + memory / 2)).into_iter().collect(),
    }
}

/// The fix for executors that went.
pub fn of_loss(context: &Context<'_>, cause: LossCause) -> Fix {
    let conf = context.conf(None);
    let (text, changes): (&str, Vec<Change>) = match cause {
        LossCause::OutOfMemory => {
            let memory = conf.bytes("spark.executor.memory").unwrap_or(1 << 30);
            let now = conf
                .bytes("spark.executor.memoryOverhead")
                .map(|bytes| if bytes < 1 << 20 { bytes << 20 } else { bytes });
            // Default: a tenth of the heap, at least 384 MiB. Twice what there is.
            let overhead = 2 * now.unwrap_or((memory / 10).max(384 << 20));
            let text = if context.run.has_containers() {
                "The executor was killed from outside, most likely for its memory: raise the overhead for what lies outside the heap (Python, native code), or run fewer, smaller tasks in it at a time."
            } else {
                "The executor was killed from outside, most likely because its machine ran out of memory: leave more of it to what lies outside the heap (Python, native code) with a smaller spark.executor.memory or fewer executors on a machine, or run fewer tasks in it at a time. The system's log tells who killed it."
            };
            (
                text,
                conf.propose("spark.executor.memoryOverhead", words::setting_size(overhead))
                    .into_iter()
                    .collect(),
            )
        }
        LossCause::Preempted | LossCause::Decommissioned => (
            "Let executors that must go hand over their shuffle and cached blocks first, or run what cannot be repeated cheaply on nodes that are not taken away.",
            [
                "spark.decommission.enabled",
                "spark.storage.decommission.enabled",
                "spark.storage.decommission.shuffleBlocks.enabled",
            ]
            .into_iter()
            .filter_map(|key| conf.propose(key, "true"))
            .collect(),
        ),
        LossCause::HeartbeatTimeout => (
            "The executor did not answer for too long, mostly for long collections or an overloaded machine: look at its collections before raising spark.network.timeout.",
            vec![Change::resource("executor memory", None, "more for each task, if its heap was full")],
        ),
        LossCause::Released => {
            let has_none = conf.bool("spark.dynamicAllocation.enabled") == Some(true)
                && conf.bool("spark.shuffle.service.enabled") != Some(true);
            let tracking = || conf.propose("spark.dynamicAllocation.shuffleTracking.enabled", "true");
            (
                "Executors were let go while their shuffle files were still needed: keep those that hold some, or use the external shuffle service.",
                has_none.then(tracking).flatten().into_iter().collect(),
            )
        }
        LossCause::Crashed | LossCause::Unknown => (
            "Find out why the executor went: its own log ends with the reason, or the log of its node has it.",
            vec![Change::resource("executor", None, "find the reason of its end")],
        ),
    };
    Fix { text: text.to_owned(), changes }
}

/// The loss behind failures on some executors, or else the last one of the run.
pub fn loss_of(context: &Context<'_>, executors: &[&str]) -> LossCause {
    let lost = || context.run.executors.iter().filter_map(|one| Some((one, losses::cause_of(one)?)));
    let own = lost().find(|(one, _)| executors.contains(&one.id.as_str()));
    own.or_else(|| {
        lost().filter(|(_, cause)| *cause != LossCause::Released).max_by_key(|(one, _)| one.removed_ms)
    })
    .map_or(LossCause::Unknown, |(_, cause)| cause)
}

fn after<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let rest = text[text.find(mark)? + mark.len()..].lines().next()?.trim();
    (!rest.is_empty()).then_some(rest)
}

/// The class that was not found.
fn missing_class(text: &str) -> Option<String> {
    let name = after(text, "ClassNotFoundException: ").or_else(|| after(text, "NoClassDefFoundError: "))?;
    let name = name.trim_start_matches("Could not initialize class ");
    let end = name.find(|c: char| !(c.is_alphanumeric() || "._$/".contains(c))).unwrap_or(name.len());
    let name = name[..end].trim_end_matches('.').replace('/', ".");
    (!name.is_empty()).then_some(name)
}

/// Where the program's own code threw: the innermost frame that is not Spark's or the language's.
fn code_place(text: &str) -> Option<String> {
    called_from(text).or_else(|| python_place(text)).or_else(|| jvm_place(text))
}

/// Spark's own word for it (`DataFrameQueryContext`, Spark 4): `"cast" was called from`, and in the next line
/// `/jobs/etl.py:12` or `Etl$.main(Etl.scala:12)`.
fn called_from(text: &str) -> Option<String> {
    let (before, after) = text.split_once("\" was called from")?;
    let call = before.rsplit('"').next().unwrap_or_default();
    let place = after.lines().map(str::trim).find(|line| !line.is_empty())?;
    let (path, line) = place.rsplit_once(':')?;
    let line = line.trim_end_matches(')');
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let file = path.rsplit(['/', '(']).next().unwrap_or(path);
    Some(format!("{file}:{line} ({call})"))
}

/// `File "/jobs/etl.py", line 12, in parse`: the last one that is not PySpark's.
fn python_place(text: &str) -> Option<String> {
    let frames = text.lines().rev().filter_map(|line| line.trim().strip_prefix("File \""));
    let mut own = frames.filter(|frame| {
        !["/pyspark/", "pyspark.zip", "/lib/python", "<frozen"].iter().any(|part| frame.contains(part))
    });
    let (file, rest) = own.next()?.split_once("\", line ")?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some(match function.trim() {
        "" => format!("{name}:{line}"),
        function => format!("{name}:{line} ({function})"),
    })
}

/// `at com.shop.Etl$.parse(Etl.scala:12)`: the first one that is not the platform's.
fn jvm_place(text: &str) -> Option<String> {
    let frames = text.lines().filter_map(|line| line.trim().strip_prefix("at "));
    let own = frames.filter(|frame| {
        // `java.base/java.lang...` names its module first.
        let name = frame
            .split_once('/')
            .filter(|(module, _)| !module.contains('('))
            .map_or(*frame, |(_, name)| name);
        !FOREIGN.iter().any(|prefix| name.starts_with(prefix)) && !name.contains("GeneratedClass")
    });
    let (method, at) = own.filter_map(|frame| frame.split_once('(')).next()?;
    let at = at.split(')').next().filter(|at| at.contains(':'))?;
    Some(format!("{at} ({method})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_program() {
        let python = "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File \"/opt/spark/python/lib/pyspark.zip/pyspark/worker.py\", line 1, in main\n  File \"/jobs/etl.py\", line 12, in parse\n    raise ValueError(x)\nValueError: bad row 7\n\n\tat org.apache.spark.X.y(X.scala:1)";
        assert_eq!(code_place(python).as_deref(), Some("etl.py:12 (parse)"));
        let scala = "java.lang.IllegalStateException: bad\n\tat java.base/java.lang.Integer.parseInt(Integer.java:1)\n\tat scala.a.B(B.scala:2)\n\tat com.shop.Etl$.parse(Etl.scala:12)\n\tat com.shop.Main.main(Main.scala:3)";
        assert_eq!(code_place(scala).as_deref(), Some("Etl.scala:12 (com.shop.Etl$.parse)"));
        let spark = "java.io.IOException: x\n\tat org.apache.parquet.hadoop.A.b(A.java:2)\n\tat org.apache.spark.A.b(A.scala:1)\n\tat java.lang.Thread.run(Thread.java:9)";
        assert_eq!(code_place(spark), None);
        let of_frame = "[CAST_INVALID_INPUT] The value 'N/A' of the type \"STRING\" cannot be cast to \"INT\". SQLSTATE: 22018\n== DataFrame ==\n\"cast\" was called from\n/jobs/baddata.py:9\n\n\tat org.apache.spark.sql.errors.X.f(X.scala:1)";
        assert_eq!(code_place(of_frame).as_deref(), Some("baddata.py:9 (cast)"));
        let of_scala = "== DataFrame ==\n\"divide\" was called from\ncom.shop.Etl$.main(Etl.scala:12)\n";
        assert_eq!(code_place(of_scala).as_deref(), Some("Etl.scala:12 (divide)"));
    }

    #[test]
    fn classes_that_are_missing() {
        for (text, class) in [
            ("java.lang.ClassNotFoundException: com.shop.Row$\n\tat x", Some("com.shop.Row$")),
            ("java.lang.NoClassDefFoundError: com/shop/Row", Some("com.shop.Row")),
            ("java.lang.NoClassDefFoundError: Could not initialize class a.B", Some("a.B")),
            ("java.io.IOException: full", None),
        ] {
            assert_eq!(missing_class(text).as_deref(), class, "{text}");
        }
    }
}

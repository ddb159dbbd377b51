//! Where answers come from.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Answers of the monitoring API about one application attempt.
pub trait Answers {
    /// The answer at a path below the application, such as `jobs` or `stages/3/0/taskList?offset=0&length=10`; an
    /// empty path is the application itself. `None` where there is none (404).
    ///
    /// # Errors
    /// When the answer cannot be had.
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError>;

    /// Whether tasks and lists come in pages, as from a server.
    fn has_pages(&self) -> bool {
        true
    }
}

/// An answer that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(pub String);

/// Answers saved as files: of a folder all below it, told apart by their content, or one file.
#[derive(Debug, Default)]
pub struct Saved {
    answers: BTreeMap<String, Vec<Value>>,
    /// Files that were answers.
    pub files: u64,
    /// How large all of them are, bytes.
    pub bytes: u64,
    /// Files that were no answers, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

/// Bytes of a saved answer that are read.
const MOST_BYTES: u64 = 1 << 30;
/// Levels of folders that are looked into.
const MOST_LEVELS: usize = 8;

impl Saved {
    /// Whether a path looks like saved answers: a file of JSON that begins as one, or a folder that holds one.
    pub fn is_at(path: &Path) -> bool {
        if path.is_dir() {
            let Ok(entries) = std::fs::read_dir(path) else { return false };
            return entries.flatten().any(|entry| entry.path().is_file() && is_answer(&entry.path()));
        }
        path.is_file() && is_answer(path)
    }

    /// Reads what is at `path`.
    ///
    /// # Errors
    /// When it cannot be read. Files that are no answers are kept in [`Saved::skipped`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut saved = Saved::default();
        if path.is_dir() {
            saved.folder(path, MOST_LEVELS)?;
        } else {
            saved.file(path);
        }
        Ok(saved)
    }

    fn folder(&mut self, dir: &Path, levels: usize) -> io::Result<()> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && levels > 0 && !path.is_symlink() {
                self.folder(&path, levels - 1)?;
            } else if path.extension().is_some_and(|extension| extension == "json") {
                self.file(&path);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) {
        let size = path.metadata().map_or(0, |meta| meta.len());
        if size > MOST_BYTES {
            self.skipped.push((path.to_owned(), "larger than 1 GiB".to_owned()));
            return;
        }
        let parsed = std::fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).map_err(|error| error.to_string()));
        match parsed {
            Ok(value) => {
                if self.take(value, path) {
                    self.files += 1;
                    self.bytes += size;
                } else {
                    self.skipped.push((path.to_owned(), "no answer of the monitoring API".to_owned()));
                }
            }
            Err(reason) => self.skipped.push((path.to_owned(), reason)),
        }
    }

    /// Keeps an answer under the path it would have had; `false` for anything else.
    fn take(&mut self, value: Value, path: &Path) -> bool {
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let Some(kind) = items.first().and_then(kind) else { return items.is_empty() };
        let key = match kind {
            "taskList" => match stage_of(path) {
                Some((stage, attempt)) => format!("stages/{stage}/{attempt}/taskList"),
                None => return false,
            },
            kind => kind.to_owned(),
        };
        self.answers.entry(key).or_default().extend(items);
        true
    }
}

/// What an answer is about, by its fields.
fn kind(item: &Value) -> Option<&'static str> {
    let has = |field: &str| item.get(field).is_some();
    Some(match () {
        () if has("jobId") && has("stageIds") => "jobs",
        () if has("stageId") && has("numTasks") => "stages",
        () if has("taskId") && has("launchTime") => "taskList",
        () if has("sparkProperties") => "environment",
        () if has("totalCores") && has("hostPort") => "allexecutors",
        () if has("attempts") && has("id") => "",
        () if has("id") && has("submissionTime") && has("status") => "sql",
        () => return None,
    })
}

fn is_answer(path: &Path) -> bool {
    use io::Read;
    if path.extension().is_none_or(|extension| extension != "json") {
        return false;
    }
    let mut head = [0u8; 4096];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut head));
    let Ok(n) = read else { return false };
    let text = String::from_utf8_lossy(&head[..n]);
    let fields = [
        "\"jobId\"",
        "\"stageId\"",
        "\"sparkProperties\"",
        "\"hostPort\"",
        "\"attempts\"",
        "\"submissionTime\"",
    ];
    text.trim_start().starts_with(['[', '{'])
        && !text.contains("\"Event\"")
        && fields.iter().any(|field| text.contains(field))
}

/// Stage and attempt in the path of a list of tasks: the last two numbers in it.
fn stage_of(path: &Path) -> Option<(u32, u32)> {
    let text = path.with_extension("");
    let text = text.to_string_lossy();
    let mut numbers = text.rsplit(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let (attempt, stage) = (numbers.next()?, numbers.next()?);
    Some((stage.parse().ok()?, attempt.parse().ok()?))
}

impl Answers for Saved {
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError> {
        let path = path.split('?').next().unwrap_or_default();
        let found = match path {
            "executors" => None,
            // Details of a query come with the list.
            path if path.starts_with("sql/") => {
                let id = path.trim_start_matches("sql/").parse::<u64>().ok();
                let of_id = |item: &&Value| item.get("id").and_then(Value::as_u64) == id;
                self.answers.get("sql").and_then(|items| items.iter().find(of_id)).map(Value::to_string)
            }
            "" | "environment" => {
                self.answers.get(path).and_then(|items| items.first()).map(Value::to_string)
            }
            path => self.answers.get(path).map(|items| Value::Array(items.clone()).to_string()),
        };
        Ok(found.map(String::into_bytes))
    }

    fn has_pages(&self) -> bool {
        false
    }
}

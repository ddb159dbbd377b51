//! Recordings of `referee/history_server.py` as answers; the tests of `emberscope-evidence` include this file.

use emberscope_log::block::ParseOptions;
use emberscope_log::input::Memory;
use emberscope_log::scan::ScanOptions;
use emberscope_log::source::{Provenance, discover_input};
use emberscope_model::load::load;
use emberscope_model::run::Run;
use emberscope_rest::{AnswerError, Answers, Collected};
use serde_json::{Value, json};
use std::sync::Arc;

/// One recording of `referee/history_server.py`.
pub(crate) struct Recorded(pub(crate) Value);

impl Answers for Recorded {
    fn answer(&self, path: &str) -> Result<Option<Vec<u8>>, AnswerError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameter = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let page = |list: &Value| {
            let items = list.as_array().cloned().unwrap_or_default();
            let (from, length) =
                (parameter("offset").unwrap_or(0), parameter("length").unwrap_or(usize::MAX));
            Value::Array(items.into_iter().skip(from).take(length).collect())
        };
        let found = match path.split('/').collect::<Vec<_>>()[..] {
            [""] => {
                let application = &self.0["application"];
                let attempts = [application["attempt"].clone()];
                Some(json!({ "id": application["id"], "name": application["name"], "attempts": attempts }))
            }
            ["allexecutors"] => Some(self.0["executors"].clone()),
            ["jobs"] => Some(self.0["jobs"].clone()),
            ["stages"] => Some(self.0["stages"].clone()),
            ["sql"] => Some(page(&self.0["sql"])),
            ["sql", id] => self.0["sql"]
                .as_array()
                .and_then(|all| all.iter().find(|sql| sql["id"].as_u64() == id.parse().ok()).cloned()),
            ["stages", stage, attempt, "taskList"] => {
                self.0["tasks"].get(format!("{stage}/{attempt}")).map(page)
            }
            _ => None,
        };
        Ok(found.map(|value| value.to_string().into_bytes()))
    }
}

/// The run of answers.
pub(crate) fn run_of(made: &Collected) -> Run {
    let mut found = discover_input(Arc::new(Memory::new("answers", made.events.clone())));
    let mut source = found.runs.remove(0);
    source.provenance = Provenance {
        notes: made.notes.clone(),
        not_measured: made.not_measured.clone(),
        forgotten: made.forgotten.clone(),
        is_running: made.is_running,
        ..Provenance::default()
    };
    load(&source, ScanOptions::default(), ParseOptions::default(), &|_| {})
}

//! The process that answers SQL: one for the server, kept warm, asked one statement at a time.

use crate::catalog::Entry;
use crate::opened::{OpenError, Opened, Runs};
use emberscope_model::run::Run;
use emberscope_sql_client::Refused;
use emberscope_sql_client::client::{self, Answer, AskError, Client};
use emberscope_sql_client::tables::{self, Files, LogTables, Tables, TablesError, Words};
use emberscope_sql_protocol::Limits;
use emberscope_store::Store;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What an answer may cost.
const LIMITS: Limits =
    Limits { memory_bytes: 2 << 30, spill_bytes: 8 << 30, timeout_ms: Some(60_000), threads: 0 };

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleError {
    /// There is no process that answers.
    #[error(transparent)]
    NoProcess(Refused),
    /// It gave none.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A log cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no place for tables.
    #[error(transparent)]
    Tables(#[from] TablesError),
}

/// The process that answers, and the tables that are made for it.
#[derive(Debug)]
pub(crate) struct Console {
    tables: Tables,
    worker: Mutex<Option<Worker>>,
}

/// A process and what it was told.
struct Worker {
    client: Client,
    runs: Vec<String>,
    /// Kept as long as it may read them.
    _tables: Vec<LogTables>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// A run that is in memory.
struct InMemory(Arc<Opened>);

impl Borrow<Run> for InMemory {
    fn borrow(&self) -> &Run {
        &self.0.run
    }
}

impl Console {
    /// Tables are kept in `cache`, if there is one.
    pub(crate) fn new(cache: Option<&Path>, threads: usize) -> Console {
        let store =
            cache.and_then(|root| Store::at(&root.join("tables"), emberscope_store::DEFAULT_BYTES).ok());
        let words = Words { nothing: |_| "no event in it".to_owned(), gaps: |_| Vec::new() };
        Console { tables: Tables::new(store, words, threads), worker: Mutex::default() }
    }

    /// Why nobody answers, where that is known before anything is asked: the program is not there. It may come while
    /// the server runs.
    pub(crate) fn missing(&self) -> Option<Refused> {
        let is_ready = self.worker.try_lock().map_or(true, |worker| worker.is_some());
        if is_ready { None } else { client::find(false).err() }
    }

    /// Asks about these runs; `take` takes the answer.
    ///
    /// # Errors
    /// Those of `take`, and when there is no answer.
    pub(crate) fn ask<T, E: From<ConsoleError>>(
        &self,
        runs: &Runs,
        entries: &[Arc<Entry>],
        statement: &str,
        max_rows: Option<u64>,
        take: impl FnOnce(Answer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted: Vec<String> =
            entries.iter().map(|entry| format!("{} {:?}", entry.id, entry.stamp)).collect();
        let mut ready = match worker.take() {
            Some(ready) if ready.runs == wanted => ready,
            other => self.open(other.map(|worker| worker.client), runs, entries, wanted)?,
        };
        let answer = ready.client.ask(statement, max_rows).map_err(ConsoleError::from)?;
        let taken = take(answer);
        // A process that is gone is not kept; one that is not is told so by its next answer.
        if ready.client.is_alive() {
            *worker = Some(ready);
        }
        taken
    }

    /// A process that knows the tables of these runs; one that runs already is told of others.
    fn open(
        &self,
        client: Option<Client>,
        runs: &Runs,
        entries: &[Arc<Entry>],
        wanted: Vec<String>,
    ) -> Result<Worker, ConsoleError> {
        let program = client::find(false).map_err(ConsoleError::NoProcess)?;
        let mut logs: Vec<LogTables> = Vec::new();
        let mut seen = BTreeSet::new();
        for entry in entries {
            let read = || Ok::<_, ConsoleError>(InMemory(runs.open(entry)?));
            // A cache that cannot be written is slow, not wrong.
            let log = self.tables.of(&entry.source, read, |_| {})?;
            // A copy of a log is the same run.
            if log.meta.nothing.is_none() && seen.insert((log.meta.content_hash, log.meta.events)) {
                logs.push(log);
            }
        }
        let names = logs.iter().map(|log| (&log.meta.application_id, &log.meta.attempt_id));
        let told_apart = tables::share_names(names);
        let mut files = Files::new();
        logs.iter().for_each(|log| tables::add_log(log, told_apart, &mut files));
        let mut client = match client {
            Some(client) => client,
            None => Client::start(&program).map_err(ConsoleError::NoProcess)?,
        };
        client.open(tables::tables(files), LIMITS)?;
        Ok(Worker { client, runs: wanted, _tables: logs })
    }
}

//! Runs that were read, kept so that the next opening takes no reading.

use crate::{Key, Store, StoreError};
use emberscope_log::source::RunSource;
use emberscope_model::run::Run;
use emberscope_model::snapshot;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// All of a run but its plans.
const RUN: &str = "run.bin";
/// Its plans and their texts.
const PLANS: &str = "plans.bin";
/// What an entry says of itself beside its files. Changes with the form of what is kept.
const FORM: u32 = 1;

/// Runs that were read.
#[derive(Debug)]
pub struct RunCache {
    store: Store,
    build: String,
}

impl RunCache {
    /// Runs in this directory, which is made if need be, up to a size.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn at(root: &Path, max_bytes: u64) -> Result<RunCache, StoreError> {
        Ok(RunCache { store: Store::at(root, max_bytes)?, build: crate::this_program() })
    }

    /// By what the run of a log is found, as the log is now; `None` where it cannot be found again.
    pub fn key(&self, source: &RunSource) -> Option<Key> {
        Key::of(source, &self.build)
    }

    /// The run of a key. What is damaged or foreign counts as missing.
    pub fn find(&self, key: &Key) -> Option<Run> {
        let entry = self.store.find::<u32>(key).filter(|entry| entry.meta == FORM)?;
        let bytes = std::fs::read(entry.dir.join(RUN)).ok()?;
        let plans = File::open(entry.dir.join(PLANS)).ok()?;
        snapshot::read(&bytes, plans).ok()
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, key: &Key, run: &Run) -> Result<(), StoreError> {
        self.store.make(key, |dir| -> Result<u32, StoreError> {
            let path = dir.join(PLANS);
            let failed = || StoreError::io(&path, "written");
            let mut plans = BufWriter::new(crate::create_file(&path).map_err(failed())?);
            let bytes = snapshot::write(run, &mut plans).map_err(failed())?;
            plans.flush().map_err(failed())?;
            let path = dir.join(RUN);
            let failed = || StoreError::io(&path, "written");
            let mut file = crate::create_file(&path).map_err(failed())?;
            file.write_all(&bytes).map_err(failed())?;
            Ok(FORM)
        })?;
        Ok(())
    }
}

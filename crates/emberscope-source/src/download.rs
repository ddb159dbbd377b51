//! An answer in a temporary file without a name, which is gone with the process.

use emberscope_log::input::Input;
use std::fs::File;
use std::io::{self, Write};

/// What was downloaded, to be read like any file.
#[derive(Debug)]
pub struct Download {
    name: String,
    file: File,
    len: u64,
    modified_ms: Option<i64>,
}

impl Download {
    /// An empty one that is shown as `name`.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub(crate) fn create(name: String) -> io::Result<Self> {
        Ok(Download { name, file: tempfile::tempfile()?, len: 0, modified_ms: None })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}

impl Input for Download {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn modified_ms(&self) -> Option<i64> {
        self.modified_ms
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        emberscope_log::input::file_read_at(&self.file, offset, buf)
    }
}

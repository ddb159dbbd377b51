//! Events as they are written, packed: the tasks of a large run are gigabytes of JSON.

use serde_json::Value;
use std::io::{self, Write};

/// Lines of an event log in memory, in zstd.
pub(crate) struct Events {
    packed: zstd::Encoder<'static, Vec<u8>>,
    count: u64,
}

impl Events {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Events { packed: zstd::Encoder::new(Vec::new(), 1)?, count: 0 })
    }

    pub(crate) fn add(&mut self, event: &Value) -> io::Result<()> {
        self.count += 1;
        writeln!(self.packed, "{event}")
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.packed.finish()
    }
}

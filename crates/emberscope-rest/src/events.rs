//! Events as they are written, packed: the tasks of a large run are gigabytes of JSON.

use serde_json::Value;
use std::io::{self, BufWriter, Write};

/// Lines of an event log in memory, in zstd.
pub(crate) struct Events {
    /// JSON is written a sign at a time.
    packed: BufWriter<zstd::Encoder<'static, Vec<u8>>>,
}

impl Events {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Events { packed: BufWriter::new(zstd::Encoder::new(Vec::new(), 1)?) })
    }

    pub(crate) fn add(&mut self, event: &Value) -> io::Result<()> {
        // Spark puts the name first, and who looks only at the beginning of a line finds it there.
        let Value::Object(fields) = event else { return Ok(()) };
        write!(self.packed, "{{\"Event\":{}", fields.get("Event").unwrap_or(&Value::Null))?;
        for (key, value) in fields.iter().filter(|(key, _)| *key != "Event") {
            self.packed.write_all(b",")?;
            serde_json::to_writer(&mut self.packed, key)?;
            self.packed.write_all(b":")?;
            serde_json::to_writer(&mut self.packed, value)?;
        }
        self.packed.write_all(b"}\n")
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.packed.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }
}

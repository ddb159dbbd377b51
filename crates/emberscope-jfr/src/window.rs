//! A window over an input: what is read at a time, whatever the length of a recording.

use emberscope_log::input::Input;
use std::io;

/// Bytes read at a time.
const WINDOW_BYTES: usize = 2 << 20;
/// The largest record that is read; constant pools of large applications have some tens of megabytes.
pub(crate) const MOST_RECORD_BYTES: u64 = 256 << 20;

/// The bytes around the last offset that was asked for.
#[derive(Debug)]
pub(crate) struct Window<'i> {
    input: &'i dyn Input,
    bytes: Vec<u8>,
    /// Offset of the first byte.
    start: u64,
}

impl<'i> Window<'i> {
    pub(crate) fn new(input: &'i dyn Input) -> Self {
        Window { input, bytes: Vec::new(), start: 0 }
    }

    /// What lies at `offset`: `wanted` bytes, or fewer where the input ends, or more.
    #[inline]
    pub(crate) fn at(&mut self, offset: u64, wanted: usize) -> io::Result<&[u8]> {
        let within = offset.checked_sub(self.start).filter(|skip| *skip <= self.bytes.len() as u64);
        match within {
            Some(skip) if self.bytes.len() as u64 - skip >= wanted as u64 => Ok(&self.bytes[skip as usize..]),
            _ => self.fill(offset, wanted),
        }
    }

    #[cold]
    fn fill(&mut self, offset: u64, wanted: usize) -> io::Result<&[u8]> {
        let rest = self.input.len().map_or(u64::MAX, |length| length.saturating_sub(offset));
        let length = wanted.max(WINDOW_BYTES).min(usize::try_from(rest).unwrap_or(usize::MAX));
        self.start = offset;
        self.bytes.resize(length, 0);
        let mut filled = 0;
        while filled < length {
            match self.input.read_at(offset + filled as u64, &mut self.bytes[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) => {
                    self.bytes.clear();
                    return Err(error);
                }
            }
        }
        self.bytes.truncate(filled);
        Ok(&self.bytes)
    }
}

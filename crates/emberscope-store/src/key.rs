//! What an entry is found by.

use emberscope_log::input::Input;
use emberscope_log::source::RunSource;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes at either end of a file that are looked at: with size and time, enough to tell a file that was
/// replaced.
const END_BYTES: u64 = 64 << 10;

/// What an entry is found by: all that its content depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    text: String,
    name: String,
}

impl Key {
    /// The key of a log, read by `build`: path, size, time and both ends of all its files. `None` where a file
    /// cannot be found again (a pipe) or not be read.
    pub fn of(source: &RunSource, build: &str) -> Option<Key> {
        let mut text = format!("{build}\n{}\n{:?} {:?}\n", source.label, source.kind, source.missing_members);
        for member in &source.members {
            let input = member.input().ok()?;
            let bytes = input.len()?;
            let modified_ms = input.modified_ms()?;
            let mut hash = Sha256::new();
            let ends = [(0, bytes.min(END_BYTES)), (bytes.saturating_sub(END_BYTES), bytes.min(END_BYTES))];
            for (offset, length) in ends {
                hash.update(piece(input.as_ref(), offset, length)?);
            }
            let path = std::path::absolute(input.name()).ok()?;
            _ = writeln!(
                text,
                "{} {} {bytes} {modified_ms} {}",
                path.display(),
                member.name,
                hex(&hash.finalize())
            );
        }
        Some(Key::from_text(text))
    }

    pub(crate) fn from_text(text: String) -> Key {
        let name = hex(&Sha256::digest(text.as_bytes())[..16]);
        Key { text, name }
    }

    /// Everything it is made of.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// As a name of a directory.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn piece(input: &dyn Input, mut offset: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read_at(offset, &mut bytes[filled..]).ok()? {
            0 => return None,
            count => {
                filled += count;
                offset += count as u64;
            }
        }
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

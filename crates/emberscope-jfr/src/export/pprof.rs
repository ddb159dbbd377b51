//! pprof's form: a gzipped protocol buffer, `perftools.profiles.Profile`.

use super::Caption;
use crate::flame_event::Unit;
use crate::frames::FrameId;
use crate::view::View;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Writes the graph; of a comparison each sample has two values, the baseline's second.
///
/// # Errors
/// Those of `out`.
pub fn pprof(view: &View, caption: &Caption, out: &mut dyn Write) -> io::Result<()> {
    let mut strings = Strings::default();
    let mut profile = Message::default();
    let unit = match caption.event.unit() {
        Unit::Samples => "count",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
    };
    let value_type = |strings: &mut Strings, name: &str| {
        Message::default().number(1, strings.index(name)).number(2, strings.index(unit))
    };
    let kind = value_type(&mut strings, caption.event.name());
    profile = profile.message(1, &kind);
    if view.is_diff {
        let baseline = value_type(&mut strings, "baseline");
        profile = profile.message(1, &baseline);
    }
    // Locations are numbered from 1, and a frame is one wherever it stands.
    let mut path: Vec<u64> = Vec::new();
    for node in &view.nodes {
        path.truncate((node.depth as usize).saturating_sub(1));
        if node.depth > 0 {
            path.push(u64::from(node.frame) + 1);
        }
        if node.own > 0 || node.baseline_own > 0 {
            let values = [node.own as u64, node.baseline_own as u64];
            let values = if view.is_diff { &values[..] } else { &values[..1] };
            let sample =
                Message::default().numbers(1, path.iter().rev().copied()).numbers(2, values.iter().copied());
            profile = profile.message(2, &sample);
        }
    }
    for at in 0..view.frames.len() {
        let (id, name) = (at as u64 + 1, strings.index(view.frames.name(at as FrameId)));
        let line = Message::default().number(1, id);
        profile = profile.message(4, &Message::default().number(1, id).message(4, &line));
        profile = profile.message(5, &Message::default().number(1, id).number(2, name).number(3, name));
    }
    if let Some((first, last)) = caption.times_ns {
        profile = profile.number(9, first as u64).number(10, last.saturating_sub(first) as u64);
    }
    let comment = strings.index(&caption.title);
    profile = profile.number(13, comment);
    for string in &strings.list {
        profile = profile.bytes(6, string.as_bytes());
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&profile.bytes)?;
    packed.finish()?;
    Ok(())
}

/// The table of strings, whose first is empty.
struct Strings {
    list: Vec<String>,
    positions: FxHashMap<String, u64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { list: vec![String::new()], positions: std::iter::once((String::new(), 0)).collect() }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(position) = self.positions.get(text) {
            return *position;
        }
        let position = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.positions.insert(text.to_owned(), position);
        position
    }
}

/// A message of protocol buffers, as its bytes.
#[derive(Debug, Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Message {
        self.variable(field << 3);
        self.variable(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.variable(field << 3 | 2);
        self.variable(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.bytes)
    }

    /// Packed numbers.
    fn numbers(self, field: u64, values: impl Iterator<Item = u64>) -> Message {
        let mut packed = Message::default();
        values.for_each(|value| packed.variable(value));
        self.message(field, &packed)
    }
}

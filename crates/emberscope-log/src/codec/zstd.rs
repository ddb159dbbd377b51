//! Zstandard: any number of frames, skippable ones included, the last one possibly open.

use std::io;

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::raw::Raw;
use super::{Decode, StreamEnd, unknown_bytes};

/// Largest window accepted, as a power of two: 128 MiB, what `zstd --long` writes and zstd's own default limit.
const WINDOW_LOG_MAX: u32 = 27;
/// zstd's shortest useful first piece of a frame: magic and frame header descriptor.
const FRAME_START: usize = 5;
const BLOCK_HEADER: usize = 3;

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// Bytes zstd wants next.
    hint: usize,
    /// Offset of the frame being decoded, and whether some of it was fed.
    frame_at: u64,
    inside: bool,
    /// Whether decoded bytes may still sit inside the decoder.
    pending: bool,
}

impl Zstd {
    pub(super) fn new() -> io::Result<Zstd> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Zstd { decoder, hint: FRAME_START, frame_at: 0, inside: false, pending: false })
    }
}

impl Decode for Zstd {
    fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Result<usize, StreamEnd> {
        loop {
            if raw.bytes().is_empty() && !self.pending && !raw.more() {
                return Err(if self.inside {
                    StreamEnd::truncated(format!(
                        "the input ends inside the zstd frame at offset {}",
                        self.frame_at
                    ))
                } else {
                    StreamEnd::Complete
                });
            }
            if !self.inside {
                self.frame_at = raw.consumed();
            }
            // Feed one block at a time, and its bytes apart from the next block's header (zstd asks for both at
            // once), and nothing while decoded bytes wait inside. When a call fails, what it had already decoded is
            // lost; with larger pieces, or a whole small frame at once, the good blocks before the damage would be
            // lost with it, and how many would depend on the caller's buffer.
            let wanted = match self.hint {
                _ if self.pending => 0,
                hint if hint > BLOCK_HEADER => hint - BLOCK_HEADER,
                hint => hint,
            };
            let piece = raw.bytes().len().min(wanted);
            let mut input = InBuffer::around(&raw.bytes()[..piece]);
            let mut output = OutBuffer::around(&mut *out);
            let result = self.decoder.run(&mut input, &mut output);
            let (read, written) = (input.pos(), output.pos());
            let hint = match result {
                Ok(hint) => hint,
                Err(_) if !self.inside => return Err(unknown_bytes(raw, "zstd frame")),
                Err(error) => {
                    let at = self.frame_at;
                    return Err(StreamEnd::corrupt(format!("zstd frame at offset {at}: {error}")));
                }
            };
            raw.consume(read);
            self.inside = hint != 0;
            self.hint = if hint == 0 { FRAME_START } else { hint };
            self.pending = self.inside && written == out.len();
            if written > 0 {
                return Ok(written);
            }
        }
    }
}

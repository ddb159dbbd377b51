//! Deflate, shared by gzip members and zip entries.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::raw::Raw;

/// One deflate stream and the checksum of what came out of it.
pub(crate) struct Inflate {
    decompress: Decompress,
    crc: Crc,
}

/// What a call to [`Inflate::read`] ended with.
pub(crate) enum Inflated {
    /// That many bytes, at least one.
    Bytes(usize),
    /// The stream's end mark.
    End,
    /// The input ended first.
    Cut,
    /// Bytes that are no deflate stream.
    Damaged,
}

impl Inflate {
    pub(crate) fn new() -> Inflate {
        Inflate { decompress: Decompress::new(false), crc: Crc::new() }
    }

    /// Checksum (CRC-32) of the bytes given out so far.
    pub(crate) fn crc(&self) -> u32 {
        self.crc.sum()
    }

    /// Number of bytes given out so far.
    pub(crate) fn total_out(&self) -> u64 {
        self.decompress.total_out()
    }

    pub(crate) fn read(&mut self, raw: &mut Raw, out: &mut [u8]) -> Inflated {
        loop {
            let (in_before, out_before) = (self.decompress.total_in(), self.decompress.total_out());
            let result = self.decompress.decompress(raw.bytes(), out, FlushDecompress::None);
            // Counted even when the call fails: what it decoded before the damage is good.
            let read = (self.decompress.total_in() - in_before) as usize;
            let written = ((self.decompress.total_out() - out_before) as usize).min(out.len());
            raw.consume(read);
            self.crc.update(&out[..written]);
            if written > 0 {
                return Inflated::Bytes(written);
            }
            match result {
                Ok(Status::StreamEnd) => return Inflated::End,
                Ok(_) if read > 0 => {}
                Ok(_) if raw.more() => {}
                Ok(_) => return Inflated::Cut,
                Err(_) => return Inflated::Damaged,
            }
        }
    }
}

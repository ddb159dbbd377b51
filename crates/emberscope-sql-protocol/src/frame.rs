//! Frames: a kind, a length, that many bytes.

use crate::{Done, Failure, Hello};
use std::io::{self, Read, Write};

/// Bytes of a frame at most: a larger one is none.
const MAX_BYTES: u32 = 1 << 30;

/// What the SQL process says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Who it is; once, at the start.
    Hello(Hello),
    /// A piece of an Arrow stream.
    Arrow(Vec<u8>),
    /// The end of an answer.
    Done(Done),
    /// No answer, or no whole one.
    Failure(Failure),
}

/// What is wrong with a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe failed.
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
    /// No frame of this protocol.
    #[error("not understood: {0}")]
    Meaning(String),
}

const HELLO: u8 = b'H';
const ARROW: u8 = b'A';
const DONE: u8 = b'D';
const FAILURE: u8 = b'F';

/// Writes a frame and flushes.
pub fn write(out: &mut impl Write, frame: &Frame) -> io::Result<()> {
    let (kind, bytes) = match frame {
        Frame::Hello(hello) => (HELLO, serde_json::to_vec(hello)?),
        Frame::Arrow(bytes) => return write_raw(out, ARROW, bytes),
        Frame::Done(done) => (DONE, serde_json::to_vec(done)?),
        Frame::Failure(failure) => (FAILURE, serde_json::to_vec(failure)?),
    };
    write_raw(out, kind, &bytes)
}

fn write_raw(out: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    // Longer pieces are cut: a stream has no seams.
    for piece in bytes.chunks(MAX_BYTES as usize) {
        out.write_all(&[kind])?;
        out.write_all(&(piece.len() as u32).to_le_bytes())?;
        out.write_all(piece)?;
    }
    out.flush()
}

/// Reads a frame; `None` at the end.
pub fn read(input: &mut impl Read) -> Result<Option<Frame>, FrameError> {
    let mut head = [0; 5];
    if input.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut head[1..])?;
    let [kind, a, b, c, d] = head;
    let length = u32::from_le_bytes([a, b, c, d]);
    if length > MAX_BYTES {
        return Err(FrameError::Meaning(format!("a frame of {length} bytes")));
    }
    let mut bytes = vec![0; length as usize];
    input.read_exact(&mut bytes)?;
    let wrong = |error: serde_json::Error| FrameError::Meaning(error.to_string());
    Ok(Some(match kind {
        HELLO => Frame::Hello(serde_json::from_slice(&bytes).map_err(wrong)?),
        ARROW => Frame::Arrow(bytes),
        DONE => Frame::Done(serde_json::from_slice(&bytes).map_err(wrong)?),
        FAILURE => Frame::Failure(serde_json::from_slice(&bytes).map_err(wrong)?),
        other => return Err(FrameError::Meaning(format!("a frame of kind {other}"))),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_written() {
        let frames = [
            Frame::Hello(Hello::of_this_build()),
            Frame::Arrow(vec![1, 2, 3]),
            Frame::Done(Done { rows: 3, is_cut: true }),
            Frame::Failure(Failure {
                kind: crate::FailureKind::Time,
                message: "too long".to_owned(),
                hint: None,
                position: Some(crate::Position { line: 1, column: 7 }),
            }),
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            write(&mut bytes, frame).unwrap();
        }
        let mut input = bytes.as_slice();
        for frame in frames {
            assert_eq!(read(&mut input).unwrap(), Some(frame));
        }
        assert_eq!(read(&mut input).unwrap(), None);
        for cut in 1..bytes.len() {
            let mut input = &bytes[..cut];
            // Whole frames, then an end or an error; never a panic.
            while let Ok(Some(_)) = read(&mut input) {}
        }
        assert!(read(&mut [b'?', 0, 0, 0, 0].as_slice()).is_err());
        assert!(read(&mut [b'A', 255, 255, 255, 255].as_slice()).is_err());
    }
}

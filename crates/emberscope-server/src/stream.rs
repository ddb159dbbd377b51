//! An answer that is made while it is sent: a thread writes, the connection reads.

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

const PIECE_BYTES: usize = 64 << 10;
/// Pieces that may wait for a slow reader.
const PIECES: usize = 8;

/// Where the answer is written. Blocks while the reader is behind.
pub(crate) struct Writer {
    sender: Sender<Bytes>,
    piece: Vec<u8>,
}

/// A writer and the body that it fills.
pub(crate) fn pipe() -> (Writer, Body) {
    let (sender, receiver) = channel(PIECES);
    (Writer { sender, piece: Vec::with_capacity(PIECE_BYTES) }, Body::new(Pieces { receiver }))
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        // Nobody reads any more: there is no reason to go on.
        self.sender.blocking_send(piece.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

struct Pieces {
    receiver: Receiver<Bytes>,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

//! A byte stream with a read limit and backpressure: it bounds the bytes of a message that is not complete,
//! and reads nothing while the peer takes nothing. Knows bytes, not frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::permits::MessageRoom;

/// Bytes of an unfinished message for which a socket needs no room from the shared limit.
const FREE_BYTES: usize = 8 * 1024;
/// Room is taken in steps of this many bytes.
const ROOM_STEP_BYTES: usize = 64 * 1024;

/// Why nothing more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadLimit {
    /// The message is longer than it may be.
    MessageBytes,
    /// The unfinished messages of all sockets, or of one network, take as much as they may.
    Room,
}

/// The stream.
pub(super) struct BoundedReader<S> {
    stream: S,
    room: MessageRoom,
    message_bytes_max: usize,
    unfinished_bytes: usize,
    /// When the first of those bytes came.
    begun_at: Option<Instant>,
    exceeded: Option<ReadLimit>,
    /// The last write could not go on.
    write_waits: bool,
}

impl<S> BoundedReader<S> {
    /// A stream on which an unfinished message may have this many bytes.
    pub(super) fn new(stream: S, room: MessageRoom, message_bytes_max: usize) -> Self {
        Self {
            stream,
            room,
            message_bytes_max,
            unfinished_bytes: 0,
            begun_at: None,
            exceeded: None,
            write_waits: false,
        }
    }

    /// Sets how many bytes an unfinished message may have from now on.
    pub(super) fn allow_message_bytes(&mut self, bytes_max: usize) {
        self.message_bytes_max = bytes_max;
    }

    /// A message is complete. Bytes read of the next message are counted with its later bytes.
    pub(super) fn message_is_complete(&mut self) {
        self.finish(self.unfinished_bytes);
    }

    /// A frame of this many bytes was no part of a message.
    pub(super) fn finish(&mut self, bytes: usize) {
        self.unfinished_bytes = self.unfinished_bytes.saturating_sub(bytes);
        if self.unfinished_bytes == 0 {
            self.begun_at = None;
        }
    }

    /// Since when a message is unfinished.
    pub(super) fn begun_at(&self) -> Option<Instant> {
        self.begun_at
    }

    /// The limit that ended the reading.
    pub(super) fn exceeded(&self) -> Option<ReadLimit> {
        self.exceeded
    }

    fn count(&mut self, bytes: usize) -> Result<(), ReadLimit> {
        if bytes == 0 {
            return Ok(());
        }
        self.begun_at.get_or_insert_with(Instant::now);
        self.unfinished_bytes = self.unfinished_bytes.saturating_add(bytes);
        if self.unfinished_bytes > self.message_bytes_max {
            return Err(ReadLimit::MessageBytes);
        }
        let needed = self.unfinished_bytes.saturating_sub(FREE_BYTES).next_multiple_of(ROOM_STEP_BYTES);
        if self.room.grow_to(needed) { Ok(()) } else { Err(ReadLimit::Room) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedReader<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The write that waits wakes the task, and is tried again before the next read.
        if self.write_waits {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        match self.count(bytes) {
            Ok(()) => read,
            Err(limit) => {
                self.exceeded = Some(limit);
                Poll::Ready(Err(io::Error::other("a limit on unfinished messages is exceeded")))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedReader<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.write_waits = written.is_pending();
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

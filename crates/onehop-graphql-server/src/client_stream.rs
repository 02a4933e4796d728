//! The stream of one connection: write timeout, the connection's slot, strict framing of requests, and
//! lingering close. After an answer to a request whose body was not read, the rest of the body is read and
//! discarded for a bounded while. Otherwise the system would reset the connection and with it the answer.
//! Knows bytes, not HTTP.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_io_timeout::TimeoutWriter;

use super::connection_limits::ConnectionSlot;
use super::request_framing::RequestFraming;

/// The time for which the rest of a body is read after its answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// The bytes of it that are read.
const LINGER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The bytes of one read.
const LINGER_BUFFER_BYTES: usize = 4 * 1024;

/// The replacement of a byte that gives a request a second reading: no part of a request may hold it, so the
/// parser of HTTP answers 400 and closes the connection.
const REFUSED_BYTE: &[u8] = b"\0";

/// Whether the body of the last request of a connection was not read to its end.
#[derive(Debug, Clone, Default)]
pub(super) struct UnreadBody(Arc<AtomicBool>);

/// The stream.
pub(super) struct ClientStream<S> {
    /// A write that the peer does not take for a while fails.
    stream: Pin<Box<TimeoutWriter<S>>>,
    framing: RequestFraming,
    unread: UnreadBody,
    is_shut: bool,
    lingering: Option<Pin<Box<Sleep>>>,
    lingering_bytes: usize,
    _slot: Option<ConnectionSlot>,
}

/// The body of a request, which notes when it is dropped before its end.
pub(super) struct TrackedBody<B> {
    body: B,
    unread: UnreadBody,
    has_ended: bool,
}

impl UnreadBody {
    /// The same body, watched.
    pub(super) fn watch<B>(&self, body: B) -> TrackedBody<B>
    where
        B: Body,
    {
        let has_ended = body.is_end_stream();
        TrackedBody { body, unread: self.clone(), has_ended }
    }
}

impl<S: AsyncWrite> ClientStream<S> {
    /// A stream whose peer may take nothing for so long.
    pub(super) fn new(
        stream: S,
        write_timeout: Duration,
        unread: UnreadBody,
        slot: Option<ConnectionSlot>,
    ) -> Self {
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(write_timeout));
        Self {
            stream: Box::pin(stream),
            framing: RequestFraming::new(),
            unread,
            is_shut: false,
            lingering: None,
            lingering_bytes: 0,
            _slot: slot,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream<S> {
    /// Reads to the end, or to a limit.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timeout = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER_TIMEOUT)));
        if timeout.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        while self.lingering_bytes < LINGER_BYTES_MAX {
            let mut bytes = [MaybeUninit::uninit(); LINGER_BUFFER_BYTES];
            let mut buffer = ReadBuf::uninit(&mut bytes);
            let read = ready!(self.stream.as_mut().poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.lingering_bytes += buffer.filled().len();
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // After a refusal there is nothing more to read.
        if self.framing.is_refused() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(self.stream.as_mut().poll_read(context, buffer))?;
        let accepted = self.framing.accept(&buffer.filled()[before..]);
        if self.framing.is_refused() {
            // The place of the byte that is not accepted.
            buffer.set_filled(before + accepted);
            buffer.put_slice(REFUSED_BYTE);
            self.unread.0.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            ready!(self.stream.as_mut().poll_shutdown(context))?;
            self.is_shut = true;
        }
        if self.unread.0.load(Ordering::Relaxed) {
            ready!(self.linger(context));
        }
        Poll::Ready(Ok(()))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.has_ended = frame.is_none() || self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.unread.0.store(true, Ordering::Relaxed);
        }
    }
}

//! A stream that gives up on a peer who takes nothing: a write that cannot go on for a while fails. Reads are left as
//! they are. Knows bytes, not HTTP.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// The stream with its patience.
#[derive(Debug)]
pub struct WriteTimeoutStream<S> {
    stream: S,
    write_timeout: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    /// A write may wait so long for the peer to take something.
    pub fn new(stream: S, write_timeout: Duration) -> Self {
        Self { stream, write_timeout, waiting: None }
    }

    fn limit<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.write_timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_write_to_a_peer_who_takes_nothing_fails_after_its_time() {
        let (ours, mut theirs) = duplex(16);
        let mut stream = WriteTimeoutStream::new(ours, Duration::from_millis(1));
        let error = stream.write_all(&[7; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut taken = [0; 16];
        theirs.read_exact(&mut taken).await.unwrap();
        assert_eq!(taken, [7; 16]);
    }

    #[tokio::test]
    async fn a_peer_who_takes_a_little_at_a_time_gets_everything() {
        let (ours, mut theirs) = duplex(16);
        let mut stream = WriteTimeoutStream::new(ours, LONG);
        let mut taken = Vec::new();
        let (written, read) =
            tokio::join!(async { stream.write_all(&[7; 1_000]).await.and(stream.shutdown().await) }, async {
                let mut read = Ok(1);
                while read.as_ref().is_ok_and(|read| *read > 0) {
                    let mut piece = [0; 3];
                    read = theirs.read(&mut piece).await;
                    taken.extend_from_slice(&piece[..*read.as_ref().unwrap_or(&0)]);
                }
                read
            });
        assert!(written.is_ok() && read.is_ok());
        assert_eq!(taken, [7; 1_000]);
    }

    #[tokio::test]
    async fn reading_takes_the_time_that_it_takes() {
        let (ours, theirs) = duplex(16);
        let mut stream = WriteTimeoutStream::new(ours, Duration::ZERO);
        let waits = tokio::time::timeout(Duration::from_millis(1), stream.read_u8()).await;
        assert!(waits.is_err(), "it waits on");
        drop(theirs);
        assert!(stream.read_u8().await.is_err());
    }
}

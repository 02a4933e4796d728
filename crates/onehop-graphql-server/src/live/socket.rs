//! One WebSocket as a stream of messages, with limits on the resources that its client takes: the write
//! buffer, control frames a second, and the size and age of an unfinished message. Knows frames, not the
//! meaning of messages.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::bounded_reader::{BoundedReader, ReadLimit};
use super::limits::LiveLimits;
use super::messages::{ClientMessage, Closing};
use super::permits::{MessageRoom, Permits};
use crate::client_address::Network;
use crate::pipeline::parse::BodyLimits;

/// Bytes of the read buffer of each idle connection.
const READ_BUFFER_BYTES: usize = 2 * 1024;
/// The largest frame that is sent: longer messages are sent in fragments.
const FRAME_BYTES_MAX: usize = 64 * 1024;
/// The write buffer of a socket: a frame, and the answers to control frames.
const WRITE_BUFFER_BYTES_MAX: usize = 2 * FRAME_BYTES_MAX;
/// Bytes of a message before the connection is acknowledged: `connection_init` with its token.
const INIT_BYTES_MAX: usize = 16 * 1024;
/// The multiple of a message's limit that is still read, so that its sender gets the reason of the closing.
const DISCARDED_MESSAGES_MAX: usize = 2;
/// Bytes that the headers of a message's frames may have.
const FRAME_HEADERS_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a control frame beside its payload: RFC 6455, section 5.2, with the mask of a client.
const CONTROL_HEADER_BYTES: usize = 6;
/// Frames that are still read from a client while its socket is being closed.
const DRAINED_FRAMES_MAX: usize = 10_000;

/// The resources that the client of one socket may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct SocketLimits {
    pub(super) message_bytes_max: usize,
    /// From the first byte of a message to its last.
    pub(super) message_timeout: Duration,
    pub(super) control_frames_per_second_max: u32,
}

impl SocketLimits {
    /// A message has the limits of the body of a POST.
    pub(super) fn new(body: &BodyLimits, live: &LiveLimits) -> Self {
        Self {
            message_bytes_max: body.bytes_max,
            message_timeout: body.timeout,
            control_frames_per_second_max: live.control_frames_per_second_max,
        }
    }

    fn discarded_bytes_max(&self) -> usize {
        self.message_bytes_max.saturating_mul(DISCARDED_MESSAGES_MAX)
    }

    fn frames(&self) -> WebSocketConfig {
        WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(WRITE_BUFFER_BYTES_MAX)
            .max_message_size(Some(self.discarded_bytes_max()))
            .max_frame_size(Some(self.discarded_bytes_max()))
    }
}

/// A WebSocket.
pub(super) struct Socket<S> {
    frames: WebSocketStream<BoundedReader<S>>,
    limits: SocketLimits,
    control_frames: FrameRate,
    /// Runs while a message is unfinished.
    message_timeout: Option<Pin<Box<Sleep>>>,
}

/// Input from a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Text(Utf8Bytes),
    Binary,
    /// A ping, which is answered already, or a pong.
    Control,
}

/// Why nothing more comes from a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SocketEnd {
    /// The socket is to be closed for this reason.
    Closing(Closing),
    /// The client has closed it, or is gone.
    Gone,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// A socket after its handshake.
    pub(super) async fn new(stream: S, room: MessageRoom, limits: SocketLimits) -> Self {
        let stream = BoundedReader::new(stream, room, INIT_BYTES_MAX);
        Self {
            frames: WebSocketStream::from_raw_socket(stream, Role::Server, Some(limits.frames())).await,
            limits,
            control_frames: FrameRate::new(limits.control_frames_per_second_max, Instant::now()),
            message_timeout: None,
        }
    }

    /// Takes messages that are longer than a `connection_init`.
    pub(super) fn acknowledge(&mut self) {
        let bytes_max = self.limits.discarded_bytes_max().saturating_add(FRAME_HEADERS_BYTES_MAX);
        self.frames.get_mut().allow_message_bytes(bytes_max);
    }

    /// The next message or control frame. A call that is dropped loses nothing.
    pub(super) async fn recv(&mut self) -> Result<Received, SocketEnd> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Result<Received, SocketEnd>> {
        let frame = self.frames.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(message))) = &frame {
            self.count(message);
        }
        let Some(begun_at) = self.frames.get_ref().begun_at() else {
            self.message_timeout = None;
            return frame.map(|frame| self.received(frame));
        };
        let ends_at = begun_at + self.limits.message_timeout;
        let is_overdue = match frame {
            Poll::Ready(frame) if Instant::now() < ends_at => return Poll::Ready(self.received(frame)),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        if !is_overdue {
            let timeout = self.message_timeout.get_or_insert_with(|| Box::pin(sleep_until(ends_at)));
            ready!(timeout.as_mut().poll(context));
        }
        Poll::Ready(Err(Closing::message_timeout(self.limits.message_timeout).into()))
    }

    fn count(&mut self, message: &Message) {
        let stream = self.frames.get_mut();
        match message {
            Message::Ping(payload) | Message::Pong(payload) => {
                stream.finish(CONTROL_HEADER_BYTES + payload.len());
            }
            _ => stream.message_is_complete(),
        }
    }

    fn received(&mut self, frame: Option<Result<Message, Error>>) -> Result<Received, SocketEnd> {
        let bytes_max = self.limits.message_bytes_max;
        match frame {
            Some(Ok(Message::Text(text))) if text.len() > bytes_max => {
                Err(Closing::too_big(bytes_max).into())
            }
            Some(Ok(Message::Text(text))) => Ok(Received::Text(text)),
            Some(Ok(Message::Binary(_))) => Ok(Received::Binary),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                let per_second_max = self.control_frames.per_second_max;
                if self.control_frames.is_exceeded_at(Instant::now()) {
                    return Err(Closing::control_frames(per_second_max).into());
                }
                Ok(Received::Control)
            }
            Some(Ok(Message::Close(_) | Message::Frame(_))) | None => Err(SocketEnd::Gone),
            Some(Err(error)) => Err(self.broken(&error)),
        }
    }

    fn broken(&self, error: &Error) -> SocketEnd {
        match (self.frames.get_ref().exceeded(), error) {
            (Some(ReadLimit::Room), _) => Closing::no_room_for_messages().into(),
            (Some(ReadLimit::MessageBytes), _) | (None, Error::Capacity(_)) => {
                Closing::too_big(self.limits.message_bytes_max).into()
            }
            (None, Error::Protocol(_) | Error::Utf8(_)) => Closing::not_websocket().into(),
            (None, _) => SocketEnd::Gone,
        }
    }

    /// Sends a text, in fragments where it is long, and waits until the system has taken it.
    pub(super) async fn send(&mut self, text: String) -> Result<(), SocketEnd> {
        if text.len() <= FRAME_BYTES_MAX {
            return self.write(Message::Text(text.into())).await;
        }
        let mut rest = Bytes::from(text);
        let mut kind = Data::Text;
        while !rest.is_empty() {
            let payload = rest.split_to(rest.len().min(FRAME_BYTES_MAX));
            let frame = Frame::message(payload, OpCode::Data(kind), rest.is_empty());
            self.write(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    /// Sends a ping.
    pub(super) async fn ping(&mut self) -> Result<(), SocketEnd> {
        self.write(Message::Ping(Bytes::new())).await
    }

    /// Sends why the socket is closed.
    pub(super) async fn close(&mut self, closing: Closing) -> Result<(), SocketEnd> {
        let Closing { code, reason } = closing;
        self.write(Message::Close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() })))
            .await
    }

    /// Reads until the client has answered the closing, or has read that its own was answered.
    pub(super) async fn drain(&mut self) {
        for _ in 0..DRAINED_FRAMES_MAX {
            let Some(Ok(message)) = self.frames.next().await else { return };
            self.count(&message);
        }
    }

    /// A full write buffer is the end: its client does not read.
    async fn write(&mut self, message: Message) -> Result<(), SocketEnd> {
        self.frames.send(message).await.map_err(|_| SocketEnd::Gone)
    }
}

/// Counts the control frames of each second.
struct FrameRate {
    per_second_max: u32,
    second: Instant,
    count: u32,
}

impl FrameRate {
    fn new(per_second_max: u32, now: Instant) -> Self {
        Self { per_second_max, second: now, count: 0 }
    }

    /// Counts one more, and returns whether they are too many.
    fn is_exceeded_at(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.count) = (now, 0);
        }
        self.count += 1;
        self.count > self.per_second_max
    }
}

impl From<Closing> for SocketEnd {
    fn from(closing: Closing) -> Self {
        Self::Closing(closing)
    }
}

/// A client that sends these bytes, as a session reads it: its messages, or why its socket is closed. For
/// fuzzing.
#[must_use]
pub fn read_client(
    bytes: &[u8],
    body: &BodyLimits,
    live: LiveLimits,
) -> (Vec<String>, Option<(u16, String)>) {
    let room =
        std::sync::Arc::new(Permits::new(live, std::sync::Arc::default())).message_room(Network::Unknown);
    let reading = async {
        let stream = tokio::io::join(io::Cursor::new(bytes), tokio::io::sink());
        let mut socket = Socket::new(stream, room, SocketLimits::new(body, &live)).await;
        socket.acknowledge();
        let mut texts = Vec::new();
        loop {
            match socket.recv().await {
                Ok(Received::Text(text)) => match ClientMessage::parse(&text) {
                    Ok(_) => texts.push(text.to_string()),
                    Err(invalid) => return (texts, Some(Closing::invalid(&invalid))),
                },
                Ok(Received::Binary | Received::Control) => {}
                Err(SocketEnd::Closing(closing)) => return (texts, Some(closing)),
                Err(SocketEnd::Gone) => return (texts, None),
            }
        }
    };
    let (texts, closing) = reading.now_or_never().unwrap_or_default();
    (texts, closing.map(|Closing { code, reason }| (code, reason)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const LIMITS: SocketLimits = SocketLimits {
        message_bytes_max: 100_000,
        message_timeout: Duration::from_secs(15),
        control_frames_per_second_max: 5,
    };
    const TEXT: u8 = 0x1;
    const PING: u8 = 0x9;

    fn permits(message_bytes_max: usize) -> Arc<Permits> {
        let limits = LiveLimits { unfinished_bytes_max: message_bytes_max, ..LiveLimits::default() };
        Arc::new(Permits::new(limits, Arc::default()))
    }

    async fn socket(permits: &Arc<Permits>, pipe_bytes: usize) -> (Socket<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(pipe_bytes);
        let mut socket = Socket::new(ours, permits.message_room(Network::Unknown), LIMITS).await;
        socket.acknowledge();
        (socket, theirs)
    }

    /// A frame with a mask of zeros; its stated length may differ from the sent length.
    fn frame(opcode: u8, is_final: bool, length: usize, sent: &[u8]) -> Vec<u8> {
        let mut frame = vec![opcode | if is_final { 0x80 } else { 0 }];
        match u16::try_from(length) {
            Ok(short) if short < 126 => frame.push(0x80 | length as u8),
            Ok(short) => {
                frame.push(0x80 | 126);
                frame.extend(short.to_be_bytes());
            }
            Err(_) => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(sent);
        frame
    }

    fn code(received: Result<Received, SocketEnd>) -> u16 {
        match received {
            Err(SocketEnd::Closing(closing)) => closing.code,
            other => panic!("not closed: {other:?}"),
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_no_pongs_is_not_read_either() {
        let (mut socket, mut client) = socket(&permits(usize::MAX), 256).await;
        socket.control_frames.per_second_max = u32::MAX;
        let pings = async {
            for _ in 0..10_000 {
                client.write_all(&frame(PING, true, 125, &[b'x'; 125])).await.unwrap();
            }
        };
        let reading = async { while socket.recv().await.is_ok() {} };
        tokio::select! {
            biased;
            () = reading => panic!("the socket is gone"),
            () = pings => panic!("everything was read"),
            // Both have come as far as they come.
            () = async { for _ in 0..1_000 { tokio::task::yield_now().await } } => {}
        }
        let mut pong = [0; 127];
        client.read_exact(&mut pong).await.unwrap();
        assert_eq!(pong[..2], [0x8A, 125]);
    }

    #[test]
    fn control_frames_are_counted_by_the_second() {
        let start = Instant::now();
        let mut rate = FrameRate::new(2, start);
        for (ms, expected) in
            [(0, false), (999, false), (999, true), (1_000, false), (1_500, false), (1_999, true)]
        {
            assert_eq!(rate.is_exceeded_at(start + Duration::from_millis(ms)), expected, "{ms}");
        }
    }

    #[tokio::test]
    async fn one_control_frame_too_many_closes_with_1008() {
        let (mut socket, mut client) = socket(&permits(usize::MAX), 1 << 20).await;
        // The first frame exceeds a limit of 0, in any second.
        socket.control_frames.per_second_max = 0;
        client.write_all(&frame(PING, true, 0, &[])).await.unwrap();
        assert_eq!(code(socket.recv().await), 1008);
    }

    #[tokio::test]
    async fn an_unfinished_message_ends_in_time_whatever_comes_between() {
        let (mut stalled, mut client) = socket(&permits(usize::MAX), 1 << 20).await;
        stalled.limits.message_timeout = Duration::from_millis(1);
        client.write_all(&frame(TEXT, false, 3, b"abc")).await.unwrap();
        assert_eq!(code(stalled.recv().await), 1008);
        let (mut pinging, mut client) = socket(&permits(usize::MAX), 1 << 20).await;
        pinging.limits.message_timeout = Duration::ZERO;
        client
            .write_all(&[frame(TEXT, false, 3, b"abc"), frame(PING, true, 1, b"x")].concat())
            .await
            .unwrap();
        assert_eq!(code(pinging.recv().await), 1008);
    }

    #[tokio::test]
    async fn pongs_of_an_idle_client_are_no_unfinished_message() {
        let (mut socket, mut client) = socket(&permits(usize::MAX), 1 << 20).await;
        socket.control_frames.per_second_max = u32::MAX;
        for _ in 0..1_000 {
            client.write_all(&frame(0xA, true, 5, b"alive")).await.unwrap();
            assert_eq!(socket.recv().await, Ok(Received::Control));
            assert_eq!(socket.frames.get_ref().begun_at(), None);
        }
    }

    #[tokio::test]
    async fn unfinished_messages_share_one_limit() {
        let permits = permits(2 * 64 * 1024);
        let part = frame(TEXT, true, 90_000, &[b'x'; 50_000]);
        let mut held = Vec::new();
        for _ in 0..2 {
            let (mut socket, mut client) = socket(&permits, 1 << 20).await;
            client.write_all(&part).await.unwrap();
            assert!(socket.recv().now_or_never().is_none());
            held.push((socket, client));
        }
        let (mut third, mut client) = socket(&permits, 1 << 20).await;
        client.write_all(&part).await.unwrap();
        assert_eq!(code(third.recv().await), 1013);
        held.pop();
        let (mut fourth, mut client) = socket(&permits, 1 << 20).await;
        client.write_all(&part).await.unwrap();
        assert!(fourth.recv().now_or_never().is_none(), "there is room again");
    }

    #[tokio::test]
    async fn empty_fragments_without_end_are_too_big() {
        let (mut socket, mut client) = socket(&permits(usize::MAX), 1 << 20).await;
        client.write_all(&frame(TEXT, false, 0, &[])).await.unwrap();
        client.write_all(&frame(0, false, 0, &[]).repeat(60_000)).await.unwrap();
        assert_eq!(code(socket.recv().await), 1009);
    }

    #[tokio::test]
    async fn before_the_acknowledgement_a_message_is_short() {
        let (ours, mut client) = duplex(1 << 20);
        let mut socket = Socket::new(ours, permits(usize::MAX).message_room(Network::Unknown), LIMITS).await;
        client.write_all(&frame(TEXT, true, 90_000, &[b'x'; 20_000])).await.unwrap();
        assert_eq!(code(socket.recv().await), 1009);
    }

    #[tokio::test]
    async fn a_long_text_is_sent_in_fragments_that_make_it_whole() {
        let (mut socket, client) = socket(&permits(usize::MAX), 1 << 20).await;
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        for bytes in [1, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, 5 * FRAME_BYTES_MAX - 7] {
            let text = "\u{20AC}".repeat(bytes.div_ceil(3));
            socket.send(text.clone()).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), Message::text(text));
        }
    }

    #[test]
    fn what_a_client_sends_is_read_to_the_end() {
        let bytes = [frame(TEXT, true, 15, br#"{"type":"ping"}"#), frame(0x3, true, 0, &[])].concat();
        let (texts, closing) = read_client(&bytes, &BodyLimits::default(), LiveLimits::default());
        assert_eq!(texts, [r#"{"type":"ping"}"#]);
        assert_eq!(closing.map(|(code, _)| code), Some(1002));
    }
}

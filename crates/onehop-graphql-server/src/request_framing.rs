//! Strict framing of HTTP/1.1 requests (RFC 9112), against request smuggling: where a head ends, and where a
//! body does, has one reading. The parser of HTTP takes more than this: lines that end with LF alone, several
//! codings of a transfer, lengths that are stated twice. A proxy may read such a request in another way.
//! Knows lines and lengths, nothing of their meaning.

/// Bytes of a line that are kept: no header that states a length is longer.
const LINE_BYTES_KEPT: usize = 128;
/// Digits of a length; more would not fit into 64 bits.
const LENGTH_DIGITS_MAX: usize = 18;
/// Hexadecimal digits of the size of a chunk.
const CHUNK_SIZE_DIGITS_MAX: usize = 15;

/// The framing of the requests of one connection.
#[derive(Debug)]
pub(super) struct RequestFraming {
    state: State,
    /// The bytes of the line that has begun, without its end, as far as they are kept.
    line: Vec<u8>,
    is_after_cr: bool,
    head: Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first line of a head.
    Idle,
    Head,
    /// Bytes of the body that are still to come.
    Body(u64),
    ChunkSize,
    /// Bytes of the chunk that are still to come.
    Chunk(u64),
    ChunkEnd,
    Trailers,
    /// The connection may be about to be upgraded. A request that is not is the last one of its connection.
    Upgrade,
    Refused,
}

/// The statements of the lines of a head.
#[derive(Debug, Default)]
struct Head {
    length: Option<u64>,
    is_chunked: bool,
    has_host: bool,
    is_upgrade: bool,
}

/// The framing of a request has more than one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ambiguous;

impl RequestFraming {
    /// Before the first request of a connection.
    pub(super) fn new() -> Self {
        Self { state: State::Idle, line: Vec::new(), is_after_cr: false, head: Head::default() }
    }

    /// Looks at the next bytes of a connection. Returns how many of them may be read: all up to a byte that
    /// gives a request a second reading, and from then on 0.
    pub(super) fn accept(&mut self, bytes: &[u8]) -> usize {
        let mut position = 0;
        while position < bytes.len() {
            match self.step(&bytes[position..]) {
                Ok(accepted) => position += accepted,
                Err(Ambiguous) => {
                    self.state = State::Refused;
                    return position;
                }
            }
        }
        position
    }

    /// Whether a request was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.state == State::Refused
    }

    /// Looks at some bytes, at least one.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Ambiguous> {
        match self.state {
            State::Body(left) | State::Chunk(left) => {
                let accepted = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let left = left - accepted as u64;
                self.state = match (self.state, left) {
                    (State::Body(_), 0) => State::Idle,
                    (State::Body(_), left) => State::Body(left),
                    (_, 0) => State::ChunkEnd,
                    (_, left) => State::Chunk(left),
                };
                Ok(accepted)
            }
            State::Upgrade => Ok(bytes.len()),
            State::Refused => Err(Ambiguous),
            State::Idle | State::Head | State::ChunkSize | State::ChunkEnd | State::Trailers => {
                self.byte_of_line(bytes[0])?;
                Ok(1)
            }
        }
    }

    fn byte_of_line(&mut self, byte: u8) -> Result<(), Ambiguous> {
        match (byte, self.is_after_cr) {
            (b'\n', true) => {
                let line = std::mem::take(&mut self.line);
                self.is_after_cr = false;
                self.state = self.end_of_line(&line)?;
                self.line = line;
                self.line.clear();
            }
            // CR and LF stand together or not at all.
            (b'\n', false) | (_, true) => return Err(Ambiguous),
            (b'\r', false) => self.is_after_cr = true,
            (byte, false) if self.line.len() < LINE_BYTES_KEPT => self.line.push(byte),
            _ => {}
        }
        Ok(())
    }

    /// The state after a line.
    fn end_of_line(&mut self, line: &[u8]) -> Result<State, Ambiguous> {
        match self.state {
            // Empty lines before a request are ignored.
            State::Idle if line.is_empty() => Ok(State::Idle),
            State::Idle => {
                self.head = Head::default();
                Ok(State::Head)
            }
            State::Head if line.is_empty() => self.head.end(),
            State::Head => {
                self.head.header(line)?;
                Ok(State::Head)
            }
            State::ChunkSize => match chunk_size(line)? {
                0 => Ok(State::Trailers),
                size => Ok(State::Chunk(size)),
            },
            State::ChunkEnd if line.is_empty() => Ok(State::ChunkSize),
            State::Trailers if line.is_empty() => Ok(State::Idle),
            State::Trailers => Ok(State::Trailers),
            _ => Err(Ambiguous),
        }
    }
}

impl Head {
    fn header(&mut self, line: &[u8]) -> Result<(), Ambiguous> {
        // A line that begins with white space continues the one before it, or is a header of its own.
        let colon = line.iter().position(|byte| *byte == b':');
        let name = &line[..colon.unwrap_or(line.len())];
        if name.is_empty() || name.iter().any(|byte| byte.is_ascii_whitespace()) {
            return Err(Ambiguous);
        }
        let value = colon.map_or(&[][..], |colon| line[colon + 1..].trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("content-length") {
            if self.length.replace(length(value)?).is_some() {
                return Err(Ambiguous);
            }
        } else if is("transfer-encoding") {
            if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Ambiguous);
            }
            self.is_chunked = true;
        } else if is("host") {
            if self.has_host {
                return Err(Ambiguous);
            }
            self.has_host = true;
        } else if is("upgrade") {
            self.is_upgrade = true;
        }
        Ok(())
    }

    /// The state after the head.
    fn end(&self) -> Result<State, Ambiguous> {
        match (self.length, self.is_chunked) {
            (Some(_), true) => Err(Ambiguous),
            _ if self.is_upgrade => Ok(State::Upgrade),
            (None, true) => Ok(State::ChunkSize),
            (None | Some(0), false) => Ok(State::Idle),
            (Some(length), false) => Ok(State::Body(length)),
        }
    }
}

/// A length in digits alone.
fn length(value: &[u8]) -> Result<u64, Ambiguous> {
    let is_length = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    if !is_length || value.len() > LENGTH_DIGITS_MAX {
        return Err(Ambiguous);
    }
    Ok(value.iter().fold(0, |length, digit| length * 10 + u64::from(digit - b'0')))
}

/// The size of a chunk, which an extension may follow.
fn chunk_size(line: &[u8]) -> Result<u64, Ambiguous> {
    let digits = line.iter().position(|byte| *byte == b';').map_or(line, |end| &line[..end]);
    if digits.is_empty() || digits.len() > CHUNK_SIZE_DIGITS_MAX {
        return Err(Ambiguous);
    }
    digits.iter().try_fold(0, |size, digit| {
        let value = char::from(*digit).to_digit(16).ok_or(Ambiguous)?;
        Ok(size * 16 + u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of accepted bytes, whether they come at once or one by one.
    fn accepted(text: &str) -> usize {
        let at_once = RequestFraming::new().accept(text.as_bytes());
        let mut framing = RequestFraming::new();
        let one_by_one = text.as_bytes().iter().take_while(|byte| framing.accept(&[**byte]) == 1).count();
        assert_eq!(at_once, one_by_one, "{text:?}");
        at_once
    }

    fn is_accepted(text: &str) -> bool {
        accepted(text) == text.len()
    }

    #[test]
    fn requests_with_one_reading_are_accepted() {
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\na\nb\r\n\n\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding:\tChunked \r\n\r\n5;a=b\r\na\nb\nc\r\nA\r\n0123456789\r\n0\r\nT: u\r\n\r\n\
             GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\n\r\0\x01",
        ] {
            assert!(is_accepted(text), "{text:?}: {}", accepted(text));
        }
        let long = format!("GET /{0} HTTP/1.1\r\nX: {0}\r\nHost: a\r\n\r\n", "x".repeat(10_000));
        assert!(is_accepted(&long));
    }

    #[test]
    fn requests_with_two_readings_are_refused_before_they_end() {
        for (head, rest) in [
            ("GET / HTTP/1.1", "\nHost: a\r\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a", "\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\r\n", "\n"),
            ("GET / HTTP/1.1\r\nHost: a\r", "X: b\r\n\r\n"),
            ("", "\nGET / HTTP/1.1\r\n\r\n"),
            ("GET / HTTP/1.1\r\nX: a\r\n b\r", "\n\r\n"),
            ("GET / HTTP/1.1\r\nHost : a\r", "\n\r\n"),
            ("GET / HTTP/1.1\r\n: a\r", "\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: identity, chunked\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: identity\r", "\nTransfer-Encoding: chunked\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r", "\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r", "\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r", "\n\r\nabcde"),
            ("POST / HTTP/1.1\r\nContent-Length: 5, 5\r", "\n\r\nabcde"),
            ("POST / HTTP/1.1\r\nContent-Length: +5\r", "\n\r\nabcde"),
            ("POST / HTTP/1.1\r\nContent-Length:\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r", "\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5", "\nabcde\r\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a", "\nb\r\nabcde\r\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5 \r", "\nabcde\r\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r", "\nabcde\r\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdef\r", "\n0\r\n\r\n"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: u", "\n\r\n"),
        ] {
            assert_eq!(accepted(&format!("{head}{rest}")), head.len(), "{head:?} {rest:?}");
        }
    }

    #[test]
    fn nothing_more_is_accepted_after_a_refusal() {
        let mut framing = RequestFraming::new();
        assert_eq!(framing.accept(b"GET / HTTP/1.1\n"), 14);
        assert!(framing.is_refused());
        assert_eq!(framing.accept(b"GET / HTTP/1.1\r\n\r\n"), 0);
    }
}

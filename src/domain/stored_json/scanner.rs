//! The scanner of stored JSON: the values of a text, one after another, in the form that serde_json writes.

/// The levels of lists and objects in a value.
const DEPTH_MAX: usize = 64;

/// A stored value that is not null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredValue<'b> {
    /// A text, with its quotes.
    Text(&'b str),
    /// A number.
    Number(&'b str),
    /// A Boolean.
    Flag(bool),
    /// A list, with its brackets.
    List(&'b str),
    /// An object, with its braces.
    Object(&'b str),
}

/// The value of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberValue {
    Missing,
    Null,
    Flag(bool),
    Number(Span),
    /// With its quotes.
    Text(Span),
    /// With its brackets.
    List(Span),
    /// With its braces.
    Object(Span),
}

impl MemberValue {
    /// The value in its text; `None` where it is missing or null.
    pub(super) fn stored(self, text: &str) -> Option<StoredValue<'_>> {
        Some(match self {
            Self::Missing | Self::Null => return None,
            Self::Flag(is_set) => StoredValue::Flag(is_set),
            Self::Number(span) => StoredValue::Number(span.of(text)),
            Self::Text(span) => StoredValue::Text(span.of(text)),
            Self::List(span) => StoredValue::List(span.of(text)),
            Self::Object(span) => StoredValue::Object(span.of(text)),
        })
    }
}

/// A part of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Without quotes.
    pub(super) fn inner(self, text: &str) -> &str {
        text.get(self.start as usize + 1..(self.end as usize).saturating_sub(1)).unwrap_or_default()
    }
}

/// A place in a JSON text.
pub(super) struct Scanner<'b> {
    pub(super) text: &'b str,
    pub(super) at: usize,
}

impl<'b> Scanner<'b> {
    pub(super) fn of(bytes: &'b [u8]) -> Option<Self> {
        Some(Self { text: std::str::from_utf8(bytes).ok()?, at: 0 })
    }
}

impl Scanner<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn skip(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Skips a name and its colon, if they are next.
    pub(super) fn skip_name(&mut self, name: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).and_then(|rest| rest.strip_prefix(b"\""));
        let is_next = rest
            .and_then(|rest| rest.strip_prefix(name.as_bytes()))
            .is_some_and(|rest| rest.starts_with(b"\":"));
        if is_next {
            self.at += name.len() + 3;
        }
        is_next
    }

    fn span(&self, start: usize) -> Option<Span> {
        Some(Span { start: u32::try_from(start).ok()?, end: u32::try_from(self.at).ok()? })
    }

    /// The value that is next.
    pub(super) fn value(&mut self) -> Option<MemberValue> {
        self.value_within(DEPTH_MAX)
    }

    fn value_within(&mut self, depth: usize) -> Option<MemberValue> {
        match self.peek()? {
            b'"' => self.text().map(MemberValue::Text),
            b'-' | b'0'..=b'9' => self.number().map(MemberValue::Number),
            b't' => self.literal("true", MemberValue::Flag(true)),
            b'f' => self.literal("false", MemberValue::Flag(false)),
            b'n' => self.literal("null", MemberValue::Null),
            b'[' => self.sequence(b']', depth.checked_sub(1)?).map(MemberValue::List),
            b'{' => self.sequence(b'}', depth.checked_sub(1)?).map(MemberValue::Object),
            _ => None,
        }
    }

    /// A list or an object, whose values are not kept.
    fn sequence(&mut self, end: u8, depth: usize) -> Option<Span> {
        let start = self.at;
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return self.span(start);
        }
        loop {
            if end == b'}' {
                self.text()?;
                self.skip(b':')?;
            }
            self.value_within(depth)?;
            match self.next()? {
                b',' => {}
                byte if byte == end => return self.span(start),
                _ => return None,
            }
        }
    }

    fn literal(&mut self, literal: &str, value: MemberValue) -> Option<MemberValue> {
        self.text.get(self.at..)?.starts_with(literal).then_some(())?;
        self.at += literal.len();
        Some(value)
    }

    fn number(&mut self) -> Option<Span> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let whole = self.at;
        self.digits()?;
        if self.text.as_bytes()[whole] == b'0' && self.at - whole > 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        self.span(start)
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// A text, with its quotes.
    pub(super) fn text(&mut self) -> Option<Span> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        self.skip(b'"')?;
        loop {
            self.at += plain_bytes(bytes.get(self.at..)?)?;
            match bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return self.span(start);
                }
                b'\\' => self.at += escape_length(&bytes[self.at..])?,
                _ => return None,
            }
        }
    }
}
/// The bytes before the first quote, backslash or control character, if there is one.
fn plain_bytes(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    /// Bytes below a bound have their high bit set here, and maybe some after the first of them.
    fn below(word: u64, bound: u64) -> u64 {
        word.wrapping_sub(ONES * bound) & !word & HIGH
    }
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quotes = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslashes = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = below(word, 0x20) | quotes | backslashes;
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
    found.map(|place| words.len() * 8 + place)
}

/// The length of the escape that begins here, if serde_json writes it like this.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [_, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [_, b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
        | [_, b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => Some(6),
        _ => None,
    }
}

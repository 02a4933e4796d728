//! The scanner of stored JSON: the values of a text, one after another, in the form that serde_json writes.

use uuid::Uuid;

/// The value of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberValue {
    Missing,
    Null,
    Flag(bool),
    Number(Span),
    /// With its quotes.
    Text(Span),
    Id(Uuid),
    /// With its brackets.
    List(Span),
    Object,
}

/// A part of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn of(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Without quotes.
    pub(super) fn inner(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize + 1..(self.end as usize).saturating_sub(1)).unwrap_or_default()
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

    /// Skips a name and its colon, if they are next. Most members stand in the order of their shape.
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

    pub(super) fn span(&self, start: usize) -> Option<Span> {
        Some(Span { start: u32::try_from(start).ok()?, end: u32::try_from(self.at).ok()? })
    }

    /// A scalar value.
    pub(super) fn value(&mut self) -> Option<MemberValue> {
        match *self.text.as_bytes().get(self.at)? {
            b'"' => self.text().map(MemberValue::Text),
            b'0'..=b'9' => self.number().map(MemberValue::Number),
            b't' => self.literal("true", MemberValue::Flag(true)),
            b'f' => self.literal("false", MemberValue::Flag(false)),
            b'n' => self.literal("null", MemberValue::Null),
            _ => None,
        }
    }

    fn literal(&mut self, literal: &str, value: MemberValue) -> Option<MemberValue> {
        self.text.get(self.at..)?.starts_with(literal).then_some(())?;
        self.at += literal.len();
        Some(value)
    }

    /// A whole number without a sign.
    fn number(&mut self) -> Option<Span> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let has_zero_before = bytes[start] == b'0' && self.at - start > 1;
        if has_zero_before { None } else { self.span(start) }
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

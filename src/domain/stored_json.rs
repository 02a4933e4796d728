//! Stored JSON: the members of an item's body, found in one pass, without values in between.
//!
//! It reads what serde_json writes and nothing else: no white space, and each escape in its only form. A text that was read can
//! stand in another JSON text unchanged. Whatever differs is not read, and its reader decodes the item instead.

use uuid::Uuid;

/// The most members that a shape may name.
const MEMBERS_MAX: usize = 16;

/// The members of a stored object that are looked for, in the order in which they are usually stored.
#[derive(Debug)]
pub struct StoredShape(&'static [StoredMember]);

/// A member of a stored object, and what it has to be.
#[derive(Debug, Clone, Copy)]
pub struct StoredMember {
    name: &'static str,
    kind: MemberKind,
}

/// The place of a member in its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberSlot(usize);

#[derive(Debug, Clone, Copy)]
enum MemberKind {
    Id,
    Text,
    OptionalText,
    Count,
    OptionalCount,
    Flag,
    Unread,
}

impl StoredMember {
    /// A UUID.
    #[must_use]
    pub const fn id(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Id }
    }

    /// A text.
    #[must_use]
    pub const fn text(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Text }
    }

    /// A text that may be missing or null.
    #[must_use]
    pub const fn optional_text(name: &'static str) -> Self {
        Self { name, kind: MemberKind::OptionalText }
    }

    /// An integer of 32 bits without a sign.
    #[must_use]
    pub const fn count(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Count }
    }

    /// Such an integer, which may be missing or null.
    #[must_use]
    pub const fn optional_count(name: &'static str) -> Self {
        Self { name, kind: MemberKind::OptionalCount }
    }

    /// A Boolean; false where it is missing.
    #[must_use]
    pub const fn flag(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Flag }
    }

    /// One that is not read, named to speed up the search for those after it.
    #[must_use]
    pub const fn unread(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Unread }
    }
}

impl StoredShape {
    /// A shape of these members.
    ///
    /// # Panics
    /// There are too many, which shows when a constant is made of it.
    #[must_use]
    pub const fn of(members: &'static [StoredMember]) -> Self {
        assert!(members.len() <= MEMBERS_MAX);
        Self(members)
    }

    /// The place of a member.
    ///
    /// # Panics
    /// There is no such member, which shows when a constant is made of it.
    #[must_use]
    pub const fn slot(&self, name: &str) -> MemberSlot {
        let mut place = 0;
        while place < self.0.len() {
            if is_same(self.0[place].name.as_bytes(), name.as_bytes()) {
                return MemberSlot(place);
            }
            place += 1;
        }
        panic!("the shape has no such member")
    }

    /// The members of a body; `None` where it is not as serde_json writes it, or not of this shape.
    #[must_use]
    pub fn read(&self, body: &[u8]) -> Option<StoredMembers> {
        let mut scanner = Scanner { text: std::str::from_utf8(body).ok()?, at: 0 };
        let mut members = StoredMembers([MemberValue::Missing; MEMBERS_MAX]);
        let mut expected = 0;
        scanner.skip(b'{')?;
        loop {
            let place = match self.0.get(expected).filter(|member| scanner.skip_name(member.name)) {
                Some(_) => Some(expected),
                None => {
                    let name = scanner.text()?;
                    scanner.skip(b':')?;
                    self.place(name.inner(body))
                }
            };
            let value = scanner.value()?;
            if let Some(place) = place {
                let found = &mut members.0[place];
                if !matches!(found, MemberValue::Missing) {
                    return None;
                }
                *found = self.0[place].kind.accept(value, body)?;
                expected = place + 1;
            }
            match scanner.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        let is_whole = scanner.at == body.len();
        let has_all = self
            .0
            .iter()
            .zip(&members.0)
            .all(|(member, value)| !member.kind.is_required() || !matches!(value, MemberValue::Missing));
        (is_whole && has_all).then_some(members)
    }

    fn place(&self, name: &[u8]) -> Option<usize> {
        self.0.iter().position(|member| member.name.as_bytes() == name)
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl MemberKind {
    fn is_required(self) -> bool {
        matches!(self, Self::Id | Self::Text | Self::Count)
    }

    /// The value, if it is of this kind.
    fn accept(self, value: MemberValue, body: &[u8]) -> Option<MemberValue> {
        match (self, value) {
            (Self::Id, MemberValue::Text(text)) => {
                Uuid::try_parse_ascii(text.inner(body)).ok().map(MemberValue::Id)
            }
            (Self::Text | Self::OptionalText, MemberValue::Text(_))
            | (Self::OptionalText | Self::OptionalCount, MemberValue::Null)
            | (Self::Flag, MemberValue::Flag(_))
            | (Self::Unread, _) => Some(value),
            (Self::Count | Self::OptionalCount, MemberValue::Number(number)) => {
                let digits = std::str::from_utf8(number.of(body)).ok()?;
                digits.parse::<u32>().is_ok().then_some(value)
            }
            _ => None,
        }
    }
}

/// The members of one body.
#[derive(Debug)]
pub struct StoredMembers([MemberValue; MEMBERS_MAX]);

#[derive(Debug, Clone, Copy)]
enum MemberValue {
    Missing,
    Null,
    Flag(bool),
    Number(Span),
    /// With its quotes.
    Text(Span),
    Id(Uuid),
}

/// A part of a body.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn of(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Without quotes.
    fn inner(self, body: &[u8]) -> &[u8] {
        body.get(self.start as usize + 1..(self.end as usize).saturating_sub(1)).unwrap_or_default()
    }
}

impl StoredMembers {
    /// A UUID.
    #[must_use]
    pub fn id(&self, slot: MemberSlot) -> Option<Uuid> {
        match self.0[slot.0] {
            MemberValue::Id(id) => Some(id),
            _ => None,
        }
    }

    /// A text or a number as it is in the body, with its quotes; `None` where it is missing or null.
    #[must_use]
    pub fn json<'b>(&self, slot: MemberSlot, body: &'b [u8]) -> Option<&'b [u8]> {
        match self.0[slot.0] {
            MemberValue::Text(span) | MemberValue::Number(span) => Some(span.of(body)),
            _ => None,
        }
    }

    /// A Boolean.
    #[must_use]
    pub fn flag(&self, slot: MemberSlot) -> bool {
        matches!(self.0[slot.0], MemberValue::Flag(true))
    }
}

struct Scanner<'b> {
    text: &'b str,
    at: usize,
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// Skips a name and its colon, if they are next. Most members stand in the order of their shape.
    fn skip_name(&mut self, name: &str) -> bool {
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

    /// A scalar value. Objects and lists are in no item that is read like this.
    fn value(&mut self) -> Option<MemberValue> {
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
    fn text(&mut self) -> Option<Span> {
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

/// The bytes before the first quote, backslash or control character; `None` where there is none.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SHAPE: StoredShape = StoredShape::of(&[
        StoredMember::id("id"),
        StoredMember::unread("type"),
        StoredMember::text("title"),
        StoredMember::optional_text("note"),
        StoredMember::count("count"),
        StoredMember::optional_count("version"),
        StoredMember::flag("deleted"),
    ]);

    fn read(body: &str) -> Option<StoredMembers> {
        SHAPE.read(body.as_bytes())
    }

    fn text(members: &StoredMembers, name: &str, body: &str) -> Option<String> {
        let json = members.json(SHAPE.slot(name), body.as_bytes())?;
        Some(std::str::from_utf8(json).unwrap().to_owned())
    }

    proptest! {
        #[test]
        fn what_serde_json_writes_is_read(title: String, note: Option<String>, count: u32, id: u128, other: String) {
            let id = Uuid::from_u128(id);
            let body = json!({ "title": title, "id": id, "note": note, "count": count, "deleted": true, "other": other });
            let body = body.to_string();
            let members = read(&body).unwrap();
            prop_assert_eq!(members.id(SHAPE.slot("id")), Some(id));
            prop_assert_eq!(text(&members, "title", &body), Some(json!(title).to_string()));
            prop_assert_eq!(text(&members, "note", &body), note.map(|note| json!(note).to_string()));
            prop_assert_eq!(text(&members, "count", &body), Some(count.to_string()));
            prop_assert_eq!(text(&members, "version", &body), None);
            prop_assert!(members.flag(SHAPE.slot("deleted")));
        }

        #[test]
        fn no_text_in_another_form_is_read(title in "(\\\\?[\"\\\\/bfnrtu0-9a-f\u{1}é ]){0,12}") {
            let body = format!("{{\"id\":\"{}\",\"title\":\"{title}\",\"count\":1}}", Uuid::nil());
            if let Some(members) = read(&body) {
                let decoded: serde_json::Value = serde_json::from_str(&body).unwrap();
                prop_assert_eq!(text(&members, "title", &body), Some(decoded["title"].to_string()));
            }
        }
    }

    #[test]
    fn a_body_of_another_shape_is_not_read() {
        let good = format!("{{\"id\":\"{}\",\"title\":\"x\",\"count\":1}}", Uuid::nil());
        assert!(read(&good).is_some());
        for (from, to) in [
            ("\"count\":1", "\"count\":-1"),
            ("\"count\":1", "\"count\":1.0"),
            ("\"count\":1", "\"count\":01"),
            ("\"count\":1", "\"count\":4294967296"),
            ("\"count\":1", "\"count\":\"1\""),
            ("\"count\":1", "\"other\":1"),
            ("\"count\":1", "\"count\":1,\"count\":1"),
            ("\"count\":1", "\"count\":1,\"deleted\":null"),
            ("\"count\":1", "\"count\":1,\"list\":[1]"),
            ("\"x\"", "null"),
            ("\"x\"", "\"\\/\""),
            ("\"x\"", "\"\\u00e9\""),
            ("\"x\"", "\"\\u000A\""),
            (",", ", "),
            ("}", "} "),
            ("}", ",}"),
            ("00000000-", "0000000-"),
        ] {
            assert!(read(&good.replacen(from, to, 1)).is_none(), "{to}");
        }
        assert!(read("{}").is_none() && read("").is_none());
        assert!(SHAPE.read(b"{\"title\":\"\xff\"}").is_none());
    }
}

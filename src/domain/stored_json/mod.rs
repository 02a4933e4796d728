//! Stored JSON: the members of an item's body, found in one pass, without values in between.
//!
//! It reads the output of serde_json and nothing else: no white space, and each escape in its only form. A
//! text that was read can stand in another JSON text unchanged. Another form is not read, and its reader
//! decodes the item instead. Members that a shape does not name are skipped.

mod scanner;

use std::borrow::Cow;

use uuid::Uuid;

pub use self::scanner::StoredValue;
use self::scanner::{MemberValue, Scanner};

/// The most members that a shape may name.
pub const MEMBERS_MAX: usize = 32;
/// The members of an object whose order a reader remembers.
const LAYOUT_MEMBERS_MAX: usize = 64;

/// The names of the members that are looked for in a stored object.
#[derive(Debug, Clone, Default)]
pub struct StoredShape(Box<[&'static str]>);

/// The place of a member in its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberSlot(u8);

impl MemberSlot {
    /// The slot of the member at this place of a shape's names; `None` beyond [`MEMBERS_MAX`].
    #[must_use]
    pub fn at(place: usize) -> Option<Self> {
        u8::try_from(place).ok().filter(|_| place < MEMBERS_MAX).map(Self)
    }
}

impl StoredShape {
    /// A shape of these names, of which each has its place as its slot.
    #[must_use]
    pub fn of(names: Vec<&'static str>) -> Self {
        assert!(names.len() <= MEMBERS_MAX);
        Self(names.into())
    }

    /// Bytes of memory beside the shape's own.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    fn place(&self, name: &[u8]) -> Option<u8> {
        let place = self.0.iter().position(|known| known.as_bytes() == name)?;
        u8::try_from(place).ok()
    }
}

/// A reader of bodies that are mostly written alike: it expects the members of a body in the order of the
/// body before.
pub struct ShapeReader<'s, 'b> {
    shape: &'s StoredShape,
    layout: Vec<(&'b str, Option<u8>)>,
    /// Of the body that was read last.
    values: [MemberValue; MEMBERS_MAX],
}

impl<'s, 'b> ShapeReader<'s, 'b> {
    /// A reader of one shape.
    #[must_use]
    pub fn new(shape: &'s StoredShape) -> Self {
        Self { shape, layout: Vec::new(), values: [MemberValue::Missing; MEMBERS_MAX] }
    }

    /// The members of a body; `None` where it is not as serde_json writes it.
    #[must_use]
    pub fn read<'m>(&'m mut self, body: &'b [u8]) -> Option<StoredMembers<'m>>
    where
        'b: 'm,
    {
        let mut scanner = Scanner::of(body)?;
        self.values[..self.shape.0.len()].fill(MemberValue::Missing);
        self.members(&mut scanner)?;
        let is_end = scanner.at == scanner.text.len();
        let values = &self.values[..self.shape.0.len()];
        is_end.then_some(StoredMembers { values, body: scanner.text })
    }

    /// Reads the members of the object that is next.
    fn members(&mut self, scanner: &mut Scanner<'b>) -> Option<()> {
        let mut expected = 0;
        scanner.skip(b'{')?;
        if scanner.peek() == Some(b'}') {
            scanner.at += 1;
            return Some(());
        }
        loop {
            let slot = self.member(scanner, &mut expected)?;
            let value = scanner.value()?;
            if let Some(slot) = slot {
                let found = self.values.get_mut(usize::from(slot))?;
                if !matches!(found, MemberValue::Missing) {
                    return None;
                }
                *found = value;
            }
            match scanner.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The slot of the member that is next, behind its name.
    fn member(&mut self, scanner: &mut Scanner<'b>, expected: &mut usize) -> Option<Option<u8>> {
        if let Some((_, slot)) = self.layout.get(*expected).filter(|(name, _)| scanner.skip_name(name)) {
            *expected += 1;
            return Some(*slot);
        }
        let name = scanner.text()?.inner(scanner.text);
        scanner.skip(b':')?;
        if let Some(place) = self.layout.iter().position(|(known, _)| *known == name) {
            *expected = place + 1;
            return Some(self.layout[place].1);
        }
        let slot = self.shape.place(name.as_bytes());
        if self.layout.len() < LAYOUT_MEMBERS_MAX {
            let place = (*expected).min(self.layout.len());
            self.layout.insert(place, (name, slot));
            *expected = place + 1;
        }
        Some(slot)
    }
}

/// The members of one body.
#[derive(Debug, Clone, Copy)]
pub struct StoredMembers<'b> {
    values: &'b [MemberValue],
    body: &'b str,
}

/// The members of a body, kept without it.
#[derive(Debug, Clone)]
pub struct DetachedMembers(Box<[MemberValue]>);

impl DetachedMembers {
    /// The members in the body that they were read from; `None` for a body that is no text.
    #[must_use]
    pub fn of<'b>(&'b self, body: &'b [u8]) -> Option<StoredMembers<'b>> {
        Some(StoredMembers { values: &self.0, body: std::str::from_utf8(body).ok()? })
    }
}

impl<'b> StoredMembers<'b> {
    /// The members without their body.
    #[must_use]
    pub fn detached(&self) -> DetachedMembers {
        DetachedMembers(self.values.into())
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &'b [u8] {
        self.body.as_bytes()
    }

    /// A value; `None` where it is missing or null.
    #[must_use]
    pub fn value(&self, slot: MemberSlot) -> Option<StoredValue<'b>> {
        self.values.get(usize::from(slot.0)).and_then(|value| value.stored(self.body))
    }

    /// A text as it is in the body, with its quotes.
    #[must_use]
    pub fn text_json(&self, slot: MemberSlot) -> Option<&'b str> {
        match self.value(slot)? {
            StoredValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A text without its quotes and escapes.
    #[must_use]
    pub fn text(&self, slot: MemberSlot) -> Option<Cow<'b, str>> {
        unescaped(self.text_json(slot)?)
    }

    /// A UUID.
    #[must_use]
    pub fn uuid(&self, slot: MemberSlot) -> Option<Uuid> {
        let text = self.text_json(slot)?;
        Uuid::try_parse_ascii(text.as_bytes().get(1..text.len() - 1)?).ok()
    }

    /// A whole number.
    #[must_use]
    pub fn integer(&self, slot: MemberSlot) -> Option<i64> {
        match self.value(slot)? {
            StoredValue::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    /// Whether a text is this one, which has no escapes.
    #[must_use]
    pub fn is_text(&self, slot: MemberSlot, text: &str) -> bool {
        self.text_json(slot).is_some_and(|json| json.get(1..json.len() - 1) == Some(text))
    }

    /// Whether a member is `true`.
    #[must_use]
    pub fn flag(&self, slot: MemberSlot) -> bool {
        self.value(slot) == Some(StoredValue::Flag(true))
    }
}

/// The text of a JSON text.
#[must_use]
pub fn unescaped(json: &str) -> Option<Cow<'_, str>> {
    if json.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    json.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}

/// The elements of a list; one that is null is `None`.
///
/// # Errors
/// `None` for a text that is no list.
#[must_use]
pub fn elements(list: &str) -> Option<Vec<Option<StoredValue<'_>>>> {
    let mut scanner = Scanner::of(list.as_bytes())?;
    let mut elements = Vec::new();
    scanner.skip(b'[')?;
    if scanner.peek()? == b']' {
        return Some(elements);
    }
    loop {
        elements.push(scanner.value()?.stored(list));
        match scanner.next()? {
            b',' => {}
            b']' => return Some(elements),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;

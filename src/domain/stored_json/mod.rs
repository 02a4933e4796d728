//! Stored JSON: the members of an item's body, found in one pass, without values in between.
//!
//! It reads the output of serde_json and nothing else: no white space, and each escape in its only form. A
//! text that was read can stand in another JSON text unchanged. Another form is not read, and its reader
//! decodes the item instead. Objects and lists are read where a shape names them, and nowhere else.

mod scanner;

use uuid::Uuid;

use self::scanner::{MemberValue, Scanner, Span};

/// The most members that a shape may name.
const MEMBERS_MAX: usize = 16;

/// The members of a stored object that are looked for, in the order in which they are usually stored.
#[derive(Debug)]
pub struct StoredShape(&'static [StoredMember]);

/// A member of a stored object, and its required form.
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
    Amount,
    Flag,
    Objects(&'static StoredShape),
    OptionalObjects(&'static StoredShape),
    OptionalObject(&'static StoredShape),
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

    /// An integer of 63 bits without a sign.
    #[must_use]
    pub const fn amount(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Amount }
    }

    /// A Boolean; false where it is missing.
    #[must_use]
    pub const fn flag(name: &'static str) -> Self {
        Self { name, kind: MemberKind::Flag }
    }

    /// A list of objects of a shape.
    #[must_use]
    pub const fn objects(name: &'static str, shape: &'static StoredShape) -> Self {
        Self { name, kind: MemberKind::Objects(shape) }
    }

    /// Such a list, which may be missing.
    #[must_use]
    pub const fn optional_objects(name: &'static str, shape: &'static StoredShape) -> Self {
        Self { name, kind: MemberKind::OptionalObjects(shape) }
    }

    /// An object of a shape, which may be missing. It is not read.
    #[must_use]
    pub const fn optional_object(name: &'static str, shape: &'static StoredShape) -> Self {
        Self { name, kind: MemberKind::OptionalObject(shape) }
    }

    /// A member that is not read, named to speed up the search for the members after it.
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
        let mut scanner = Scanner::of(body)?;
        let members = self.scan(&mut scanner)?;
        (scanner.at == body.len()).then_some(members)
    }

    /// The members of the object that is next.
    fn scan(&self, scanner: &mut Scanner<'_>) -> Option<StoredMembers> {
        let mut members = StoredMembers([MemberValue::Missing; MEMBERS_MAX]);
        let mut expected = 0;
        scanner.skip(b'{')?;
        loop {
            let place = match self.0.get(expected).filter(|member| scanner.skip_name(member.name)) {
                Some(_) => Some(expected),
                None => {
                    let name = scanner.text()?;
                    scanner.skip(b':')?;
                    self.place(name.inner(scanner.text.as_bytes()))
                }
            };
            match place {
                Some(place) => {
                    let found = &mut members.0[place];
                    if !matches!(found, MemberValue::Missing) {
                        return None;
                    }
                    *found = self.0[place].kind.scan(scanner)?;
                    expected = place + 1;
                }
                None => drop(scanner.value()?),
            }
            match scanner.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        let has_all = self
            .0
            .iter()
            .zip(&members.0)
            .all(|(member, value)| !member.kind.is_required() || !matches!(value, MemberValue::Missing));
        has_all.then_some(members)
    }

    /// The list of such objects that is next.
    fn scan_list(&self, scanner: &mut Scanner<'_>) -> Option<Span> {
        let start = scanner.at;
        scanner.skip(b'[')?;
        if scanner.peek()? == b']' {
            scanner.at += 1;
            return scanner.span(start);
        }
        loop {
            self.scan(scanner)?;
            match scanner.next()? {
                b',' => {}
                b']' => return scanner.span(start),
                _ => return None,
            }
        }
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
        matches!(self, Self::Id | Self::Text | Self::Count | Self::Amount | Self::Objects(_))
    }

    /// The value that is next, if it is of this kind.
    fn scan(self, scanner: &mut Scanner<'_>) -> Option<MemberValue> {
        match self {
            Self::Objects(shape) | Self::OptionalObjects(shape) => {
                shape.scan_list(scanner).map(MemberValue::List)
            }
            Self::OptionalObject(shape) => shape.scan(scanner).map(|_| MemberValue::Object),
            kind => {
                let value = scanner.value()?;
                kind.accept(value, scanner.text.as_bytes())
            }
        }
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
            (Self::Amount, MemberValue::Number(number)) => {
                let digits = std::str::from_utf8(number.of(body)).ok()?;
                digits.parse::<i64>().is_ok().then_some(value)
            }
            _ => None,
        }
    }
}

/// The members of one body.
#[derive(Debug)]
pub struct StoredMembers([MemberValue; MEMBERS_MAX]);

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

    /// An integer.
    #[must_use]
    pub fn integer(&self, slot: MemberSlot, body: &[u8]) -> Option<i64> {
        match self.0[slot.0] {
            MemberValue::Number(span) => std::str::from_utf8(span.of(body)).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Whether a text is this one, which has no escapes.
    #[must_use]
    pub fn is_text(&self, slot: MemberSlot, body: &[u8], text: &str) -> bool {
        matches!(self.0[slot.0], MemberValue::Text(span) if span.inner(body) == text.as_bytes())
    }

    /// The objects of a list, of the shape that they have been read by; `None` where it is missing.
    #[must_use]
    pub fn objects<'b>(
        &self,
        slot: MemberSlot,
        shape: &'static StoredShape,
        body: &'b [u8],
    ) -> Option<StoredObjects<'b>> {
        match self.0[slot.0] {
            MemberValue::List(span) => Some(StoredObjects { shape, scanner: Scanner::of(span.of(body))? }),
            _ => None,
        }
    }

    /// A Boolean.
    #[must_use]
    pub fn flag(&self, slot: MemberSlot) -> bool {
        matches!(self.0[slot.0], MemberValue::Flag(true))
    }
}

/// The objects of a stored list, one after another; an item is `None` where it is of another shape.
pub struct StoredObjects<'b> {
    shape: &'static StoredShape,
    scanner: Scanner<'b>,
}

impl<'b> StoredObjects<'b> {
    /// The list, which is the body of its objects.
    #[must_use]
    pub fn body(&self) -> &'b [u8] {
        self.scanner.text.as_bytes()
    }
}

impl Iterator for StoredObjects<'_> {
    type Item = Option<StoredMembers>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.scanner.next()? {
            b'[' if self.scanner.peek() == Some(b']') => None,
            b'[' | b',' => Some(self.shape.scan(&mut self.scanner)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection;
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
        StoredMember::optional_objects("parts", &PART),
        StoredMember::optional_object("hidden", &PART),
    ]);
    const PART: StoredShape = StoredShape::of(&[StoredMember::text("name"), StoredMember::amount("price")]);

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
        fn lists_of_objects_are_read_one_by_one(parts in collection::vec(any::<(String, u32)>(), 0..4), id: u128) {
            let values: Vec<_> = parts.iter().map(|(name, price)| json!({ "name": name, "price": price })).collect();
            let id = Uuid::from_u128(id);
            let body = json!({ "id": id, "title": "x", "count": 1, "parts": values, "hidden": { "name": "", "price": 1 } });
            let body = body.to_string();
            let objects = read(&body).unwrap().objects(SHAPE.slot("parts"), &PART, body.as_bytes()).unwrap();
            let list = objects.body();
            let found: Vec<_> = objects.map(|part| {
                let part = part.unwrap();
                let name: String = serde_json::from_slice(part.json(PART.slot("name"), list).unwrap()).unwrap();
                (name, u32::try_from(part.integer(PART.slot("price"), list).unwrap()).unwrap())
            }).collect();
            prop_assert_eq!(found, parts);
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
            ("\"count\":1", "\"count\":1,\"parts\":[1]"),
            ("\"count\":1", "\"count\":1,\"parts\":[{}]"),
            ("\"count\":1", "\"count\":1,\"parts\":[{\"name\":\"x\",\"price\":-1}]"),
            ("\"count\":1", "\"count\":1,\"parts\":[{\"name\":\"x\",\"price\":1},]"),
            ("\"count\":1", "\"count\":1,\"parts\":[{\"name\":\"x\",\"price\":1}"),
            ("\"count\":1", "\"count\":1,\"hidden\":[]"),
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

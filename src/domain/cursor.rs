//! Cursors: where a page ended, as an opaque text.
//!
//! A cursor holds the tag of its kind of list, a keyset (order value and id), and a checksum, which covers
//! the owner of the list, too. It is no secret and grants nothing; the checks are there so that a cursor
//! which was made up, cut off or taken from another list is refused instead of answered with an arbitrary
//! page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;
use uuid::Uuid;

use onehop_runtime::clock::parse_timestamp;
use onehop_store::{Keyset, limits};

const ID_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
/// The bytes of a cursor beside the order value: tag, id, checksum.
const BYTES_MIN: usize = 1 + ID_BYTES + CHECKSUM_BYTES;
/// The longest cursor, in characters: base64 without padding.
const CHARACTERS_MAX: usize = (BYTES_MIN + limits::INDEXED_TEXT_BYTES_MAX).div_ceil(3) * 4;

/// A kind of list, such as the comments of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListKind {
    tag: u8,
    order: ListOrder,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListOrder {
    /// RFC 3339 in UTC with milliseconds.
    Date,
    Text,
}

impl ListKind {
    /// A kind of list that is ordered by a date. Each kind has a tag of its own.
    #[must_use]
    pub const fn by_date(tag: u8) -> Self {
        Self { tag, order: ListOrder::Date }
    }

    /// A kind of list that is ordered by a text. Each kind has a tag of its own.
    #[must_use]
    pub const fn by_text(tag: u8) -> Self {
        Self { tag, order: ListOrder::Text }
    }

    /// The list of this kind, where there is one.
    #[must_use]
    pub const fn single(self) -> List {
        List { kind: self, owner: Uuid::nil() }
    }

    /// The list of this kind that belongs to a node.
    #[must_use]
    pub const fn of(self, owner: Uuid) -> List {
        List { kind: self, owner }
    }
}

/// A list, such as the comments of one post: its cursors are no other list's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    kind: ListKind,
    /// The id of the node that it belongs to; nil for the only list of its kind.
    owner: Uuid,
}

/// A text that is no cursor of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not a cursor of this list")]
pub struct InvalidCursor;

/// The cursor of an item in a list.
#[must_use]
pub fn encode(list: List, order_value: &str, id: Uuid) -> String {
    let mut bytes = Vec::with_capacity(BYTES_MIN + order_value.len());
    bytes.push(list.kind.tag);
    bytes.extend_from_slice(order_value.as_bytes());
    bytes.extend_from_slice(id.as_bytes());
    let sum = checksum(list.owner, &bytes);
    bytes.extend_from_slice(&sum);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The keyset behind a cursor.
///
/// # Errors
/// [`InvalidCursor`] unless [`encode`] made it for the same list.
pub fn decode(list: List, cursor: &str) -> Result<Keyset, InvalidCursor> {
    if cursor.len() > CHARACTERS_MAX {
        return Err(InvalidCursor);
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
    if bytes.len() < BYTES_MIN {
        return Err(InvalidCursor);
    }
    let (content, sum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    if content[0] != list.kind.tag || sum != checksum(list.owner, content) {
        return Err(InvalidCursor);
    }
    let (order_value, id) = content[1..].split_at(content.len() - 1 - ID_BYTES);
    let order_value = std::str::from_utf8(order_value).map_err(|_| InvalidCursor)?;
    let id = Uuid::from_slice(id).map_err(|_| InvalidCursor)?;
    if list.kind.order == ListOrder::Date && parse_timestamp(order_value).is_none() {
        return Err(InvalidCursor);
    }
    Ok(keyset(order_value, id))
}

/// The keyset of an item.
#[must_use]
pub fn keyset(order_value: &str, id: Uuid) -> Keyset {
    Keyset { order_value: order_value.to_owned(), id: id.as_hyphenated().to_string() }
}

/// FNV-1a, 32 bits: it detects accidents and guesses, not malice, and nothing depends on more. The owner is
/// not in the cursor.
fn checksum(owner: Uuid, content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let bytes = owner.as_bytes().iter().chain(content);
    let sum = bytes.fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    sum.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THINGS: List = ListKind::by_text(9).single();
    const EVENTS: List = ListKind::by_date(10).of(Uuid::from_u128(1));
    const DATE: &str = "2026-11-20T09:20:00.125Z";

    #[test]
    fn a_cursor_with_one_character_changed_is_refused() {
        let cursor = encode(EVENTS, DATE, Uuid::from_u128(7));
        for position in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(decode(EVENTS, &changed), Err(InvalidCursor), "{position}");
        }
    }

    #[test]
    fn a_list_by_date_has_dates_in_its_cursors() {
        let id = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);
        assert_eq!(decode(EVENTS, &encode(EVENTS, DATE, id)), Ok(keyset(DATE, id)));
        assert_eq!(decode(EVENTS, &encode(EVENTS, "yesterday", id)), Err(InvalidCursor));
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_keyset(order_value in ".{0,40}", id: u128) {
            let id = Uuid::from_u128(id);
            let cursor = encode(THINGS, &order_value, id);
            prop_assert_eq!(decode(THINGS, &cursor), Ok(keyset(&order_value, id)));
            prop_assert_eq!(decode(ListKind::by_text(11).single(), &cursor), Err(InvalidCursor));
        }

        #[test]
        fn a_cursor_of_another_owners_list_is_refused(order_value in ".{0,40}", id: u128, owner: u128, other: u128) {
            prop_assume!(owner != other);
            let of = |owner| ListKind::by_text(9).of(Uuid::from_u128(owner));
            let cursor = encode(of(owner), &order_value, Uuid::from_u128(id));
            prop_assert!(decode(of(owner), &cursor).is_ok());
            prop_assert_eq!(decode(of(other), &cursor), Err(InvalidCursor));
        }

        #[test]
        fn any_other_text_is_refused(text in ".{0,80}") {
            prop_assert_eq!(decode(THINGS, &text), Err(InvalidCursor));
        }
    }
}

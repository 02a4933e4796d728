//! Cursors: where a page ended, as an opaque text that is the same in all data models.
//!
//! A cursor holds a keyset (creation date and id), the kind of list it belongs to, and a checksum. It is no secret
//! and grants nothing; the checks are there so that a cursor which was made up, cut off or taken from another kind
//! of list is refused instead of answered with an arbitrary page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;
use uuid::Uuid;

use onehop_runtime::clock::parse_timestamp;
use onehop_store::Keyset;

/// Bytes of a creation date: RFC 3339 in UTC with milliseconds.
const DATE_BYTES: usize = 24;
const ID_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
/// Kind, creation date, id, checksum.
const CURSOR_BYTES: usize = 1 + DATE_BYTES + ID_BYTES + CHECKSUM_BYTES;
/// Characters of a cursor: base64 without padding.
const CURSOR_CHARACTERS: usize = CURSOR_BYTES / 3 * 4;
const _: () = assert!(CURSOR_BYTES.is_multiple_of(3), "a cursor fills its base64 characters exactly");

/// What kind of list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Posts,
    Comments,
    Likes,
}

/// A text that is no cursor of this kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not a cursor of this list")]
pub struct InvalidCursor;

/// The keyset of an item.
pub(super) fn keyset(creation_date: &str, id: Uuid) -> Keyset {
    Keyset { order_value: creation_date.to_owned(), id: id.as_hyphenated().to_string() }
}

/// The cursor of an item. A creation date of another length than the stored form's gives an empty cursor, which is
/// refused when it comes back.
#[must_use]
pub fn encode(kind: ListKind, creation_date: &str, id: Uuid) -> String {
    let Ok(date) = <&[u8; DATE_BYTES]>::try_from(creation_date.as_bytes()) else {
        return String::new();
    };
    let mut bytes = [0; CURSOR_BYTES];
    bytes[0] = tag(kind);
    bytes[1..=DATE_BYTES].copy_from_slice(date);
    bytes[1 + DATE_BYTES..1 + DATE_BYTES + ID_BYTES].copy_from_slice(id.as_bytes());
    let sum = checksum(&bytes[..CURSOR_BYTES - CHECKSUM_BYTES]);
    bytes[CURSOR_BYTES - CHECKSUM_BYTES..].copy_from_slice(&sum);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The keyset behind a cursor.
///
/// # Errors
/// [`InvalidCursor`] unless [`encode`] made it for the same kind of list.
pub fn decode(kind: ListKind, cursor: &str) -> Result<Keyset, InvalidCursor> {
    if cursor.len() != CURSOR_CHARACTERS {
        return Err(InvalidCursor);
    }
    let mut bytes = [0; CURSOR_BYTES];
    let length = URL_SAFE_NO_PAD.decode_slice(cursor, &mut bytes).map_err(|_| InvalidCursor)?;
    let (content, sum) = bytes.split_at(CURSOR_BYTES - CHECKSUM_BYTES);
    if length != CURSOR_BYTES || content[0] != tag(kind) || sum != checksum(content) {
        return Err(InvalidCursor);
    }
    let (date, id) = content[1..].split_at(DATE_BYTES);
    let date = std::str::from_utf8(date).map_err(|_| InvalidCursor)?;
    let id = Uuid::from_slice(id).map_err(|_| InvalidCursor)?;
    if parse_timestamp(date).is_none() {
        return Err(InvalidCursor);
    }
    Ok(keyset(date, id))
}

fn tag(kind: ListKind) -> u8 {
    match kind {
        ListKind::Posts => 1,
        ListKind::Comments => 2,
        ListKind::Likes => 3,
    }
}

/// FNV-1a, 32 bits: it detects accidents and guesses, not malice, and nothing depends on more.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let sum =
        bytes.iter().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    sum.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DATE: &str = "2026-11-20T09:20:00.125Z";

    #[test]
    fn a_cursor_leads_back_to_its_keyset() {
        let id = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001);
        let cursor = encode(ListKind::Posts, DATE, id);
        assert_eq!(decode(ListKind::Posts, &cursor), Ok(keyset(DATE, id)));
    }

    #[test]
    fn a_cursor_of_another_kind_of_list_is_refused() {
        let cursor = encode(ListKind::Posts, DATE, Uuid::nil());
        assert_eq!(decode(ListKind::Comments, &cursor), Err(InvalidCursor));
    }

    #[test]
    fn a_cursor_with_one_character_changed_is_refused() {
        let cursor = encode(ListKind::Likes, DATE, Uuid::from_u128(7));
        for position in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(decode(ListKind::Likes, &changed), Err(InvalidCursor), "{position}");
        }
    }

    proptest! {
        #[test]
        fn any_other_text_is_refused(text in ".{0,80}") {
            prop_assert_eq!(decode(ListKind::Posts, &text), Err(InvalidCursor));
        }
    }
}

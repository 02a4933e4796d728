//! Cursors of the blog's lists: the same in all data models. Each list is ordered by creation date.

use uuid::Uuid;

use crate::domain::cursor;
pub use crate::domain::cursor::InvalidCursor;
use onehop_runtime::clock::parse_timestamp;
use onehop_store::Keyset;

/// What kind of list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Posts,
    Comments,
    Likes,
}

/// The cursor of an item.
#[must_use]
pub fn encode(kind: ListKind, creation_date: &str, id: Uuid) -> String {
    cursor::encode(tag(kind), creation_date, id)
}

/// The keyset behind a cursor.
///
/// # Errors
/// [`InvalidCursor`] unless [`encode`] made it for the same kind of list.
pub fn decode(kind: ListKind, text: &str) -> Result<Keyset, InvalidCursor> {
    let keyset = cursor::decode(tag(kind), text)?;
    parse_timestamp(&keyset.order_value).ok_or(InvalidCursor)?;
    Ok(keyset)
}

fn tag(kind: ListKind) -> u8 {
    match kind {
        ListKind::Posts => 1,
        ListKind::Comments => 2,
        ListKind::Likes => 3,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cursor::keyset;

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

//! Cursors of served lists: the order value and the id of an item and its number in the list, with a checksum
//! of the list, so that the cursors of one list are no other list's.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop_store::Keyset;
use onehop_store::limits::{ID_BYTES_MAX, INDEXED_TEXT_BYTES_MAX};

use super::pages::ListPosition;
use crate::domain::cursor::InvalidCursor;
use crate::domain::digest::sha256_hex;

/// Hexadecimal digits of the checksum.
const CHECKSUM_CHARS: usize = 8;
/// Characters of the longest cursor.
const CHARACTERS_MAX: usize = (CHECKSUM_CHARS + 24 + ID_BYTES_MAX + INDEXED_TEXT_BYTES_MAX).div_ceil(3) * 4;

/// The cursor of a position in a list, which a text identifies.
#[must_use]
pub fn encode(list: &str, position: &ListPosition) -> String {
    let ListPosition { keyset, seen } = position;
    let content = format!("{},{seen}:{}{}", keyset.id.len(), keyset.id, keyset.order_value);
    URL_SAFE_NO_PAD.encode(format!("{}{content}", checksum(list, &content)))
}

/// The position behind a cursor.
///
/// # Errors
/// [`InvalidCursor`] unless [`encode`] made it for the same list.
pub fn decode(list: &str, cursor: &str) -> Result<ListPosition, InvalidCursor> {
    if cursor.len() > CHARACTERS_MAX {
        return Err(InvalidCursor);
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor)?;
    let text = String::from_utf8(bytes).map_err(|_| InvalidCursor)?;
    let (sum, content) = text.split_at_checked(CHECKSUM_CHARS).ok_or(InvalidCursor)?;
    if sum != checksum(list, content) {
        return Err(InvalidCursor);
    }
    let (numbers, rest) = content.split_once(':').ok_or(InvalidCursor)?;
    let (length, seen) = numbers.split_once(',').ok_or(InvalidCursor)?;
    let number = |text: &str| text.parse::<usize>().map_err(|_| InvalidCursor);
    let (id, order_value) = rest.split_at_checked(number(length)?).ok_or(InvalidCursor)?;
    let keyset = Keyset { order_value: order_value.to_owned(), id: id.to_owned() };
    Ok(ListPosition { keyset, seen: number(seen)? })
}

fn checksum(list: &str, content: &str) -> String {
    sha256_hex(&[list, content])[..CHECKSUM_CHARS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_one_list() {
        let keyset = Keyset { order_value: "2026:ä".to_owned(), id: "a:1".to_owned() };
        let position = ListPosition { keyset, seen: 7 };
        let cursor = encode("Post.comments of 1", &position);
        assert_eq!(decode("Post.comments of 1", &cursor), Ok(position));
        assert_eq!(decode("Post.comments of 2", &cursor), Err(InvalidCursor));
        for text in ["", "x", "4pyT", &cursor[1..]] {
            assert_eq!(decode("Post.comments of 1", text), Err(InvalidCursor), "{text}");
        }
    }
}

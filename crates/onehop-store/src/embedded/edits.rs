//! Edits: the stored form of an item that was written again with little change. The whole item of an earlier
//! write stays where it is, its base, and a second entry beside it holds the difference, so that a counter in
//! a long text costs a few bytes.
//!
//! An item has at most one edit. It lies in the key space of its base, under the next key: both are of one
//! moment after any loss, and a range has them side by side.

use bytes::Bytes;

use super::engine::{KeyValue, View};
use super::header::{Header, VALUE_PREFIX_BYTES, decode_value_prefix, encode_value};
use super::key_space::KeySpace;
use super::keys::{edit_key, is_edit_key, is_edit_of};
use crate::{Direction, Fault, FaultKind};

/// The share of its base that an edit may have: a quarter. Above it the item is written whole again.
const BASE_SHARE: usize = 4;
/// Bytes after a difference by which two bodies are taken to agree again.
const ANCHOR_BYTES: usize = 12;
/// Places that are tried for such an agreement in each of two bodies.
const ANCHORS_MAX: usize = 16;

/// The difference between a stored item and its next body, which the writer stores if the item is unchanged
/// until then.
#[derive(Debug)]
pub(super) struct PreparedEdit {
    /// The number of the item's last write when the difference was made.
    pub of_sequence: u64,
    /// The number of the write that stored the base.
    pub base_sequence: u64,
    /// The result of [`splices`].
    pub splices: Vec<u8>,
}

impl PreparedEdit {
    /// The edit by which a base becomes a body; `None` where it would not be much smaller.
    pub(super) fn new(of_sequence: u64, base: &[u8], body: &[u8]) -> Option<Self> {
        let (base_sequence, ..) = decode_value_prefix(base)?;
        let splices = splices(base.get(VALUE_PREFIX_BYTES..)?, body)?;
        Some(Self { of_sequence, base_sequence, splices })
    }

    /// Whether a stored item has not been written since the difference was made.
    pub(super) fn fits(&self, stored: &Header) -> bool {
        stored.sequence == self.of_sequence
    }

    /// The bytes stored in `items`: those before each value, the number of the base, and the difference.
    pub(super) fn encode(&self, sequence: u64, timestamp_ms: i64, expires_at_ms: i64) -> Vec<u8> {
        let content = [&self.base_sequence.to_be_bytes(), self.splices.as_slice()].concat();
        encode_value(sequence, timestamp_ms, expires_at_ms, &content)
    }
}

/// A whole item of its base and its edit: the value that would be stored without an edit.
///
/// # Errors
/// [`FaultKind::Corrupt`]: they do not belong together.
pub(super) fn whole(base: &[u8], edit: &[u8]) -> Result<Bytes, Fault> {
    let joined = || {
        let (base_sequence, ..) = decode_value_prefix(base)?;
        let (prefix, content) = edit.split_at_checked(VALUE_PREFIX_BYTES)?;
        let (number, splices) = content.split_first_chunk()?;
        if u64::from_be_bytes(*number) != base_sequence {
            return None;
        }
        let mut value = Vec::with_capacity(base.len() + splices.len());
        value.extend_from_slice(prefix);
        apply(base.get(VALUE_PREFIX_BYTES..)?, splices, &mut value)?;
        Some(Bytes::from(value))
    };
    joined().ok_or_else(|| Fault::new(FaultKind::Corrupt, "an edit does not belong to the item beside it"))
}

/// The value of an item by its key in `items`, and whether it is known to have an edit.
pub(super) fn value_at(view: &View, item_key: &[u8], is_edited: bool) -> Result<Option<Bytes>, Fault> {
    let Some(base) = view.get(KeySpace::Items, item_key)? else { return Ok(None) };
    if !is_edited {
        return Ok(Some(base.into()));
    }
    match view.get(KeySpace::Items, &edit_key(item_key))? {
        Some(edit) => whole(&base, &edit).map(Some),
        None => Err(Fault::new(FaultKind::Corrupt, "the edit of an item is not there")),
    }
}

/// The value of an item by its key in `items`, for callers that do not know of its edit.
pub(super) fn value_with_any_edit(view: &View, item_key: &[u8]) -> Result<Option<Bytes>, Fault> {
    let Some(base) = view.get(KeySpace::Items, item_key)? else { return Ok(None) };
    match view.get(KeySpace::Items, &edit_key(item_key))? {
        Some(edit) => whole(&base, &edit).map(Some),
        None => Ok(Some(base.into())),
    }
}

/// Items of a range of `items`, each with its edit applied.
pub(super) struct WholeItems<I> {
    entries: I,
    direction: Direction,
    /// An entry that was read to see whether it is an edit.
    ahead: Option<(fjall::Slice, fjall::Slice)>,
}

impl<I: Iterator<Item = KeyValue>> WholeItems<I> {
    /// Takes the entries in a direction.
    pub(super) fn new(entries: I, direction: Direction) -> Self {
        Self { entries, direction, ahead: None }
    }

    fn entry(&mut self) -> Option<Result<(fjall::Slice, fjall::Slice), Fault>> {
        match self.ahead.take() {
            Some(entry) => Some(Ok(entry)),
            None => self.entries.next().map(KeyValue::pair),
        }
    }

    /// The edit behind a base, if the next entry is one.
    fn edit_behind(&mut self, key: &[u8]) -> Result<Option<fjall::Slice>, Fault> {
        let Some(entry) = self.entry() else { return Ok(None) };
        let (next_key, value) = entry?;
        if is_edit_of(&next_key, key) {
            return Ok(Some(value));
        }
        self.ahead = Some((next_key, value));
        Ok(None)
    }

    fn whole_item(&mut self, key: fjall::Slice, value: fjall::Slice) -> Result<(fjall::Slice, Bytes), Fault> {
        let unpaired = || Fault::new(FaultKind::Corrupt, "an edit lies beside no item");
        match (is_edit_key(&key), self.direction) {
            (true, Direction::OldestFirst) => Err(unpaired()),
            (true, Direction::NewestFirst) => {
                let (item_key, base) = self.entry().ok_or_else(unpaired)??;
                if !is_edit_of(&key, &item_key) {
                    return Err(unpaired());
                }
                Ok((item_key, whole(&base, &value)?))
            }
            (false, Direction::NewestFirst) => Ok((key, value.into())),
            (false, Direction::OldestFirst) => match self.edit_behind(&key)? {
                Some(edit) => Ok((key, whole(&value, &edit)?)),
                None => Ok((key, value.into())),
            },
        }
    }
}

impl<I: Iterator<Item = KeyValue>> Iterator for WholeItems<I> {
    type Item = Result<(fjall::Slice, Bytes), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.entry()? {
            Ok(entry) => entry,
            Err(fault) => return Some(Err(fault)),
        };
        Some(self.whole_item(key, value))
    }
}

/// The difference between two bodies: for each changed place the number of bytes kept before it, the numbers
/// of bytes removed and added there, and the added bytes. The bytes after the last place are kept. `None`
/// where the difference takes more than a quarter of the base.
fn splices(base: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let limit = base.len() / BASE_SHARE;
    let mut splices = Vec::new();
    let (mut old, mut new) = (base, body);
    loop {
        let kept = common_bytes(old.iter(), new.iter());
        (old, new) = (&old[kept..], &new[kept..]);
        if old.is_empty() && new.is_empty() {
            return Some(splices);
        }
        let (removed, added) = next_agreement(old, new);
        for length in [kept, removed, added] {
            splices.extend_from_slice(&u32::try_from(length).ok()?.to_be_bytes());
        }
        splices.extend_from_slice(&new[..added]);
        if splices.len() > limit {
            return None;
        }
        (old, new) = (&old[removed..], &new[added..]);
    }
}

/// How many bytes of two bodies, which differ in the first, lie before they agree again: behind the next
/// comma of a JSON text in both, or at their common end.
fn next_agreement(old: &[u8], new: &[u8]) -> (usize, usize) {
    let anchors = |text: &[u8]| -> Vec<usize> {
        let commas = text.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(place, _)| place);
        commas.filter(|place| place + ANCHOR_BYTES <= text.len()).take(ANCHORS_MAX).collect()
    };
    let (of_old, of_new) = (anchors(old), anchors(new));
    for place in &of_new {
        let agrees =
            |other: &&usize| old[**other..**other + ANCHOR_BYTES] == new[*place..*place + ANCHOR_BYTES];
        if let Some(other) = of_old.iter().find(agrees) {
            return (*other, *place);
        }
    }
    let end = common_bytes(old.iter().rev(), new.iter().rev());
    (old.len() - end, new.len() - end)
}

fn common_bytes<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

/// Appends the body that [`splices`] makes of a base.
fn apply(base: &[u8], mut splices: &[u8], body: &mut Vec<u8>) -> Option<()> {
    let mut rest = base;
    while !splices.is_empty() {
        let mut length = || {
            let (bytes, after) = splices.split_first_chunk::<4>()?;
            splices = after;
            usize::try_from(u32::from_be_bytes(*bytes)).ok()
        };
        let (kept, removed, added) = (length()?, length()?, length()?);
        let (copied, after) = rest.split_at_checked(kept)?;
        rest = after.get(removed..)?;
        let (put, after) = splices.split_at_checked(added)?;
        splices = after;
        body.extend_from_slice(copied);
        body.extend_from_slice(put);
    }
    body.extend_from_slice(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edited(base: &[u8], body: &[u8]) -> Option<Vec<u8>> {
        let splices = splices(base, body)?;
        let mut made = Vec::new();
        apply(base, &splices, &mut made).expect("the splices fit");
        Some(made)
    }

    proptest! {
        #[test]
        fn a_body_survives_its_splices(
            parts in proptest::collection::vec("[a-c,]{0,20}", 1..12),
            changes in proptest::collection::vec((0_usize..12, "[a-c,]{0,9}"), 0..4),
        ) {
            let base = [&parts.join(",")[..], &"x".repeat(400)].concat();
            let mut changed = parts.clone();
            for (place, text) in changes {
                let place = place % changed.len();
                changed[place] = text;
            }
            let body = [&changed.join(",")[..], &"x".repeat(400)].concat();
            if let Some(made) = edited(base.as_bytes(), body.as_bytes()) {
                prop_assert_eq!(made, body.as_bytes());
            }
        }

        #[test]
        fn unfit_splices_are_no_panic(base in ".{0,40}", splices in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = apply(base.as_bytes(), &splices, &mut Vec::new());
            let _ = whole(base.as_bytes(), &splices);
        }
    }

    #[test]
    fn two_numbers_around_a_long_text_are_two_small_splices() {
        let body = |likes: u32, version: u32| {
            let text = "a long text, with commas, and more of it. ".repeat(40);
            format!(
                r#"{{"id":"p","likeCount":{likes},"content":"{text}","version":{version},"type":"post"}}"#
            )
        };
        let (base, next) = (body(9, 99), body(10, 100));
        let splices = splices(base.as_bytes(), next.as_bytes()).expect("a small difference");
        assert!(splices.len() <= 2 * 12 + 8, "{} bytes", splices.len());
        assert_eq!(edited(base.as_bytes(), next.as_bytes()).expect("a small difference"), next.as_bytes());
    }

    #[test]
    fn a_body_that_differs_in_more_than_a_quarter_has_no_splices() {
        let (base, next) = ("a".repeat(400), "b".repeat(400));
        assert_eq!(splices(base.as_bytes(), next.as_bytes()), None);
        let half = [&base[..200], &next[..200]].concat();
        assert_eq!(splices(base.as_bytes(), half.as_bytes()), None);
    }

    #[test]
    fn an_edit_of_another_base_is_refused() {
        let body = [b'a'; 400];
        let base = encode_value(7, 1, 0, &body);
        let edit = PreparedEdit::new(8, &base, &[&body[..], b"!"].concat()).expect("a small difference");
        let stored = edit.encode(9, 2, 0);
        let made = whole(&base, &stored).expect("they belong together");
        assert_eq!(decode_value_prefix(&made), Some((9, 2, 0)));
        assert_eq!(&made[VALUE_PREFIX_BYTES..], [&body[..], b"!"].concat());
        let other = encode_value(6, 1, 0, &body);
        assert_eq!(whole(&other, &stored).expect_err("another base").kind, FaultKind::Corrupt);
    }
}

//! Key spaces: the ordered maps of the storage engine, and the changes that a commit makes to them.

/// An ordered key space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum KeySpace {
    Ids,
    Items,
    Index,
    Log,
    Meta,
}

/// One key's new value, or its removal.
pub(super) type KeyChange = (KeySpace, Vec<u8>, Option<Vec<u8>>);

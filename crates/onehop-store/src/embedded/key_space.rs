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

impl KeySpace {
    /// Its name in messages.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Ids => "ids",
            Self::Items => "items",
            Self::Index => "indexes",
            Self::Log => "change log",
            Self::Meta => "settings",
        }
    }
}

/// One key's new value, or its removal.
pub(super) type KeyChange = (KeySpace, Vec<u8>, Option<Vec<u8>>);

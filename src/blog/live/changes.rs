//! The changed parts of a post, so that an event is sent only to subscribers who selected one of them. Pure.

use crate::blog::reads::PostView;

/// A set of the parts of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PostChanges(u8);

impl PostChanges {
    pub const NONE: Self = Self(0);
    pub const TITLE: Self = Self(1);
    pub const TEXT: Self = Self(1 << 1);
    pub const COMMENTS: Self = Self(1 << 2);
    pub const LIKES: Self = Self(1 << 3);
    pub const AUTHOR: Self = Self(1 << 4);
    pub const ALL: Self = Self(u8::MAX);

    /// The differences between two versions of a post. A version that looks the same has another text: a copy
    /// holds the start of it only.
    #[must_use]
    pub fn between(before: &PostView, after: &PostView) -> Self {
        let differing = [
            (Self::TITLE, before.title != after.title),
            (Self::TEXT, before.text != after.text),
            (Self::COMMENTS, before.comment_count != after.comment_count),
            (Self::LIKES, before.like_count != after.like_count),
            (Self::AUTHOR, before.author != after.author),
        ];
        let differing = differing.into_iter().filter(|(_, differs)| *differs);
        match differing.fold(Self::NONE, |all, (part, _)| all.and(part)) {
            Self::NONE => Self::TEXT,
            changes => changes,
        }
    }

    /// Both sets together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether two sets have a part in common.
    #[must_use]
    pub fn touch(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

//! Ids of users, posts, comments and likes: UUIDv7, save a like's, which is derived from post and user so
//! that a second like of the same post by the same user is a conflict.

use uuid::Uuid;

use crate::accounts::account_id::AccountId;
use crate::domain::ids::id;
pub use crate::domain::ids::{IdSource, RandomIds};

id!(
    /// A user's id.
    UserId
);
id!(
    /// A post's id.
    PostId
);
id!(
    /// A comment's id.
    CommentId
);
id!(
    /// A like's id.
    LikeId
);

id!(
    /// The id of an entry of the moderation log.
    ModerationEntryId
);

/// The kinds of global ids: the first byte of the id of each type.
pub mod kinds {
    /// A user.
    pub const USER: u8 = b'u';
    /// A post.
    pub const POST: u8 = b'p';
    /// A comment.
    pub const COMMENT: u8 = b'c';
    /// A like.
    pub const LIKE: u8 = b'l';
}

impl From<UserId> for AccountId {
    fn from(id: UserId) -> Self {
        Self::user(id.0)
    }
}

impl UserId {
    /// The id in the id of an item; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

impl LikeId {
    /// The id of the like of a post by a user: a UUIDv5 of the user in the namespace of the post.
    #[must_use]
    pub fn derive(post: PostId, user: UserId) -> Self {
        Self(Uuid::new_v5(&post.0, user.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_like_of_the_same_post_by_the_same_user_has_the_same_id() {
        let (post, user, other) =
            (PostId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)), UserId(Uuid::from_u128(3)));
        assert_eq!(LikeId::derive(post, user), LikeId::derive(post, user));
        assert_ne!(LikeId::derive(post, user), LikeId::derive(post, other));
    }
}

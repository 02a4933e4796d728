//! Ids of users, posts, comments and likes: UUIDv7, save a like's, which is derived from post and user so that a
//! second like of the same post by the same user is a conflict.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use onehop_store::PartitionKey;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(formatter)
            }
        }

        impl $name {
            /// The id as a partition key.
            #[must_use]
            pub fn partition_key(self) -> PartitionKey {
                PartitionKey::from(&*self.0.as_hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
        }
    };
}

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

impl LikeId {
    /// The id of the like of a post by a user: a UUIDv5 of the user in the namespace of the post.
    #[must_use]
    pub fn derive(post: PostId, user: UserId) -> Self {
        Self(Uuid::new_v5(&post.0, user.0.as_bytes()))
    }
}

/// Where new ids come from.
pub trait IdSource: Send + Sync + 'static {
    /// A new UUIDv7 for this instant (Unix ms).
    fn next_id(&self, now_ms: i64) -> Uuid;
}

/// Ids with randomness from the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn next_id(&self, now_ms: i64) -> Uuid {
        let mut random = [0_u8; 10];
        if getrandom::fill(&mut random).is_err() {
            random.copy_from_slice(&Uuid::now_v7().as_bytes()[6..]);
        }
        uuid::Builder::from_unix_timestamp_millis(u64::try_from(now_ms).unwrap_or(0), &random).into_uuid()
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

    #[test]
    fn new_ids_are_uuids_of_version_7_with_the_given_time() {
        let id = RandomIds.next_id(1_700_000_000_123);
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.as_u128() >> 80, 1_700_000_000_123);
    }
}

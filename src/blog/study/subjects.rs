//! Subjects of the requests: the users and posts of a data set that come nearest to the article's. Its
//! figures speak of a post with 20 comments and 50 likes, a user with about 27 posts and a feed of 100.

use super::dataset::{Dataset, SeedPost};
use crate::blog::ids::{PostId, UserId};

/// Posts on a page of a user's posts: all of them.
pub const USER_POSTS_FIRST: i64 = 100;
/// Comments on a page, as in the article.
pub const COMMENTS_FIRST: i64 = 20;
/// Likes on a page, as in the article.
pub const LIKES_FIRST: i64 = 50;
/// Posts on a page of the feed, as in the article.
pub const FEED_FIRST: i64 = 100;

const USER_POSTS: u32 = 27;
/// Users that are considered, so that a large data set need not be made whole.
const USERS_CONSIDERED_MAX: u32 = 1_000;

/// Users and posts that the requests are about, in turn.
pub struct Subjects {
    pub users: Vec<UserId>,
    pub posts: Vec<SeedPost>,
}

impl Subjects {
    /// At most this many users and posts of a data set, nearest to the article's first.
    #[must_use]
    pub fn of(dataset: &Dataset, at_most: usize) -> Self {
        let mut users: Vec<u32> = (0..dataset.users().min(USERS_CONSIDERED_MAX)).collect();
        let mut posts: Vec<SeedPost> = users.iter().flat_map(|user| dataset.posts_of(*user)).collect();
        users.sort_by_key(|user| dataset.post_count_of(*user).abs_diff(USER_POSTS));
        posts.sort_by_key(distance);
        users.truncate(at_most);
        posts.truncate(at_most);
        Self { users: users.into_iter().map(|user| UserId(dataset.user_id(user))).collect(), posts }
    }

    /// The user of a sample. There is at least one.
    #[must_use]
    pub fn user(&self, sample: usize) -> UserId {
        self.users[sample % self.users.len()]
    }

    /// The post of a sample. There is at least one.
    #[must_use]
    pub fn post(&self, sample: usize) -> PostId {
        PostId(self.posts[sample % self.posts.len()].id)
    }
}

/// The distance of a post from the article's, in comments and likes.
fn distance(post: &SeedPost) -> u32 {
    let [comments, likes] = [COMMENTS_FIRST, LIKES_FIRST].map(|first| u32::try_from(first).unwrap_or(0));
    post.comment_count.abs_diff(comments) + post.like_count.abs_diff(likes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::study::dataset::DEFAULT_END_MS;

    #[test]
    fn the_subjects_are_near_to_the_articles_and_the_same_each_time() {
        let dataset = Dataset::new(100, 1, DEFAULT_END_MS);
        let subjects = Subjects::of(&dataset, 20);
        assert_eq!((subjects.users.len(), subjects.posts.len()), (20, 20));
        assert!(subjects.posts.iter().all(|post| distance(post) <= 10));
        assert_eq!(Subjects::of(&dataset, 20).posts, subjects.posts);
        assert_eq!(subjects.post(20), subjects.post(0));
    }

    #[test]
    fn a_data_set_of_one_user_has_subjects() {
        let subjects = Subjects::of(&Dataset::new(1, 1, DEFAULT_END_MS), 20);
        assert_eq!(subjects.users.len(), 1);
        assert!(!subjects.posts.is_empty());
    }
}

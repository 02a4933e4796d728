//! The likes of one post: distinct users, drawn by Robert Floyd's algorithm (Bentley and Floyd, "A sample of
//! brilliance", CACM 30(9), 1987). It needs memory for the sample alone, at any number of users.

use super::{Dataset, LIKES_PER_POST_MAX, SeedPost, reaction_date, streams};
use onehop_study::rng::StreamRng;

/// No like comes faster than this.
const LIKE_DELAY_MS_MIN: i64 = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedLike {
    /// Index of the user who likes the post; no user likes a post twice.
    pub user: u32,
    /// Unix time.
    pub creation_ms: i64,
}

/// In no particular order.
#[derive(Debug, Clone)]
pub struct Likes {
    post_creation_ms: i64,
    end_ms: i64,
    rng: StreamRng,
    users: [u32; LIKES_PER_POST_MAX as usize],
    next: usize,
    count: usize,
}

impl Likes {
    pub(super) fn new(dataset: &Dataset, post: &SeedPost) -> Self {
        let mut rng = StreamRng::new(dataset.rng_seed, streams::LIKES, post.stream_index());
        let count = post.like_count.min(LIKES_PER_POST_MAX).min(dataset.users);
        let mut users = [0; LIKES_PER_POST_MAX as usize];
        for (taken, largest) in (dataset.users - count..dataset.users).enumerate() {
            let drawn = rng.below(largest + 1);
            users[taken] = if users[..taken].contains(&drawn) { largest } else { drawn };
        }
        let (post_creation_ms, end_ms) = (post.creation_ms, dataset.end_ms);
        Self { post_creation_ms, end_ms, rng, users, next: 0, count: count as usize }
    }
}

impl Iterator for Likes {
    type Item = SeedLike;

    fn next(&mut self) -> Option<SeedLike> {
        if self.next >= self.count {
            return None;
        }
        let user = self.users[self.next];
        self.next += 1;
        let creation_ms = reaction_date(self.post_creation_ms, LIKE_DELAY_MS_MIN, self.end_ms, &mut self.rng);
        Some(SeedLike { user, creation_ms })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.next, Some(self.count - self.next))
    }
}

impl ExactSizeIterator for Likes {}

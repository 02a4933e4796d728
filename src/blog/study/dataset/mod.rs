//! Data set of the blog, generated from a seed with the article's sizes: 5 to 50 posts a user, up to 25
//! comments and 100 likes a post. Pure: no store, no clock, no file. Everything is computed from (seed, kind,
//! index) alone, so a seeder can start anywhere, work in parallel, stop and resume, in memory for one post
//! and its reactions.
//!
//! Users join in the year before the posts begin, posts span the two years before [`Dataset::end_ms`], and
//! reactions follow within a month; so no user acts before they exist.

mod comments;
mod ids;
mod likes;
mod names;
#[cfg(test)]
mod tests;

use std::ops::Range;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::comments::{Comments, SeedComment};
pub use self::ids::write_id;
pub use self::likes::{Likes, SeedLike};
pub use self::names::DEMO_USERNAMES;
use onehop_study::prose::{Text, TextLength, TextSubject};
use onehop_study::rng::{Stream, StreamRng, scale, stream_key};

pub const POSTS_PER_USER_MIN: u32 = 5;
pub const POSTS_PER_USER_MAX: u32 = 50;
pub const COMMENTS_PER_POST_MAX: u32 = 25;
pub const LIKES_PER_POST_MAX: u32 = 100;

/// 2026-01-01T00:00:00Z, for data sets that are compared with one another.
pub const DEFAULT_END_MS: i64 = 1_767_225_600_000;
pub const DEFAULT_RNG_SEED: u64 = 1;

const HOUR_MS: i64 = 3_600_000;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;
/// Posts keep this distance from the end, so that the newest still find readers.
const LAST_POST_BEFORE_END_MS: i64 = HOUR_MS;
const REACTION_DELAY_MS_MAX: i64 = 30 * 24 * HOUR_MS;

/// Streams of random numbers. Their numbers are part of every data set that was ever made.
mod streams {
    use super::Stream;

    pub const NAMES: Stream = Stream(1);
    pub const USER: Stream = Stream(2);
    pub const POST_COUNT: Stream = Stream(3);
    pub const POST_SHAPE: Stream = Stream(4);
    pub const POST: Stream = Stream(5);
    pub const COMMENTS: Stream = Stream(6);
    pub const LIKES: Stream = Stream(7);
}

/// The length of the texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum Texts {
    /// 200 to 600 characters for a post, some 130 for a comment
    #[default]
    Short,
    /// 1,600 characters for a post and 500 for a comment in the mean, as the article's request charges imply
    Long,
}

impl From<Texts> for TextLength {
    fn from(texts: Texts) -> Self {
        match texts {
            Texts::Short => Self::Short,
            Texts::Long => Self::Long,
        }
    }
}

/// A data set is its five parameters; copying it is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    users: u32,
    rng_seed: u64,
    end_ms: i64,
    texts: Texts,
    has_tags: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedUser {
    pub index: u32,
    pub id: Uuid,
    pub username: String,
    /// Unix time.
    pub creation_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedPost {
    /// Index of the user who wrote it.
    pub author: u32,
    /// Position among the posts of its author, oldest first.
    pub ordinal: u32,
    pub id: Uuid,
    /// Unix time.
    pub creation_ms: i64,
    pub title: String,
    pub content: String,
    pub tags: Vec<&'static str>,
    /// The number of comments that [`Dataset::comments_of`] yields.
    pub comment_count: u32,
    /// The number of likes that [`Dataset::likes_of`] yields.
    pub like_count: u32,
    scene: TextSubject,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub users: u64,
    pub posts: u64,
    pub comments: u64,
    pub likes: u64,
}

impl Dataset {
    /// With short texts and without tags. `end_ms`: Unix time of the newest instant; at least three years
    /// after 1970.
    pub fn new(users: u32, rng_seed: u64, end_ms: i64) -> Self {
        Self { users, rng_seed, end_ms, texts: Texts::Short, has_tags: false }
    }

    /// The same users, posts, comments and likes with texts of another length.
    #[must_use]
    pub fn with_texts(self, texts: Texts) -> Self {
        Self { texts, ..self }
    }

    /// The same with tags, which the article's posts do not have.
    #[must_use]
    pub fn with_tags(self, has_tags: bool) -> Self {
        Self { has_tags, ..self }
    }

    pub fn users(&self) -> u32 {
        self.users
    }

    pub fn rng_seed(&self) -> u64 {
        self.rng_seed
    }

    pub fn end_ms(&self) -> i64 {
        self.end_ms
    }

    /// The user at `index`, which is below [`Self::users`]; as in all methods.
    pub fn user(&self, index: u32) -> SeedUser {
        let (id, creation_ms) = self.user_id_and_date(index);
        SeedUser { index, id, username: self.username(index), creation_ms }
    }

    /// The id alone, for the author of a comment or a like.
    pub fn user_id(&self, index: u32) -> Uuid {
        self.user_id_and_date(index).0
    }

    pub fn username(&self, index: u32) -> String {
        let mut output = String::with_capacity(24);
        self.write_username(index, &mut output);
        output
    }

    /// Appends the username without allocating.
    pub fn write_username(&self, index: u32, output: &mut String) {
        assert!(index < self.users, "user {index} of {}", self.users);
        names::write_username(self.rng_seed, index, output);
    }

    /// Between [`POSTS_PER_USER_MIN`] and [`POSTS_PER_USER_MAX`].
    pub fn post_count_of(&self, user: u32) -> u32 {
        let bits = stream_key(self.rng_seed, streams::POST_COUNT, u64::from(user));
        POSTS_PER_USER_MIN + scale(bits, POSTS_PER_USER_MAX - POSTS_PER_USER_MIN + 1)
    }

    /// The posts of a user, oldest first.
    pub fn posts_of(&self, user: u32) -> impl ExactSizeIterator<Item = SeedPost> + use<> {
        let dataset = *self;
        (0..self.post_count_of(user)).map(move |ordinal| dataset.post(user, ordinal))
    }

    /// One post of a user; `ordinal` is below [`Self::post_count_of`].
    pub fn post(&self, author: u32, ordinal: u32) -> SeedPost {
        let mut rng = StreamRng::new(self.rng_seed, streams::POST, stream_index_of_post(author, ordinal));
        let creation_ms = self.post_date(ordinal, self.post_count_of(author), &mut rng);
        let id = ids::uuid_v7(creation_ms, &mut rng);
        let scene = TextSubject::draw(&mut rng);
        let Text { title, body: content } = Text::write(scene, self.texts.into(), &mut rng);
        let (comment_count, like_count) = self.reaction_counts(author, ordinal);
        let tags = if self.has_tags { scene.tags() } else { Vec::new() };
        SeedPost { author, ordinal, id, creation_ms, title, content, tags, comment_count, like_count, scene }
    }

    /// The comments of a post of this data set, oldest first.
    pub fn comments_of(&self, post: &SeedPost) -> Comments {
        Comments::new(self, post)
    }

    /// The likes of a post of this data set, in no particular order.
    pub fn likes_of(&self, post: &SeedPost) -> Likes {
        Likes::new(self, post)
    }

    /// Exact numbers for one user: the posts they write and the reactions to these.
    pub fn shape_of_user(&self, user: u32) -> Totals {
        let posts = self.post_count_of(user);
        let mut shape = Totals { users: 1, posts: u64::from(posts), ..Totals::default() };
        for ordinal in 0..posts {
            let (comments, likes) = self.reaction_counts(user, ordinal);
            shape.comments += u64::from(comments);
            shape.likes += u64::from(likes);
        }
        shape
    }

    /// Exact numbers for a range of users, without making any text: about 5 ms for 100,000 users.
    pub fn totals_of(&self, users: Range<u32>) -> Totals {
        users.map(|user| self.shape_of_user(user)).fold(Totals::default(), |sum, shape| Totals {
            users: sum.users + shape.users,
            posts: sum.posts + shape.posts,
            comments: sum.comments + shape.comments,
            likes: sum.likes + shape.likes,
        })
    }

    pub fn totals(&self) -> Totals {
        self.totals_of(0..self.users)
    }

    fn user_id_and_date(&self, index: u32) -> (Uuid, i64) {
        assert!(index < self.users, "user {index} of {}", self.users);
        let mut rng = StreamRng::new(self.rng_seed, streams::USER, u64::from(index));
        let creation_ms = self.end_ms - 3 * YEAR_MS + rng.below_u64(YEAR_MS as u64) as i64;
        (ids::uuid_v7(creation_ms, &mut rng), creation_ms)
    }

    /// Somewhere in the post's own slice of the two years, so that posts of a user are in order and apart.
    fn post_date(&self, ordinal: u32, posts: u32, rng: &mut StreamRng) -> i64 {
        let span_ms = 2 * YEAR_MS - LAST_POST_BEFORE_END_MS;
        let slice_ms = span_ms / i64::from(posts);
        let within_ms = rng.below_u64(slice_ms as u64) as i64;
        self.end_ms - 2 * YEAR_MS + i64::from(ordinal) * slice_ms + within_ms
    }

    /// Numbers of comments and likes, each uniform from 0 to its most.
    fn reaction_counts(&self, author: u32, ordinal: u32) -> (u32, u32) {
        let bits = stream_key(self.rng_seed, streams::POST_SHAPE, stream_index_of_post(author, ordinal));
        let likes_max = LIKES_PER_POST_MAX.min(self.users);
        (scale(bits, COMMENTS_PER_POST_MAX + 1), scale(bits << 32, likes_max + 1))
    }
}

impl SeedPost {
    fn stream_index(&self) -> u64 {
        stream_index_of_post(self.author, self.ordinal)
    }
}

/// Distinct for every post, as an ordinal is below 256.
fn stream_index_of_post(author: u32, ordinal: u32) -> u64 {
    u64::from(author) << 8 | u64::from(ordinal)
}

/// The date of a reaction to a post: mostly soon, at the latest after [`REACTION_DELAY_MS_MAX`] or at the
/// end.
fn reaction_date(post_creation_ms: i64, delay_ms_min: i64, end_ms: i64, rng: &mut StreamRng) -> i64 {
    let delay_ms_max = REACTION_DELAY_MS_MAX.min(end_ms - post_creation_ms);
    let skewed = rng.fraction().powi(3);
    post_creation_ms + delay_ms_min + (skewed * (delay_ms_max - delay_ms_min) as f64) as i64
}

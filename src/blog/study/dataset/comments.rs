//! The comments of one post, oldest first. Dates are drawn and sorted at once, texts one by one, so that a
//! post's comments never stand in memory together.

use uuid::Uuid;

use super::ids::uuid_v7;
use super::{COMMENTS_PER_POST_MAX, Dataset, SeedPost, reaction_date, streams};
use onehop_study::prose::ReplyWriter;
use onehop_study::rng::StreamRng;

/// No comment is written faster than this.
const COMMENT_DELAY_MS_MIN: i64 = 30_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedComment {
    pub id: Uuid,
    /// Index of the user who wrote it.
    pub author: u32,
    /// Unix time.
    pub creation_ms: i64,
    pub content: String,
}

#[derive(Debug, Clone)]
pub struct Comments {
    users: u32,
    rng: StreamRng,
    writer: ReplyWriter,
    dates: [i64; COMMENTS_PER_POST_MAX as usize],
    next: usize,
    count: usize,
}

impl Comments {
    pub(super) fn new(dataset: &Dataset, post: &SeedPost) -> Self {
        let mut rng = StreamRng::new(dataset.rng_seed, streams::COMMENTS, post.stream_index());
        let count = post.comment_count.min(COMMENTS_PER_POST_MAX) as usize;
        let mut dates = [0; COMMENTS_PER_POST_MAX as usize];
        for date in &mut dates[..count] {
            *date = reaction_date(post.creation_ms, COMMENT_DELAY_MS_MIN, dataset.end_ms, &mut rng);
        }
        dates[..count].sort_unstable();
        let writer = ReplyWriter::new(post.scene, dataset.texts.into());
        Self { users: dataset.users, rng, writer, dates, next: 0, count }
    }
}

impl Iterator for Comments {
    type Item = SeedComment;

    fn next(&mut self) -> Option<SeedComment> {
        if self.next >= self.count {
            return None;
        }
        let creation_ms = self.dates[self.next];
        self.next += 1;
        let id = uuid_v7(creation_ms, &mut self.rng);
        let author = self.rng.below(self.users);
        let content = self.writer.reply(&mut self.rng);
        Some(SeedComment { id, author, creation_ms, content })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.next, Some(self.count - self.next))
    }
}

impl ExactSizeIterator for Comments {}

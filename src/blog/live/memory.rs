//! What a topic remembers, to tell what is new from what the change feed merely repeats: the feed tells that an item is,
//! at least once and in its latest version. Pure: changes in, events out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::Deserialize;

use super::events::Event;
use crate::blog::containers::FEED_POSTS_MAX;
use crate::blog::ids::{CommentId, PostId};
use crate::blog::reads::{CommentView, PostView};
use crate::store::{Fault, Item, parse_timestamp};

/// Comments of a post that are remembered by their ids.
const ADDED_COMMENTS_MAX: usize = 1_000;

/// The memory of one topic.
pub(super) enum Memory {
    Feed(FeedMemory),
    Post(PostMemory),
    Comments(CommentMemory),
}

impl Memory {
    /// What a changed item is to those who listen, if it is news.
    pub(super) fn hear(&mut self, item: &Item) -> Result<Option<Event>, Fault> {
        match self {
            Self::Feed(memory) => memory.hear(item),
            Self::Post(memory) => memory.hear(item),
            Self::Comments(memory) => memory.hear(item),
        }
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Deserialize)]
struct Identified {
    id: PostId,
}

/// The posts that are in the feed, as they were last seen. The feed's projection also writes copies as they were.
#[derive(Default)]
pub(super) struct FeedMemory(HashMap<PostId, (u64, Arc<PostView>)>);

impl FeedMemory {
    /// Knows these copies, as they are listed.
    pub(super) fn of(listed: &[Item]) -> Result<Self, Fault> {
        let mut memory = Self::default();
        for item in listed {
            memory.hear(item)?;
        }
        Ok(memory)
    }

    fn hear(&mut self, item: &Item) -> Result<Option<Event>, Fault> {
        let Versioned { version } = item.decode()?;
        let Some(view) = PostView::decode(item)? else {
            self.0.remove(&item.decode::<Identified>()?.id);
            return Ok(None);
        };
        let is_known = |(known, shown): &(u64, Arc<PostView>)| {
            *known > version || (*known == version && **shown == view)
        };
        if self.0.get(&view.id).is_some_and(is_known) {
            return Ok(None);
        }
        let view = Arc::new(view);
        self.0.insert(view.id, (version, Arc::clone(&view)));
        // The feed does not keep it either. Should it come back, it enters.
        if self.0.len() > FEED_POSTS_MAX {
            self.forget_oldest();
        }
        Ok(Some(Event::Post(view)))
    }

    fn forget_oldest(&mut self) {
        let oldest = self.0.values().min_by_key(|(_, view)| (&view.creation_date, view.id));
        if let Some(id) = oldest.map(|(_, view)| view.id) {
            self.0.remove(&id);
        }
    }
}

/// The version of a post that was announced last.
#[derive(Default)]
pub(super) struct PostMemory(u64);

impl PostMemory {
    fn hear(&mut self, item: &Item) -> Result<Option<Event>, Fault> {
        let Versioned { version } = item.decode()?;
        if version <= self.0 {
            return Ok(None);
        }
        self.0 = version;
        Ok(PostView::decode(item)?.map(|view| Event::Post(Arc::new(view))))
    }
}

/// Which comments of a post are there already. One that was edited before it was heard of is as new as any; one that was
/// there before is not made new by an edit.
pub(super) struct CommentMemory {
    /// Of comments written before this (Unix ms) only the first version is news.
    since_ms: i64,
    added: HashSet<CommentId>,
    order: VecDeque<(CommentId, i64)>,
}

impl CommentMemory {
    pub(super) fn since(now_ms: i64) -> Self {
        Self { since_ms: now_ms, added: HashSet::new(), order: VecDeque::new() }
    }

    fn hear(&mut self, item: &Item) -> Result<Option<Event>, Fault> {
        let Versioned { version } = item.decode()?;
        let Some(view) = CommentView::decode(item)? else { return Ok(None) };
        let created_ms = parse_timestamp(&view.creation_date).unwrap_or(i64::MIN);
        let is_new = version == 1 || created_ms >= self.since_ms;
        if !is_new || !self.added.insert(view.id) {
            return Ok(None);
        }
        self.order.push_back((view.id, created_ms));
        if self.order.len() > ADDED_COMMENTS_MAX
            && let Some((forgotten, created_ms)) = self.order.pop_front()
        {
            self.added.remove(&forgotten);
            self.since_ms = self.since_ms.max(created_ms.saturating_add(1));
        }
        Ok(Some(Event::Comment(Arc::new(view))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::store::{ETag, format_timestamp};

    const START_MS: i64 = 1_750_000_000_000;

    fn item(body: &Value) -> Item {
        Item { body: body.to_string().into_bytes().into(), etag: ETag::from_number(1), timestamp_ms: 0 }
    }

    /// A post or a copy of one, created so many milliseconds after the start.
    fn post(number: u128, version: u64) -> Value {
        json!({
            "id": Uuid::from_u128(number), "type": "post", "userId": Uuid::nil(), "userUsername": "ada",
            "title": "A post", "summary": "Its start", "commentCount": 0, "likeCount": 0,
            "creationDate": format_timestamp(START_MS + i64::try_from(number).unwrap()), "version": version,
        })
    }

    fn comment(number: u128, version: u64, created_ms: i64) -> Value {
        json!({
            "id": Uuid::from_u128(number), "type": "comment", "postId": Uuid::nil(), "userId": Uuid::nil(),
            "userUsername": "ada", "content": "A comment", "creationDate": format_timestamp(created_ms),
            "version": version,
        })
    }

    fn with(mut body: Value, name: &str, value: Value) -> Value {
        body[name] = value;
        body
    }

    fn is_news(memory: &mut Memory, body: &Value) -> bool {
        memory.hear(&item(body)).unwrap().is_some()
    }

    fn feed_of(listed: &[Value]) -> Memory {
        Memory::Feed(FeedMemory::of(&listed.iter().map(item).collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn the_decision_record_says_how_many_comments_are_remembered() {
        let record = include_str!("../../../docs/adr/0012-live.md");
        let thousands = format!("{},{:03} of them", ADDED_COMMENTS_MAX / 1_000, ADDED_COMMENTS_MAX % 1_000);
        assert!(record.contains(&thousands), "{thousands}");
    }

    #[test]
    fn a_copy_that_is_written_as_it_was_is_no_news() {
        let mut feed = feed_of(&[post(1, 3)]);
        assert!(!is_news(&mut feed, &post(1, 3)));
        assert!(is_news(&mut feed, &post(2, 1)), "it enters");
        assert!(!is_news(&mut feed, &post(2, 1)));
        assert!(is_news(&mut feed, &post(1, 4)), "its version grew");
        assert!(is_news(&mut feed, &with(post(1, 4), "title", json!("Mended"))), "it was damaged before");
    }

    #[test]
    fn the_feed_never_goes_back() {
        let mut feed = feed_of(&[post(1, 3)]);
        assert!(!is_news(&mut feed, &with(post(1, 2), "title", json!("Older"))));
    }

    #[test]
    fn a_post_that_left_the_feed_is_news_when_it_comes_back() {
        let mut feed = feed_of(&(1..=100).map(|number| post(number, 1)).collect::<Vec<_>>());
        assert!(is_news(&mut feed, &post(101, 1)), "it pushes the oldest out");
        assert!(!is_news(&mut feed, &with(post(50, 2), "deleted", json!(true))), "there is nothing to show");
        assert!(is_news(&mut feed, &post(1, 1)), "it enters again");
    }

    #[test]
    fn a_version_of_a_post_is_announced_once_and_none_before_it_after_it() {
        let mut memory = Memory::Post(PostMemory::default());
        for (version, expected) in [(4, true), (4, false), (3, false), (5, true)] {
            assert_eq!(is_news(&mut memory, &post(1, version)), expected, "{version}");
        }
    }

    #[test]
    fn a_comment_is_added_once_however_often_it_is_edited() {
        let mut memory = Memory::Comments(CommentMemory::since(START_MS));
        assert!(is_news(&mut memory, &comment(1, 1, START_MS + 5)));
        assert!(!is_news(&mut memory, &comment(1, 1, START_MS + 5)), "the feed repeats it");
        assert!(!is_news(&mut memory, &comment(1, 2, START_MS + 5)), "it was edited");
    }

    #[test]
    fn a_comment_that_was_edited_before_it_was_heard_of_is_added() {
        let mut memory = Memory::Comments(CommentMemory::since(START_MS));
        assert!(is_news(&mut memory, &comment(1, 2, START_MS + 5)));
        assert!(!is_news(&mut memory, &comment(2, 2, START_MS - 5)), "it was there before");
        assert!(is_news(&mut memory, &comment(3, 1, START_MS - 5)), "its process has a slow clock");
    }

    #[test]
    fn a_comment_that_is_gone_is_not_added() {
        let mut memory = Memory::Comments(CommentMemory::since(START_MS));
        assert!(!is_news(&mut memory, &with(comment(1, 2, START_MS + 5), "deleted", json!(true))));
    }

    #[test]
    fn an_edit_of_a_forgotten_comment_does_not_add_it_again() {
        let mut memory = Memory::Comments(CommentMemory::since(START_MS));
        let count = u128::try_from(ADDED_COMMENTS_MAX).unwrap() + 1;
        for number in 1..=count {
            let created_ms = START_MS + i64::try_from(number).unwrap();
            assert!(is_news(&mut memory, &comment(number, 1, created_ms)));
        }
        assert!(!is_news(&mut memory, &comment(1, 2, START_MS + 1)));
        let Memory::Comments(CommentMemory { added, order, .. }) = memory else { unreachable!() };
        assert_eq!((added.len(), order.len()), (ADDED_COMMENTS_MAX, ADDED_COMMENTS_MAX));
    }
}

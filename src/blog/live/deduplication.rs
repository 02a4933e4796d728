//! Deduplication of a topic: separates news from mere repeats by the change feed. The feed says that an item
//! is, at least once and in its latest version. Pure: changes in, events out.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::Deserialize;

use super::changes::PostChanges;
use super::events::{BlogEvent, PostEvent};
use crate::blog::containers::FEED_POSTS_MAX;
use crate::blog::ids::{CommentId, PostId};
use crate::blog::items::TEXT_VERSION_FIRST;
use crate::blog::reads::{CommentView, PostView};
use onehop_change_feed::{Creations, SeenVersion};
use onehop_runtime::clock::parse_timestamp;
use onehop_store::{Fault, Item};

/// Comments of a post that are remembered by their ids.
const ADDED_COMMENTS_MAX: usize = 1_000;
/// Deleted comments of a post that are remembered.
const DELETED_COMMENTS_MAX: usize = 100;
/// Changed comments of a post that are remembered with the version of their text.
const CHANGED_COMMENTS_MAX: usize = 100;

/// The memory of one topic.
pub(super) enum Deduplication {
    Feed(FeedDeduplication),
    Post(PostDeduplication),
    Comments(CommentDeduplication),
}

impl Deduplication {
    /// The events of a changed item for listeners; empty if it is no news.
    pub(super) fn hear(&mut self, item: &Item) -> Result<Vec<BlogEvent>, Fault> {
        match self {
            Self::Feed(memory) => memory.hear(item),
            Self::Post(memory) => Ok(memory.hear(item)?.into_iter().collect()),
            Self::Comments(memory) => Ok(memory.hear(item)?.into_iter().collect()),
        }
    }

    /// Records the state of a post when its first listener begins.
    pub(super) fn begin_with(&mut self, item: &Item) -> Result<(), Fault> {
        match self {
            Self::Post(memory) if memory.view.is_none() => memory.hear(item).map(drop),
            // A listener that is there already has not heard of this version yet.
            Self::Feed(_) | Self::Post(_) | Self::Comments(_) => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct ItemVersion {
    version: u64,
}

#[derive(Deserialize)]
struct ItemPostId {
    id: PostId,
}

#[derive(Deserialize)]
struct ItemCommentId {
    id: CommentId,
}

/// The posts that are in the feed, as they were last seen. The feed's projection also writes copies as they
/// were.
#[derive(Default)]
pub(super) struct FeedDeduplication(HashMap<PostId, (u64, Arc<PostView>)>);

impl FeedDeduplication {
    /// Knows these copies, as they are listed.
    pub(super) fn of(listed: &[Item]) -> Result<Self, Fault> {
        let mut memory = Self::default();
        for item in listed {
            memory.hear(item)?;
        }
        Ok(memory)
    }

    fn hear(&mut self, item: &Item) -> Result<Vec<BlogEvent>, Fault> {
        let ItemVersion { version } = item.decode()?;
        let Some(view) = PostView::decode(item)? else {
            let ItemPostId { id } = item.decode()?;
            let removed = self.0.remove(&id);
            return Ok(removed.map(|_| BlogEvent::PostRemoved(id)).into_iter().collect());
        };
        let is_known = |(known, shown): &(u64, Arc<PostView>)| {
            *known > version || (*known == version && **shown == view)
        };
        if self.0.get(&view.id).is_some_and(is_known) {
            return Ok(Vec::new());
        }
        let view = Arc::new(view);
        let is_refill = self.is_older_than_all(&view);
        let before = self.0.insert(view.id, (version, Arc::clone(&view)));
        let mut events = Vec::new();
        // A post that takes the last place again after a deletion is not new.
        if before.is_some() || !is_refill {
            let is_new = before.is_none();
            let changes = before.map_or(PostChanges::ALL, |(_, before)| PostChanges::between(&before, &view));
            events.push(BlogEvent::Post(PostEvent { view, changes, is_new }));
        }
        // The feed does not keep it either.
        if self.0.len() > FEED_POSTS_MAX
            && let Some(oldest) = self.oldest()
        {
            self.0.remove(&oldest.id);
            events.push(BlogEvent::PostRemoved(oldest.id));
        }
        Ok(events)
    }

    fn oldest(&self) -> Option<Arc<PostView>> {
        let oldest = self.0.values().min_by_key(|(_, view)| (&view.creation_date, view.id));
        oldest.map(|(_, view)| Arc::clone(view))
    }

    fn is_older_than_all(&self, view: &PostView) -> bool {
        let order = |view: &PostView| (view.creation_date.clone(), view.id);
        self.oldest().is_some_and(|oldest| order(view) < order(&oldest))
    }
}

/// The post as it was announced last.
#[derive(Default)]
pub(super) struct PostDeduplication {
    version: u64,
    view: Option<Arc<PostView>>,
}

impl PostDeduplication {
    fn hear(&mut self, item: &Item) -> Result<Option<BlogEvent>, Fault> {
        let ItemVersion { version } = item.decode()?;
        if version <= self.version {
            return Ok(None);
        }
        self.version = version;
        let Some(view) = PostView::decode(item)?.map(Arc::new) else { return Ok(None) };
        let before = self.view.replace(Arc::clone(&view));
        let changes = before.map_or(PostChanges::ALL, |before| PostChanges::between(&before, &view));
        Ok(Some(BlogEvent::Post(PostEvent { view, changes, is_new: false })))
    }
}

/// The comments of a post that were announced, as added, as changed and as deleted. A changed comment that
/// was forgotten is announced again with its next write, such as a rename of its author.
pub(super) struct CommentDeduplication {
    added: Creations<CommentId>,
    /// The comments that were changed last, with the versions of their texts.
    changed: VecDeque<(CommentId, u32)>,
    /// The comments that were deleted last.
    deleted: VecDeque<CommentId>,
}

impl CommentDeduplication {
    pub(super) fn since(now_ms: i64) -> Self {
        let added = Creations::since(now_ms, ADDED_COMMENTS_MAX);
        Self { added, changed: VecDeque::new(), deleted: VecDeque::new() }
    }

    fn hear(&mut self, item: &Item) -> Result<Option<BlogEvent>, Fault> {
        let ItemVersion { version } = item.decode()?;
        let Some(view) = CommentView::decode(item)? else { return self.hear_deleted(item) };
        let created_ms = parse_timestamp(&view.creation_date);
        let is_added = self.added.announces(&view.id, SeenVersion { version, created_ms, etag: &item.etag });
        // A comment that was changed before it was heard of is added with its new text.
        let is_changed = self.is_of_newer_text(view.id, view.text_version);
        let view = Arc::new(view);
        Ok(match (is_added, is_changed) {
            (true, _) => Some(BlogEvent::Comment(view)),
            (false, true) => Some(BlogEvent::CommentChanged(view)),
            (false, false) => None,
        })
    }

    /// Whether a comment has a newer text than the announced one. Remembers the text.
    fn is_of_newer_text(&mut self, id: CommentId, version: u32) -> bool {
        let known = self.changed.iter_mut().find(|(changed, _)| *changed == id);
        if let Some((_, known)) = known {
            let is_newer = version > *known;
            *known = version.max(*known);
            return is_newer;
        }
        if version == TEXT_VERSION_FIRST {
            return false;
        }
        self.changed.push_back((id, version));
        if self.changed.len() > CHANGED_COMMENTS_MAX {
            self.changed.pop_front();
        }
        true
    }

    fn hear_deleted(&mut self, item: &Item) -> Result<Option<BlogEvent>, Fault> {
        let ItemCommentId { id } = item.decode()?;
        if self.deleted.contains(&id) {
            return Ok(None);
        }
        self.deleted.push_back(id);
        if self.deleted.len() > DELETED_COMMENTS_MAX {
            self.deleted.pop_front();
        }
        Ok(Some(BlogEvent::CommentDeleted(id)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use onehop_runtime::clock::format_timestamp;
    use onehop_store::ETag;

    const START_MS: i64 = 1_750_000_000_000;

    fn item(body: &Value) -> Item {
        Item { body: body.to_string().into_bytes().into(), etag: ETag::from_number(1), timestamp_ms: 0 }
    }

    /// A post or a copy of one, created this many milliseconds after the start.
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

    fn is_news(memory: &mut Deduplication, body: &Value) -> bool {
        !memory.hear(&item(body)).unwrap().is_empty()
    }

    fn feed_of(listed: &[Value]) -> Deduplication {
        Deduplication::Feed(FeedDeduplication::of(&listed.iter().map(item).collect::<Vec<_>>()).unwrap())
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
    fn a_post_that_returns_to_the_feed_is_not_new() {
        let id = |number: u128| PostId(Uuid::from_u128(number));
        let mut feed = feed_of(&(1..=100).rev().map(|number| post(number, 1)).collect::<Vec<_>>());
        let mut hear = |body: &Value| feed.hear(&item(body)).unwrap();
        let entered = hear(&post(101, 1));
        assert!(matches!(&entered[0], BlogEvent::Post(PostEvent { is_new: true, .. })), "{entered:?}");
        assert_eq!(entered[1..], [BlogEvent::PostRemoved(id(1))]);
        let deleted = with(post(50, 2), "deleted", json!(true));
        assert_eq!(hear(&deleted), [BlogEvent::PostRemoved(id(50))]);
        assert_eq!(hear(&deleted), [], "the feed repeats it");
        assert_eq!(hear(&post(1, 1)), [], "it takes the last place again");
        let changed = hear(&with(post(1, 2), "likeCount", json!(1)));
        let [BlogEvent::Post(PostEvent { changes: PostChanges::LIKES, is_new: false, .. })] = changed[..]
        else {
            panic!("{changed:?}")
        };
    }

    #[test]
    fn a_post_version_is_announced_once_and_in_order() {
        let mut memory = Deduplication::Post(PostDeduplication::default());
        for (version, expected) in [(4, true), (4, false), (3, false), (5, true)] {
            assert_eq!(is_news(&mut memory, &post(1, version)), expected, "{version}");
        }
    }

    #[test]
    fn a_comment_is_added_once_however_often_it_is_written() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        assert!(is_news(&mut memory, &comment(1, 1, START_MS + 5)));
        assert!(!is_news(&mut memory, &comment(1, 1, START_MS + 5)), "the feed repeats it");
        assert!(!is_news(&mut memory, &comment(1, 2, START_MS + 5)), "its author was renamed");
    }

    #[test]
    fn each_text_of_a_comment_is_announced_once() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        let mut hear = |version: u64, text_version: u32| {
            let body = with(comment(1, version, START_MS - 5), "textVersion", json!(text_version));
            memory.hear(&item(&body)).unwrap()
        };
        let first = hear(4, 2);
        assert!(
            matches!(&first[..], [BlogEvent::CommentChanged(view)] if view.text_version == 2),
            "{first:?}"
        );
        assert_eq!(hear(4, 2), [], "the feed repeats it");
        assert_eq!(hear(5, 2), [], "its author was renamed");
        assert!(matches!(&hear(6, 3)[..], [BlogEvent::CommentChanged(_)]));
        assert_eq!(hear(5, 2), [], "the feed goes back");
    }

    #[test]
    fn a_comment_that_is_added_with_its_second_text_is_no_change() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        let body = with(comment(1, 2, START_MS + 5), "textVersion", json!(2));
        let events = memory.hear(&item(&body)).unwrap();
        assert!(matches!(&events[..], [BlogEvent::Comment(_)]), "{events:?}");
        assert_eq!(memory.hear(&item(&body)).unwrap(), [], "the feed repeats it");
    }

    #[test]
    fn a_comment_that_was_edited_before_it_was_heard_of_is_added() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        assert!(is_news(&mut memory, &comment(1, 2, START_MS + 5)));
        assert!(!is_news(&mut memory, &comment(2, 2, START_MS - 5)), "it was there before");
        assert!(is_news(&mut memory, &comment(3, 1, START_MS - 5)), "its process has a slow clock");
    }

    #[test]
    fn a_comment_that_is_gone_is_deleted_once_and_not_added() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        let deleted = item(&with(comment(1, 2, START_MS + 5), "deleted", json!(true)));
        let id = CommentId(Uuid::from_u128(1));
        assert_eq!(memory.hear(&deleted).unwrap(), [BlogEvent::CommentDeleted(id)]);
        assert_eq!(memory.hear(&deleted).unwrap(), [], "the feed repeats it");
    }

    #[test]
    fn a_post_changes_from_what_it_was_at_the_beginning() {
        let mut memory = Deduplication::Post(PostDeduplication::default());
        memory.begin_with(&item(&with(post(1, 3), "content", json!("A text")))).unwrap();
        let renamed = with(with(post(1, 4), "content", json!("A text")), "userUsername", json!("lovelace"));
        let events = memory.hear(&item(&renamed)).unwrap();
        let [BlogEvent::Post(PostEvent { changes: PostChanges::AUTHOR, .. })] = events[..] else {
            panic!("{events:?}")
        };
    }

    #[test]
    fn an_edit_of_a_forgotten_comment_does_not_add_it_again() {
        let mut memory = Deduplication::Comments(CommentDeduplication::since(START_MS));
        let count = u128::try_from(ADDED_COMMENTS_MAX).unwrap() + 1;
        for number in 1..=count {
            let created_ms = START_MS + i64::try_from(number).unwrap();
            assert!(is_news(&mut memory, &comment(number, 1, created_ms)));
        }
        assert!(!is_news(&mut memory, &comment(1, 2, START_MS + 1)));
    }
}

//! Batch plan (pure): from a post and the intents on it to one transactional batch.

use std::sync::Arc;

use uuid::Uuid;

use crate::blog::items::{CommentItem, PostItem, TOMBSTONE_TTL_S};
use onehop_runtime::planted::size;
use onehop_store::{ETag, Fault, Item, NewItem, WriteOp, limits};

use super::intent::{INTENTS_MAX, PostChange, PostEdit, QueuedCommand};
use crate::domain::command_marker::{command_of, encode_marked};
use crate::domain::error::Refusal;

/// Bytes kept free in a batch for the post: 100,200 characters of content and title at no more than 6 bytes
/// each (`\u0000`), and its other fields.
const POST_BYTES_MAX: usize = 640 * 1024;
/// Bytes of the comments and likes of one batch.
const ITEMS_BYTES_MAX: usize = limits::BATCH_BYTES_MAX - POST_BYTES_MAX - limits::BATCH_ENVELOPE_BYTES;

/// The queue's knowledge of a post.
#[derive(Debug, Clone)]
pub(super) enum PostState {
    Unread,
    Missing,
    Known(PostSnapshot),
}

/// A post as it was read or written last.
#[derive(Debug, Clone)]
pub(super) struct PostSnapshot {
    pub(super) post: Arc<PostItem>,
    pub(super) etag: ETag,
    /// The command that deleted it.
    pub(super) deleted_by: Option<Uuid>,
}

impl PostState {
    /// The post, if there is one.
    pub(super) fn known(&self) -> Option<&PostSnapshot> {
        match self {
            Self::Known(known) => Some(known),
            Self::Missing | Self::Unread => None,
        }
    }

    /// The state that an item says.
    pub(super) fn of(item: Option<&Item>) -> Result<Self, Fault> {
        let Some(item) = item else { return Ok(Self::Missing) };
        let post: PostItem = item.decode()?;
        let deleted_by = if post.deleted { command_of(item)? } else { None };
        Ok(Self::Known(PostSnapshot { post: Arc::new(post), etag: item.etag.clone(), deleted_by }))
    }
}

/// The place of an intent in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BatchPlacement {
    /// In this batch.
    Included,
    /// In the next batch.
    PutOff,
    /// It was done before.
    Done,
    Refused(Refusal),
}

/// One batch: writes of comments and likes, then the post. Without operations there is nothing to send.
#[derive(Debug)]
pub(super) struct BatchPlan {
    pub(super) operations: Vec<WriteOp>,
    /// The post after the batch.
    pub(super) post: Option<PostSnapshot>,
    /// For each intent, in their order.
    pub(super) places: Vec<BatchPlacement>,
}

/// Plans a batch for a post. In order, as far as there is room; nothing follows the post's deletion. No two
/// of the intents write the same item.
pub(super) fn plan<'a>(
    known: Option<&PostSnapshot>,
    intents: impl Iterator<Item = &'a QueuedCommand>,
) -> BatchPlan {
    let Some(known) = known.filter(|known| !known.post.deleted) else {
        let places = intents.map(|intent| without_post(known, intent)).collect();
        return BatchPlan { operations: Vec::new(), post: None, places };
    };
    let mut draft = BatchDraft::new(known);
    let places: Vec<BatchPlacement> = intents.map(|intent| draft.add(intent)).collect();
    draft.finish(places)
}

fn without_post(known: Option<&PostSnapshot>, intent: &QueuedCommand) -> BatchPlacement {
    let deleted_by_it = known.is_some_and(|known| known.deleted_by == Some(intent.command_id));
    if deleted_by_it { BatchPlacement::Done } else { BatchPlacement::Refused(Refusal::post_not_found()) }
}

struct BatchDraft<'a> {
    known: &'a PostSnapshot,
    post: PostItem,
    deleted_by: Option<Uuid>,
    operations: Vec<WriteOp>,
    item_bytes: usize,
    included: usize,
}

impl<'a> BatchDraft<'a> {
    fn new(known: &'a PostSnapshot) -> Self {
        Self {
            known,
            post: PostItem::clone(&known.post),
            deleted_by: None,
            operations: Vec::new(),
            item_bytes: 0,
            included: 0,
        }
    }

    fn add(&mut self, intent: &QueuedCommand) -> BatchPlacement {
        if let Some(refusal) = self.forbidden(intent) {
            return BatchPlacement::Refused(refusal);
        }
        if let PostChange::Edit(edit) = &intent.change
            && let Some(place) = self.unless_of_this_version(edit, intent.sent)
        {
            return place;
        }
        let operation = operation(intent);
        let bytes = operation.as_ref().map_or(0, WriteOp::body_bytes);
        let is_full = self.included == size(INTENTS_MAX, 3) || self.item_bytes + bytes > ITEMS_BYTES_MAX;
        if is_full || self.deleted_by.is_some() {
            return BatchPlacement::PutOff;
        }
        self.included += 1;
        self.item_bytes += bytes;
        self.operations.extend(operation);
        self.change_post(intent);
        BatchPlacement::Included
    }

    /// Authorization: refuses changes that the user may not make.
    fn forbidden(&self, intent: &QueuedCommand) -> Option<Refusal> {
        let is_author = self.post.user_id == intent.user;
        match &intent.change {
            PostChange::Delete | PostChange::DeleteComment { .. } if intent.is_by_staff => None,
            PostChange::Edit(_) | PostChange::Delete if !is_author => {
                Some(Refusal::forbidden("only the author can change or delete a post"))
            }
            PostChange::DeleteComment { comment, .. } if !is_author && comment.user_id != intent.user => {
                Some(Refusal::forbidden("only its author and the author of the post can delete a comment"))
            }
            _ => None,
        }
    }

    /// Optimistic concurrency: where an edit of another version belongs.
    fn unless_of_this_version(&self, edit: &PostEdit, sent: bool) -> Option<BatchPlacement> {
        let (stored, version) = (self.known.post.text_version, self.post.text_version);
        if edit.is_of(version) {
            return None;
        }
        // The answer to the batch with it was lost.
        let follows_its_version = version.checked_sub(1).is_some_and(|before| edit.is_of(before));
        if sent && follows_its_version && edit.is_made(&self.post) && stored == version {
            return Some(BatchPlacement::Done);
        }
        // An edit of this batch may still fail.
        let is_certain = stored == version;
        Some(if is_certain {
            BatchPlacement::Refused(Refusal::post_changed(version))
        } else {
            BatchPlacement::PutOff
        })
    }

    fn change_post(&mut self, intent: &QueuedCommand) {
        let post = &mut self.post;
        match &intent.change {
            PostChange::Like(_) => post.like_count += 1,
            PostChange::Unlike(_) => post.like_count = post.like_count.saturating_sub(1),
            PostChange::Comment(_) => post.comment_count += 1,
            PostChange::DeleteComment { .. } => post.comment_count = post.comment_count.saturating_sub(1),
            PostChange::Edit(edit) => edit.apply(post),
            PostChange::Delete => {
                post.title.clear();
                post.content.clear();
                post.tags.clear();
                post.deleted = true;
                post.ttl = Some(TOMBSTONE_TTL_S);
                self.deleted_by = Some(intent.command_id);
            }
        }
    }

    fn finish(mut self, places: Vec<BatchPlacement>) -> BatchPlan {
        if self.included == 0 {
            return BatchPlan { operations: Vec::new(), post: None, places };
        }
        self.post.version += 1;
        let id = self.post.id.to_string();
        let item = match self.deleted_by {
            Some(command_id) => encode_marked(id, &self.post, command_id),
            None => NewItem::encode(id, &self.post),
        };
        self.operations.push(WriteOp::Replace { item, if_match: Some(self.known.etag.clone()) });
        let post = PostSnapshot {
            post: Arc::new(self.post),
            etag: self.known.etag.clone(),
            deleted_by: self.deleted_by,
        };
        BatchPlan { operations: self.operations, post: Some(post), places }
    }
}

/// The write beside the post's.
fn operation(intent: &QueuedCommand) -> Option<WriteOp> {
    match &intent.change {
        PostChange::Like(like) => {
            Some(WriteOp::Create(encode_marked(like.id.to_string(), like, intent.command_id)))
        }
        PostChange::Unlike(id) => Some(WriteOp::Delete { id: id.to_string(), if_match: None }),
        PostChange::Comment(comment) => {
            Some(WriteOp::Create(NewItem::encode(comment.id.to_string(), comment)))
        }
        PostChange::DeleteComment { comment, etag } => {
            let item = encode_marked(comment.id.to_string(), &tombstone(comment), intent.command_id);
            Some(WriteOp::Replace { item, if_match: Some(etag.clone()) })
        }
        PostChange::Edit(_) | PostChange::Delete => None,
    }
}

fn tombstone(comment: &CommentItem) -> CommentItem {
    CommentItem {
        content: String::new(),
        version: comment.version + 1,
        deleted: true,
        ttl: Some(TOMBSTONE_TTL_S),
        ..comment.clone()
    }
}

#[cfg(test)]
mod tests {
    use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
    use crate::blog::items::{LikeItem, types};

    use super::*;

    const AUTHOR: UserId = UserId(Uuid::from_u128(1));
    const POST: PostId = PostId(Uuid::from_u128(2));

    fn known() -> PostSnapshot {
        let post = PostItem {
            id: POST,
            item_type: types::POST.to_owned(),
            post_id: POST,
            user_id: AUTHOR,
            user_username: "ada".to_owned(),
            title: "Title".to_owned(),
            content: "Content".to_owned(),
            tags: Vec::new(),
            comment_count: 1,
            like_count: 1,
            creation_date: "2026-11-20T09:20:00.125Z".to_owned(),
            version: 7,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        PostSnapshot { post: Arc::new(post), etag: ETag::from_number(9), deleted_by: None }
    }

    fn intent(number: u128, user: UserId, change: PostChange) -> QueuedCommand {
        QueuedCommand::new(Uuid::from_u128(1000 + number), POST, user, change)
    }

    fn like(number: u128) -> QueuedCommand {
        let user = UserId(Uuid::from_u128(100 + number));
        let like = LikeItem {
            id: LikeId::derive(POST, user),
            item_type: types::LIKE.to_owned(),
            post_id: POST,
            user_id: user,
            user_username: "bob".to_owned(),
            creation_date: "2026-11-20T09:20:00.125Z".to_owned(),
            version: 1,
        };
        intent(number, user, PostChange::Like(like))
    }

    fn comment(number: u128, content: String) -> QueuedCommand {
        let comment = CommentItem {
            id: CommentId(Uuid::from_u128(200 + number)),
            item_type: types::COMMENT.to_owned(),
            post_id: POST,
            user_id: AUTHOR,
            user_username: "ada".to_owned(),
            content,
            creation_date: "2026-11-20T09:20:00.125Z".to_owned(),
            version: 1,
            text_version: 1,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        intent(number, AUTHOR, PostChange::Comment(comment))
    }

    fn edit(title: Option<&str>, if_version: Option<i32>) -> PostChange {
        PostChange::Edit(PostEdit {
            title: title.map(str::to_owned),
            content: None,
            tags: None,
            if_version,
            date: "2026-11-21T00:00:00.000Z".to_owned(),
        })
    }

    #[test]
    fn an_edit_of_another_version_is_refused_with_the_current_one() {
        let intents = [intent(1, AUTHOR, edit(Some("New"), Some(7)))];
        let plan = plan(Some(&known()), intents.iter());
        assert_eq!(plan.places, [BatchPlacement::Refused(Refusal::post_changed(1))]);
        assert_eq!(Refusal::post_changed(1).current_version, Some(1));
    }

    #[test]
    fn of_two_edits_of_one_version_the_second_waits_for_the_first() {
        let intents = [
            intent(1, AUTHOR, edit(Some("First"), Some(1))),
            intent(2, AUTHOR, edit(Some("Second"), Some(1))),
        ];
        let plan = plan(Some(&known()), intents.iter());
        assert_eq!(plan.places, [BatchPlacement::Included, BatchPlacement::PutOff]);
        let written = plan.post.unwrap();
        assert_eq!((written.post.text_version, written.post.title.as_str()), (2, "First"));
        assert_eq!(written.post.update_date.as_deref(), Some("2026-11-21T00:00:00.000Z"));
        let after = super::plan(Some(&written), intents[1..].iter());
        assert_eq!(after.places, [BatchPlacement::Refused(Refusal::post_changed(2))]);
    }

    #[test]
    fn an_edit_whose_answer_was_lost_recognises_its_own_work() {
        let mut sent = intent(1, AUTHOR, edit(Some("New"), Some(1)));
        let written = plan(Some(&known()), [&sent].into_iter()).post.unwrap();
        sent.sent = true;
        assert_eq!(plan(Some(&written), [&sent].into_iter()).places, [BatchPlacement::Done]);
        let other = intent(2, AUTHOR, edit(Some("Other"), Some(2)));
        let after = plan(Some(&written), [&other].into_iter()).post.unwrap();
        let places = plan(Some(&after), [&sent].into_iter()).places;
        assert_eq!(places, [BatchPlacement::Refused(Refusal::post_changed(3))]);
    }

    #[test]
    fn an_edit_that_changes_nothing_keeps_version_and_date() {
        let intents = [intent(1, AUTHOR, edit(Some("Title"), None))];
        let post = plan(Some(&known()), intents.iter()).post.unwrap().post;
        assert_eq!((post.text_version, &post.update_date, post.version), (1, &None, 8));
    }

    #[test]
    fn all_changes_of_a_batch_meet_in_one_replace_of_the_post() {
        let edit = edit(Some("New"), None);
        let unlike = PostChange::Unlike(LikeId(Uuid::from_u128(300)));
        let intents = [
            like(1),
            like(2),
            comment(3, "Hi".to_owned()),
            intent(4, AUTHOR, unlike),
            intent(5, AUTHOR, edit),
        ];
        let known = known();
        let plan = plan(Some(&known), intents.iter());
        assert!(plan.places.iter().all(|place| *place == BatchPlacement::Included));
        assert_eq!(plan.operations.len(), 5);
        let Some(WriteOp::Replace { if_match, .. }) = plan.operations.last() else { panic!("a Replace") };
        assert_eq!(if_match.as_ref(), Some(&known.etag));
        let post = plan.post.unwrap().post;
        assert_eq!((post.like_count, post.comment_count, post.version), (2, 2, 8));
        assert_eq!((post.title.as_str(), post.content.as_str()), ("New", "Content"));
    }

    #[test]
    fn a_batch_keeps_the_limits_of_the_store() {
        let longest = "\u{1}".repeat(10_000);
        let intents: Vec<QueuedCommand> = (0..200).map(|number| comment(number, longest.clone())).collect();
        let mut whole = known();
        Arc::make_mut(&mut whole.post).content = "\u{1}".repeat(100_000);
        let plan = plan(Some(&whole), intents.iter());
        let mut batch = onehop_store::Batch::new(crate::blog::containers::POSTS, POST.partition_key());
        batch.operations = plan.operations;
        assert!(batch.operations.len() > 10);
        assert_eq!(batch.check_limits(), Ok(()));

        let intents: Vec<QueuedCommand> = (0..200).map(like).collect();
        let plan = super::plan(Some(&known()), intents.iter());
        assert_eq!(plan.operations.len(), limits::BATCH_OPERATIONS_MAX);
        assert_eq!(
            plan.places.iter().filter(|place| **place == BatchPlacement::Included).count(),
            INTENTS_MAX
        );
    }

    #[test]
    fn what_follows_the_deletion_is_put_off_and_then_finds_no_post() {
        let intents = [like(1), intent(2, AUTHOR, PostChange::Delete), like(3)];
        let plan = plan(Some(&known()), intents.iter());
        assert_eq!(plan.places, [BatchPlacement::Included, BatchPlacement::Included, BatchPlacement::PutOff]);
        let deleted = plan.post.unwrap();
        let after = super::plan(Some(&deleted), intents[1..].iter());
        // The deletion recognises its own work.
        assert_eq!(after.places, [BatchPlacement::Done, BatchPlacement::Refused(Refusal::post_not_found())]);
        assert!(after.operations.is_empty());
    }

    #[test]
    fn refused_commands_leave_nothing_to_send() {
        let stranger = UserId(Uuid::from_u128(5));
        let intents = [intent(1, stranger, PostChange::Delete)];
        let plan = plan(Some(&known()), intents.iter());
        assert!(matches!(&plan.places[..], [BatchPlacement::Refused(_)]) && plan.operations.is_empty());
    }
}

//! The newest posts, as short copies in one logical partition of `feed`: never more than [`FEED_POSTS_MAX`], and never
//! fewer where there are as many.
//!
//! A change of a post older than the oldest in a full feed costs nothing: the listing of the feed is a memo. That is
//! safe because a copy enters the feed in two steps, written and then compared with its post. A change of that post
//! was either seen by the comparison, or is looked at after the write, when no memo from before it is left: this
//! process forgets memos around its own writes, and where others write too, before each page. A memo is then younger
//! than the page. If it lacks the copy, the copy was written after the page was read, and the comparison, later
//! still, reads what the page holds. That takes a store whose reads see what was written before them.
//!
//! Readers of several feed ranges, and a rebuild beside them, write at the same time. The feed has no gaps because
//! a writer that adds a copy also writes the oldest one that it saw, with If-Match: deletes it to make room, or rewrites
//! it as it was. So what is older than the oldest is only ever added by continuing from it. After its write each
//! settles the feed: deletes what is over, fetches what is missing. Whoever settles last sees the writes of all.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::names::AuthorFields;
use super::{FEED_POSTS, copies, in_batches};
use crate::blog::containers::{FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS};
use crate::blog::items::{PostCopyItem, PostItem, types};
use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{
    Change, ContainerName, Direction, Item, Keyset, NewItem, PartitionKey, QueryPage, WriteOp,
};

/// Items of the feed that are looked at: those that belong there, and far more than concurrent inserts can be over.
pub(in crate::blog) const LISTING_ITEMS_MAX: usize = 3 * FEED_POSTS_MAX;

/// Keeps the newest posts.
#[derive(Debug, Clone, Copy)]
pub struct FeedPosts;

/// What was asked; without a note, the listing alone.
#[derive(Debug, Serialize, Deserialize)]
enum ProgressState {
    /// The listing and the post's own copy.
    Place,
    /// The listing, and the posts of the copies that have just entered.
    Settle { entered: Vec<String> },
    /// The listing, and the posts older than its last, which is where `after` says.
    Refill { after: Option<Keyset> },
}

impl Projection for FeedPosts {
    fn name(&self) -> &'static str {
        FEED_POSTS
    }

    fn source(&self) -> ContainerName {
        POSTS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::POST])
    }

    /// All changes write to one logical partition: at the same time they would only refuse each other.
    fn concurrent_partitions_max(&self) -> usize {
        1
    }

    /// The newest first: of a page of new posts only those are inserted that stay.
    fn arrange(&self, changes: &mut Vec<Change>) {
        changes.sort_by_cached_key(|change| Reverse(creation_date(&change.item)));
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if input.is_first() {
            return Ok(Step::ask(vec![listing()]));
        }
        let asked = input.state()?;
        if input.results.is_empty()
            && let Some(ProgressState::Settle { entered }) = asked
        {
            return Ok(ask_settle(entered));
        }
        let page = input.page(0)?;
        match asked {
            None => look(change, page),
            Some(ProgressState::Place) => place(change, page, input),
            Some(ProgressState::Settle { entered }) => settle(&Listing::of(page)?, &entered, input),
            Some(ProgressState::Refill { after }) => {
                refill(change, &Listing::of(page)?, after.as_ref(), input.page(1)?)
            }
        }
    }
}

/// Ends at once for a post that is too old for a full feed.
fn look(change: &Change, page: &QueryPage) -> Result<Step, ProjectionError> {
    if is_older_than_all(change, page)? {
        return Ok(match page.items.len().cmp(&FEED_POSTS_MAX) {
            Ordering::Less => ask_refill(&Listing::of(page)?, |older| older),
            Ordering::Equal => Step::done(),
            Ordering::Greater => ask_settle(Vec::new()),
        });
    }
    let copy = ReadRequest::item(FEED, partition(), change.id.clone());
    Ok(Step::ask(vec![listing(), copy]).with_state(&ProgressState::Place))
}

fn is_older_than_all(change: &Change, page: &QueryPage) -> Result<bool, ProjectionError> {
    let Some(oldest) = page.items.last() else { return Ok(true) };
    let (post, oldest): (AuthorFields<'_>, AuthorFields<'_>) =
        (serde_json::from_slice(&change.item.body)?, serde_json::from_slice(&oldest.body)?);
    Ok((&post.creation_date, post.id) < (&oldest.creation_date, oldest.id))
}

/// Writes the post's copy. A new one makes room for itself in the same batch.
fn place(change: &Change, page: &QueryPage, input: StepInput<'_>) -> Result<Step, ProjectionError> {
    let post: PostItem = change.item.decode()?;
    let existing = input.item(1)?;
    let was_live = match existing {
        Some(existing) => !existing.decode::<PostCopyItem>()?.deleted,
        None => false,
    };
    let enters = !was_live && !post.deleted;
    if enters && is_older_than_all(change, page)? {
        return look(change, page);
    }
    let listing = Listing::of(page)?;
    if enters && listing.has_no_place_for(&post) {
        return Ok(ask_settle(Vec::new()));
    }
    let Some(operation) = copies::update(&PostCopyItem::of(&post), existing.map(|item| &**item))? else {
        return Ok(ask_settle(Vec::new()));
    };
    if was_live && !post.deleted {
        // The listing keeps its order and its memo.
        let write = IntendedWrite::one(FEED, partition(), operation);
        return Ok(ask_settle(Vec::new()).after_writing(vec![write]));
    }
    let mut operations = vec![operation];
    let mut entered = Vec::new();
    if enters {
        operations.extend(listing.room_for_one());
        entered.push(post.id.to_string());
    }
    Ok(ask_settle(entered).after_writing(in_batches(FEED, &partition(), operations)).invalidate_cache())
}

/// Compares what has entered with its posts, deletes what is over, asks for what is missing.
fn settle(listing: &Listing, entered: &[String], input: StepInput<'_>) -> Result<Step, ProjectionError> {
    let mut operations = Vec::new();
    for (place, id) in entered.iter().enumerate() {
        if let Some(copy) = listing.0.iter().find(|listed| listed.copy.id.to_string() == *id) {
            operations.extend(copy.correction(input.item(place + 1)?)?);
        }
    }
    if operations.is_empty() {
        operations.extend(listing.overflow(FEED_POSTS_MAX));
    }
    if !operations.is_empty() {
        let writes = in_batches(FEED, &partition(), operations);
        return Ok(ask_settle(Vec::new()).after_writing(writes).invalidate_cache());
    }
    if listing.0.len() >= FEED_POSTS_MAX {
        return Ok(Step::done());
    }
    Ok(ask_refill(listing, |older| ReadRequest::cached("older", older)))
}

/// Copies the next older posts, where the oldest copy is still the one from which they were asked. Of those that cannot
/// be read each is parked with its own change, and keeps no other from the feed.
fn refill(
    change: &Change,
    listing: &Listing,
    after: Option<&Keyset>,
    older: &QueryPage,
) -> Result<Step, ProjectionError> {
    change.item.decode::<PostItem>()?;
    if listing.oldest().as_ref() != after {
        // From the start: the changed post itself may be one that has to follow, and only there the older posts are
        // asked for afresh. A memo of them may be from before it was written.
        return Ok(Step::ask(vec![self::listing()]));
    }
    let posts = older.items.iter().filter_map(|item| item.decode::<PostItem>().ok());
    let copies: Vec<_> = posts.map(|post| PostCopyItem::of(&post)).collect();
    if copies.is_empty() {
        return Ok(Step::done());
    }
    let creates = copies.iter().map(|copy| WriteOp::Create(NewItem::encode(copy.id.to_string(), copy)));
    let writes = in_batches(FEED, &partition(), listing.rewrite_oldest().into_iter().chain(creates));
    let entered = copies.iter().map(|copy| copy.id.to_string()).collect();
    // Saved, because who has entered has to be compared with its post even after a fault or a crash.
    Ok(ask_settle(entered).after_writing(writes).invalidate_cache().checkpoint())
}

fn ask_refill(listing: &Listing, older: impl FnOnce(ReadRequest) -> ReadRequest) -> Step {
    let after = listing.oldest();
    let limit = FEED_POSTS_MAX.saturating_sub(listing.0.len());
    let newest =
        ReadRequest::Newest { container: POSTS, item_type: types::POST, after: after.clone(), limit };
    Step::ask(vec![self::listing(), older(newest)]).with_state(&ProgressState::Refill { after })
}

fn ask_settle(entered: Vec<String>) -> Step {
    let posts =
        entered.iter().map(|id| ReadRequest::item(POSTS, PartitionKey::from(id.as_str()), id.clone()));
    let reads = std::iter::once(listing()).chain(posts).collect();
    Step::ask(reads).with_state(&ProgressState::Settle { entered })
}

fn listing() -> ReadRequest {
    let query = ReadRequest::Partition {
        container: FEED,
        partition_key: partition(),
        item_type: types::POST,
        direction: Direction::NewestFirst,
        after: None,
        limit: LISTING_ITEMS_MAX,
    };
    ReadRequest::cached("listing", query)
}

fn partition() -> PartitionKey {
    PartitionKey::from(FEED_PARTITION)
}

fn creation_date(item: &Item) -> String {
    serde_json::from_slice::<AuthorFields<'_>>(&item.body)
        .map_or_else(|_| String::new(), |post| post.creation_date.into())
}

/// The live copies of the feed, newest first.
pub(in crate::blog) struct Listing(Vec<Listed>);

struct Listed {
    copy: PostCopyItem,
    item: Item,
}

impl Listing {
    pub(in crate::blog) fn of(page: &QueryPage) -> Result<Self, ProjectionError> {
        let listed = |item: &Item| Ok(Listed { copy: item.decode()?, item: item.clone() });
        page.items.iter().map(listed).collect::<Result<_, ProjectionError>>().map(Self)
    }

    /// Deletes all but the first `keep` copies.
    pub(in crate::blog) fn overflow(&self, keep: usize) -> impl Iterator<Item = WriteOp> {
        self.0.iter().skip(keep).map(Listed::delete)
    }

    /// What is written together with a copy that enters: deletes what has to make room for it, or rewrites the oldest.
    pub(in crate::blog) fn room_for_one(&self) -> Vec<WriteOp> {
        let mut operations: Vec<_> = self.overflow(FEED_POSTS_MAX - 1).collect();
        if operations.is_empty() {
            operations.extend(self.rewrite_oldest());
        }
        operations
    }

    /// Where the listing ends.
    fn oldest(&self) -> Option<Keyset> {
        let Listed { copy, .. } = self.0.last()?;
        Some(Keyset { order_value: copy.creation_date.clone(), id: copy.id.to_string() })
    }

    /// Writes the oldest copy as it was read: refused when it is not there any more.
    fn rewrite_oldest(&self) -> Option<WriteOp> {
        let Listed { copy, item } = self.0.last()?;
        let unchanged = NewItem { id: copy.id.to_string(), body: item.body.clone() };
        Some(WriteOp::Replace { item: unchanged, if_match: Some(item.etag.clone()) })
    }

    /// Whether the feed is full with newer posts.
    pub(in crate::blog) fn has_no_place_for(&self, post: &PostItem) -> bool {
        let id = post.id.to_string();
        let newer = |listed: &&Listed| {
            (&listed.copy.creation_date, listed.copy.id.to_string()) > (&post.creation_date, id.clone())
        };
        self.0.iter().take_while(newer).count() >= FEED_POSTS_MAX
    }
}

impl Listed {
    fn delete(&self) -> WriteOp {
        WriteOp::Delete { id: self.copy.id.to_string(), if_match: Some(self.item.etag.clone()) }
    }

    /// The write that makes a copy what its post is by now.
    fn correction(&self, post: Option<&Arc<Item>>) -> Result<Option<WriteOp>, ProjectionError> {
        let Some(post) = post else { return Ok(Some(self.delete())) };
        let current = PostCopyItem::of(&post.decode::<PostItem>()?);
        if current.version <= self.copy.version {
            return Ok(None);
        }
        let item = NewItem::encode(current.id.to_string(), &current);
        Ok(Some(WriteOp::Replace { item, if_match: Some(self.item.etag.clone()) }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        ABSENT, answer, asked, change_of, first, found, item, page, post, resume, user,
    };
    use super::*;
    use onehop_change_feed::ReadResult;

    /// A feed of the posts with these numbers, which are their ages.
    fn feed(numbers: impl DoubleEndedIterator<Item = u128>) -> ReadResult {
        let ada = user(1, "ada", 1);
        let copy = |number: u128| {
            item(1000 + u64::try_from(number).expect("small"), &PostCopyItem::of(&post(number, &ada)))
        };
        page(numbers.rev().map(copy).collect(), false)
    }

    fn operations(step: &Step) -> Vec<String> {
        let name = |operation: &WriteOp| {
            let kind = match operation {
                WriteOp::Create(_) => "create",
                WriteOp::Upsert(_) => "upsert",
                WriteOp::Replace { .. } => "replace",
                WriteOp::Delete { .. } => "delete",
            };
            format!("{kind} {}", u128::from_str_radix(&operation.id().replace('-', ""), 16).expect("an id"))
        };
        step.writes().iter().flat_map(|write| &write.operations).map(name).collect()
    }

    #[test]
    fn a_post_older_than_a_full_feed_ends_with_the_memo() {
        let change = change_of(&post(5, &user(1, "ada", 1)));
        let step = first(&FeedPosts, &change);
        assert_eq!(asked(&step), ["memo listing"]);
        assert!(answer(&FeedPosts, &change, &step, &[feed(10..110)]).is_done());
    }

    #[test]
    fn a_new_post_makes_room_for_itself_in_the_same_batch() {
        let change = change_of(&post(200, &user(1, "ada", 1)));
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..110)]);
        let step = answer(&FeedPosts, &change, &step, &[feed(10..110), ABSENT]);
        assert_eq!(
            (operations(&step), step.writes().len()),
            (vec!["create 200".into(), "delete 10".into()], 1)
        );
    }

    #[test]
    fn a_new_post_in_a_short_feed_confirms_the_oldest() {
        let change = change_of(&post(200, &user(1, "ada", 1)));
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..20)]);
        let step = answer(&FeedPosts, &change, &step, &[feed(10..20), ABSENT]);
        assert_eq!(operations(&step), ["create 200", "replace 10"]);
    }

    #[test]
    fn a_deleted_post_leaves_a_tombstone_and_the_next_older_follows() {
        let ada = user(1, "ada", 1);
        let (live, older) = (post(50, &ada), post(7, &ada));
        let gone = PostItem { deleted: true, version: 2, ..live.clone() };
        let change = change_of(&gone);
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..110)]);
        let copy = found(9, &PostCopyItem::of(&live));
        let step = answer(&FeedPosts, &change, &step, &[feed(10..110), copy]);
        assert_eq!(operations(&step), ["replace 50"]);
        let short = || feed((10..50).chain(51..110));
        let step = answer(&FeedPosts, &change, &step, &[short()]);
        assert_eq!(asked(&step), ["memo listing", "memo older"]);
        let step = answer(&FeedPosts, &change, &step, &[short(), page(vec![item(1, &older)], false)]);
        assert_eq!(operations(&step), ["replace 10", "create 7"]);
        let settled = feed((7..8).chain(10..50).chain(51..110));
        assert!(answer(&FeedPosts, &change, &step, &[settled, found(1, &older)]).is_done());
    }

    #[test]
    fn a_refill_whose_feed_ends_elsewhere_by_now_looks_again() {
        let ada = user(1, "ada", 1);
        let change = change_of(&PostItem { deleted: true, ..post(5, &ada) });
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..20)]);
        let step =
            answer(&FeedPosts, &change, &step, &[feed(12..20), page(vec![item(1, &post(4, &ada))], false)]);
        assert!(step.writes().is_empty());
        assert_eq!(asked(&step), ["memo listing"]);
    }

    #[test]
    fn a_post_older_than_a_short_feed_that_moved_is_never_looked_for_in_a_memo() {
        let change = change_of(&post(5, &user(1, "ada", 1)));
        let fresh = asked(&answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..20)]));
        assert!(!fresh[1].contains("memo"), "{fresh:?}");
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..20)]);
        let step = answer(&FeedPosts, &change, &step, &[feed(12..20), page(Vec::new(), false)]);
        let step = answer(&FeedPosts, &change, &step, &[feed(12..20)]);
        assert_eq!(asked(&step), fresh);
    }

    #[test]
    fn a_copy_whose_post_was_deleted_before_it_entered_is_taken_out_also_after_a_crash() {
        let ada = user(1, "ada", 1);
        let older = post(7, &ada);
        let change = change_of(&PostItem { deleted: true, ..post(5, &ada) });
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(10..20)]);
        let step = answer(&FeedPosts, &change, &step, &[feed(10..20), page(vec![item(1, &older)], false)]);
        let step = resume(&FeedPosts, &change, step.state());
        let deleted = PostItem { deleted: true, version: 2, ..older };
        let step = answer(&FeedPosts, &change, &step, &[feed((7..8).chain(10..20)), found(2, &deleted)]);
        assert_eq!(operations(&step), ["replace 7"]);
    }

    #[test]
    fn what_is_over_is_deleted() {
        let change = change_of(&post(109, &user(1, "ada", 1)));
        let step = answer(&FeedPosts, &change, &first(&FeedPosts, &change), &[feed(5..110)]);
        let step = answer(
            &FeedPosts,
            &change,
            &step,
            &[feed(5..110), found(1, &PostCopyItem::of(&post(109, &user(1, "ada", 1))))],
        );
        let step = answer(&FeedPosts, &change, &step, &[feed(5..110)]);
        assert_eq!(operations(&step), ["delete 9", "delete 8", "delete 7", "delete 6", "delete 5"]);
    }

    #[test]
    fn a_page_is_worked_on_from_the_newest() {
        let ada = user(1, "ada", 1);
        let mut changes: Vec<_> = [3, 9, 5].iter().map(|number| change_of(&post(*number, &ada))).collect();
        FeedPosts.arrange(&mut changes);
        let order: Vec<_> = changes.iter().map(|change| change.id.chars().last()).collect();
        assert_eq!(order, [Some('9'), Some('5'), Some('3')]);
    }
}

//! Repair: mends drifts, also while the blog is in use.
//!
//! Counts and names are mended on the write side, from where the projections carry them on; copies are written anew from
//! their posts. Every write creates, or replaces or deletes an item unchanged since it was read (If-Match). A copy is read
//! before its post, is never replaced by an older version, and is compared with the post once more after it was
//! written: so no copy goes back in time, and none stays of a post that was deleted meanwhile.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::check::{Verifier, post};
use super::{Drift, Report, VerifyProgress};
use crate::blog::commands::UsernameReservations;
use crate::blog::containers::{FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{PostCopyItem, PostItem, types};
use crate::blog::projections::{FEED_LISTING_ITEMS_MAX, FeedListing, copy_update};
use onehop_change_feed::ProjectionError;
use onehop_store::{
    Batch, ContainerName, Direction, ETag, Fault, FaultKind, Item, Ledger, NewItem, PartitionKey, Query,
    Rejection, WriteError, WriteOp, limits,
};

/// How often a write that met a concurrent one is tried.
const TRIES_MAX: u32 = 8;

impl Verifier {
    /// Verifies, mends what it can, and verifies again: the drifts of the report are those that were left.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn repair(&self, mut progress: impl FnMut(VerifyProgress) + Send) -> Result<Report, Fault> {
        let found = self.verify(&mut progress).await?;
        if found.is_clean() {
            return Ok(found);
        }
        let mut repaired = 0;
        for drift in &found.drifts {
            match self.mend(drift).await {
                Ok(is_mended) => repaired += u64::from(is_mended),
                // The second verification names what cannot be read.
                Err(fault) if fault.kind == FaultKind::Corrupt => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut report = self.verify(&mut progress).await?;
        report.repaired = repaired;
        Ok(report)
    }

    /// Mends one drift; says whether something was written.
    async fn mend(&self, drift: &Drift) -> Result<bool, Fault> {
        match drift {
            Drift::Counts { post_id, .. } => self.mend_counts(post(post_id)).await,
            Drift::Username { post_id, id, .. } => self.mend_name(post(post_id), id).await,
            Drift::Copy { post_id, user_id, .. } => {
                self.mend_copy(USERS, &PartitionKey::from(user_id.as_str()), post(post_id)).await
            }
            Drift::OrphanedCopy { container, post_id, partition_key } => {
                let container = if container == FEED.as_str() { FEED } else { USERS };
                self.mend_copy(container, &PartitionKey::from(partition_key.as_str()), post(post_id)).await
            }
            Drift::OrphanedReaction { post_id, id } => self.delete_reaction(post(post_id), id).await,
            Drift::Feed { post_id, .. } => self.mend_feed(post(post_id)).await,
            Drift::Reservation { user_id, .. } => self.mend_reservation(user_id).await,
        }
    }

    async fn mend_counts(&self, id: PostId) -> Result<bool, Fault> {
        let key = id.partition_key();
        for _ in 0..TRIES_MAX {
            let Some((post, item)) = self.live_post(id).await? else { return Ok(false) };
            let comments = self.store.count(POSTS, &key, types::COMMENT, &Ledger::new()).await?;
            let likes = self.store.count(POSTS, &key, types::LIKE, &Ledger::new()).await?;
            if u64::from(post.comment_count) == comments && u64::from(post.like_count) == likes {
                return Ok(false);
            }
            let mut body: Map<String, Value> = item.decode()?;
            body.insert("commentCount".to_owned(), comments.into());
            body.insert("likeCount".to_owned(), likes.into());
            if self.replace(&key, &id.to_string(), body, item.etag).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn mend_name(&self, post_id: PostId, id: &str) -> Result<bool, Fault> {
        let key = post_id.partition_key();
        for _ in 0..TRIES_MAX {
            let Some(item) = self.read_item(POSTS, &key, id).await? else { return Ok(false) };
            let mut body: Map<String, Value> = item.decode()?;
            let user_id = body.get("userId").and_then(Value::as_str).and_then(|text| text.parse().ok());
            let Some(user_id) = user_id else { return Ok(false) };
            let Some((user, _)) = self.user(UserId(user_id)).await? else { return Ok(false) };
            if body.get("userUsername").and_then(Value::as_str) == Some(&user.username) {
                return Ok(false);
            }
            body.insert("userUsername".to_owned(), user.username.into());
            if self.replace(&key, id, body, item.etag).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces an unchanged item of `posts` with a higher version; `false` when it has changed.
    async fn replace(
        &self,
        key: &PartitionKey,
        id: &str,
        mut body: Map<String, Value>,
        etag: ETag,
    ) -> Result<bool, Fault> {
        let version = body.get("version").and_then(Value::as_u64).unwrap_or(0);
        body.insert("version".to_owned(), (version + 1).into());
        let item = NewItem::encode(id, &body);
        self.write(POSTS, key, WriteOp::Replace { item, if_match: Some(etag) }).await
    }

    /// Makes a copy in a user's logical partition what its post is.
    async fn mend_copy(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: PostId,
    ) -> Result<bool, Fault> {
        let mut written = false;
        for _ in 0..TRIES_MAX {
            let copy = self.read_copy(container, key, id).await?;
            let post = self.post_item(id).await?.filter(|(post, _)| post.user_id.partition_key() == *key);
            match self.copy_write(copy.as_ref(), post.as_ref()).await? {
                CopyWrite::None => return Ok(written),
                CopyWrite::Write(operation) => written |= self.write(container, key, operation).await?,
                CopyWrite::Again => {}
            }
        }
        Ok(written)
    }

    /// Makes the feed's copy of a post what the post is: adds it where it belongs, and takes out what is over. Every
    /// batch that adds a copy also writes the oldest one that was listed, as the projection does.
    async fn mend_feed(&self, id: PostId) -> Result<bool, Fault> {
        let key = PartitionKey::from(FEED_PARTITION);
        let mut written = false;
        for _ in 0..TRIES_MAX {
            let listing = self.list_feed(&key).await?;
            let copy = self.read_copy(FEED, &key, id).await?;
            let post = self.post_item(id).await?;
            let is_listed = copy.as_ref().is_some_and(|(copy, _)| !copy.deleted);
            let may_enter = |(post, _): &(PostItem, Item)| !post.deleted && !listing.has_no_place_for(post);
            let is_concerned = is_listed || post.as_ref().is_some_and(may_enter);
            let write = match is_concerned {
                true => self.copy_write(copy.as_ref(), post.as_ref()).await?,
                false => CopyWrite::None,
            };
            let mut operations = match write {
                CopyWrite::Again => continue,
                CopyWrite::None => Vec::new(),
                CopyWrite::Write(operation) => vec![operation],
            };
            if operations.is_empty() {
                operations.extend(listing.overflow(FEED_POSTS_MAX));
            } else if !is_listed {
                operations.extend(listing.room_for_one());
            }
            if operations.is_empty() {
                return Ok(written);
            }
            operations.truncate(limits::BATCH_OPERATIONS_MAX);
            written |= self.batch(FEED, &key, operations).await?;
        }
        Ok(written)
    }

    /// The write that makes a copy what its post is. The copy was read first.
    async fn copy_write(
        &self,
        copy: Option<&(PostCopyItem, Item)>,
        post: Option<&(PostItem, Item)>,
    ) -> Result<CopyWrite, Fault> {
        let Some((post, source)) = post else {
            return Ok(match copy {
                Some((copy, item)) if !copy.deleted => CopyWrite::Write(delete(copy.id.to_string(), item)),
                _ => CopyWrite::None,
            });
        };
        if let Some((copy, _)) = copy.filter(|(copy, _)| copy.version > post.version) {
            // No post was ever so new: the copy is damaged. The post overtakes it.
            let overtaking = PostItem { version: copy.version + 1, ..post.clone() };
            let item = NewItem::encode(post.id.to_string(), &overtaking);
            let operation = WriteOp::Replace { item, if_match: Some(source.etag.clone()) };
            self.write(POSTS, &post.id.partition_key(), operation).await?;
            return Ok(CopyWrite::Again);
        }
        let write = copy_update(&PostCopyItem::of(post), copy.map(|(_, item)| item)).map_err(unreadable)?;
        Ok(write.map_or(CopyWrite::None, CopyWrite::Write))
    }

    async fn read_copy(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: PostId,
    ) -> Result<Option<(PostCopyItem, Item)>, Fault> {
        let item = self.read_item(container, key, &id.to_string()).await?;
        item.map(|item| Ok((item.decode()?, item))).transpose()
    }

    async fn list_feed(&self, key: &PartitionKey) -> Result<FeedListing, Fault> {
        let query = Query::Partition {
            container: FEED,
            partition_key: key,
            item_type: types::POST,
            direction: Direction::NewestFirst,
            after: None,
            limit: FEED_LISTING_ITEMS_MAX,
        };
        FeedListing::of(&self.store.query(&query, &Ledger::new()).await?).map_err(unreadable)
    }

    /// Deletes a comment or like whose post is not there.
    async fn delete_reaction(&self, post_id: PostId, id: &str) -> Result<bool, Fault> {
        let key = post_id.partition_key();
        let Some(item) = self.read_item(POSTS, &key, id).await? else { return Ok(false) };
        if self.live_post(post_id).await?.is_some() {
            return Ok(false);
        }
        self.write(POSTS, &key, delete(id.to_owned(), &item)).await
    }

    async fn mend_reservation(&self, user_id: &str) -> Result<bool, Fault> {
        let Ok(id) = user_id.parse() else { return Ok(false) };
        UsernameReservations::new(Arc::clone(&self.store)).reserve_again(UserId(id), &Ledger::new()).await
    }

    /// Writes; `false` when the write was refused because of a concurrent one.
    async fn write(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        operation: WriteOp,
    ) -> Result<bool, Fault> {
        unless_refused(self.store.write(container, key, operation, &Ledger::new()).await)
    }

    /// Writes together; `false` when the batch was refused because of a concurrent write.
    async fn batch(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        operations: Vec<WriteOp>,
    ) -> Result<bool, Fault> {
        let batch = Batch { container, partition_key: key.clone(), operations };
        unless_refused(self.store.batch(batch, &Ledger::new()).await)
    }
}

/// What is to be done with a copy.
enum CopyWrite {
    /// It is what it should be.
    None,
    Write(WriteOp),
    /// The post was written: both have to be read again.
    Again,
}

fn delete(id: String, unchanged: &Item) -> WriteOp {
    WriteOp::Delete { id, if_match: Some(unchanged.etag.clone()) }
}

fn unreadable(error: ProjectionError) -> Fault {
    Fault::new(FaultKind::Corrupt, "a copy cannot be read").with_source(error)
}

fn unless_refused<T>(outcome: Result<T, WriteError>) -> Result<bool, Fault> {
    match outcome {
        Ok(_) => Ok(true),
        Err(WriteError::Rejected {
            reason: Rejection::PreconditionFailed | Rejection::NotFound | Rejection::Conflict,
            ..
        }) => Ok(false),
        Err(WriteError::Rejected { reason, .. }) => {
            Err(Fault::new(FaultKind::Internal, format!("a repair was refused: {reason}")))
        }
        Err(WriteError::Fault(fault)) => Err(fault),
    }
}

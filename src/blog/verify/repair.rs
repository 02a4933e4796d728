//! Mends drifts. Counts and names are mended on the write side, from where the projections carry them on; copies
//! are written anew from their posts.

use serde_json::{Map, Value};

use super::check::{Verifier, post};
use super::{Drift, Report, VerifyProgress};
use crate::accounts::username::Username;
use crate::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{AccountItem, PostCopyItem, types};
use crate::store::{ContainerName, Fault, Ledger, NewItem, PartitionKey, Rejection, WriteError, WriteOp};

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
            if self.mend(drift).await? {
                repaired += 1;
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
            Drift::Copy { post_id, .. } => self.write_copy(USERS, post(post_id)).await,
            Drift::OrphanedCopy { container, post_id, partition_key } => {
                let container = if container == FEED.as_str() { FEED } else { USERS };
                self.delete(container, &PartitionKey::from(partition_key.as_str()), post_id).await
            }
            Drift::OrphanedReaction { post_id, id } => {
                self.delete(POSTS, &PartitionKey::from(post_id.as_str()), id).await
            }
            Drift::Feed { post_id, .. } => {
                let missing = self.live_post(post(post_id)).await?.is_none();
                let key = PartitionKey::from(FEED_PARTITION);
                if missing || !self.write_copy(FEED, post(post_id)).await? {
                    return self.delete(FEED, &key, post_id).await;
                }
                self.trim_feed().await
            }
            Drift::Reservation { user_id, .. } => self.mend_reservation(user_id).await,
        }
    }

    async fn mend_counts(&self, id: PostId) -> Result<bool, Fault> {
        let key = id.partition_key();
        for _ in 0..TRIES_MAX {
            let Some(item) = self.read_item(POSTS, &key, &id.to_string()).await? else { return Ok(false) };
            let comments = self.store.count(POSTS, &key, types::COMMENT, &Ledger::new()).await?;
            let likes = self.store.count(POSTS, &key, types::LIKE, &Ledger::new()).await?;
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
            let Some(user) = self.user(UserId(user_id)).await? else { return Ok(false) };
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
        etag: crate::store::ETag,
    ) -> Result<bool, Fault> {
        let version = body.get("version").and_then(Value::as_u64).unwrap_or(0);
        body.insert("version".to_owned(), (version + 1).into());
        let item = NewItem::encode(id, &body);
        self.write(POSTS, key, WriteOp::Replace { item, if_match: Some(etag) }).await
    }

    async fn write_copy(&self, container: ContainerName, id: PostId) -> Result<bool, Fault> {
        let Some(post) = self.live_post(id).await? else { return Ok(false) };
        let key = if container == FEED { FEED_PARTITION.into() } else { post.user_id.partition_key() };
        let copy = NewItem::encode(id.to_string(), &PostCopyItem::of(&post));
        self.write(container, &key, WriteOp::Upsert(copy)).await
    }

    /// Takes from the feed what is not among the newest posts.
    async fn trim_feed(&self) -> Result<bool, Fault> {
        let key = PartitionKey::from(FEED_PARTITION);
        let query = crate::store::Query::Partition {
            container: FEED,
            partition_key: &key,
            item_type: types::POST,
            direction: crate::store::Direction::NewestFirst,
            after: None,
            limit: crate::store::limits::PAGE_ITEMS_MAX,
        };
        let items = self.store.query(&query, &Ledger::new()).await?.items;
        for item in items.iter().skip(crate::blog::containers::FEED_POSTS_MAX) {
            let copy: PostCopyItem = item.decode()?;
            self.delete(FEED, &key, &copy.id.to_string()).await?;
        }
        Ok(true)
    }

    async fn delete(&self, container: ContainerName, key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        self.write(container, key, WriteOp::Delete { id: id.to_owned(), if_match: None }).await
    }

    async fn mend_reservation(&self, user_id: &str) -> Result<bool, Fault> {
        let Ok(id) = user_id.parse() else { return Ok(false) };
        let Some(user) = self.user(UserId(id)).await? else { return Ok(false) };
        let Ok(username) = Username::parse(&user.username) else { return Ok(false) };
        let name = username.normalized().as_str().to_owned();
        let account = AccountItem {
            id: name.clone(),
            item_type: types::ACCOUNT.to_owned(),
            user_id: user.id,
            password_hash: None,
            idempotency_key_hash: None,
        };
        let key = PartitionKey::from(name.as_str());
        self.write(ACCOUNTS, &key, WriteOp::Create(NewItem::encode(name, &account))).await
    }

    /// Writes; `false` when the write was refused because of a concurrent one.
    async fn write(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        operation: WriteOp,
    ) -> Result<bool, Fault> {
        match self.store.write(container, key, operation, &Ledger::new()).await {
            Ok(_) => Ok(true),
            Err(WriteError::Rejected {
                reason: Rejection::PreconditionFailed | Rejection::NotFound | Rejection::Conflict,
                ..
            }) => Ok(false),
            Err(WriteError::Rejected { reason, .. }) => {
                Err(Fault::new(crate::store::FaultKind::Internal, format!("a repair was refused: {reason}")))
            }
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }
}

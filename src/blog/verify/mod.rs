//! Recomputes every count, name, copy and reservation from the write side and reports each drift with its item.
//!
//! One pass over the change feed of `users` and one over that of `posts` find suspects. As the store may be in use
//! meanwhile, each suspect is looked at again after the read models have caught up; what still differs then, with source
//! and copy unchanged, is a drift. A repair writes by the rules of every other writer: it compares versions, and each of
//! its writes is refused if another writer has written since (optimistic concurrency). Memory: some 200 bytes for each user and post.

mod check;
mod repair;
mod scan;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use check::Verifier;
pub(crate) use scan::for_each_change;

use onehop_store::{ContainerName, Fault, FaultKind, Store};

/// What is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Drift {
    /// A post's stored counts are not the numbers of its live comments and likes.
    #[serde(rename_all = "camelCase")]
    Counts { post_id: String, comment_count: u32, comments: u64, like_count: u32, likes: u64 },
    /// A post, comment or like carries a name that its user does not have.
    #[serde(rename_all = "camelCase")]
    Username { post_id: String, id: String, stored: String, current: String },
    /// A copy of a post in `users` or `feed` is missing or differs from the post.
    #[serde(rename_all = "camelCase")]
    Copy { container: String, post_id: String, user_id: String, problem: String },
    /// A copy in `users` or `feed` of a post that is not there.
    #[serde(rename_all = "camelCase")]
    OrphanedCopy { container: String, post_id: String, partition_key: String },
    /// A comment or like of a post that is not there.
    #[serde(rename_all = "camelCase")]
    OrphanedReaction { post_id: String, id: String },
    /// A post that belongs into the feed is not there, or one is there that does not belong.
    #[serde(rename_all = "camelCase")]
    Feed { post_id: String, problem: String },
    /// A user whose name is not reserved for them.
    #[serde(rename_all = "camelCase")]
    Reservation { user_id: String, username: String, problem: String },
}

/// What was looked at, and what was wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub users: u64,
    pub posts: u64,
    pub comments: u64,
    pub likes: u64,
    pub copies: u64,
    pub drifts: Vec<Drift>,
    /// What could not be read; everything else was looked at.
    #[serde(default)]
    pub unreadable: Vec<Unreadable>,
    /// How many drifts were mended; those that could not be stay in `drifts` of the next run.
    pub repaired: u64,
}

impl Report {
    /// Whether nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.drifts.is_empty() && self.unreadable.is_empty()
    }

    /// Notes what could not be read, once. Any other fault ends the verification.
    fn note_unreadable(&mut self, container: ContainerName, fault: Fault) -> Result<(), Fault> {
        if fault.kind != FaultKind::Corrupt {
            return Err(fault);
        }
        let unreadable = Unreadable::of(container, &fault);
        if !self.unreadable.contains(&unreadable) {
            self.unreadable.push(unreadable);
        }
        Ok(())
    }
}

/// Something that could not be read, as far as the store knows what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreadable {
    pub container: String,
    pub partition_key: Option<String>,
    pub id: Option<String>,
    /// The files that may be damaged.
    pub files: Vec<String>,
    pub problem: String,
}

impl Unreadable {
    fn of(container: ContainerName, fault: &Fault) -> Self {
        let damage = fault.damage().cloned().unwrap_or_default();
        let (container, key) = match damage.item {
            Some((container, partition_key, id)) => (container, Some((partition_key, id))),
            None => (container, None),
        };
        let (partition_key, id) = key.unzip();
        let files = damage.files.iter().map(|file| file.display().to_string()).collect();
        let problem = fault.to_string();
        Self { container: container.as_str().to_owned(), partition_key, id, files, problem }
    }
}

/// Waits until the read models have caught up with the writes so far.
#[async_trait]
pub trait Settle: Send + Sync {
    /// Returns when no change is pending, or after a bounded time.
    async fn settle(&self) -> Result<(), Fault>;
}

/// How far a verification has got, in changes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    pub done: u64,
}

impl Verifier {
    /// A verifier of the blog in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, settle: Arc<dyn Settle>) -> Self {
        Self { store, settle }
    }
}

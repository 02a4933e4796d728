//! Read requests of the article under one data model: runs one and records its operations in a ledger. It
//! sees the reads alone, neither the store nor the figures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::{DataModel, PageRequest, ReadModels, Session};
use onehop_store::{ChargeSource, Fault, Ledger};
use onehop_study::measurement::ModelVariant;

/// A read request of the article, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArticleRead {
    /// Q1
    User(UserId),
    /// Q2
    Post(PostId),
    /// Q3
    PostsOf(UserId, PageRequest),
    /// Q4
    Comments(PostId, PageRequest),
    /// Q5
    Likes(PostId, PageRequest),
    /// Q6
    Feed(PageRequest),
}

/// A data model and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadPath {
    pub model: DataModel,
    /// Whether a data loader batches the lookups of V1; the other models have no lookups.
    pub batched: bool,
}

impl ReadPath {
    /// All ways to read that are compared: V1 as the article has it, V1 with the data loader, V2 and V3.
    pub const ALL: [Self; 4] = [
        Self { model: DataModel::V1, batched: false },
        Self { model: DataModel::V1, batched: true },
        Self { model: DataModel::V2, batched: false },
        Self { model: DataModel::V3, batched: false },
    ];

    /// The plan as a study has it: `V1`, or `V1, data loader`.
    #[must_use]
    pub fn plan(self) -> ModelVariant {
        ModelVariant { model: format!("{:?}", self.model), batched: self.batched }
    }

    /// Runs a read request, records its operations in the ledger, and returns how long it took. An empty
    /// answer is no fault.
    ///
    /// # Errors
    /// A fault of the store; the ledger has the operations until then.
    pub async fn run(
        self,
        reads: &ReadModels,
        read: &ArticleRead,
        ledger: &Arc<Ledger>,
    ) -> Result<Duration, Fault> {
        let session = self.session(Arc::clone(ledger));
        let reads = reads.of(self.model);
        let start = Instant::now();
        match read {
            ArticleRead::User(id) => reads.user(*id, &session).await.map(drop),
            ArticleRead::Post(id) => reads.post(*id, &session).await.map(drop),
            ArticleRead::PostsOf(user, page) => reads.posts_of_user(*user, page, &session).await.map(drop),
            ArticleRead::Comments(post, page) => reads.comments(*post, page, &session).await.map(drop),
            ArticleRead::Likes(post, page) => reads.likes(*post, page, &session).await.map(drop),
            ArticleRead::Feed(page) => reads.feed(page, &session).await.map(drop),
        }?;
        Ok(start.elapsed())
    }

    fn session(self, ledger: Arc<Ledger>) -> Session {
        if self.batched { Session::new(ledger) } else { Session::unbatched(ledger) }
    }
}

/// Where the charges of a ledger come from: measured only if every one of them was.
#[must_use]
pub fn charge_source(ledger: &Ledger) -> ChargeSource {
    let is_estimated = ledger.operations().iter().any(|record| record.source == ChargeSource::Estimated);
    if is_estimated { ChargeSource::Estimated } else { ChargeSource::Measured }
}

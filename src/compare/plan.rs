//! One read request of the article, asked under one data model, with what it did written into a ledger. It sees the
//! reads alone: whose data it is, which store holds it and what is done with the figures is not its business.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::{DataModel, PageRequest, ReadModels, Session};
use onehop_store::{ChargeSource, Fault, Ledger};

/// A read request of the article, with what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
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
pub struct ReadPlan {
    pub model: DataModel,
    /// Whether a data loader batches the lookups of V1; the other models have none.
    pub batched: bool,
}

impl ReadPlan {
    /// All ways to read that are compared: V1 as the article has it, V1 with the data loader, V2 and V3.
    pub const ALL: [Self; 4] = [
        Self { model: DataModel::V1, batched: false },
        Self { model: DataModel::V1, batched: true },
        Self { model: DataModel::V2, batched: false },
        Self { model: DataModel::V3, batched: false },
    ];

    /// Asks a question, records what that takes, and says how long it took. That nothing is found is no fault.
    ///
    /// # Errors
    /// A fault of the store; the ledger has what was done until then.
    pub async fn ask(
        self,
        reads: &ReadModels,
        question: &Question,
        ledger: &Arc<Ledger>,
    ) -> Result<Duration, Fault> {
        let session = self.session(Arc::clone(ledger));
        let reads = reads.of(self.model);
        let start = Instant::now();
        match question {
            Question::User(id) => reads.user(*id, &session).await.map(drop),
            Question::Post(id) => reads.post(*id, &session).await.map(drop),
            Question::PostsOf(user, page) => reads.posts_of_user(*user, page, &session).await.map(drop),
            Question::Comments(post, page) => reads.comments(*post, page, &session).await.map(drop),
            Question::Likes(post, page) => reads.likes(*post, page, &session).await.map(drop),
            Question::Feed(page) => reads.feed(page, &session).await.map(drop),
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

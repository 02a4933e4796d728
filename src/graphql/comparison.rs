//! The store operations of a read request of the article under each data model, on the live data.

use std::sync::Arc;

use async_graphql::{Enum, ID, Result, SimpleObject};

use super::connections::PageArguments;
use super::errors::bad_input;
use super::ids::{GlobalId, InvalidId};
use super::model::DataModel;
use super::response_extensions::hundredths;
use super::scope::RequestScope;
use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::cursor::FEED;
use crate::blog::study::read_path::{self, ArticleRead, ReadPath};
use onehop_store::{FoldedOperation, Ledger};

/// A read request of the article.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ReadRequest {
    /// A user.
    Q1,
    /// A post.
    Q2,
    /// A user's posts in short form.
    Q3,
    /// A post's comments.
    Q4,
    /// A post's likes.
    Q5,
    /// The most recent posts in short form.
    Q6,
}

/// The store operations of one read.
#[derive(Debug, SimpleObject)]
pub struct ReadPlan {
    /// The data model that answered.
    model: DataModel,
    /// Whether a data loader batched the lookups. V1 appears twice: as the article runs it, and batched.
    batched: bool,
    /// The charge of the read, in request units.
    request_charge: f64,
    /// Whether the service measured the charge or a model estimated it.
    charge_source: ChargeSource,
    /// The duration of the read, in milliseconds. The reads run one after the other, so a later read may
    /// find items in memory.
    duration_ms: f64,
    /// The operations, in the order of their first occurrence.
    operations: Vec<StoreOperation>,
}

/// Identical operations of one read, folded into one row.
#[derive(Debug, SimpleObject)]
pub struct StoreOperation {
    /// The container that was asked.
    container: String,
    /// The kind of the operation.
    kind: StoreOperationKind,
    /// The number of times.
    times: u32,
    /// The number of returned items, all times together; a count returns one.
    items: u32,
    /// The number of physical partitions that one such operation touched.
    physical_partitions: u32,
    /// The charge of all of them, in request units.
    request_charge: f64,
}

/// The kind of an operation on a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "onehop_store::OperationKind")]
pub enum StoreOperationKind {
    /// One item, by partition key and id.
    PointRead,
    /// A page of items.
    Query,
    /// The number of items of a type in a logical partition.
    Count,
    /// A new item.
    Create,
    /// An item in the place of another.
    Replace,
    /// An item, over any earlier version.
    Upsert,
    /// An item less.
    Delete,
    /// Several writes in one logical partition, all or none.
    Batch,
    /// A page of the change feed: a request reads it while it waits for the writes that its position names.
    ChangeFeed,
}

/// Where a request charge comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "onehop_store::ChargeSource")]
pub enum ChargeSource {
    /// The service said so.
    Measured,
    /// A model computed it.
    Estimated,
}

impl ReadRequest {
    /// Limit of this request's operations under all plans together: a list of V1 looks up each item.
    pub(super) fn operations_max(self, items: usize) -> usize {
        let of_v1 = match self {
            Self::Q1 => 1,
            Self::Q2 => 4,
            Self::Q4 | Self::Q5 => 1 + items,
            Self::Q3 | Self::Q6 => 1 + 3 * items,
        };
        2 * of_v1 + 2
    }

    /// # Errors
    /// `BAD_USER_INPUT` for `id` or `first`.
    fn question(self, id: Option<&ID>, first: i32) -> Result<ArticleRead> {
        let page = PageArguments { first, after: None }.parse(FEED.single())?.request;
        Ok(match self {
            Self::Q1 => ArticleRead::User(user(id)?),
            Self::Q2 => ArticleRead::Post(post(id)?),
            Self::Q3 => ArticleRead::PostsOf(user(id)?, page),
            Self::Q4 => ArticleRead::Comments(post(id)?, page),
            Self::Q5 => ArticleRead::Likes(post(id)?, page),
            Self::Q6 => ArticleRead::Feed(page),
        })
    }
}

fn user(id: Option<&ID>) -> Result<UserId> {
    let id = id.ok_or_else(|| bad_input("id", "of a user is needed for Q1 and Q3"))?;
    match GlobalId::decode(id) {
        Ok(GlobalId::User(id)) => Ok(id),
        Ok(_) => Err(bad_input("id", "is not the id of a user")),
        Err(InvalidId) => Err(bad_input("id", InvalidId)),
    }
}

fn post(id: Option<&ID>) -> Result<PostId> {
    let id = id.ok_or_else(|| bad_input("id", "of a post is needed for Q2, Q4 and Q5"))?;
    match GlobalId::decode(id) {
        Ok(GlobalId::Post(id)) => Ok(id),
        Ok(_) => Err(bad_input("id", "is not the id of a post")),
        Err(InvalidId) => Err(bad_input("id", InvalidId)),
    }
}

/// Runs a read request under each data model, one after the other. The request that asks is charged for
/// all of them.
///
/// # Errors
/// `BAD_USER_INPUT` for `id` or `first`; a masked fault of the store.
pub(super) async fn compare(
    scope: &RequestScope,
    request: ReadRequest,
    id: Option<&ID>,
    first: i32,
) -> Result<Vec<ReadPlan>> {
    let question = request.question(id, first)?;
    // Its duration is part of the answer.
    scope.ledger().touch_more();
    let mut plans = Vec::with_capacity(ReadPath::ALL.len());
    for way in ReadPath::ALL {
        // Its own ledger and its own lookups: the reads of one plan do not spare another its reads.
        let ledger = Arc::new(Ledger::new().under(scope.ledger().span()));
        let duration = way.run(&scope.services().reads, &question, &ledger).await;
        scope.ledger().absorb(&ledger);
        let duration = duration.map_err(|fault| scope.fault(&fault))?;
        plans.push(ReadPlan {
            model: way.model.into(),
            batched: way.batched,
            request_charge: hundredths(ledger.total().0),
            charge_source: read_path::charge_source(&ledger).into(),
            duration_ms: duration.as_secs_f64() * 1000.0,
            operations: ledger.folded().into_iter().map(StoreOperation::from).collect(),
        });
    }
    Ok(plans)
}

impl From<FoldedOperation> for StoreOperation {
    fn from(operation: FoldedOperation) -> Self {
        let FoldedOperation { container, kind, times, items, physical_partitions, request_charge, .. } =
            operation;
        Self {
            container: container.0.to_owned(),
            kind: kind.into(),
            times,
            items,
            physical_partitions,
            request_charge: hundredths(request_charge.0),
        }
    }
}

//! Dead letters as clients of the operations API see them. The public reads neither errors nor stored bodies.

use async_graphql::{Enum, ID, Json, SimpleObject};
use onehop_change_feed::{DeadLetterItem, DeadLetterSummary};
use serde_json::Value;

use super::audience::Audience;
use super::scalars::Count;

/// The dead letters that there are.
#[derive(SimpleObject)]
pub struct DeadLetterList {
    /// Projection by projection, the oldest first.
    dead_letters: Vec<DeadLetterHead>,
    /// The number of further letters.
    unlisted: Count,
}

/// A dead letter without its items.
#[derive(SimpleObject)]
pub struct DeadLetterHead {
    /// The id, as `deadLetter` takes it.
    id: ID,
    /// The projection that could not project a change.
    projection: String,
    /// The container whose changes wait.
    container: String,
    /// The logical partition whose changes wait.
    partition_key: String,
    /// The number of waiting items: the failed item, and the items behind it.
    items: Count,
    /// The attempts at the failed item.
    attempts: u32,
    /// Why it cannot be projected. Null in a dead letter that only continues another, and in letters of
    /// earlier releases.
    cause: Option<DeadLetterCause>,
    /// Why it failed the last time. Null in a dead letter that only continues another, and on the public
    /// listener.
    error: Option<String>,
    /// When the first of the items was parked, RFC 3339.
    since: String,
}

/// The parked changes of one logical partition.
#[derive(SimpleObject)]
pub struct DeadLetter {
    /// The id.
    id: ID,
    /// The type of the stored item.
    #[graphql(name = "type")]
    item_type: String,
    /// The projection that could not project a change.
    projection: String,
    /// The container whose changes wait.
    container: String,
    /// The logical partition whose changes wait.
    partition_key: String,
    /// The place of this dead letter among the letters of the same logical partition.
    number: u32,
    /// The items that wait, in their order.
    items: Vec<DeadLetterEntry>,
    /// The sequence number of the next item that is parked here.
    next_sequence: Count,
    /// When the first item was parked, RFC 3339.
    first_parked_at: String,
    /// When the last item was parked, RFC 3339.
    last_parked_at: String,
}

/// An item whose latest version waits to be projected.
#[derive(SimpleObject)]
pub struct DeadLetterEntry {
    /// The item's id.
    id: String,
    /// Grows with each parking.
    sequence: Count,
    /// The number of attempts; 0 for a letter that waits behind another.
    attempts: u32,
    /// Why it cannot be projected. Null for a letter that waits behind another, and in letters of earlier
    /// releases.
    cause: Option<DeadLetterCause>,
    /// Why it failed the last time; null on the public listener.
    error: Option<String>,
    /// The latest version of an item with a time to live, if it is short; null on the public listener.
    expiring: Option<Json<Value>>,
}

/// Why a change cannot be projected. Faults of the store are no cause: they delay a change, and it is
/// tried again.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "onehop_change_feed::DeadLetterCause")]
pub enum DeadLetterCause {
    /// The projection returned an error.
    Projection,
    /// The projection took more steps than it may.
    StepLimit,
    /// The store refused a write for its content: an item or a batch that is too large, an invalid id.
    WriteRefused,
    /// A logical partition that the change writes to holds as much as it can.
    PartitionFull,
    /// An item that the change needs is damaged, or gone with its kept body.
    Damaged,
    /// The store does not understand a request that the projection made.
    RequestRefused,
    /// A handler gave the change up.
    Handler,
    /// A cause that a later release knows.
    Other,
}

impl DeadLetterList {
    pub(super) fn of(list: onehop_change_feed::DeadLetterList, audience: Audience) -> Self {
        let heads = list.dead_letters.into_iter().map(|letter| DeadLetterHead::of(letter, audience));
        Self { dead_letters: heads.collect(), unlisted: Count(list.unlisted) }
    }
}

impl DeadLetterHead {
    fn of(letter: DeadLetterSummary, audience: Audience) -> Self {
        let DeadLetterSummary { id, projection, container, partition_key, items, attempts, error, .. } =
            letter;
        Self {
            cause: letter.cause.map(DeadLetterCause::from),
            since: letter.since,
            id: ID(id),
            projection,
            container,
            partition_key: partition_key.as_str().to_owned(),
            items: Count(items),
            attempts,
            error: error.filter(|_| audience == Audience::Operator),
        }
    }
}

impl DeadLetter {
    pub(super) fn of(letter: DeadLetterItem, audience: Audience) -> Self {
        Self {
            id: ID(letter.id),
            item_type: letter.item_type,
            projection: letter.projection,
            container: letter.container,
            partition_key: letter.partition_key.as_str().to_owned(),
            number: letter.number,
            items: letter.items.into_iter().map(|item| DeadLetterEntry::of(item, audience)).collect(),
            next_sequence: Count(letter.next_sequence),
            first_parked_at: letter.first_parked_at,
            last_parked_at: letter.last_parked_at,
        }
    }
}

impl DeadLetterEntry {
    fn of(item: onehop_change_feed::DeadLetterEntry, audience: Audience) -> Self {
        let onehop_change_feed::DeadLetterEntry { id, sequence, attempts, cause, error, expiring, .. } = item;
        let is_operator = audience == Audience::Operator;
        Self {
            id,
            sequence: Count(sequence),
            attempts,
            cause: cause.map(DeadLetterCause::from),
            error: error.filter(|_| is_operator),
            expiring: expiring.filter(|_| is_operator).map(Json),
        }
    }
}

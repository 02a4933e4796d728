//! Batch sender: sends the batch of a post, and again after conflicts, until each intent in it has an
//! outcome.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::blog::containers::POSTS;
use crate::blog::ids::PostId;
use crate::blog::items::CommentItem;
use onehop_runtime::planted;
use onehop_store::{
    Batch, ETag, Fault, FaultKind, Ledger, PartitionKey, Rejection, Store, WriteError, WriteOp,
};

use super::batch_plan::{BatchPlacement, BatchPlan, PostSnapshot, PostState, plan};
use super::conflict_resolution::{Resolution, decide};
use super::intent::{CommandResult, PostChange, QueuedCommand};
use crate::blog::commands::names::DeletedUsers;
use crate::domain::error::{CommandError, Refusal, contended, unexpected};

/// The longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_millis(64);

/// Sends batches to posts.
pub(super) struct BatchSender {
    pub(super) store: Arc<dyn Store>,
    /// The same, with reads of the latest commit.
    pub(super) latest: Arc<dyn Store>,
    pub(super) attempts_max: u32,
    /// Whose commands are refused.
    pub(super) deleted: DeletedUsers,
}

/// The outcome of an intent.
pub(super) enum SettledCommand {
    Settled(Result<CommandResult, CommandError>),
    /// It belongs into the next batch.
    PutOff(QueuedCommand),
}

/// An intent as a batch sees it.
enum BatchSlot {
    Open(QueuedCommand),
    /// Done before; answered once the post is known.
    Done(Option<CommentItem>),
    Closed(SettledCommand),
}

/// The outcome of a batch.
enum SendOutcome {
    Written(Option<ETag>),
    /// The post has changed since it was read.
    PostChanged,
    /// An item beside the post was not as expected, or its state is unknown.
    ItemsUnclear,
}

impl BatchSender {
    /// Reads the post.
    pub(super) async fn read_post(&self, post: PostId, ledger: &Ledger) -> Result<PostState, Fault> {
        Self::read_from(&*self.store, post, ledger).await
    }

    async fn read_from(store: &dyn Store, post: PostId, ledger: &Ledger) -> Result<PostState, Fault> {
        let item = store.read(POSTS, &post.partition_key(), &post.to_string(), ledger).await?;
        PostState::of(item.as_ref())
    }

    /// Settles intents on one post; the outcomes are in their order. `state` is the knowledge of the post
    /// before and after.
    pub(super) async fn settle(
        &self,
        state: &mut PostState,
        intents: Vec<QueuedCommand>,
        ledger: &Ledger,
    ) -> Vec<SettledCommand> {
        let mut slots: Vec<BatchSlot> = intents.into_iter().map(BatchSlot::Open).collect();
        if let Err(fault) = self.settle_slots(state, &mut slots, ledger).await {
            *state = PostState::Unread;
            close_with(fault, &mut slots);
        }
        slots.into_iter().filter_map(BatchSlot::into_outcome).collect()
    }

    async fn settle_slots(
        &self,
        state: &mut PostState,
        slots: &mut [BatchSlot],
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let Some(post) = slots.iter().find_map(|slot| slot.open().map(|intent| intent.post)) else {
            return Ok(());
        };
        put_off_repeats(slots);
        self.look_again(slots, |intent| intent.outdated, ledger).await?;
        for attempt in 0..self.attempts_max {
            if attempt > 1 {
                tokio::time::sleep(backoff(attempt)).await;
            }
            if let PostState::Unread = state {
                *state = self.read_post(post, ledger).await?;
            }
            self.refuse_deleted(slots);
            let mut planned = plan(state.known(), slots.iter().filter_map(BatchSlot::open));
            if follows_a_later_edit(&planned, slots) {
                *state = Self::read_from(&*self.latest, post, ledger).await?;
                planned = plan(state.known(), slots.iter().filter_map(BatchSlot::open));
            }
            close_planned(state.known(), &planned, slots);
            let BatchPlan { operations, post: Some(next), .. } = planned else { return Ok(()) };
            match self.send(post, operations, ledger).await? {
                SendOutcome::Written(etag) => {
                    close_written(slots, &next);
                    *state = etag
                        .map_or(PostState::Unread, |etag| PostState::Known(PostSnapshot { etag, ..next }));
                    return Ok(());
                }
                SendOutcome::PostChanged => *state = PostState::Unread,
                SendOutcome::ItemsUnclear => {
                    *state = PostState::Unread;
                    self.look_again(slots, |intent| intent.change.item_id().is_some(), ledger).await?;
                }
            }
        }
        Err(contended("a post"))
    }

    /// Refuses the commands of users who deleted their accounts since the commands began.
    fn refuse_deleted(&self, slots: &mut [BatchSlot]) {
        for slot in slots {
            if slot.open().is_some_and(|intent| !intent.sent && self.deleted.contains(intent.user)) {
                *slot = BatchSlot::Closed(SettledCommand::Settled(Err(Refusal::no_such_user().into())));
            }
        }
    }

    async fn send(
        &self,
        post: PostId,
        operations: Vec<WriteOp>,
        ledger: &Ledger,
    ) -> Result<SendOutcome, Fault> {
        let partition_key = post.partition_key();
        let last = operations.len() - 1;
        if planted!("batch-in-parts") {
            let mut written = None;
            for operation in operations {
                match self.store.write(POSTS, &partition_key, operation, ledger).await {
                    Ok(etag) => written = etag,
                    Err(WriteError::Fault(fault)) => return Err(fault),
                    Err(WriteError::Rejected { .. }) => return Ok(SendOutcome::ItemsUnclear),
                }
            }
            return Ok(SendOutcome::Written(written));
        }
        let operations: Vec<WriteOp> = if planted!("post-without-if-match") {
            operations.into_iter().map(WriteOp::without_if_match).collect()
        } else {
            operations
        };
        let result = match <[WriteOp; 1]>::try_from(operations) {
            Ok([single]) => self.store.write(POSTS, &partition_key, single, ledger).await,
            Err(operations) => {
                let batch = Batch { container: POSTS, partition_key, operations };
                self.store.batch(batch, ledger).await.map(|etags| etags.into_iter().next_back().flatten())
            }
        };
        match result {
            Ok(etag) => Ok(SendOutcome::Written(etag)),
            Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous => {
                Ok(SendOutcome::ItemsUnclear)
            }
            Err(WriteError::Fault(fault)) => Err(fault),
            Err(WriteError::Rejected { operation, reason }) => match reason {
                Rejection::PreconditionFailed | Rejection::NotFound if operation == last => {
                    Ok(SendOutcome::PostChanged)
                }
                Rejection::Conflict | Rejection::NotFound | Rejection::PreconditionFailed => {
                    Ok(SendOutcome::ItemsUnclear)
                }
                other => Err(unexpected(other)),
            },
        }
    }

    /// Reads the items of open intents, all at once, and judges the intents by them.
    async fn look_again(
        &self,
        slots: &mut [BatchSlot],
        wanted: impl Fn(&QueuedCommand) -> bool,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let wanted = |slot: &BatchSlot| slot.open().filter(|intent| wanted(intent)).and_then(key_of);
        let keys: Vec<(usize, (PartitionKey, String))> =
            slots.iter().enumerate().filter_map(|(index, slot)| Some((index, wanted(slot)?))).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let (indexes, keys): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
        let items = self.store.read_many(POSTS, &keys, ledger).await?;
        for (index, item) in indexes.into_iter().zip(items) {
            let BatchSlot::Open(intent) = &slots[index] else { continue };
            slots[index] = match decide(intent.clone(), item.as_ref())? {
                Resolution::Send(intent) => BatchSlot::Open(intent),
                Resolution::Done(comment) => BatchSlot::Done(comment),
                Resolution::Refuse(refusal) => {
                    BatchSlot::Closed(SettledCommand::Settled(Err(refusal.into())))
                }
            };
        }
        Ok(())
    }
}

impl BatchSlot {
    fn open(&self) -> Option<&QueuedCommand> {
        match self {
            Self::Open(intent) => Some(intent),
            Self::Done(_) | Self::Closed(_) => None,
        }
    }

    /// Every slot is closed at the end: by an answer, by being put off, or by the fault that ended it all.
    fn into_outcome(self) -> Option<SettledCommand> {
        match self {
            Self::Closed(outcome) => Some(outcome),
            Self::Open(_) | Self::Done(_) => None,
        }
    }
}

fn key_of(intent: &QueuedCommand) -> Option<(PartitionKey, String)> {
    let id = intent.change.item_id()?;
    Some((intent.post.partition_key(), id.as_hyphenated().to_string()))
}

/// Leaves one intent for each item, the first. The others have to see its effect.
fn put_off_repeats(slots: &mut [BatchSlot]) {
    let mut items = HashSet::new();
    for slot in slots {
        let BatchSlot::Open(intent) = slot else { continue };
        if intent.change.item_id().is_some_and(|id| !items.insert(id)) {
            *slot =
                BatchSlot::Closed(SettledCommand::PutOff(QueuedCommand { outdated: true, ..intent.clone() }));
        }
    }
}

/// Whether an edit is refused that changes a later version than the known one: another process has written
/// that version, and the post was read before or from a replica that lags.
fn follows_a_later_edit(plan: &BatchPlan, slots: &[BatchSlot]) -> bool {
    let open = slots.iter().filter_map(BatchSlot::open);
    plan.places.iter().zip(open).any(|(place, intent)| match (place, &intent.change) {
        (BatchPlacement::Refused(Refusal { current_version: Some(current), .. }), PostChange::Edit(edit)) => {
            edit.if_version.is_some_and(|wanted| i64::from(wanted) > i64::from(*current))
        }
        _ => false,
    })
}

/// Answers the intents that the plan refuses or finds done, and notes the sent and the postponed ones.
fn close_planned(known: Option<&PostSnapshot>, plan: &BatchPlan, slots: &mut [BatchSlot]) {
    let mut places = plan.places.iter();
    for slot in slots {
        match slot {
            BatchSlot::Closed(_) => {}
            BatchSlot::Done(comment) => {
                let comment = comment.take();
                *slot = BatchSlot::settled(known.filter(|known| !known.post.deleted), comment);
            }
            BatchSlot::Open(intent) => match places.next() {
                Some(BatchPlacement::Included) => intent.sent = true,
                Some(BatchPlacement::Done) => *slot = BatchSlot::settled(known, None),
                Some(BatchPlacement::Refused(refusal)) => {
                    *slot = BatchSlot::Closed(SettledCommand::Settled(Err(refusal.clone().into())));
                }
                Some(BatchPlacement::PutOff) => {
                    *slot = BatchSlot::Closed(SettledCommand::PutOff(intent.clone()))
                }
                None => {}
            },
        }
    }
}

/// Answers all commands of a batch that was written.
fn close_written(slots: &mut [BatchSlot], written: &PostSnapshot) {
    for slot in slots {
        if let BatchSlot::Open(_) = slot {
            *slot = BatchSlot::settled(Some(written), None);
        }
    }
}

impl BatchSlot {
    fn settled(known: Option<&PostSnapshot>, comment: Option<CommentItem>) -> Self {
        let result = match known {
            Some(known) => Ok(CommandResult { post: Arc::clone(&known.post), comment }),
            None => Err(Refusal::post_not_found().into()),
        };
        Self::Closed(SettledCommand::Settled(result))
    }
}

/// Answers all who are left with the fault; the first gets it with its source.
fn close_with(fault: Fault, slots: &mut [BatchSlot]) {
    let (kind, retry_after, message) = (fault.kind, fault.retry_after, fault.to_string());
    let mut first = Some(fault);
    for slot in slots.iter_mut().filter(|slot| !matches!(slot, BatchSlot::Closed(_))) {
        let fault = first.take().unwrap_or_else(|| {
            let copy = Fault::new(kind, format!("in the same batch: {message}"));
            match retry_after {
                Some(delay) => copy.with_retry_after(delay),
                None => copy,
            }
        });
        *slot = BatchSlot::Closed(SettledCommand::Settled(Err(fault.into())));
    }
}

/// Without jitter: within a process commands on one post are combined, and the processes are few.
fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(1 << attempt.min(16)).min(BACKOFF_MAX)
}

//! Concurrent commands on one post share batches instead of fighting over the post's ETag.
//!
//! The first command on a post starts a leader, a task of the process. It takes the waiting commands, sends
//! them as one batch, answers them, and goes on until none of them waits. A caller that goes away takes only
//! its answer with it. A leader that panics drops the commands it held, whose callers get a fault, and the
//! post's queue with them.
//!
//! The charge of a batch is shared in equal parts by the commands it settled, so the ledgers of all commands
//! sum up to the spent units; see [`charge_split`].

mod batch_plan;
mod batch_sender;
mod charge_split;
mod conflict_resolution;
mod intent;

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::Instrument;

use crate::blog::containers::POSTS;
use crate::blog::ids::PostId;
use onehop_runtime::clock::Clock;
use onehop_runtime::planted::size;
use onehop_runtime::tasks::Tasks;
use onehop_runtime::trace_context::SpanContext;
use onehop_store::{Continuation, Fault, FaultKind, Ledger, OperationRecord, Store};

use crate::domain::error::{CommandError, Refusal};

use super::names::DeletedUsers;
use batch_plan::PostState;
use batch_sender::{BatchSender, SettledCommand};
use intent::INTENTS_MAX;
pub(super) use intent::{CommandResult, PostChange, PostEdit, QueuedCommand};

/// The limits of the commands of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Whether concurrent commands on one post share a batch. Off, each sends its own: only to be compared.
    pub combine: bool,
    /// Commands that may wait for their post, in the whole process; beyond it they are refused.
    pub waiting_max: usize,
    /// Attempts of a batch before it is given up because the post keeps changing.
    pub batch_attempts_max: u32,
    /// The wait of the first command on a post for further commands, which then share its batch.
    pub gather: Duration,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { combine: true, waiting_max: 10_000, batch_attempts_max: 16, gather: Duration::ZERO }
    }
}

impl CommandLimits {
    /// Limits where each batch has a request charge and takes milliseconds: commands that arrive together
    /// share the read and the replace of their post.
    #[must_use]
    pub fn on_account() -> Self {
        Self { gather: Duration::from_millis(2), ..Self::default() }
    }
}

/// The queues of all posts on which this process works.
pub(super) struct PostQueues {
    settler: BatchSender,
    tasks: Tasks,
    clock: Arc<dyn Clock>,
    limits: CommandLimits,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    /// A post is here as long as it has a leader.
    posts: HashMap<PostId, VecDeque<WaitingCommand>>,
    /// In all queues together.
    waiting: usize,
}

struct WaitingCommand {
    intent: QueuedCommand,
    /// Under which its ledger is traced.
    span: Option<SpanContext>,
    answer: oneshot::Sender<CommandOutcome>,
}

struct CommandOutcome {
    result: Result<CommandResult, CommandError>,
    /// This command's share of the operations of its batch.
    operations: Vec<OperationRecord>,
    /// Where the batch ends in the change feed, if the store said it.
    end: Option<Continuation>,
}

impl PostQueues {
    /// The tasks of this process.
    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(super) fn new(
        (store, latest): (Arc<dyn Store>, Arc<dyn Store>),
        (clock, tasks): (Arc<dyn Clock>, Tasks),
        limits: CommandLimits,
        deleted: DeletedUsers,
    ) -> Self {
        Self {
            settler: BatchSender { store, latest, attempts_max: limits.batch_attempts_max, deleted },
            tasks,
            clock,
            limits,
            state: Mutex::default(),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Settles one intent: a change of a post, together with the counts it moves.
    pub(super) async fn run(
        self: &Arc<Self>,
        intent: QueuedCommand,
        ledger: &Ledger,
    ) -> Result<CommandResult, CommandError> {
        if !self.limits.combine {
            return self.run_alone(intent, ledger).await;
        }
        let post = intent.post;
        let answer = self.enqueue(intent, ledger.span())?.await.map_err(|_| ended_early())?;
        for operation in answer.operations {
            ledger.record(operation);
        }
        ledger.wrote(POSTS, &post.partition_key(), answer.end);
        answer.result
    }

    async fn run_alone(&self, intent: QueuedCommand, ledger: &Ledger) -> Result<CommandResult, CommandError> {
        let outcomes = self.settler.settle(&mut PostState::Unread, vec![intent], ledger).await;
        match outcomes.into_iter().next() {
            Some(SettledCommand::Settled(result)) => result,
            // A batch of one leaves no other intent.
            Some(SettledCommand::PutOff(_)) | None => Err(ended_early().into()),
        }
    }

    fn enqueue(
        self: &Arc<Self>,
        intent: QueuedCommand,
        span: Option<SpanContext>,
    ) -> Result<oneshot::Receiver<CommandOutcome>, CommandError> {
        let (answer, receiver) = oneshot::channel();
        let mut state = self.lock();
        let waiting_max = self.limits.waiting_max;
        if state.waiting >= waiting_max {
            let message = format!("{waiting_max} commands are waiting already, the most there may be");
            return Err(Refusal::limit_exceeded(message).into());
        }
        state.waiting += 1;
        let post = intent.post;
        let leads = !state.posts.contains_key(&post);
        state.posts.entry(post).or_default().push_back(WaitingCommand { intent, span, answer });
        drop(state);
        if leads {
            self.tasks.spawn("post-batches", Arc::clone(self).lead(post).in_current_span());
        }
        Ok(receiver)
    }

    async fn lead(self: Arc<Self>, post: PostId) -> Result<(), Infallible> {
        let mut leadership = Leadership { queues: &self, post, ended: false };
        let mut state = PostState::Unread;
        let mut put_off: Vec<WaitingCommand> = Vec::new();
        let gather = self.limits.gather;
        if !gather.is_zero() {
            self.clock.sleep(gather).await;
        }
        loop {
            let ledger = Ledger::new().under(self.first_span(post, &put_off));
            // Read before the queue is emptied: commands that come meanwhile are in this batch.
            if let PostState::Unread = state
                && let Ok(read) = self.settler.read_post(post, &ledger).await
            {
                state = read;
            }
            // Those answered just now may have more to do: let them, before the next batch leaves half empty.
            onehop_runtime::tasks::yield_now().await;
            if !self.take(post, &mut put_off) {
                leadership.ended = true;
                return Ok(());
            }
            put_off = self.settle_together(&mut state, std::mem::take(&mut put_off), &ledger).await;
        }
    }

    /// A batch stands in the trace of the first command that it is for.
    fn first_span(&self, post: PostId, put_off: &[WaitingCommand]) -> Option<SpanContext> {
        match put_off.first() {
            Some(first) => first.span,
            None => self.lock().posts.get(&post)?.front()?.span,
        }
    }

    /// Fills up the postponed commands from the queue. Where there is nothing at all, the queue ends, and
    /// answers `false`.
    fn take(&self, post: PostId, taken: &mut Vec<WaitingCommand>) -> bool {
        let mut state = self.lock();
        let Some(queue) = state.posts.get_mut(&post) else { return !taken.is_empty() };
        let count = queue.len().min(size(INTENTS_MAX, 3).saturating_sub(taken.len()));
        taken.extend(queue.drain(..count));
        state.waiting -= count;
        if taken.is_empty() {
            state.posts.remove(&post);
        }
        !taken.is_empty()
    }

    /// Settles these commands, answers them, and returns the commands that have to wait for the next batch.
    async fn settle_together(
        &self,
        state: &mut PostState,
        taken: Vec<WaitingCommand>,
        ledger: &Ledger,
    ) -> Vec<WaitingCommand> {
        let post = taken.first().map(|waiting| waiting.intent.post);
        let (intents, callers): (Vec<_>, Vec<_>) =
            taken.into_iter().map(|WaitingCommand { intent, span, answer }| (intent, (span, answer))).unzip();
        let outcomes = self.settler.settle(state, intents, ledger).await;
        let settled = outcomes.iter().filter(|outcome| matches!(outcome, SettledCommand::Settled(_))).count();
        let mut shares = charge_split::share(&ledger.operations(), settled).into_iter();
        let end = post.and_then(|post| ledger.write_end(POSTS, &post.partition_key()));
        let mut put_off = Vec::new();
        for (outcome, (span, answer)) in outcomes.into_iter().zip(callers) {
            match outcome {
                SettledCommand::PutOff(intent) => put_off.push(WaitingCommand { intent, span, answer }),
                SettledCommand::Settled(result) => {
                    let operations = shares.next().unwrap_or_default();
                    // A caller that no longer waits for the answer has hung up.
                    let _ = answer.send(CommandOutcome { result, operations, end: end.clone() });
                }
            }
        }
        put_off
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

/// Ends the queue of a post whose leader did not come to its end.
struct Leadership<'a> {
    queues: &'a PostQueues,
    post: PostId,
    ended: bool,
}

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = self.queues.lock();
        if let Some(dropped) = state.posts.remove(&self.post) {
            state.waiting -= dropped.len();
        }
    }
}

fn ended_early() -> Fault {
    Fault::new(FaultKind::Ambiguous, "the batch of a command ended early")
}

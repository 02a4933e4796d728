//! Live events: the messages that are added from now on, once each. Renames announce none of them again.

use std::sync::Arc;

use onehop_change_feed::{CreatedTail, CreatedTailSettings, TailSource};
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, Ledger, Store};

use crate::desk::TICKETS;
use crate::items::Message;

/// The reader of new messages. Each process has its own, without leases.
pub struct LiveMessages(CreatedTail);

impl LiveMessages {
    pub(crate) async fn open(store: Arc<dyn Store>, clock: &dyn Clock) -> Result<Self, Fault> {
        let source = TailSource { container: TICKETS, types: Some(&["message"]) };
        let settings = CreatedTailSettings::dated_by("createdAt");
        CreatedTail::open(store, source, settings, clock, &Ledger::new()).await.map(Self)
    }

    /// The next messages, at least one; waits for them.
    pub async fn next(&mut self) -> Result<Vec<Message>, Fault> {
        self.0.next().await.iter().map(|change| change.item.decode()).collect()
    }
}

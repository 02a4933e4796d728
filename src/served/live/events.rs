//! Events of items, and the parts that their readers need from outside.

use std::sync::Arc;

use futures::stream::BoxStream;
use onehop_change_feed::{TailSettings, WriteWatches};
use onehop_model::Event;
use onehop_runtime::tasks::Tasks;
use onehop_store::{Fault, Store};

use crate::served::model::ServedModel;
use crate::served::reads::ServedItem;

/// An event of a list or an item.
#[derive(Debug, Clone)]
pub struct ItemEvent {
    /// Its kind.
    pub kind: Event,
    /// The item; its last known version where it has left.
    pub item: ServedItem,
}

/// The listener did not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more was written than could be handed out")]
pub struct EventsOverrun;

/// A failure that ends a stream of events.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// The listener did not keep up.
    #[error(transparent)]
    Overrun(#[from] EventsOverrun),
    /// A fault of the store.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The events of one listener. It ends when the item is gone, or the process stops.
pub type ItemEvents = BoxStream<'static, Result<ItemEvent, EventsError>>;

/// The parts that events need from outside.
pub struct ServedLiveParts {
    /// A view of the store that sees commits of other processes.
    pub store: Arc<dyn Store>,
    /// The model.
    pub model: Arc<ServedModel>,
    /// The writes of all processes.
    pub watches: Arc<WriteWatches>,
    /// The readers of the change feeds are tasks of the process.
    pub tasks: Tasks,
    /// The settings of these readers.
    pub tail: TailSettings,
}

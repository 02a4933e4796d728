//! News of the blog as it is written, by any process: changed and removed posts of the feed, changes and
//! deletion of a post, and its added and deleted comments.
//!
//! Each container of interest is followed by one reader (`source`), which hears every change once and hands
//! it as one event to all who asked for its topic. A `memory` for each topic separates news from repeats.
//! Nothing is read without a listener. It knows neither GraphQL nor connections.

mod changes;
mod deduplication;
mod events;
mod inbox;
mod parts;
mod source;
mod topic;

use std::sync::Arc;

pub use changes::PostChanges;
pub use events::{BlogEvent, PostEvent};
pub use inbox::ListenerOverrun;
pub use parts::{LiveParts, LiveSettings};
use source::ContainerTail;
pub use source::EventReceiver;
pub use topic::LiveTopic;

use super::containers::{FEED, POSTS};
use super::items::types;
use onehop_change_feed::TailSource;
use onehop_store::{Fault, Ledger};

/// The news of the blog. Clones share the readers.
#[derive(Clone)]
pub struct LiveEvents {
    feed: Arc<ContainerTail>,
    posts: Arc<ContainerTail>,
}

impl LiveEvents {
    /// News from this store. Nothing is read yet.
    #[must_use]
    pub fn new(parts: LiveParts) -> Self {
        let parts = Arc::new(parts);
        let source = |container, types| {
            ContainerTail::new(Arc::clone(&parts), TailSource { container, types: Some(types) })
        };
        Self { feed: source(FEED, &[types::POST]), posts: source(POSTS, &[types::POST, types::COMMENT]) }
    }

    /// Listens to a topic: everything that is written after this returns is heard. `None` when there is no
    /// such post, or none any more. The ledger has the reads of the beginning.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn listen(&self, topic: LiveTopic, ledger: &Ledger) -> Result<Option<EventReceiver>, Fault> {
        match topic {
            LiveTopic::Feed => self.feed.listen(topic, ledger).await,
            LiveTopic::Post(_) | LiveTopic::Comments(_) => self.posts.listen(topic, ledger).await,
        }
    }

    /// The number of containers that are followed at this moment.
    #[must_use]
    pub fn sources_running(&self) -> usize {
        [&self.feed, &self.posts].into_iter().filter(|source| source.is_running()).count()
    }
}

impl std::fmt::Debug for LiveEvents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Live").field("sources_running", &self.sources_running()).finish()
    }
}

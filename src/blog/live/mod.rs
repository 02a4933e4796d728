//! News of the blog as it is written, by whichever process: posts of the feed that changed or left it, a post that changed
//! or was deleted, comments that were added to a post or deleted.
//!
//! Each container of interest is followed by one reader (`source`), which hears every change once and hands it as one
//! event to all who asked for its topic. What was heard before is told from what is new by a `memory` for each topic.
//! Nothing is read without a listener. It knows neither GraphQL nor connections.

mod changes;
mod deduplication;
mod events;
mod source;

use std::sync::Arc;

pub use changes::PostChanges;
pub use events::{Event, Events, Overrun, PostEvent};
use source::Source;

use super::containers::{FEED, POSTS};
use super::ids::PostId;
use super::items::types;
use onehop_change_feed::{TailSettings, TailSource};
use onehop_runtime::clock::Clock;
use onehop_runtime::tasks::Tasks;
use onehop_store::{Fault, Ledger, Store};

/// What one listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Posts that enter the feed, change in it, or leave it.
    Feed,
    /// A post, until it is deleted.
    Post(PostId),
    /// The comments that are added to a post and deleted from it, until the post is deleted.
    Comments(PostId),
}

/// What news need from outside.
pub struct LiveParts {
    /// A view of the store that sees what other processes have committed.
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    /// The readers of the change feeds are tasks of the process.
    pub tasks: Tasks,
    pub settings: LiveSettings,
}

/// How news are read and handed out.
#[derive(Debug, Clone, Copy)]
pub struct LiveSettings {
    pub tail: TailSettings,
    /// Events that wait for one listener, those of a post counted once. Nobody waits for a listener that is further behind:
    /// it loses what it listens to.
    pub inbox_events_max: usize,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self { tail: TailSettings::default(), inbox_events_max: 1024 }
    }
}

/// The news of the blog. Clones share the readers.
#[derive(Clone)]
pub struct Live {
    feed: Arc<Source>,
    posts: Arc<Source>,
}

impl Live {
    /// News from this store. Nothing is read yet.
    #[must_use]
    pub fn new(parts: LiveParts) -> Self {
        let parts = Arc::new(parts);
        let source =
            |container, types| Source::new(Arc::clone(&parts), TailSource { container, types: Some(types) });
        Self { feed: source(FEED, &[types::POST]), posts: source(POSTS, &[types::POST, types::COMMENT]) }
    }

    /// Listens to a topic: everything that is written after this returns is heard. `None` when there is no such post, or
    /// none any more. The ledger has what was read to begin.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn listen(&self, topic: Topic, ledger: &Ledger) -> Result<Option<Events>, Fault> {
        match topic {
            Topic::Feed => self.feed.listen(topic, ledger).await,
            Topic::Post(_) | Topic::Comments(_) => self.posts.listen(topic, ledger).await,
        }
    }

    /// How many containers are followed at this moment.
    #[must_use]
    pub fn sources_running(&self) -> usize {
        [&self.feed, &self.posts].into_iter().filter(|source| source.is_running()).count()
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Live").field("sources_running", &self.sources_running()).finish()
    }
}

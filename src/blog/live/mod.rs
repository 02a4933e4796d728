//! News of the blog as it is written, by whichever process: posts of the feed that changed, a post that changed, comments
//! that were added to a post.
//!
//! Each container of interest is followed by one reader (`source`), which hears every change once and hands it as one
//! event to all who asked for its topic. What was heard before is told from what is new by a `memory` for each topic.
//! Nothing is read while nobody listens. It knows neither GraphQL nor connections.

mod events;
mod memory;
mod source;

use std::sync::Arc;
use std::time::Duration;

pub use events::{Event, Events, Overrun};
use source::Source;

use super::containers::{FEED, POSTS};
use super::ids::PostId;
use super::items::types;
use crate::changefeed::{TailSettings, TailSource};
use crate::lifecycle::Tasks;
use crate::store::{Clock, Fault, Store};

/// What one listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Posts that enter the feed, or change in it.
    Feed,
    /// A post, until it is deleted.
    Post(PostId),
    /// The comments that are added to a post, until it is deleted.
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
    /// Events that wait for one listener.
    pub inbox_events_max: usize,
    /// How long everybody waits for a listener whose inbox is full, before it loses what it listens to.
    pub inbox_wait_max: Duration,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self { tail: TailSettings::default(), inbox_events_max: 64, inbox_wait_max: Duration::from_secs(5) }
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
    /// none any more.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn listen(&self, topic: Topic) -> Result<Option<Events>, Fault> {
        match topic {
            Topic::Feed => self.feed.listen(topic).await,
            Topic::Post(_) | Topic::Comments(_) => self.posts.listen(topic).await,
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

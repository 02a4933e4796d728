//! The parts and settings of live events that their readers need from outside.

use std::sync::Arc;

use onehop_change_feed::TailSettings;
use onehop_runtime::clock::Clock;
use onehop_runtime::tasks::Tasks;
use onehop_store::Store;

/// The parts that news need from outside.
pub struct LiveParts {
    /// A view of the store that sees commits of other processes.
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    /// The readers of the change feeds are tasks of the process.
    pub tasks: Tasks,
    pub settings: LiveSettings,
}

/// The settings of reading and handing out news.
#[derive(Debug, Clone, Copy)]
pub struct LiveSettings {
    pub tail: TailSettings,
    /// Events that wait for one listener, with events of a post counted once. A listener that is further
    /// behind is not waited for: it loses its topic.
    pub inbox_events_max: usize,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self { tail: TailSettings::default(), inbox_events_max: 1024 }
    }
}

//! The parts and settings of live events: what their readers need from outside.

use std::sync::Arc;

use onehop_change_feed::TailSettings;
use onehop_runtime::clock::Clock;
use onehop_runtime::tasks::Tasks;
use onehop_store::Store;

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

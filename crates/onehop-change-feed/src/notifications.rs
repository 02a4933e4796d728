//! Notifications: a processor instance reports leases that it acquires or releases, and failures.

use std::fmt;
use std::sync::Arc;

use onehop_store::{ContainerName, FeedRange};

/// Something that happened to a lease of this instance.
#[derive(Debug, Clone, Copy)]
pub struct Notification<'a> {
    /// The source container.
    pub container: ContainerName,
    /// The feed range.
    pub range: &'a FeedRange,
    /// The event.
    pub event: LeaseEvent<'a>,
}

/// An event of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseEvent<'a> {
    /// This instance reads the range from now on.
    Acquired,
    /// It does not any more: the lease was released, lost or divided.
    Released,
    /// A page failed; it is tried again.
    Failed(&'a str),
}

/// The receiver of notifications. It is called where they happen, and must not wait.
#[derive(Clone, Default)]
pub struct Notifications(Option<Arc<Receiver>>);

type Receiver = dyn Fn(Notification<'_>) + Send + Sync;

impl Notifications {
    /// Notifications go to this function.
    #[must_use]
    pub fn to(receiver: impl Fn(Notification<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    pub(super) fn send(&self, container: ContainerName, range: &FeedRange, event: LeaseEvent<'_>) {
        if let Some(receiver) = &self.0 {
            receiver(Notification { container, range, event });
        }
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Notifications(..)" } else { "Notifications" })
    }
}

//! GraphQL on connections that stay open: over WebSocket (`graphql-transport-ws`) and over server-sent
//! events.
//!
//! Both take any operation, through the checks of a POST. Equal subscriptions share one execution, which is a
//! `group`; `permits` says how much of all this there may be. A WebSocket is taken over in `websocket`, read
//! and written by a `socket` and served by a `session`, which speaks in `messages`; `event_stream` is the
//! other transport. Knows nothing of the meaning of fields.

mod bounded_reader;
mod caller_shares;
mod event_errors;
mod event_stream;
mod keep_alive;
mod limits;
pub(crate) mod live_query;
mod messages;
mod operations;
mod pending_results;
mod permits;
mod shared_subscription;
mod slow_subscriber_budget;
mod socket;
mod subscription_quota;
mod subscription_sharing;
mod websocket;
mod websocket_session;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use self::limits::LiveLimits;
pub use self::permits::LiveLoad;
use self::permits::Permits;
pub use self::socket::read_client;
use self::subscription_sharing::SubscriptionSharing;
pub(crate) use self::websocket::is_websocket;
use super::endpoint::GraphqlEndpoint;
use onehop_runtime::tasks::Tasks;

/// The GraphQL endpoint for connections that stay open.
pub struct LiveEndpoint {
    graphql: Arc<GraphqlEndpoint>,
    groups: Arc<SubscriptionSharing>,
    permits: Arc<Permits>,
    limits: LiveLimits,
    tasks: Tasks,
    stop: CancellationToken,
}

impl LiveEndpoint {
    /// An endpoint beside that for requests. Sessions and shared executions are tasks of the process, and its
    /// stop ends them in an orderly way.
    #[must_use]
    pub fn new(graphql: Arc<GraphqlEndpoint>, limits: LiveLimits, load: Arc<LiveLoad>, tasks: Tasks) -> Self {
        Self {
            groups: Arc::new(SubscriptionSharing::new(Arc::clone(&graphql), limits, tasks.clone())),
            graphql,
            permits: Arc::new(Permits::new(limits, load)),
            limits,
            stop: tasks.soft_stop(),
            tasks,
        }
    }
}

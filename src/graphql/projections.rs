//! Where each change feed projection stands, as clients see it.

use async_graphql::SimpleObject;
use async_trait::async_trait;

use crate::store::Fault;

/// Who knows where the projections stand.
#[async_trait]
pub trait ProjectionStatuses: Send + Sync + 'static {
    /// One status for each projection, in a stable order.
    async fn statuses(&self) -> Result<Vec<ProjectionStatus>, Fault>;
}

/// Where a change feed projection stands.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
pub struct ProjectionStatus {
    /// The projection's name.
    pub name: String,
    /// Changes written and not yet projected.
    pub pending_changes: u32,
    /// How old the oldest of these changes is, in milliseconds; 0 without any.
    pub lag_ms: f64,
    /// Changes that could not be projected and are parked, together with those behind them.
    pub dead_letters: u32,
}

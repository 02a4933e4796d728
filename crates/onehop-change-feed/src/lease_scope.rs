//! Lease scope: the purpose of the leases of one source container.

use std::sync::Arc;

use super::context::ProcessorContext;
use onehop_store::ContainerName;

pub(super) struct LeaseScope {
    pub(super) context: Arc<ProcessorContext>,
    /// The source container.
    pub(super) container: ContainerName,
    /// The names of the projections that follow it.
    pub(super) projections: Vec<String>,
    /// The projections that need not see the changes before a checkpoint.
    pub(super) without_history: Vec<String>,
}

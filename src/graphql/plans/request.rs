//! The request that a plan answers: its source of reads, its caller, and its variables.

use async_graphql::Variables;

use crate::blog::ids::UserId;
use crate::blog::reads::{Session, StoredReads};
use crate::webstore::ids::CustomerId;
use crate::webstore::reads::StoredWebstoreReads;
use onehop_graphql_server::response_budget::ResponseBudget;

/// The context of a plan.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct PlanRequest<'a> {
    pub(in crate::graphql) blog: &'a StoredReads,
    pub(in crate::graphql) webstore: &'a StoredWebstoreReads,
    pub(in crate::graphql) session: &'a Session,
    pub(in crate::graphql) caller: PlanCaller,
    /// Whether the caller is a member of staff.
    pub(in crate::graphql) is_staff: bool,
    pub(in crate::graphql) variables: &'a Variables,
    pub(in crate::graphql) budget: &'a ResponseBudget,
}

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graphql) enum PlanCaller {
    Anonymous,
    User(UserId),
    Customer(CustomerId),
}

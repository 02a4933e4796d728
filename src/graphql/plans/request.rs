//! The request that a plan answers: its sources of reads, its caller, and its variables.

use async_graphql::Variables;
use uuid::Uuid;

use super::schema::{PlannedDomain, PlannedSchema, PlannedType};
use crate::served::{HeldClaims, Requester, ServedReads};
use onehop_graphql_server::response_budget::ResponseBudget;
use onehop_store::Ledger;

/// The context of a plan.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct PlanRequest<'a> {
    pub(in crate::graphql) schema: &'a PlannedSchema,
    pub(in crate::graphql) domains: &'a [PlannedDomain],
    /// Whether reads have to see commits of other processes.
    pub(in crate::graphql) is_recent: bool,
    pub(in crate::graphql) caller: PlanCaller,
    pub(in crate::graphql) ledger: &'a Ledger,
    pub(in crate::graphql) variables: &'a Variables,
    pub(in crate::graphql) budget: &'a ResponseBudget,
}

/// The sender of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::graphql) struct PlanCaller {
    /// The account, and the model whose account type it is of.
    pub(in crate::graphql) account: Option<(usize, Uuid)>,
    /// Whether the account is a member of staff.
    pub(in crate::graphql) is_staff: bool,
    /// The claims of its access token.
    pub(in crate::graphql) claims: HeldClaims,
}

impl PlanCaller {
    /// The caller as one model knows accounts: an account of another model is none of it.
    pub(super) fn in_model(self, model: usize) -> Requester {
        let account = self.account.filter(|(of, _)| *of == model);
        Requester { account: account.map(|(_, id)| id), is_staff: self.is_staff, claims: self.claims }
    }
}

impl PlanRequest<'_> {
    /// The reads of the model of a type.
    pub(super) fn reads(&self, of: PlannedType) -> Option<&ServedReads> {
        let domain = self.domains.get(of.model)?;
        Some(if self.is_recent { &domain.recent_reads } else { &domain.reads })
    }
}

//! Authorisation of staff: who may change the catalogue and see all customers.

use std::sync::Arc;

use async_graphql::Result;

use crate::blog::reads::{DataModel, Session};
use crate::graphql::errors::{Code, error};
use crate::graphql::scope::RequestScope;
use crate::webstore::staff::StaffMember;
use onehop_store::Ledger;

/// The member of staff who sends the request. What finding out is charged counts for the caller's quota, and is no part of what the
/// response was charged.
///
/// # Errors
/// `UNAUTHENTICATED` for an anonymous caller, `FORBIDDEN` for all others who are not staff.
pub(super) async fn member(scope: &RequestScope) -> Result<StaffMember> {
    if scope.customer().is_some() {
        return Err(forbidden());
    }
    let user_id = scope.signed_in()?;
    let staff = &scope.services().webstore.staff;
    if staff.is_empty() {
        return Err(forbidden());
    }
    let session = Session::new(Arc::new(Ledger::new().under(scope.ledger().span())));
    let user = scope.reads(DataModel::V3).user(user_id, &session).await;
    scope.follow_up().add(session.ledger().total());
    let user = user.map_err(|fault| scope.fault(&fault))?;
    user.and_then(|user| staff.member(&user.username)).ok_or_else(forbidden)
}

fn forbidden() -> async_graphql::Error {
    error(Code::Forbidden, "Only staff may do this.")
}

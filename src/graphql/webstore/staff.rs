//! Authorisation of staff: who may change the catalogue and see all customers.

use std::sync::Arc;

use async_graphql::Result;

use crate::blog::reads::{DataModel, Session};
use crate::graphql::errors::{Code, error};
use crate::graphql::scope::RequestScope;
use crate::webstore::staff::StaffMember;
use onehop_store::Ledger;

/// The member of staff who sends the request.
///
/// # Errors
/// `UNAUTHENTICATED` for an anonymous caller, `FORBIDDEN` for all others who are not staff. A masked fault of the store.
pub(super) async fn member(scope: &RequestScope) -> Result<StaffMember> {
    if scope.customer().is_none() {
        scope.signed_in()?;
    }
    find(scope).await?.ok_or_else(|| error(Code::Forbidden, "Only staff may do this."))
}

/// Whether a member of staff sends the request; found out once for each request.
///
/// # Errors
/// A masked fault of the store.
pub(super) async fn viewer_is_staff(scope: &RequestScope) -> Result<bool> {
    let find = async || Ok(find(scope).await?.is_some());
    scope.viewer_is_staff().get_or_try_init(find).await.copied()
}

/// The member of staff; `None` for all others. What finding out is charged counts for the caller's quota, and is no part of what the
/// response was charged.
async fn find(scope: &RequestScope) -> Result<Option<StaffMember>> {
    let staff = &scope.services().webstore.staff;
    let Some(user_id) = scope.viewer().filter(|_| !staff.is_empty()) else {
        return Ok(None);
    };
    let session = Session::new(Arc::new(Ledger::new().under(scope.ledger().span())));
    let user = scope.reads(DataModel::V3).user(user_id, &session).await;
    scope.follow_up().add(session.ledger().total());
    let user = user.map_err(|fault| scope.fault(&fault))?;
    Ok(user.and_then(|user| staff.member(&user.username)))
}

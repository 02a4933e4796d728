//! Authorisation of staff: who may change the catalogue, see all customers, and moderate the blog. The
//! subject of the access token and the settings decide; nothing is read. So an answer depends on no item
//! beside the shown ones, and no fault of the store changes the rights.

use async_graphql::Result;

use super::errors::{Code, error};
use super::scope::RequestScope;
use crate::accounts::staff::StaffMember;
use crate::webstore::ids::CustomerId;

/// The member of staff who sends the request.
///
/// # Errors
/// `UNAUTHENTICATED` for an anonymous caller, `FORBIDDEN` for all others who are not staff.
pub(in crate::graphql) fn member(scope: &RequestScope) -> Result<StaffMember> {
    let forbidden = || error(Code::Forbidden, "Only staff may do this.");
    if scope.customer().is_some() {
        return Err(forbidden());
    }
    let user = scope.signed_in()?;
    scope.services().staff.member(user.0).ok_or_else(forbidden)
}

/// Whether a member of staff sends the request.
pub(in crate::graphql) fn viewer_is_staff(scope: &RequestScope) -> bool {
    member(scope).is_ok()
}

/// Whether the caller may see a customer's data: the customer, and staff.
pub(in crate::graphql) fn may_see(scope: &RequestScope, customer: CustomerId) -> bool {
    scope.customer() == Some(customer) || member(scope).is_ok()
}

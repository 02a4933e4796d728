//! Authorisation of staff: who may change the catalogue and see all customers. The subject of the access
//! token and the settings decide; nothing is read. So an answer depends on no item beside the shown ones, and
//! no fault of the store changes the rights.

use async_graphql::Result;

use crate::graphql::errors::{Code, error};
use crate::graphql::scope::RequestScope;
use crate::webstore::ids::CustomerId;
use crate::webstore::staff::StaffMember;

/// The member of staff who sends the request.
///
/// # Errors
/// `UNAUTHENTICATED` for an anonymous caller, `FORBIDDEN` for all others who are not staff.
pub(super) fn member(scope: &RequestScope) -> Result<StaffMember> {
    let forbidden = || error(Code::Forbidden, "Only staff may do this.");
    if scope.customer().is_some() {
        return Err(forbidden());
    }
    let user = scope.signed_in()?;
    scope.services().webstore.staff.member(user.0).ok_or_else(forbidden)
}

/// Whether a member of staff sends the request.
pub(super) fn viewer_is_staff(scope: &RequestScope) -> bool {
    member(scope).is_ok()
}

/// Whether the caller may see a customer's data: the customer, and staff.
pub(super) fn may_see(scope: &RequestScope, customer: CustomerId) -> bool {
    scope.customer() == Some(customer) || member(scope).is_ok()
}

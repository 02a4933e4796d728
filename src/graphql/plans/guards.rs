//! Guards: the conditions of a model's authorization rules on the caller, as the general executor decides
//! them. A plan answers callers with a grant; the general executor refuses all others.

use uuid::Uuid;

use super::plan::{Guard, PlaceGuard, PlaceOwner, Right, RightOwner};
use super::request::PlanCaller;
use super::unplanned::Unplanned;
use crate::domain::stored_json::StoredMembers;
use crate::served::{Decision, ItemPlace};

/// # Errors
/// The caller has no grant on the item, or other reads decide about it.
pub(super) fn is_admitted(
    guard: &Guard,
    caller: PlanCaller,
    members: &StoredMembers<'_>,
) -> Result<(), Unplanned> {
    let requester = caller.in_model(guard.model);
    match requester.decide_without_item(&guard.grants) {
        Some(Decision::Allowed) => return Ok(()),
        Some(_) => return Err(Unplanned),
        None => {}
    }
    for owner in &guard.owners {
        let owner = members.uuid(owner.ok_or(Unplanned)?);
        if owner.is_some() && owner == requester.account {
            return Ok(());
        }
    }
    Err(Unplanned)
}

/// # Errors
/// No item of a list is for the caller, whatever the items are.
pub(super) fn is_list_admitted(guard: Option<&Guard>, caller: PlanCaller) -> Result<(), Unplanned> {
    let Some(guard) = guard else { return Ok(()) };
    match caller.in_model(guard.model).decide_without_item(&guard.grants) {
        Some(Decision::Allowed) | None => Ok(()),
        Some(_) => Err(Unplanned),
    }
}

/// Whether the caller has a grant on the item of a place.
///
/// # Errors
/// The caller has an account of another model, which may be one of staff.
pub(super) fn is_admitted_by_place(
    guard: &PlaceGuard,
    caller: PlanCaller,
    model: usize,
    place: &ItemPlace,
) -> Result<bool, Unplanned> {
    let Some((of, account)) = caller.account else { return Ok(guard.grants.public) };
    if of != model {
        return Err(Unplanned);
    }
    let is_owner = |owner: &PlaceOwner| {
        let id = match owner {
            PlaceOwner::Id => place.id.as_str(),
            PlaceOwner::Partition => place.partition.as_str(),
        };
        Uuid::try_parse(id) == Ok(account)
    };
    Ok(guard.grants.public || guard.grants.signed_in || guard.owners.iter().any(is_owner))
}

/// Whether the caller has a right on an object.
///
/// # Errors
/// The id of an owner is not as a plan expects it.
pub(super) fn has_right(
    right: &Right,
    caller: PlanCaller,
    members: &StoredMembers<'_>,
    outer: Option<&StoredMembers<'_>>,
) -> Result<bool, Unplanned> {
    if right.until.iter().any(|until| members.value(*until).is_some()) {
        return Ok(false);
    }
    let requester = caller.in_model(right.model);
    if requester.is_staff && (right.or_staff || right.grants.staff) || right.grants.public {
        return Ok(true);
    }
    let Some(account) = requester.account else { return Ok(false) };
    if right.grants.signed_in {
        return Ok(true);
    }
    for owner in &right.owners {
        let owner = match owner {
            RightOwner::Own(slot) => members.uuid(*slot),
            RightOwner::Outer(slot) => outer.and_then(|outer| outer.uuid(*slot)),
        };
        if owner.ok_or(Unplanned)? == account {
            return Ok(true);
        }
    }
    Ok(false)
}

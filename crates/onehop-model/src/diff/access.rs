//! Comparison of callers: fewer callers break requests, more do not.

use super::effects::{Effects, Severity};
use crate::value::Grants;

/// Whether every caller of the old rule is a caller of the new one.
fn admits_all(old: &Grants, new: &Grants) -> bool {
    let public = new.public;
    let signed_in = public || new.signed_in;
    (public || !old.public)
        && (signed_in || !old.signed_in)
        && (signed_in || new.staff || !old.staff)
        && (signed_in || old.owner.iter().all(|owner| new.owner.contains(owner)))
        && (signed_in || old.claims.iter().all(|claim| new.claims.contains(claim)))
}

/// Compares the callers of one action at a place.
pub(super) fn compare_grants(effects: &mut Effects, place: &str, action: &str, old: &Grants, new: &Grants) {
    if old == new {
        return;
    }
    if admits_all(old, new) {
        effects.add(Severity::None, place, format!("More callers may {action}."));
    } else {
        effects.add(Severity::Breaking, place, format!("Some callers may no longer {action}."));
    }
}

/// Compares rules that replace the rules of the item where they exist.
pub(super) fn compare_optional(
    effects: &mut Effects,
    place: &str,
    action: &str,
    old: Option<&Grants>,
    new: Option<&Grants>,
    of_items: (&Grants, &Grants),
) {
    compare_grants(effects, place, action, old.unwrap_or(of_items.0), new.unwrap_or(of_items.1));
}

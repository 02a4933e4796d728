//! Authorization of served items: whether a caller has one of the grants of a model.

use onehop_model::{Field, FieldKind, FieldPath, Grants};
use onehop_store::{Fault, Ledger};
use serde_json::Value;
use uuid::Uuid;

use super::claims::HeldClaims;
use super::model::{Body, TypeIndex};
use super::reads::ServedReads;
use super::references::target_place;

/// The references of the longest path to an owner.
const OWNER_PATH_MAX: usize = 8;

/// The caller of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requester {
    /// The signed-in account.
    pub account: Option<Uuid>,
    /// Whether the account is a member of staff.
    pub is_staff: bool,
    /// The claims of the access token by which the model grants rights.
    pub claims: HeldClaims,
}

/// A decision about a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// A grant holds.
    Allowed,
    /// No grant holds, and the caller is anonymous.
    SignInFirst,
    /// No grant holds.
    Forbidden,
}

impl Requester {
    /// The grants that need no item; `None` where the owner decides.
    #[must_use]
    pub fn decide_without_item(&self, grants: &Grants) -> Option<Decision> {
        let is_granted = grants.public
            || (grants.signed_in && self.account.is_some())
            || (grants.staff && self.is_staff)
            || self.claims.has_any(&grants.claims);
        if is_granted {
            return Some(Decision::Allowed);
        }
        match self.account {
            None => Some(Decision::SignInFirst),
            Some(_) if grants.owner.is_empty() => Some(Decision::Forbidden),
            Some(_) => None,
        }
    }

    /// Whether the caller has a grant on an item.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn decide(
        &self,
        reads: &ServedReads,
        grants: &Grants,
        (ty, body): (TypeIndex, &Body),
        ledger: &Ledger,
    ) -> Result<Decision, Fault> {
        if let Some(decision) = self.decide_without_item(grants) {
            return Ok(decision);
        }
        for path in &grants.owner {
            if self.is_at(reads, path, (ty, body), ledger).await? {
                return Ok(Decision::Allowed);
            }
        }
        Ok(Decision::Forbidden)
    }

    /// Whether the account at the end of a path is the caller.
    async fn is_at(
        &self,
        reads: &ServedReads,
        path: &FieldPath,
        (mut ty, body): (TypeIndex, &Body),
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let Some(account) = self.account else { return Ok(false) };
        let mut body = std::borrow::Cow::Borrowed(body);
        let fields = path.fields();
        for (depth, name) in fields.iter().enumerate().take(OWNER_PATH_MAX) {
            let Some(field) = reads.model().ty(ty).item.field(name) else { return Ok(false) };
            if depth + 1 == fields.len() {
                return Ok(names_account(field, &body, account));
            }
            let Some(place) = target_place(reads.model(), ty, field, &body) else { return Ok(false) };
            let Some(target) = reads.item(&place, ledger).await? else { return Ok(false) };
            ty = place.ty;
            body = std::borrow::Cow::Owned((*target).clone());
        }
        Ok(false)
    }
}

/// Whether the id in a field is the account's.
fn names_account(field: &Field, body: &Body, account: Uuid) -> bool {
    let property = match &field.kind {
        FieldKind::Reference(reference) => reference.property.last(),
        _ => "id",
    };
    let text = body.get(property).and_then(Value::as_str);
    text.is_some_and(|text| Uuid::try_parse(text) == Ok(account))
}

//! Resolution of authorization rules, with the defaults of each action.

use super::scope::{Role, Scope};
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::{AuthDirective, TypedField, TypedType};
use crate::value::{Action, Authorization, Claim, FieldAuthorization, FieldPath, Grants, Keyword, Name, Who};

/// The callers of each action on items of a type.
pub(super) fn resolve_authorization(scope: &Scope<'_>, ty: &TypedType) -> Authorization {
    let mut authorization = Authorization::by_default(default_owners(ty));
    let all: Vec<Action> = Action::ALL.iter().map(|(_, action)| *action).collect();
    let mut replaced = Vec::new();
    for rule in &ty.directives.auth {
        let Some(grants) = grants(scope, ty, rule) else { continue };
        let given: Vec<Action> = rule.on.iter().map(|action| action.value).collect();
        for action in if given.is_empty() { &all } else { &given } {
            let target = authorization.of_mut(*action);
            if !replaced.contains(action) {
                replaced.push(*action);
                *target = Grants::default();
            }
            target.add(grants.clone());
        }
    }
    authorization
}

/// The callers of a field of an item.
pub(super) fn field_authorization(
    scope: &Scope<'_>,
    ty: &TypedType,
    field: &TypedField,
) -> FieldAuthorization {
    let mut authorization = FieldAuthorization::default();
    for rule in &field.directives.auth {
        let Some(grants) = grants(scope, ty, rule) else { continue };
        for action in &rule.on {
            match action.value {
                Action::Read => authorization.read.get_or_insert_default().add(grants.clone()),
                Action::Update => authorization.update.get_or_insert_default().add(grants.clone()),
                Action::Create | Action::Delete => {
                    scope.reports.add(action.span, Problem::AuthOfField { action: action.name() });
                }
            }
        }
        if rule.on.is_empty() {
            authorization.read.get_or_insert_default().add(grants);
        }
    }
    authorization
}

/// The callers of an operation.
pub(super) fn operation_authorization(
    scope: &Scope<'_>,
    item: &TypedType,
    rules: &[At<AuthDirective>],
) -> Option<Grants> {
    let mut all: Option<Grants> = None;
    for rule in rules {
        if let Some(action) = rule.on.first() {
            scope.reports.add(action.span, Problem::AuthOfOperation);
        }
        if let Some(grants) = grants(scope, item, rule) {
            all.get_or_insert_default().add(grants);
        }
    }
    all
}

/// The references to the caller; the id of an account.
fn default_owners(ty: &TypedType) -> Vec<FieldPath> {
    let callers =
        ty.fields.iter().filter(|field| field.role() == Role::Reference && field.directives.caller.is_some());
    let mut owners: Vec<FieldPath> = callers.map(|field| FieldPath::from(Name::new(&field.name))).collect();
    if owners.is_empty() && ty.directives.account.is_some() {
        owners.push(FieldPath::from(Name::new("id")));
    }
    owners.sort();
    owners
}

/// The callers that one rule admits. `None` is already reported.
fn grants(scope: &Scope<'_>, ty: &TypedType, rule: &At<AuthDirective>) -> Option<Grants> {
    let mut grants = Grants::default();
    match (&rule.claim, &rule.has) {
        (Some(name), Some(has)) => {
            grants.claims.push(Claim { name: name.value.clone(), has: has.value.clone() });
        }
        (Some(claim), None) => scope.reports.add(claim.span, Problem::ClaimWithoutHas),
        (None, Some(has)) => scope.reports.add(has.span, Problem::HasWithoutClaim),
        (None, None) if rule.allow.is_empty() => scope.reports.add(rule.span, Problem::AuthWithoutCaller),
        (None, None) => {}
    }
    let names_owner = rule.allow.iter().any(|who| who.value == Who::Owner);
    for who in &rule.allow {
        match who.value {
            Who::Public => grants.public = true,
            Who::SignedIn => grants.signed_in = true,
            Who::Staff => grants.staff = true,
            Who::Owner if rule.owner.is_empty() => {
                grants.owner = default_owners(ty);
                if grants.owner.is_empty() {
                    scope.reports.add(who.span, Problem::NoOwner { ty: ty.name.value.clone() });
                }
            }
            Who::Owner => {
                grants.owner = rule.owner.iter().filter_map(|path| owner(scope, ty, path)).collect()
            }
        }
    }
    if let (Some(owner), false) = (rule.owner.first(), names_owner) {
        scope.reports.add(owner.span, Problem::OwnerWithoutAllow);
    }
    grants.owner.sort();
    Some(grants)
}

/// A path of references that ends at an account: a reference to one, or the account's own id.
fn owner(scope: &Scope<'_>, ty: &TypedType, path: &At<String>) -> Option<FieldPath> {
    let found = scope.path(ty, path)?;
    let is_account = |name: &str| scope.item(name).is_some_and(|ty| ty.directives.account.is_some());
    let is_owner = match found.last.role() {
        Role::Reference => !found.last.is_list() && is_account(found.last.type_name()),
        Role::Id => is_account(found.owner),
        _ => false,
    };
    if !is_owner || found.crosses_list {
        scope.reports.add(path.span, Problem::NotAnOwner { path: path.value.clone() });
        return None;
    }
    Some(found.path)
}

impl Grants {
    /// Admits the callers of another rule, too.
    fn add(&mut self, other: Grants) {
        self.public |= other.public;
        self.signed_in |= other.signed_in;
        self.staff |= other.staff;
        self.owner.extend(other.owner);
        self.owner.sort();
        self.owner.dedup();
        for claim in other.claims {
            if !self.claims.contains(&claim) {
                self.claims.push(claim);
            }
        }
    }
}

//! Text of authorization rules: actions with the same callers share a directive.

use super::directive::DirectiveText;
use crate::value::{
    Action, Authorization, Field, FieldAuthorization, FieldKind, FieldPath, Grants, ItemType, Keyword, Name,
    Who,
};

/// The rules of an item type that differ from the defaults.
pub(super) fn of_item(item: &ItemType) -> Vec<String> {
    let default = Authorization::by_default(default_owners(item));
    let actions = Action::ALL.iter().map(|(_, action)| *action);
    let rules = actions.filter(|action| item.authorization.of(*action) != default.of(*action));
    grouped(rules.map(|action| (action, item.authorization.of(action))))
}

/// The rules of a field.
pub(super) fn of_field(authorization: &FieldAuthorization) -> Vec<String> {
    let read = authorization.read.as_ref().map(|grants| (Action::Read, grants));
    let update = authorization.update.as_ref().map(|grants| (Action::Update, grants));
    grouped(read.into_iter().chain(update))
}

/// The rules of an operation.
pub(super) fn of_operation(grants: Option<&Grants>) -> Vec<String> {
    grants.map(|grants| directives(&[], grants)).unwrap_or_default()
}

/// The references to the caller; the id of an account.
fn default_owners(item: &ItemType) -> Vec<FieldPath> {
    let is_caller =
        |field: &&Field| matches!(&field.kind, FieldKind::Reference(reference) if reference.caller);
    let mut owners: Vec<FieldPath> =
        item.fields.iter().filter(is_caller).map(|field| FieldPath::from(field.name.clone())).collect();
    if owners.is_empty() && item.login.is_some() {
        owners.push(FieldPath::from(Name::new("id")));
    }
    owners.sort();
    owners
}

/// Directives for actions, in the order of the first action of each group.
fn grouped<'a>(rules: impl Iterator<Item = (Action, &'a Grants)>) -> Vec<String> {
    let mut groups: Vec<(Vec<Action>, &Grants)> = Vec::new();
    for (action, grants) in rules {
        match groups.iter_mut().find(|(_, known)| *known == grants) {
            Some((actions, _)) => actions.push(action),
            None => groups.push((vec![action], grants)),
        }
    }
    groups.iter().flat_map(|(actions, grants)| directives(actions, grants)).collect()
}

/// The directives of one group: one for the callers and the first claim, and one for each further claim.
fn directives(actions: &[Action], grants: &Grants) -> Vec<String> {
    let groups = [
        (grants.public, Who::Public),
        (grants.signed_in, Who::SignedIn),
        (!grants.owner.is_empty(), Who::Owner),
        (grants.staff, Who::Staff),
    ];
    let allow: Vec<Who> = groups.iter().filter(|(admitted, _)| *admitted).map(|(_, who)| *who).collect();
    let mut texts = Vec::new();
    if !allow.is_empty() {
        let text = DirectiveText::new("auth").keywords("on", actions).keywords("allow", &allow);
        texts.push(text.texts("owner", &grants.owner).build());
    }
    for claim in &grants.claims {
        let text = DirectiveText::new("auth").keywords("on", actions).text("claim", &claim.name);
        texts.push(text.raw("has", &claim.has).build());
    }
    texts
}

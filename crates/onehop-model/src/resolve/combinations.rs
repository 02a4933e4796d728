//! Combinations of directives on one field: a field has one role, and each role admits some further
//! directives.

use super::scope::{Role, Scope};
use crate::problem::Problem;
use crate::typed::TypedField;

/// The directives that decide the role of a field. `@copy(from)` and `@caller(in)` do so, too.
const ROLES: [&str; 11] = [
    "reference",
    "partition",
    "find",
    "list",
    "count",
    "computed",
    "created",
    "updated",
    "version",
    "writes",
    "live",
];

/// The directives that fields of embedded types do not have.
const REFUSED_IN_OBJECTS: [&str; 9] =
    ["partition", "find", "list", "count", "caller", "unique", "created", "updated", "version"];

/// The kind of type that a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Item,
    Embedded,
    Query,
    Mutation,
    Subscription,
}

/// The directives that each role admits, its own included.
fn admitted(role: Role) -> &'static [&'static str] {
    match role {
        Role::Id => &["hidden", "auth"],
        Role::Reference => {
            &["reference", "stored", "copy", "caller", "immutable", "length", "hidden", "auth"]
        }
        Role::Partition => &["partition", "where", "order", "page", "hidden", "auth"],
        Role::Find => &["find", "where", "order", "page", "length", "hidden", "auth"],
        Role::List => &["list", "where", "order", "page", "hidden", "auth"],
        Role::Count => &["count", "stored", "hidden", "auth"],
        Role::HasCaller => &["caller", "hidden", "auth"],
        Role::Computed => &["computed", "stored", "money", "hidden", "auth"],
        Role::Created => &["created", "stored", "hidden", "auth"],
        Role::Updated => &["updated", "stored", "hidden", "auth"],
        Role::Version => &["version", "stored", "default", "hidden", "auth"],
        Role::Copied => &["copy", "stored", "money", "hidden", "auth"],
        Role::Input => &[
            "stored",
            "default",
            "immutable",
            "length",
            "range",
            "pattern",
            "money",
            "unique",
            "hidden",
            "auth",
        ],
    }
}

/// Checks the directives of a field. `false` is already reported.
pub(super) fn check_combination(scope: &Scope<'_>, owner: Owner, place: &str, field: &TypedField) -> bool {
    let directives = &field.directives;
    let mut is_sound = true;
    let mut roles = directives.present.iter().filter(|(name, _)| ROLES.contains(&name.as_str()));
    let first = roles.next();
    for (second, span) in roles {
        if let Some((first, _)) = first {
            let problem = Problem::Contradiction {
                first: first.clone(),
                second: second.clone(),
                place: place.to_owned(),
            };
            scope.reports.add(*span, problem);
            is_sound = false;
        }
    }
    let role = field.role();
    for (name, span) in &directives.present {
        // A second role is already reported.
        let is_role = ROLES.contains(&name.as_str());
        if is_role && first.is_some_and(|(first, _)| first != name) {
            continue;
        }
        if !is_admitted(owner, role, name) {
            let problem = match allowed(owner, role) {
                list if list.is_empty() => {
                    Problem::NoDirective { directive: name.clone(), place: place.to_owned() }
                }
                list => {
                    Problem::NotAdmitted { directive: name.clone(), place: place.to_owned(), admitted: list }
                }
            };
            scope.reports.add(*span, problem);
            is_sound = false;
        }
    }
    is_sound
}

fn is_admitted(owner: Owner, role: Role, directive: &str) -> bool {
    candidates(owner, role).contains(&directive)
}

/// The directives that a field may have, by the type that it belongs to and by its role.
fn candidates(owner: Owner, role: Role) -> Vec<&'static str> {
    match owner {
        Owner::Mutation => vec!["writes", "where", "auth"],
        Owner::Subscription => vec!["live", "auth"],
        Owner::Query => match role {
            Role::Partition => vec!["partition", "where", "order", "page", "auth"],
            Role::Find => vec!["find", "where", "order", "page", "auth"],
            Role::List => vec!["list", "where", "order", "page", "auth"],
            Role::HasCaller => vec!["caller", "auth"],
            _ => vec!["auth", "caller", "partition", "find", "list"],
        },
        Owner::Embedded => {
            // An object has no id and no relations of its own, so such a field is at most a value.
            let own = admitted(role).first().copied().unwrap_or_default();
            let is_value = role == Role::Id || REFUSED_IN_OBJECTS.contains(&own);
            let admitted = admitted(if is_value { Role::Input } else { role });
            admitted.iter().copied().filter(|name| !REFUSED_IN_OBJECTS.contains(name)).collect()
        }
        Owner::Item => admitted(role).to_vec(),
    }
}

fn allowed(owner: Owner, role: Role) -> String {
    let names: Vec<String> = candidates(owner, role).iter().map(|name| format!("@{name}")).collect();
    names.join(", ")
}

//! Resolution of item types: container, key, id, deletion and owner.

use super::authorization::resolve_authorization;
use super::combinations::Owner;
use super::fields::resolve_fields;
use super::keys::resolve_key;
use super::schema::property_path;
use super::scope::{ROOTS, Role, Scope};
use crate::defaults::{DELETED_PROPERTY, DELETED_TTL_SECONDS, LOG_SEQUENCE_NUMBER};
use crate::limits::TTL_MAX;
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::{DeletesDirective, ItemDirective, TypedType, WhereDirective};
use crate::value::{
    Action, Deletion, DeletionMode, ItemType, ItemVersion, Keyword, Literal, Name, PathCondition, PathTest,
    PropertyPath,
};

/// The item types of a file.
pub(super) fn resolve_items(scope: &Scope<'_>) -> Vec<ItemType> {
    let types = scope.typed.types.iter().filter(|ty| !ROOTS.contains(&ty.name.as_str()));
    types.filter_map(|ty| resolve_item(scope, ty)).collect()
}

fn resolve_item(scope: &Scope<'_>, ty: &TypedType) -> Option<ItemType> {
    let fields = ty.is_item().then(|| resolve_fields(scope, Owner::Item, ty))?;
    let directive = ty.directives.item.as_ref()?;
    check_id(scope, ty);
    let container = scope.container(&directive.container)?;
    let recognised_by: Vec<PathCondition> =
        ty.directives.conditions.iter().flat_map(|condition| path_conditions(scope, condition)).collect();
    if let (Some(value), false) = (&directive.type_value, recognised_by.is_empty()) {
        scope.reports.add(value.span, Problem::TypeAndWhere { name: ty.name.value.clone() });
    }
    let name = Name::new(&ty.name);
    let type_value = match &directive.type_value {
        Some(value) if value.trim().is_empty() => {
            scope.reports.add(value.span, Problem::Empty { what: "the value of `type`" });
            return None;
        }
        Some(value) => value.value.clone(),
        None => name.camel_case().to_string(),
    };
    Some(ItemType {
        key: resolve_key(scope, ty, directive, container),
        container: container.name.clone(),
        type_value,
        recognised_by,
        version: version(scope, &directive.version)?,
        id_from: id_from(scope, ty, directive),
        writes: writes(scope, ty, directive, container.followed),
        deletion: deletion(scope, ty.directives.deletes.as_ref()),
        owned_by: owner(scope, ty),
        login: login(scope, ty),
        authorization: resolve_authorization(scope, ty),
        description: ty.description.clone(),
        hidden: ty.directives.hidden.is_some(),
        name,
        fields,
    })
}

/// The field `id` is the id of the item.
fn check_id(scope: &Scope<'_>, ty: &TypedType) {
    let Some(id) = ty.field("id") else { return };
    if id.role() == Role::Id && id.ty.to_string() != "ID!" {
        scope.reports.add(id.ty.span, Problem::IdType { ty: ty.name.value.clone() });
    }
}

fn path_conditions(scope: &Scope<'_>, condition: &At<WhereDirective>) -> Vec<PathCondition> {
    let refused = [
        ("field", condition.field.as_ref().map(|it| it.span)),
        ("atLeast", condition.at_least.as_ref().map(|it| it.span)),
        ("below", condition.below.as_ref().map(|it| it.span)),
    ];
    for (argument, span) in refused {
        if let Some(span) = span {
            scope.reports.add(span, Problem::WhereOfType { argument });
        }
    }
    let Some(text) = &condition.path else {
        if condition.field.is_none() {
            scope.reports.add(condition.span, Problem::WhereWithout { needed: "path" });
        }
        return Vec::new();
    };
    let Some(path) = property_path(text, scope.reports) else { return Vec::new() };
    let mut tests = Vec::new();
    tests.extend(condition.is.as_ref().map(|value| PathTest::Is(value.value.clone())));
    let values = |values: &Vec<At<Literal>>| values.iter().map(|value| value.value.clone()).collect();
    tests.extend(condition.one_of.as_ref().map(|given| PathTest::In(values(given))));
    tests.extend(condition.prefix.as_ref().map(|prefix| PathTest::Prefix(prefix.value.clone())));
    tests.extend(condition.exists.map(PathTest::Exists));
    if tests.is_empty() {
        scope.reports.add(condition.span, Problem::WhereWithout { needed: "is, in, prefix or exists" });
    }
    tests.into_iter().map(|test| PathCondition { path: path.clone(), test }).collect()
}

fn version(scope: &Scope<'_>, text: &At<String>) -> Option<ItemVersion> {
    if text.value == LOG_SEQUENCE_NUMBER {
        return Some(ItemVersion::LogSequenceNumber);
    }
    property_path(text, scope.reports).map(ItemVersion::Property)
}

/// The fields from which an id is derived: references or fields that never change, and non-null.
fn id_from(scope: &Scope<'_>, ty: &TypedType, directive: &ItemDirective) -> Vec<Name> {
    let mut names = Vec::new();
    for name in &directive.id_from {
        let Some(field) = scope.single(ty, name) else { continue };
        if !matches!(field.role(), Role::Reference | Role::Input | Role::Created) {
            let problem = Problem::NotConstant { ty: ty.name.value.clone(), field: name.value.clone() };
            scope.reports.add(name.span, problem);
        } else if !field.is_non_null() || field.is_list() {
            let problem = Problem::IdFromNullable { ty: ty.name.value.clone(), field: name.value.clone() };
            scope.reports.add(name.span, problem);
        } else {
            names.push(Name::new(&name.value));
        }
    }
    names
}

fn writes(scope: &Scope<'_>, ty: &TypedType, directive: &ItemDirective, followed: bool) -> Vec<Action> {
    let mut writes: Vec<Action> = Vec::new();
    for action in &directive.write {
        let problem = if action.value == Action::Read {
            Some(Problem::WriteRead)
        } else if followed {
            Some(Problem::WriteFollowed { container: directive.container.value.clone() })
        } else if ty.directives.hidden.is_some() {
            Some(Problem::WriteHidden { ty: ty.name.value.clone() })
        } else if writes.contains(&action.value) {
            Some(Problem::Duplicate { what: "action", name: action.name().to_owned() })
        } else {
            None
        };
        match problem {
            Some(problem) => scope.reports.add(action.span, problem),
            None => writes.push(action.value),
        }
    }
    writes.sort();
    writes
}

fn deletion(scope: &Scope<'_>, directive: Option<&At<DeletesDirective>>) -> Deletion {
    let soft = |path: PropertyPath, is: Literal, ttl_seconds: u32| Deletion::Soft { path, is, ttl_seconds };
    let default_path = || PropertyPath::property(DELETED_PROPERTY);
    let Some(directive) = directive else {
        return soft(default_path(), Literal::Boolean(true), DELETED_TTL_SECONDS);
    };
    let given = [
        ("path", directive.path.as_ref().map(|it| it.span)),
        ("is", directive.is.as_ref().map(|it| it.span)),
        ("ttl", directive.ttl.as_ref().map(|it| it.span)),
    ];
    if directive.by.value != DeletionMode::Soft {
        for (argument, span) in given {
            if let Some(span) = span {
                scope.reports.add(span, Problem::OnlySoft { argument, mode: directive.by.name() });
            }
        }
    }
    match directive.by.value {
        DeletionMode::Soft => {
            let path = directive.path.as_ref().and_then(|path| property_path(path, scope.reports));
            let is = directive.is.as_ref().map_or(Literal::Boolean(true), |is| is.value.clone());
            let ttl = directive.ttl.as_ref().and_then(|ttl| scope.within("ttl", ttl, 1, TTL_MAX));
            soft(path.unwrap_or_else(default_path), is, ttl.unwrap_or(DELETED_TTL_SECONDS))
        }
        DeletionMode::Ttl => Deletion::Ttl,
        DeletionMode::AllVersions => Deletion::AllVersions,
        DeletionMode::Hard => Deletion::Hard,
    }
}

/// The reference of `@owned`.
fn owner(scope: &Scope<'_>, ty: &TypedType) -> Option<Name> {
    let by = &ty.directives.owned.as_ref()?.value.0;
    let field = scope.single(ty, by)?;
    if field.role() != Role::Reference || field.is_list() {
        let problem = Problem::NotAReference { ty: ty.name.value.clone(), field: by.value.clone() };
        scope.reports.add(by.span, problem);
        return None;
    }
    Some(Name::new(by))
}

/// The field of `@account`: a unique text.
fn login(scope: &Scope<'_>, ty: &TypedType) -> Option<Name> {
    let login = &ty.directives.account.as_ref()?.value.0;
    let field = scope.single(ty, login)?;
    if field.directives.unique.is_none() || field.type_name() == "Int" {
        let problem = Problem::LoginNotUnique { ty: ty.name.value.clone(), field: login.value.clone() };
        scope.reports.add(login.span, problem);
        return None;
    }
    Some(Name::new(login))
}

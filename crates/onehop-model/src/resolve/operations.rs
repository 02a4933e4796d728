//! Resolution of operations: the fields of `Query`, `Mutation` and `Subscription`.

use super::authorization::operation_authorization;
use super::combinations::{Owner, check_combination};
use super::fields::resolve_type;
use super::related::{field_conditions, resolve_related};
use super::scope::{Role, Scope};
use crate::problem::Problem;
use crate::syntax::At;
use crate::typed::{TypedField, TypedType, WritesDirective};
use crate::value::{
    Action, Event, FieldType, KeySource, Keyword, LiveSource, ModelParts, Mutation, Name, Query, QueryKind,
    Subscription, TypeOf,
};

/// Resolves the operations of a file.
pub(super) fn resolve_operations(scope: &Scope<'_>, parts: &mut ModelParts) {
    for (name, owner) in [("Mutation", Owner::Mutation), ("Subscription", Owner::Subscription)] {
        if let Some(ty) = root(scope, name) {
            for field in &ty.fields {
                if owner == Owner::Mutation {
                    let mutation = resolve_mutation(scope, parts, field);
                    parts.mutations.extend(mutation);
                } else {
                    parts.subscriptions.extend(resolve_subscription(scope, field));
                }
            }
        }
    }
    parts.queries = match root(scope, "Query") {
        Some(ty) => ty.fields.iter().filter_map(|field| resolve_query(scope, field)).collect(),
        None => default_queries(parts),
    };
}

/// A type of operations, which has no directives.
fn root<'a>(scope: &Scope<'a>, name: &str) -> Option<&'a TypedType> {
    let ty = scope.get(name)?;
    for (directive, span) in &ty.directives.present {
        let problem = Problem::NoDirective { directive: directive.clone(), place: name.to_owned() };
        scope.reports.add(*span, problem);
    }
    Some(ty)
}

/// The root fields where a file has no `Query`: each served item type by its id.
pub(crate) fn default_queries(parts: &ModelParts) -> Vec<Query> {
    let nodes = parts.items.iter().filter(|item| item.is_node());
    let query = |item: &crate::value::ItemType| Query {
        name: item.name.camel_case(),
        description: None,
        ty: FieldType { of: TypeOf::Item(item.name.clone()), list: None, non_null: false },
        item_type: item.name.clone(),
        kind: QueryKind::ById,
        authorization: None,
    };
    nodes.map(query).collect()
}

/// The item type of an operation's result, and the sound directives of its field. `None` is already reported.
fn operation<'a>(
    scope: &Scope<'a>,
    owner: Owner,
    place: &str,
    field: &TypedField,
) -> Option<(FieldType, &'a TypedType)> {
    let is_sound = check_combination(scope, owner, place, field) && !field.directives.broken;
    let field_type = resolve_type(scope, field)?;
    let item = scope.item_type(field.type_name(), field.type_span)?;
    is_sound.then_some((field_type, item))
}

fn resolve_query(scope: &Scope<'_>, field: &TypedField) -> Option<Query> {
    let place = format!("Query.{}", field.name.value);
    let (ty, item) = operation(scope, Owner::Query, &place, field)?;
    if item.directives.hidden.is_some() {
        scope.reports.add(field.ty.span, Problem::HiddenServed { ty: item.name.value.clone() });
        return None;
    }
    let role = field.role();
    let kind = if role.is_related() {
        QueryKind::Related(resolve_related(scope, None, field, &ty, &place)?)
    } else if role == Role::HasCaller {
        caller_kind(scope, field, item)?
    } else {
        lookup_kind(scope, field, item)?
    };
    let is_related = matches!(kind, QueryKind::Related(_));
    let takes_arguments = match &kind {
        QueryKind::ById | QueryKind::ByUnique(_) => true,
        QueryKind::Related(related) => !related.arguments().is_empty(),
        QueryKind::Caller => false,
    };
    if let (Some(argument), false) = (field.arguments.first(), takes_arguments) {
        scope.reports.add(argument.name.span, Problem::FieldArguments { field: field.name.value.clone() });
    }
    if !is_related && (ty.list.is_some() || ty.non_null) {
        let expected = item.name.value.clone();
        scope.reports.add(field.ty.span, Problem::RootType { field: field.name.value.clone(), expected });
        return None;
    }
    Some(Query {
        name: Name::new(&field.name),
        description: field.description.clone(),
        item_type: Name::new(&item.name),
        authorization: operation_authorization(scope, item, &field.directives.auth),
        ty,
        kind,
    })
}

fn caller_kind(scope: &Scope<'_>, field: &TypedField, item: &TypedType) -> Option<QueryKind> {
    let caller = field.directives.caller.as_ref()?;
    if let Some(list) = &caller.list {
        scope.reports.add(list.span, Problem::CallerInUnderQuery);
    }
    if item.directives.account.is_none() {
        let problem =
            Problem::CallerNotAccount { field: field.name.value.clone(), ty: item.name.value.clone() };
        scope.reports.add(caller.span, problem);
        return None;
    }
    Some(QueryKind::Caller)
}

/// The kind of a root field that finds one item by its argument.
fn lookup_kind(scope: &Scope<'_>, field: &TypedField, item: &TypedType) -> Option<QueryKind> {
    let [argument] = field.arguments.as_slice() else {
        let span = field.arguments.get(1).map_or(field.name.span, |argument| argument.name.span);
        scope.reports.add(span, Problem::RootWithoutKind { field: field.name.value.clone() });
        return None;
    };
    let name = &argument.name;
    let found = scope.single(item, name)?;
    let is_unique = found.directives.unique.is_some();
    if found.role() != Role::Id && !is_unique {
        let problem = Problem::ArgumentNotUnique { ty: item.name.value.clone(), field: name.value.clone() };
        scope.reports.add(name.span, problem);
        return None;
    }
    let expected = format!("{}!", found.type_name());
    if argument.ty.to_string() != expected || argument.default.is_some() {
        let problem = Problem::ArgumentType { argument: name.value.clone(), expected };
        scope.reports.add(argument.ty.span, problem);
        return None;
    }
    Some(if is_unique { QueryKind::ByUnique(Name::new(name)) } else { QueryKind::ById })
}

/// The name of the generated mutation of an action.
pub(crate) fn generated_name(action: Action, item: &str) -> String {
    format!("{}{item}", action.name().to_lowercase())
}

fn resolve_mutation(scope: &Scope<'_>, parts: &ModelParts, field: &TypedField) -> Option<Mutation> {
    let place = format!("Mutation.{}", field.name.value);
    let (ty, item) = operation(scope, Owner::Mutation, &place, field)?;
    let Some(writes) = &field.directives.writes else {
        scope
            .reports
            .add(field.name.span, Problem::MutationWithoutWrites { field: field.name.value.clone() });
        return None;
    };
    if let Some(argument) = field.arguments.first() {
        scope.reports.add(argument.name.span, Problem::MutationArguments { field: field.name.value.clone() });
    }
    if ty.list.is_some() || ty.non_null {
        let expected = item.name.value.clone();
        scope.reports.add(field.ty.span, Problem::RootType { field: field.name.value.clone(), expected });
    }
    let action = writes.action.value;
    if action == Action::Read {
        scope.reports.add(writes.action.span, Problem::WriteRead);
        return None;
    }
    let resolved = parts.item(&item.name);
    let generated = |action: &Action| generated_name(*action, &item.name) == field.name.value;
    if resolved.is_some_and(|item| item.writes.iter().any(generated)) {
        let problem = Problem::Duplicate { what: "mutation", name: field.name.value.clone() };
        scope.reports.add(field.name.span, problem);
    }
    let is_followed = |item: &crate::value::ItemType| {
        scope.containers.iter().any(|container| container.name == item.container && container.followed)
    };
    if let Some(item) = resolved.filter(|item| is_followed(item)) {
        let problem = Problem::WriteFollowed { container: item.container.to_string() };
        scope.reports.add(writes.action.span, problem);
    }
    if let (Some(condition), Action::Create) = (field.directives.conditions.first(), action) {
        scope.reports.add(condition.span, Problem::WhereOnCreate);
    }
    let conditions =
        field.directives.conditions.iter().flat_map(|it| field_conditions(scope, item, it)).collect();
    Some(Mutation {
        name: Name::new(&field.name),
        description: field.description.clone(),
        item_type: Name::new(&item.name),
        action,
        fields: written_fields(scope, parts, item, writes),
        rust: writes.rust,
        conditions,
        authorization: operation_authorization(scope, item, &field.directives.auth),
    })
}

/// The fields that a mutation writes: input, and for an update no immutable field and no field that moves
/// the item.
fn written_fields(
    scope: &Scope<'_>,
    parts: &ModelParts,
    item: &TypedType,
    writes: &At<WritesDirective>,
) -> Vec<Name> {
    let action = writes.action.value;
    if let (Some(field), Action::Delete) = (writes.fields.first(), action) {
        scope.reports.add(field.span, Problem::DeleteWithFields);
    }
    let resolved = parts.item(&item.name);
    let mut names: Vec<Name> = Vec::new();
    for name in &writes.fields {
        let Some(found) = scope.single(item, name) else { continue };
        let written = Name::new(name);
        let is_key = resolved.is_some_and(|item| item.key.contains(&KeySource::Field(written.clone())));
        let is_in_id = resolved.is_some_and(|item| item.id_from.contains(&written));
        let (ty, field) = (item.name.value.clone(), name.value.clone());
        let is_caller = found.directives.caller.is_some();
        let problem = if !matches!(found.role(), Role::Input | Role::Reference) || is_caller {
            Some(Problem::NotInput { ty, field })
        } else if action == Action::Update && is_key {
            Some(Problem::UpdateMoves { ty, field })
        } else if action == Action::Update && is_in_id {
            Some(Problem::UpdateChangesId { ty, field })
        } else if action == Action::Update && found.directives.immutable.is_some() {
            Some(Problem::UpdateImmutable { ty, field })
        } else if names.contains(&written) {
            Some(Problem::Duplicate { what: "written field", name: field })
        } else {
            None
        };
        match problem {
            Some(problem) => scope.reports.add(name.span, problem),
            None => names.push(written),
        }
    }
    names
}

fn resolve_subscription(scope: &Scope<'_>, field: &TypedField) -> Option<Subscription> {
    let place = format!("Subscription.{}", field.name.value);
    let (ty, item) = operation(scope, Owner::Subscription, &place, field)?;
    let Some(live) = &field.directives.live else {
        scope
            .reports
            .add(field.name.span, Problem::SubscriptionWithoutLive { field: field.name.value.clone() });
        return None;
    };
    if ty.list.is_some() || !ty.non_null {
        let expected = format!("{}!", item.name.value);
        scope.reports.add(field.ty.span, Problem::RootType { field: field.name.value.clone(), expected });
    }
    let source = match &live.of {
        Some(of) => list_of(scope, item, of)?,
        None => LiveSource::Item,
    };
    check_live_arguments(scope, field, &source);
    let mut on: Vec<Event> = Vec::new();
    for event in &live.on {
        if event.value == Event::Added && source == LiveSource::Item {
            scope.reports.add(event.span, Problem::ItemAdded);
        } else if on.contains(&event.value) {
            let problem = Problem::Duplicate { what: "event", name: event.name().to_owned() };
            scope.reports.add(event.span, problem);
        } else {
            on.push(event.value);
        }
    }
    if live.on.is_empty() {
        scope.reports.add(live.span, Problem::Empty { what: "the list of events" });
    }
    on.sort();
    Some(Subscription {
        name: Name::new(&field.name),
        description: field.description.clone(),
        item_type: Name::new(&item.name),
        source,
        on,
        authorization: operation_authorization(scope, item, &field.directives.auth),
    })
}

/// The list of a subscription: `Query.feed` or `Post.comments`.
fn list_of(scope: &Scope<'_>, item: &TypedType, of: &At<String>) -> Option<LiveSource> {
    let Some((parent, name)) = of.split_once('.').filter(|(_, name)| !name.contains('.')) else {
        scope.reports.add(of.span, Problem::LiveForm { of: of.value.clone() });
        return None;
    };
    let ty = match scope.get(parent) {
        Some(ty) => ty,
        None => {
            scope.item_type(parent, of.span)?;
            return None;
        }
    };
    let found = scope.field(ty, name, of.span)?;
    if !found.role().is_related() || found.type_name() != item.name.value {
        scope
            .reports
            .add(of.span, Problem::LiveNotList { of: of.value.clone(), ty: item.name.value.clone() });
        return None;
    }
    if parent == "Query" && !found.arguments.is_empty() {
        scope.reports.add(of.span, Problem::LiveOfArguments { of: of.value.clone() });
        return None;
    }
    let field = Name::new(name);
    if parent == "Query" {
        return Some(LiveSource::Query(field));
    }
    let item_type = Name::new(parent);
    let argument = Name::new(&format!("{}Id", item_type.camel_case()));
    Some(LiveSource::Field { item_type, field, argument })
}

/// A subscription to an item takes its id, one to a list of an item takes that item's id.
fn check_live_arguments(scope: &Scope<'_>, field: &TypedField, source: &LiveSource) {
    let expected = match source {
        LiveSource::Item => Some("id"),
        LiveSource::Query(_) => None,
        LiveSource::Field { argument, .. } => Some(&**argument),
    };
    let is_expected = match (expected, field.arguments.as_slice()) {
        (None, []) => true,
        (Some(name), [argument]) => {
            argument.name.value == name && argument.ty.to_string() == "ID!" && argument.default.is_none()
        }
        _ => false,
    };
    if !is_expected {
        let expected = expected.map_or("no argument".to_owned(), |name| format!("`{name}: ID!`"));
        let span = field.arguments.first().map_or(field.name.span, |argument| argument.name.span);
        scope.reports.add(span, Problem::LiveArguments { field: field.name.value.clone(), expected });
    }
}

//! Comparison of operations: removed or narrower ones break requests.

use super::access::compare_optional;
use super::effects::{Effects, Severity, pairs};
use super::fields::compare_api_types;
use super::read_models::compare_related;
use crate::value::{Action, Grants, Model, Mutation, Name, Query, QueryKind, RelatedSource, Subscription};

/// Compares the fields of `Query`, `Mutation` and `Subscription`.
pub(super) fn compare_operations(effects: &mut Effects, old: &Model, new: &Model) {
    for pair in pairs(old.queries(), new.queries(), |query| &query.name) {
        match pair {
            (Some(before), Some(after)) => compare_query(effects, (old, new), before, after),
            (None, Some(after)) => added_query(effects, after),
            (Some(before), None) => removed(effects, "Query", &before.name),
            (None, None) => {}
        }
    }
    for pair in pairs(old.mutations(), new.mutations(), |mutation| &mutation.name) {
        match pair {
            (Some(before), Some(after)) => compare_mutation(effects, (old, new), before, after),
            (None, Some(after)) => added(effects, "Mutation", &after.name),
            (Some(before), None) => removed(effects, "Mutation", &before.name),
            (None, None) => {}
        }
    }
    for pair in pairs(old.subscriptions(), new.subscriptions(), |subscription| &subscription.name) {
        match pair {
            (Some(before), Some(after)) => compare_subscription(effects, (old, new), before, after),
            (None, Some(after)) => added(effects, "Subscription", &after.name),
            (Some(before), None) => removed(effects, "Subscription", &before.name),
            (None, None) => {}
        }
    }
}

fn added(effects: &mut Effects, root: &str, name: &Name) {
    effects.add(Severity::None, format!("{root}.{name}"), "The operation is new.");
}

fn removed(effects: &mut Effects, root: &str, name: &Name) {
    effects.add(Severity::Breaking, format!("{root}.{name}"), "The operation is removed.");
}

fn added_query(effects: &mut Effects, query: &Query) {
    match &query.kind {
        QueryKind::Related(related) if matches!(related.source, RelatedSource::List(_)) => {
            let place = format!("Query.{}", query.name);
            effects.add(Severity::Rebuild, place, "The list is new; it is built.");
        }
        _ => added(effects, "Query", &query.name),
    }
}

/// The callers of an action on items of a type in both models.
fn of_items(models: (&Model, &Model), item_type: (&Name, &Name), action: Action) -> (Grants, Grants) {
    let grants = |model: &Model, name: &Name| {
        model.item(name).map(|item| item.authorization.of(action).clone()).unwrap_or_default()
    };
    (grants(models.0, item_type.0), grants(models.1, item_type.1))
}

/// Compares the callers of an operation, where one of both models names them.
fn compare_callers(
    effects: &mut Effects,
    place: &str,
    (old, new): (Option<&Grants>, Option<&Grants>),
    (old_items, new_items): (Grants, Grants),
) {
    // A change of the item's own rules is reported once, at the item.
    if old.is_some() || new.is_some() {
        compare_optional(effects, place, "call it", old, new, (&old_items, &new_items));
    }
}

fn compare_query(effects: &mut Effects, models: (&Model, &Model), old: &Query, new: &Query) {
    let place = format!("Query.{}", old.name);
    compare_api_types(effects, &place, &old.ty, &new.ty);
    match (&old.kind, &new.kind) {
        (QueryKind::Related(before), QueryKind::Related(after)) => {
            compare_related(effects, &place, before, after);
        }
        (before, after) if before != after => {
            effects.add(Severity::Breaking, &place, "The field finds its item in another way.");
        }
        (_, _) => {}
    }
    let items = of_items(models, (&old.item_type, &new.item_type), Action::Read);
    compare_callers(effects, &place, (old.authorization.as_ref(), new.authorization.as_ref()), items);
}

fn compare_mutation(effects: &mut Effects, models: (&Model, &Model), old: &Mutation, new: &Mutation) {
    let place = format!("Mutation.{}", old.name);
    if (&old.item_type, old.action) != (&new.item_type, new.action) {
        effects.add(Severity::Breaking, &place, "The mutation writes other items or in another way.");
        return;
    }
    if old.fields != new.fields {
        let keeps_all = new.fields.is_empty()
            || (!old.fields.is_empty() && old.fields.iter().all(|field| new.fields.contains(field)));
        let severity = if keeps_all { Severity::None } else { Severity::Breaking };
        effects.add(severity, &place, "The mutation writes other fields.");
    }
    if new.conditions.iter().any(|condition| !old.conditions.contains(condition)) {
        effects.add(Severity::Breaking, &place, "A further condition refuses writes with CONFLICT.");
    } else if old.conditions != new.conditions {
        effects.add(Severity::None, &place, "Fewer conditions refuse writes.");
    }
    if old.rust != new.rust {
        effects.add(Severity::None, &place, "The command changes between generated and typed Rust.");
    }
    let items = of_items(models, (&old.item_type, &new.item_type), old.action);
    compare_callers(effects, &place, (old.authorization.as_ref(), new.authorization.as_ref()), items);
}

fn compare_subscription(
    effects: &mut Effects,
    models: (&Model, &Model),
    old: &Subscription,
    new: &Subscription,
) {
    let place = format!("Subscription.{}", old.name);
    if (&old.item_type, &old.source) != (&new.item_type, &new.source) {
        effects.add(Severity::Breaking, &place, "The events have another source.");
    }
    if old.on.iter().any(|event| !new.on.contains(event)) {
        effects.add(Severity::Breaking, &place, "Some events are no longer sent.");
    } else if old.on != new.on {
        effects.add(Severity::Breaking, &place, "Events are sent that clients do not know.");
    }
    let items = of_items(models, (&old.item_type, &new.item_type), Action::Read);
    compare_callers(effects, &place, (old.authorization.as_ref(), new.authorization.as_ref()), items);
}

//! Comparison of containers and types.

use super::access::compare_grants;
use super::effects::{Effects, Severity, pairs};
use super::fields::compare_fields;
use crate::value::{
    Action, Container, Deletion, EnumType, EnumValue, FieldKind, ItemType, Keyword, Model, RelatedSource,
};

/// Compares containers.
pub(super) fn compare_containers(effects: &mut Effects, old: &Model, new: &Model) {
    for pair in pairs(old.containers(), new.containers(), |container| &container.name) {
        match pair {
            (Some(before), Some(after)) => compare_container(effects, old, before, after),
            (None, Some(after)) => {
                effects.add(Severity::None, after.name.to_string(), "The container is new; it is created.");
            }
            (Some(before), None) => {
                let sentence = "The container is not used any more; it keeps its items until it is deleted.";
                effects.add(Severity::None, before.name.to_string(), sentence);
            }
            (None, None) => {}
        }
    }
}

fn compare_container(effects: &mut Effects, model: &Model, old: &Container, new: &Container) {
    let place = old.name.to_string();
    let has_items = model.items().iter().any(|item| item.container == old.name);
    if old.key != new.key && has_items {
        let sentence = "Another key is another container: give it another name and copy the items.";
        effects.add(Severity::Refused, &place, sentence);
    } else if old.key != new.key {
        effects.add(Severity::Rebuild, &place, "Another key: the container and its lists are built again.");
    }
    if old.followed != new.followed {
        let sentence = "A container changes between followed and own: its writer is another program.";
        effects.add(Severity::Refused, &place, sentence);
    }
    if old.place != new.place {
        effects.add(Severity::Rebuild, &place, "Another place: the container is filled there again.");
    }
    if (&old.exclude, &old.composite) != (&new.exclude, &new.composite) {
        effects.add(Severity::None, &place, "The indexes change while the container serves.");
    }
    if old.ttl_seconds != new.ttl_seconds {
        effects.add(Severity::None, &place, "Another time to live holds for all items from now on.");
    }
}

/// Compares item types, embedded types and enums.
pub(super) fn compare_types(effects: &mut Effects, old: &Model, new: &Model) {
    for pair in pairs(old.items(), new.items(), |item| &item.name) {
        match pair {
            (Some(before), Some(after)) => {
                compare_item(effects, before, after);
                compare_fields(effects, (old, new), &before.name, &before.fields, &after.fields);
            }
            (None, Some(after)) => added_item(effects, after),
            (Some(before), None) => {
                let severity = if before.hidden { Severity::None } else { Severity::Breaking };
                effects.add(severity, before.name.to_string(), "The type is removed; its items stay stored.");
            }
            (None, None) => {}
        }
    }
    for pair in pairs(old.embedded(), new.embedded(), |embedded| &embedded.name) {
        match pair {
            (Some(before), Some(after)) => {
                compare_hidden(effects, &before.name, before.hidden, after.hidden);
                compare_fields(effects, (old, new), &before.name, &before.fields, &after.fields);
            }
            (Some(before), None) => {
                effects.add(Severity::Breaking, before.name.to_string(), "The embedded type is removed.");
            }
            (_, _) => {}
        }
    }
    for pair in pairs(old.enums(), new.enums(), |it| &it.name) {
        match pair {
            (Some(before), Some(after)) => compare_enum(effects, before, after),
            (Some(before), None) => {
                effects.add(Severity::Breaking, before.name.to_string(), "The enum is removed.");
            }
            (_, _) => {}
        }
    }
}

/// A new item type has no items, so only its lists are built.
fn added_item(effects: &mut Effects, item: &ItemType) {
    effects.add(Severity::None, item.name.to_string(), "The type is new.");
    for field in &item.fields {
        if let FieldKind::Related(related) = &field.kind
            && matches!(related.source, RelatedSource::List(_))
        {
            effects.add(
                Severity::Rebuild,
                format!("{}.{}", item.name, field.name),
                "The list is new; it is built.",
            );
        }
    }
}

fn compare_hidden(effects: &mut Effects, place: &str, old: bool, new: bool) {
    match (old, new) {
        (false, true) => effects.add(Severity::Breaking, place, "It is no longer served."),
        (true, false) => effects.add(Severity::None, place, "It is served now."),
        _ => {}
    }
}

fn compare_item(effects: &mut Effects, old: &ItemType, new: &ItemType) {
    let place = old.name.to_string();
    let refused = [
        (old.container != new.container, "Another container: the stored items stay where they are."),
        (
            old.container == new.container && old.key != new.key,
            "Another partition: the stored items do not move.",
        ),
        (
            (&old.type_value, &old.recognised_by) != (&new.type_value, &new.recognised_by),
            "Another `type` or condition: the stored items are no longer recognised.",
        ),
        (
            old.id_from != new.id_from,
            "Another `idFrom`: the stored items keep ids that the new fields do not give.",
        ),
    ];
    for (_, sentence) in refused.iter().filter(|(differs, _)| *differs) {
        effects.add(Severity::Refused, &place, *sentence);
    }
    if old.version != new.version {
        effects.add(
            Severity::Rebuild,
            &place,
            "Another version property: lists and copies of the type are rebuilt.",
        );
    }
    compare_deletion(effects, &place, &old.deletion, &new.deletion);
    compare_hidden(effects, &place, old.hidden, new.hidden);
    if old.login != new.login {
        effects.add(Severity::Breaking, &place, "Callers sign in by another field.");
    }
    if old.owned_by != new.owned_by {
        effects.add(Severity::None, &place, "Another owner: deletions from now on follow it.");
    }
    for (name, action) in Action::ALL {
        let words = name.to_lowercase();
        match (old.writes.contains(action), new.writes.contains(action)) {
            (true, false) => {
                effects.add(Severity::Breaking, &place, format!("The mutation to {words} is removed."))
            }
            (false, true) => effects.add(Severity::None, &place, format!("A mutation to {words} is new.")),
            _ => {}
        }
        let (before, after) = (old.authorization.of(*action), new.authorization.of(*action));
        compare_grants(effects, &place, &words, before, after);
    }
}

fn compare_deletion(effects: &mut Effects, place: &str, old: &Deletion, new: &Deletion) {
    match (old, new) {
        (old, new) if old == new => {}
        (
            Deletion::Soft { path: old_path, is: old_is, .. },
            Deletion::Soft { path: new_path, is: new_is, .. },
        ) => {
            if (old_path, old_is) != (new_path, new_is) {
                let sentence = "Another mark of deleted items: deleted items would come back.";
                effects.add(Severity::Refused, place, sentence);
            } else {
                effects.add(
                    Severity::None,
                    place,
                    "Items that are deleted from now on expire at another time.",
                );
            }
        }
        (Deletion::Soft { .. }, _) => {
            let sentence =
                "Deleted items carry a mark that the new model does not read: they would come back.";
            effects.add(Severity::Refused, place, sentence);
        }
        (_, _) => effects.add(Severity::Rebuild, place, "Deletions show in another way: lists are rebuilt."),
    }
}

fn compare_enum(effects: &mut Effects, old: &EnumType, new: &EnumType) {
    for pair in pairs(&old.values, &new.values, |value| &value.name) {
        let place = |value: &EnumValue| format!("{}.{}", old.name, value.name);
        match pair {
            (Some(before), Some(after)) if before.stored != after.stored => {
                if after.former.contains(&before.stored) {
                    effects.add(Severity::None, place(before), "The former text is still read.");
                } else {
                    let sentence = format!("Another stored text needs `former: \"{}\"`.", before.stored);
                    effects.add(Severity::Refused, place(before), sentence);
                }
            }
            (Some(before), None) => {
                let is_read = new
                    .values
                    .iter()
                    .any(|value| value.stored == before.stored || value.former.contains(&before.stored));
                let (severity, sentence) = match is_read {
                    true => (Severity::Breaking, "The value is renamed; items with its text are still read."),
                    false => (Severity::Refused, "The value is removed; items that store it cannot be read."),
                };
                effects.add(severity, place(before), sentence);
            }
            (None, Some(after)) => {
                effects.add(Severity::None, place(after), "The value is new; old clients do not know it.");
            }
            _ => {}
        }
    }
}

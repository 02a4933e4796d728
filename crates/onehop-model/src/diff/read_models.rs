//! Comparison of read models: lists, copies and counts are built beside the present ones, then switched.

use super::effects::{Effects, Severity};
use crate::value::{CountField, Kept, ListSource, ReferenceField, RelatedField, RelatedSource};

/// Compares the copies beside a reference.
pub(super) fn compare_copies(effects: &mut Effects, place: &str, old: &ReferenceField, new: &ReferenceField) {
    for copy in &new.copies {
        match old.copies.iter().find(|known| known.field == copy.field) {
            None => {
                let sentence = format!("The copy of `{}` is new; stored items are filled.", copy.field);
                effects.add(Severity::Rebuild, place, sentence);
            }
            Some(known) if known.property != copy.property => {
                let sentence = format!("The copy of `{}` is built at another property.", copy.field);
                effects.add(Severity::Rebuild, place, sentence);
            }
            Some(_) => {}
        }
    }
    for copy in &old.copies {
        if !new.copies.iter().any(|known| known.field == copy.field) {
            let sentence = format!("The copy of `{}` is removed; reads fetch the source.", copy.field);
            effects.add(Severity::None, place, sentence);
        }
    }
    match (old.frozen, new.frozen) {
        (true, false) => {
            effects.add(Severity::Rebuild, place, "Frozen copies follow their source from now on.")
        }
        (false, true) => effects.add(Severity::None, place, "Copies stay as they are from now on."),
        _ => {}
    }
    if !old.immutable && new.immutable {
        effects.add(Severity::Breaking, place, "Updates of the reference are refused.");
    }
    if old.caller != new.caller {
        effects.add(Severity::Breaking, place, "The reference changes between input and the caller.");
    }
}

/// Compares counts.
pub(super) fn compare_counts(effects: &mut Effects, place: &str, old: &CountField, new: &CountField) {
    if old.of != new.of {
        effects.add(Severity::Rebuild, place, "The count counts other items; it is built again.");
        return;
    }
    match (&old.kept, &new.kept) {
        (before, after) if before == after => {}
        (_, Kept::Query) => effects.add(Severity::None, place, "A query counts from now on."),
        (Kept::Batch { .. }, Kept::Batch { .. }) => {}
        (Kept::Behind { within_seconds: before, .. }, Kept::Behind { within_seconds: after, .. }) => {
            if before != after {
                effects.add(Severity::None, place, "The count may lag by another time.");
            }
        }
        (_, _) => effects.add(Severity::Rebuild, place, "The count has another writer; it is built again."),
    }
}

/// Compares lists of items.
pub(super) fn compare_related(effects: &mut Effects, place: &str, old: &RelatedField, new: &RelatedField) {
    match (&old.source, &new.source) {
        (RelatedSource::List(before), RelatedSource::List(after)) => {
            let differences = list_differences((old, before), (new, after));
            if !differences.is_empty() {
                let sentence = format!(
                    "The list is built beside the present one, then switched: another {}.",
                    differences.join(", another ")
                );
                effects.add(Severity::Rebuild, place, sentence);
            }
        }
        (_, RelatedSource::List(_)) => {
            effects.add(Severity::Rebuild, place, "The items become a list; it is built, then switched.");
        }
        (RelatedSource::List(_), _) => {
            effects.add(Severity::None, place, "The list becomes a query; its entries are removed.");
        }
        (before, after) if before != after => {
            effects.add(Severity::None, place, "The items are found by another query.");
        }
        (_, _) => {}
    }
    let meaning = [
        (old.conditions != new.conditions, "Other items belong to the list."),
        (old.order != new.order, "The items have another order, and old cursors are refused."),
        (old.arguments() != new.arguments(), "The field takes other arguments."),
        (old.page.connection != new.page.connection, "A connection and a plain list are different types."),
        (new.page.max < old.page.max, "Larger pages are refused."),
    ];
    for (_, sentence) in meaning.iter().filter(|(differs, _)| *differs) {
        effects.add(Severity::Breaking, place, *sentence);
    }
    if new.page.max > old.page.max || new.page.first != old.page.first {
        effects.add(Severity::None, place, "Pages have another size.");
    }
}

/// The differences of two lists whose entries have to be built again.
fn list_differences(
    (old_field, old): (&RelatedField, &ListSource),
    (new_field, new): (&RelatedField, &ListSource),
) -> Vec<&'static str> {
    let differences = [
        (old_field.item_type != new_field.item_type, "item type"),
        (old.projection != new.projection, "name"),
        (old.container != new.container, "container"),
        (old.by != new.by, "partition"),
        (old.fields != new.fields, "choice of fields"),
        (old.keep != new.keep, "number of entries"),
        (old.entry_type != new.entry_type, "`type`"),
        (old_field.conditions != new_field.conditions, "condition"),
        (old_field.order != new_field.order, "order"),
    ];
    differences.iter().filter(|(differs, _)| *differs).map(|(_, words)| *words).collect()
}

//! Comparison of fields: stored data, then the API.

use super::access::compare_optional;
use super::effects::{Effects, Severity, pairs};
use super::read_models::{compare_copies, compare_counts, compare_related};
use crate::value::{
    Checks, Field, FieldKind, FieldType, Grants, Literal, Model, PropertyPath, RelatedSource, StoredField,
    ValueSource,
};

/// Compares the fields of a type.
pub(super) fn compare_fields(
    effects: &mut Effects,
    models: (&Model, &Model),
    ty: &str,
    old: &[Field],
    new: &[Field],
) {
    for pair in pairs(old, new, |field| &field.name) {
        match pair {
            (Some(before), Some(after)) => {
                let place = format!("{ty}.{}", before.name);
                compare_kinds(effects, &place, before, after);
                compare_api(effects, models, ty, &place, before, after);
            }
            (None, Some(after)) => added(effects, &format!("{ty}.{}", after.name), after, old),
            (Some(before), None) => removed(effects, &format!("{ty}.{}", before.name), before, new),
            (None, None) => {}
        }
    }
}

/// The present and former properties of a field.
pub(super) fn properties(field: &Field) -> Vec<&PropertyPath> {
    field.property().into_iter().chain(field.former()).collect()
}

fn added(effects: &mut Effects, place: &str, field: &Field, old: &[Field]) {
    let reads = properties(field);
    let is_read = old.iter().any(|known| known.property().is_some_and(|property| reads.contains(&property)));
    let needs_default = needs_default(field);
    if is_read {
        effects.add(Severity::None, place, "The field is new and reads stored values of an older one.");
    } else if field.ty.non_null && matches!(field.kind, FieldKind::Reference(_)) && needs_default {
        let sentence = "A new reference is nullable: stored items lack it, and it has no default.";
        effects.add(Severity::Refused, place, sentence);
    } else if field.ty.non_null && needs_default {
        effects.add(Severity::Refused, place, "A new non-null field needs @default: stored items lack it.");
    } else {
        match &field.kind {
            FieldKind::Related(related) if matches!(related.source, RelatedSource::List(_)) => {
                effects.add(Severity::Rebuild, place, "The list is new; it is built.");
            }
            FieldKind::Stored(stored) if matches!(stored.source, ValueSource::Copied(_)) => {
                effects.add(Severity::Rebuild, place, "The copy is new; stored items are filled.");
            }
            FieldKind::Count(_) if field.property().is_some() => {
                effects.add(Severity::Rebuild, place, "The count is new; stored items are counted.");
            }
            FieldKind::Stored(stored) if computed_and_stored(stored) => {
                effects.add(Severity::Rebuild, place, "The value is new; stored items are filled.");
            }
            _ => effects.add(Severity::None, place, "The field is new."),
        }
    }
}

/// Whether stored items lack a value that nothing gives them.
fn needs_default(field: &Field) -> bool {
    match &field.kind {
        FieldKind::Stored(stored) => match &stored.source {
            ValueSource::Input | ValueSource::Created => stored.default.is_none(),
            ValueSource::Copied(copy) => copy.frozen,
            _ => false,
        },
        FieldKind::Reference(_) => field.ty.list.is_none(),
        _ => false,
    }
}

fn computed_and_stored(stored: &StoredField) -> bool {
    matches!(&stored.source, ValueSource::Computed(computed) if computed.stored)
}

fn removed(effects: &mut Effects, place: &str, field: &Field, new: &[Field]) {
    let reader = new
        .iter()
        .find(|known| field.property().is_some_and(|property| properties(known).contains(&property)));
    let sentence = match reader {
        Some(reader) => format!("The field is renamed; `{}` reads its stored values.", reader.name),
        None => "The field is removed; its stored values stay and are not read.".to_owned(),
    };
    let severity = if field.hidden { Severity::None } else { Severity::Breaking };
    effects.add(severity, place, sentence);
}

/// Compares the stored side of a field.
fn compare_kinds(effects: &mut Effects, place: &str, old: &Field, new: &Field) {
    match (&old.kind, &new.kind) {
        (FieldKind::Stored(before), FieldKind::Stored(after)) => {
            compare_property(effects, place, old, new);
            compare_stored(effects, place, (old, new), before, after);
        }
        (FieldKind::Reference(before), FieldKind::Reference(after)) => {
            compare_property(effects, place, old, new);
            if before.target != after.target {
                effects.add(Severity::Refused, place, "Another target: the stored ids are of other items.");
            }
            if before.partition != after.partition {
                effects.add(Severity::None, place, "The key of the target is read from other fields.");
            }
            compare_copies(effects, place, before, after);
        }
        (FieldKind::Related(before), FieldKind::Related(after)) => {
            compare_related(effects, place, before, after);
        }
        (FieldKind::Count(before), FieldKind::Count(after)) => {
            compare_property(effects, place, old, new);
            compare_counts(effects, place, before, after);
        }
        (FieldKind::HasCaller(before), FieldKind::HasCaller(after)) => {
            if before != after {
                effects.add(Severity::Breaking, place, "The field asks another list for the caller.");
            }
        }
        (_, _) if old.property().is_some() || new.property().is_some() => {
            let sentence = "The field is of another kind: stored values do not fit.";
            effects.add(Severity::Refused, place, sentence);
        }
        (_, _) => effects.add(Severity::Breaking, place, "The field is of another kind."),
    }
}

fn compare_property(effects: &mut Effects, place: &str, old: &Field, new: &Field) {
    for former in old.former().iter().filter(|former| !properties(new).contains(former)) {
        let sentence = format!("Values at the former property `{former}` are no longer read.");
        effects.add(Severity::Breaking, place, sentence);
    }
    if let (FieldKind::Stored(before), FieldKind::Stored(after), None, None) =
        (&old.kind, &new.kind, old.property(), new.property())
        && before.property != after.property
    {
        effects.add(Severity::Rebuild, place, "Entries of lists have the value at another property.");
    }
    let (Some(before), Some(after)) = (old.property(), new.property()) else { return };
    if before == after {
        return;
    }
    if !properties(new).contains(&before) {
        let sentence = format!("A renamed property needs `former: \"{before}\"`.");
        effects.add(Severity::Refused, place, sentence);
    }
}

fn compare_stored(
    effects: &mut Effects,
    place: &str,
    (old_field, new_field): (&Field, &Field),
    old: &StoredField,
    new: &StoredField,
) {
    if old.format != new.format || old_field.ty.of != new_field.ty.of {
        effects.add(Severity::Refused, place, "Another type or format: stored values cannot be read.");
    } else if old_field.ty.list.is_some() != new_field.ty.list.is_some() {
        effects.add(Severity::Refused, place, "A list and a single value are stored in different forms.");
    } else if !old_field.ty.non_null && new_field.ty.non_null && new.default.is_none() {
        effects.add(Severity::Refused, place, "A field that becomes non-null needs @default.");
    }
    match (old.unique, new.unique) {
        (before, after) if before == after => {}
        (Some(_), Some(_)) => {
            effects.add(Severity::Refused, place, "Another `normalize`: the reservations have another form.");
        }
        (None, Some(_)) => {
            effects.add(
                Severity::Refused,
                place,
                "Stored values have no reservations, so they may not be unique.",
            );
        }
        (_, None) => effects.add(Severity::None, place, "The value need not be unique any more."),
    }
    if old.currency != new.currency {
        effects.add(
            Severity::Refused,
            place,
            "Another property of the currency: stored amounts have none there.",
        );
    }
    if old.default != new.default {
        effects.add(Severity::None, place, "Items without the property have another value from now on.");
    }
    compare_sources(effects, place, (old_field, new_field), old, new);
    if !old.immutable && new.immutable {
        effects.add(Severity::Breaking, place, "Updates of the field are refused.");
    }
}

/// Compares the sources of a field's values: stored values are written anew, or stay.
fn compare_sources(
    effects: &mut Effects,
    place: &str,
    (old_field, new_field): (&Field, &Field),
    old: &StoredField,
    new: &StoredField,
) {
    if old.source == new.source {
        return;
    }
    let is_stored = |field: &Field| field.property().is_some();
    if !is_stored(old_field) && is_stored(new_field) && new_field.ty.non_null && needs_default(new_field) {
        let sentence = "The value was computed when it was read: stored items lack it, so it needs @default.";
        effects.add(Severity::Refused, place, sentence);
    }
    let is_derived = matches!(new.source, ValueSource::Computed(_) | ValueSource::Copied(_));
    if is_derived {
        let sentence = "The value has another source; it is computed or copied again.";
        effects.add(Severity::Rebuild, place, sentence);
    }
    let is_input = |field: &StoredField| field.source == ValueSource::Input;
    if is_input(old) != is_input(new) {
        let sentence = "The value has another source, so the inputs of mutations change.";
        effects.add(Severity::Breaking, place, sentence);
    } else if !is_derived {
        let sentence = "The value has another source, so stored values mean something else.";
        effects.add(Severity::Breaking, place, sentence);
    }
}

/// Compares the side of a field that clients see.
fn compare_api(
    effects: &mut Effects,
    (old_model, new_model): (&Model, &Model),
    ty: &str,
    place: &str,
    old: &Field,
    new: &Field,
) {
    match (old.hidden, new.hidden) {
        (true, true) => return,
        (false, true) => return effects.add(Severity::Breaking, place, "It is no longer served."),
        (true, false) => return effects.add(Severity::None, place, "It is served now."),
        (false, false) => {}
    }
    compare_api_types(effects, place, &old.ty, &new.ty);
    compare_checks(effects, place, &old.checks, &new.checks);
    let public = Grants { public: true, ..Grants::default() };
    let of_items = |model: &Model| match model.item(ty) {
        Some(item) => (item.authorization.read.clone(), item.authorization.update.clone()),
        None => (public.clone(), public.clone()),
    };
    let ((old_read, old_update), (new_read, new_update)) = (of_items(old_model), of_items(new_model));
    let (before, after) = (&old.authorization, &new.authorization);
    // A change of the item's own rules is reported once, at the item.
    if before.read.is_some() || after.read.is_some() {
        let of_items = (&old_read, &new_read);
        compare_optional(effects, place, "read it", before.read.as_ref(), after.read.as_ref(), of_items);
    }
    if before.update.is_some() || after.update.is_some() {
        let of_items = (&old_update, &new_update);
        compare_optional(
            effects,
            place,
            "update it",
            before.update.as_ref(),
            after.update.as_ref(),
            of_items,
        );
    }
}

/// Compares types that clients receive.
pub(super) fn compare_api_types(effects: &mut Effects, place: &str, old: &FieldType, new: &FieldType) {
    if old == new {
        return;
    }
    let is_nullability = old.of == new.of && old.list.is_some() == new.list.is_some();
    let promises_less = (old.non_null && !new.non_null) || (is_nullability && old.list > new.list);
    if is_nullability && !promises_less {
        effects.add(Severity::None, place, format!("The type `{old}` becomes `{new}`, which promises more."));
    } else {
        effects.add(Severity::Breaking, place, format!("The type `{old}` becomes `{new}`."));
    }
}

/// Compares the checks of input: narrower ones refuse input that was accepted.
fn compare_checks(effects: &mut Effects, place: &str, old: &Checks, new: &Checks) {
    if old == new {
        return;
    }
    let number = |literal: &Option<Literal>| match literal {
        Some(Literal::Int(value)) => Some(*value as f64),
        Some(Literal::Float(value)) => Some(*value),
        Some(Literal::String(text)) => text.parse().ok(),
        _ => None,
    };
    let rises = |old: Option<f64>, new: Option<f64>| new.is_some_and(|new| old.is_none_or(|old| new > old));
    let falls = |old: Option<f64>, new: Option<f64>| new.is_some_and(|new| old.is_none_or(|old| new < old));
    let is_narrower = rises(old.length_min.map(f64::from), new.length_min.map(f64::from))
        || falls(old.length_max.map(f64::from), new.length_max.map(f64::from))
        || rises(number(&old.range_min), number(&new.range_min))
        || falls(number(&old.range_max), number(&new.range_max))
        || (new.pattern.is_some() && old.pattern != new.pattern);
    match is_narrower {
        true => effects.add(Severity::Breaking, place, "Input that was accepted is refused."),
        false => effects.add(Severity::None, place, "More input is accepted."),
    }
}

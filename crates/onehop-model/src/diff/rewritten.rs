//! Rewritten values: values that move from a former property to the present one, values that are computed
//! anew, and values of items without the property, where the default changes. Such fields and the lists that
//! depend on them are complete when all values are written.

use std::collections::BTreeSet;

use super::effects::{Effects, Severity};
use super::fields::properties;
use crate::value::{
    Field, FieldKind, ItemType, Model, Name, PropertyPath, QueryKind, RelatedField, RelatedSource,
    StoredField, ValueSource,
};

/// The fields of a type whose values are rewritten.
struct Rewritten<'a> {
    ty: &'a Name,
    fields: Vec<(&'a Name, Rewriting)>,
}

/// A reason to write values anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rewriting {
    /// They move to another property.
    Moved,
    /// They are computed anew.
    Computed,
    /// Items without the property have another value. Entries of lists have it.
    Defaulted,
}

/// Adds the fields whose values are rewritten, and the lists that find or order items by them.
pub(super) fn compare_rewritten(effects: &mut Effects, old: &Model, new: &Model) {
    let copied = new.copied_fields();
    let mut rewritten = Vec::new();
    for item in new.items() {
        let Some(before) = old.item(&item.name) else { continue };
        let mut of_type = moved_fields(effects, &item.name, &before.fields, &item.fields);
        add_changed(effects, &mut of_type, (&before.fields, &item.fields), &copied);
        rewritten.push(of_type);
    }
    for embedded in new.embedded() {
        let Some(before) = old.embedded_type(&embedded.name) else { continue };
        moved_fields(effects, &embedded.name, &before.fields, &embedded.fields);
    }
    rewritten.retain(|rewritten| !rewritten.fields.is_empty());
    let mut add = |place: String, is_known: bool, list: &RelatedField, owner: Option<&ItemType>| {
        // A new list is built in any case.
        if !is_known && matches!(list.source, RelatedSource::List(_)) {
            return;
        }
        if let Some((field, rewriting)) = dependence(&rewritten, list, owner) {
            let verb = if rewriting == Rewriting::Moved { "move" } else { "change" };
            let sentence = format!("The list depends on `{field}`, whose values {verb}.");
            effects.add(Severity::Rebuild, place, sentence);
        }
    };
    for item in new.items() {
        let before = old.item(&item.name);
        for field in &item.fields {
            if let FieldKind::Related(list) = &field.kind {
                let is_known = before.is_some_and(|before| before.field(&field.name).is_some());
                add(format!("{}.{}", item.name, field.name), is_known, list, Some(item));
            }
        }
    }
    for query in new.queries() {
        if let QueryKind::Related(list) = &query.kind {
            let is_known = old.queries().iter().any(|before| before.name == query.name);
            add(format!("Query.{}", query.name), is_known, list, None);
        }
    }
}

fn moved_fields<'a>(effects: &mut Effects, ty: &'a Name, old: &[Field], new: &'a [Field]) -> Rewritten<'a> {
    let mut moved = Rewritten { ty, fields: Vec::new() };
    for field in new {
        let Some(property) = field.property() else { continue };
        let stored_at = |path: &&PropertyPath| old.iter().any(|known| properties(known).contains(path));
        let is_known = old.iter().any(|known| known.property() == Some(property));
        let Some(from) = field.former().iter().find(stored_at).filter(|_| !is_known) else { continue };
        let sentence = format!("Stored values move from the property `{from}` to `{property}`.");
        effects.add(Severity::Rebuild, format!("{ty}.{}", field.name), sentence);
        moved.fields.push((&field.name, Rewriting::Moved));
    }
    moved
}

/// Adds the fields of a type that are computed in another way or have another default, and the stored values
/// that are computed from them.
fn add_changed<'a>(
    effects: &mut Effects,
    rewritten: &mut Rewritten<'a>,
    (old, new): (&[Field], &'a [Field]),
    copied: &BTreeSet<(Name, Name)>,
) {
    let stored = |field: &'a Field| match &field.kind {
        FieldKind::Stored(stored) => Some((&field.name, stored)),
        _ => None,
    };
    let is_computed =
        |stored: &StoredField| matches!(&stored.source, ValueSource::Computed(rule) if rule.stored);
    for (name, after) in new.iter().filter_map(stored) {
        let before = old.iter().find(|field| field.name == *name).map(|field| &field.kind);
        let before = match before {
            Some(FieldKind::Stored(before)) => Some(before),
            _ => None,
        };
        if is_computed(after) && before.is_none_or(|before| before.source != after.source) {
            rewritten.fields.push((name, Rewriting::Computed));
        } else if before.is_some_and(|before| before.default != after.default) {
            rewritten.fields.push((name, Rewriting::Defaulted));
            if copied.contains(&(rewritten.ty.clone(), name.clone())) {
                let sentence = "Copies of items without the property are written anew.";
                effects.add(Severity::Rebuild, format!("{}.{name}", rewritten.ty), sentence);
            }
        }
    }
    let is_rewritten = |rewritten: &Rewritten<'_>, name: &Name| {
        let is_it =
            |(field, rewriting): &(&Name, Rewriting)| *field == name && *rewriting != Rewriting::Moved;
        rewritten.fields.iter().any(is_it)
    };
    loop {
        let following = new.iter().filter_map(stored).find_map(|(name, stored)| {
            let ValueSource::Computed(rule) = &stored.source else { return None };
            let from =
                rule.from.iter().map(|path| path.first()).find(|from| is_rewritten(rewritten, from))?;
            (rule.stored && !is_rewritten(rewritten, name)).then_some((name, from))
        });
        let Some((name, from)) = following else { return };
        let sentence = format!("The value is computed from `{from}`, whose values change.");
        effects.add(Severity::Rebuild, format!("{}.{name}", rewritten.ty), sentence);
        rewritten.fields.push((name, Rewriting::Computed));
    }
}

/// The field with rewritten values by which a list finds, orders or leaves out its items.
fn dependence<'a>(
    rewritten: &[Rewritten<'a>],
    list: &'a RelatedField,
    owner: Option<&'a ItemType>,
) -> Option<(&'a Name, Rewriting)> {
    let has_entries = matches!(list.source, RelatedSource::List(_));
    let rewriting = |ty: &Name, field: &Name| {
        let fields = rewritten.iter().filter(|rewritten| rewritten.ty == ty).flat_map(|of| &of.fields);
        let mut found = fields.filter(|(name, _)| *name == field).map(|(_, rewriting)| *rewriting);
        found.find(|rewriting| has_entries || *rewriting != Rewriting::Defaulted)
    };
    let moves = |ty: &Name, field: &Name| rewriting(ty, field).is_some();
    let (by, link): (&[Name], _) = match &list.source {
        RelatedSource::Partition { by } => (by, None),
        RelatedSource::Find { by, through } => (by.as_slice(), through.as_ref()),
        RelatedSource::List(source) => (&source.by, None),
    };
    let linked = link.map_or(&list.item_type, |link| &link.item_type);
    let to = link.map(|link| &link.to).filter(|field| moves(linked, field));
    let order = list.order.iter().map(|order| &order.field).find(|field| moves(&list.item_type, field));
    let conditions = list.conditions.iter().filter_map(|condition| condition.field.single());
    let condition = conditions.into_iter().find(|field| moves(&list.item_type, field));
    // A logical partition by several values is named by values of the owner, beside its id.
    let owner = owner.filter(|_| by.len() > 1);
    let owned = owner.and_then(|owner| owner.fields.iter().find(|field| moves(&owner.name, &field.name)));
    let owned =
        owned.map(|field| &field.name).filter(|_| matches!(list.source, RelatedSource::Partition { .. }));
    let by = by.iter().find(|field| moves(linked, field));
    let of_link = by.or(to).and_then(|field| Some((field, rewriting(linked, field)?)));
    let of_item = order.or(condition).and_then(|field| Some((field, rewriting(&list.item_type, field)?)));
    let of_owner = owned.and_then(|field| Some((field, rewriting(&owner?.name, field)?)));
    of_link.or(of_item).or(of_owner)
}

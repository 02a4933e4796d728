//! Renamed properties: stored values move from a former property to the present one. Fields with such values
//! and lists that depend on them are complete when all values have moved.

use super::effects::{Effects, Severity};
use super::fields::properties;
use crate::value::{
    Field, FieldKind, ItemType, Model, Name, PropertyPath, QueryKind, RelatedField, RelatedSource,
};

/// The fields of a type whose stored values move.
struct Moved<'a> {
    ty: &'a Name,
    fields: Vec<&'a Name>,
}

/// Adds the fields whose values move, and the lists that find or order items by them.
pub(super) fn compare_renames(effects: &mut Effects, old: &Model, new: &Model) {
    let mut moved = Vec::new();
    for item in new.items() {
        let Some(before) = old.item(&item.name) else { continue };
        moved.push(moved_fields(effects, &item.name, &before.fields, &item.fields));
    }
    for embedded in new.embedded() {
        let Some(before) = old.embedded_type(&embedded.name) else { continue };
        moved_fields(effects, &embedded.name, &before.fields, &embedded.fields);
    }
    moved.retain(|moved| !moved.fields.is_empty());
    let mut add = |place: String, list: &RelatedField, owner: Option<&ItemType>| {
        if let Some(field) = dependence(&moved, list, owner) {
            let sentence = format!("The list depends on `{field}`, whose values move.");
            effects.add(Severity::Rebuild, place, sentence);
        }
    };
    for item in new.items() {
        for field in &item.fields {
            if let FieldKind::Related(list) = &field.kind {
                add(format!("{}.{}", item.name, field.name), list, Some(item));
            }
        }
    }
    for query in new.queries() {
        if let QueryKind::Related(list) = &query.kind {
            add(format!("Query.{}", query.name), list, None);
        }
    }
}

fn moved_fields<'a>(effects: &mut Effects, ty: &'a Name, old: &[Field], new: &'a [Field]) -> Moved<'a> {
    let mut moved = Moved { ty, fields: Vec::new() };
    for field in new {
        let Some(property) = field.property() else { continue };
        let stored_at = |path: &&PropertyPath| old.iter().any(|known| properties(known).contains(path));
        let is_known = old.iter().any(|known| known.property() == Some(property));
        let Some(from) = field.former().iter().find(stored_at).filter(|_| !is_known) else { continue };
        let sentence = format!("Stored values move from the property `{from}` to `{property}`.");
        effects.add(Severity::Rebuild, format!("{ty}.{}", field.name), sentence);
        moved.fields.push(&field.name);
    }
    moved
}

/// The field with moving values by which a list finds, orders or leaves out its items.
fn dependence<'a>(
    moved: &[Moved<'a>],
    list: &'a RelatedField,
    owner: Option<&'a ItemType>,
) -> Option<&'a Name> {
    let moves =
        |ty: &Name, field: &Name| moved.iter().any(|moved| moved.ty == ty && moved.fields.contains(&field));
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
    by.or(to).or(order).or(condition).or(owned)
}

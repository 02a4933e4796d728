//! List rules of a model: `@list` by a reference, by the elements of an array, or under `Query`.

use onehop_model::{Field, FieldKind, ItemType, ListSource, Model, RelatedSource, ValueSource};
use onehop_store::{ContainerName, interned};

use super::conditions::conditions;
use super::containers::{element_id, is_constant, is_type};
use super::entry_fields::EntryFields;
use super::item_types::{ItemTypes, property};
use super::model_error::ModelError;
use super::related::{RelatedPlace, related_places};
use crate::item_type::{ID, ItemPartition};
use crate::rule::{ElementFields, Keep, ListPartition, ListRule, Rule};

const LIST: &str = "@list";

/// The lists: of the item types in the order of the file, then of `Query`.
pub(super) fn rules(model: &Model, types: &ItemTypes) -> Vec<Result<Rule, ModelError>> {
    let lists = related_places(model).into_iter().filter_map(|place| match &place.related.source {
        RelatedSource::List(list) => Some((place, list)),
        _ => None,
    });
    lists.map(|(place, list)| rule(model, types, &place, list)).collect()
}

fn rule(
    model: &Model,
    types: &ItemTypes,
    place: &RelatedPlace<'_>,
    list: &ListSource,
) -> Result<Rule, ModelError> {
    let source = types.get(&place.target.name)?;
    let conditions = conditions(model, place)?;
    if list.keep.is_some() && !conditions.is_empty() {
        let reason = "a list with `keep` has no conditions: the next items are looked for among all items";
        return Err(ModelError::unsupported(&place.place, "@where", reason));
    }
    if list.entry_type != source.name {
        let reason = format!("`type` of entries is `{}`, that of their items", source.name);
        return Err(ModelError::unsupported(&place.place, LIST, reason));
    }
    let container = model.container(&list.container);
    let key = match container.map(|container| container.key.as_slice()) {
        Some([key]) => property(&place.place, key)?,
        _ => {
            return Err(ModelError::unsupported(
                &place.place,
                LIST,
                "the container of a list has one key path",
            ));
        }
    };
    let partition = match list.by.as_slice() {
        [] if container.is_some_and(is_type) => ListPartition::Constant(source.name),
        [] => {
            let reason = "the key of a list under `Query` is `/type`";
            return Err(ModelError::unsupported(&place.place, LIST, reason));
        }
        [by] => partition_by(place, by)?,
        _ => return Err(ModelError::unsupported(&place.place, LIST, "`by` is one field")),
    };
    let mut fields = EntryFields::of(place, list)?;
    // An entry leads to its item.
    if let ItemPartition::Field(field) = source.partition {
        fields.require(field);
    }
    let is_named = fields.always.contains(&key);
    Ok(Rule::List(
        ListRule {
            name: interned(&list.projection)?,
            source: source.clone(),
            container: ContainerName::named(&list.container)?,
            partition,
            element: match partition {
                ListPartition::Element(_) => {
                    Some(ElementFields { partition_key: key, id: element_id(place.target)? })
                }
                _ => None,
            },
            key_field: (matches!(partition, ListPartition::Field(_)) && !is_named).then_some(key),
            immutable_partition: list.by.first().is_some_and(|by| never_moves(place.target, by)),
            keep: keep(place, list)?,
            conditions,
            fields: fields.always,
            unless_zero: fields.unless_zero,
            optional: fields.optional,
            computed: fields.computed,
        }
        .into(),
    ))
}

fn partition_by(place: &RelatedPlace<'_>, by: &str) -> Result<ListPartition, ModelError> {
    let property = place.property_of(by)?;
    let is_array = place.target.field(by).is_some_and(|field| field.ty.list.is_some());
    Ok(match is_array {
        true => ListPartition::Element(interned(&format!("{property}[].{ID}"))?),
        false => ListPartition::Field(property),
    })
}

fn never_moves(target: &ItemType, by: &str) -> bool {
    match target.field(by).map(|field| (&field.kind, field.ty.list)) {
        Some((FieldKind::Reference(reference), None)) => is_constant(reference),
        Some((FieldKind::Stored(stored), None)) => stored.immutable,
        _ => false,
    }
}

/// The first items of a descending order: the newest where its value never changes, the highest otherwise.
fn keep(place: &RelatedPlace<'_>, list: &ListSource) -> Result<Keep, ModelError> {
    let unsupported = |reason: &str| Err(ModelError::unsupported(&place.place, LIST, reason));
    let Some(items_max) = list.keep else {
        return Ok(Keep::All);
    };
    if !list.by.is_empty() {
        return unsupported("`keep` with `by`, the first items of each parent, is not supported");
    }
    let Some(order) = place.related.order.first() else { return unsupported("`keep` needs an order") };
    if !order.descending {
        return unsupported(
            "`keep` with an ascending order is not supported: the last items of an order are kept",
        );
    }
    let is_fixed = place.target.field(&order.field).is_some_and(is_fixed);
    let items_max = items_max as usize;
    Ok(if is_fixed { Keep::Newest(items_max) } else { Keep::Highest(items_max) })
}

/// Whether the value of a field never changes.
fn is_fixed(field: &Field) -> bool {
    match &field.kind {
        FieldKind::Stored(stored) => {
            stored.immutable || matches!(stored.source, ValueSource::Created | ValueSource::Id)
        }
        FieldKind::Reference(reference) => is_constant(reference),
        _ => false,
    }
}

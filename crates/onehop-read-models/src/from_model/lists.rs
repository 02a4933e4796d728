//! List rules of a model: `@list` by a reference, by the elements of an array, or under `Query`.

use onehop_model::{
    Field, FieldKind, ItemType, Kept, KeySource, ListSource, Model, Name, RelatedField, RelatedSource,
    ValueSource,
};
use onehop_store::{ContainerName, interned};

use super::conditions::conditions;
use super::entry_fields::EntryFields;
use super::item_types::{ItemTypes, property};
use super::model_error::ModelError;
use super::related::{RelatedPlace, related_places};
use super::relations::{element_id, is_constant, is_type};
use crate::condition::{Condition, ConditionTest};
use crate::item_type::{ID, TYPE};
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
    let container = model.container(&list.container);
    let keys = container.map(|container| container.key.as_slice()).unwrap_or_default();
    let keys: Vec<&str> = keys.iter().map(|key| property(&place.place, key)).collect::<Result<_, _>>()?;
    let key = interned(&keys.join("/"))?;
    let partition = match list.by.as_slice() {
        [] if container.is_some_and(is_type) => ListPartition::Constant(interned(&list.entry_type)?),
        [] if keys.len() == 1 => ListPartition::Constant(fixed_key(model, place, key)?),
        [] => {
            let reason = "a list under `Query` is in a container with one key path";
            return Err(ModelError::unsupported(&place.place, LIST, reason));
        }
        [by] => partition_by(place, by)?,
        several => partition_by_several(place, several)?,
    };
    let mut fields = EntryFields::of(model, place, list)?;
    // An entry leads to its item.
    source.partition.fields().for_each(|field| fields.require(field));
    let is_named = keys.iter().all(|key| fields.always.contains(key));
    Ok(Rule::List(
        ListRule {
            name: interned(&list.projection)?,
            source: source.clone(),
            container: ContainerName::named(&list.container)?,
            entry_type: interned(&list.entry_type)?,
            order_by: place.order_property()?,
            partition,
            element: match partition {
                ListPartition::Element(_) => {
                    Some(ElementFields { partition_key: key, id: element_id(place.target)? })
                }
                _ => None,
            },
            key_field: (!is_named && has_key_field(partition, key)).then_some(key),
            immutable_partition: !list.by.is_empty()
                && list.by.iter().all(|by| never_moves(place.target, by)),
            keep: keep(place, list),
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

/// The logical partition by several fields, in the order of the container's key.
fn partition_by_several(place: &RelatedPlace<'_>, by: &[Name]) -> Result<ListPartition, ModelError> {
    let is_array = |by: &&Name| place.target.field(by.as_ref()).is_some_and(|field| field.ty.list.is_some());
    if let Some(array) = by.iter().find(is_array) {
        let reason = format!("`{array}` is an array, so it is the only field of `by`");
        return Err(ModelError::unsupported(&place.place, LIST, reason));
    }
    let properties: Result<Vec<&str>, _> = by.iter().map(|by| place.property_of(by)).collect();
    Ok(ListPartition::Field(interned(&properties?.join("/"))?))
}

pub(super) fn never_moves(target: &ItemType, by: &str) -> bool {
    // An item without a value has no entry, until it has one.
    let field = target.field(by).filter(|field| field.ty.non_null);
    match field.map(|field| (&field.kind, field.ty.list)) {
        Some((FieldKind::Reference(reference), None)) => is_constant(reference),
        Some((FieldKind::Stored(stored), None)) => stored.immutable,
        _ => false,
    }
}

/// Whether the key of an entry is a field that its item may lack.
fn has_key_field(partition: ListPartition, key: &str) -> bool {
    match partition {
        ListPartition::Field(_) => true,
        ListPartition::Constant(_) => key != TYPE,
        ListPartition::Element(_) => false,
    }
}

/// The partition key of a list under `Query` in a container whose key is another field: the value to which
/// `@where` fixes that field.
fn fixed_key(model: &Model, place: &RelatedPlace<'_>, key: &str) -> Result<&'static str, ModelError> {
    let is_key = |condition: &&Condition| condition.field == key;
    let fixed = conditions(model, place)?;
    let value = fixed.iter().find(is_key).and_then(|condition| match &condition.test {
        ConditionTest::In(values) => values.first().and_then(serde_json::Value::as_str),
        _ => None,
    });
    match value {
        Some(value) => Ok(interned(value)?),
        None => {
            let reason = format!(
                "the key of a list under `Query` is `/type`, or a text that `@where` fixes; it is `/{key}`"
            );
            Err(ModelError::unsupported(&place.place, LIST, reason))
        }
    }
}

/// The items that a list keeps: the last items of a fixed order, or of an order whose values change. A list
/// with
/// `keep` in another form has an entry of every item, and its readers stop after the first ones.
fn keep(place: &RelatedPlace<'_>, list: &ListSource) -> Keep {
    match (list.keep, place.related.order.first()) {
        (Some(items_max), Some(order)) if is_bounded(place.target, place.related, list) => {
            let is_fixed = place.target.field(&order.field).is_some_and(is_fixed);
            let items_max = items_max as usize;
            if is_fixed { Keep::Newest(items_max) } else { Keep::Highest(items_max) }
        }
        _ => Keep::All,
    }
}

/// Whether a list with `keep` has no more entries than it shows: the next items are found by one query of
/// all items in a descending order that each of them has.
pub(super) fn is_bounded(target: &ItemType, related: &RelatedField, list: &ListSource) -> bool {
    // The values of an order of several fields are not compared with each other.
    let order = match related.order.as_slice() {
        [order] if order.descending => Some(order),
        _ => None,
    };
    let has_value = |field: &Field| {
        let is_written = match &field.kind {
            FieldKind::Stored(stored) => stored.default.as_ref().is_none_or(|default| !default.sparse),
            FieldKind::Count(count) => matches!(count.kept, Kept::Batch { .. }),
            FieldKind::Reference(_) => true,
            FieldKind::Related(_) | FieldKind::HasCaller(_) => false,
        };
        field.ty.non_null && is_written && field.property().is_some()
    };
    let is_ordered = order.and_then(|order| target.field(&order.field)).is_some_and(has_value);
    let is_by_id = matches!(target.key.as_slice(), [KeySource::Id]);
    list.keep.is_some() && list.by.is_empty() && related.conditions.is_empty() && is_by_id && is_ordered
}

/// The number of entries that a list with `keep` shows, where it has an entry of every item.
#[must_use]
pub fn shown_of_all(target: &ItemType, related: &RelatedField) -> Option<usize> {
    match &related.source {
        RelatedSource::List(list) if !is_bounded(target, related, list) => {
            list.keep.map(|items_max| items_max as usize)
        }
        _ => None,
    }
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

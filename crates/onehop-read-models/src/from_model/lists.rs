//! List rules of a model: `@list` by a reference, by values, by the elements of an array, or under `Query`.

use std::borrow::Cow;

use onehop_model::{
    Condition as Declared, Field, FieldKind, Format, ItemType, Kept, KeySource, ListSource, Model, Name,
    PropertyPath, RelatedField, RelatedSource, StoredField, ValueSource,
};
use onehop_store::{ContainerName, interned, joined_key, key_text};
use serde_json::Value;

use super::conditions::{conditions, stored_values};
use super::entry_fields::EntryFields;
use super::item_types::{ItemTypes, is_key_value, property, root_property};
use super::model_error::ModelError;
use super::related::{RelatedPlace, related_places};
use super::relations::{element_id, is_constant, key_properties};
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
    let keys: Vec<&str> =
        keys.iter().map(|key| root_property(&place.place, key)).collect::<Result<_, _>>()?;
    let key = interned(&keys.join("/"))?;
    check_values(place, &list.by)?;
    let partition = match list.by.as_slice() {
        [] => ListPartition::Constant(fixed_key(model, place, list, &keys)?),
        [by] => partition_by(place, by)?,
        several => partition_by_several(place, several)?,
    };
    let mut fields = EntryFields::of(model, place, list)?;
    // An entry leads to its item.
    source.partition.fields_of_entries().for_each(|field| fields.require(field));
    let is_counted = counts_behind(model, place);
    if is_counted {
        for path in parent_key(model, place, list) {
            fields.require(root_property(&place.place, path)?);
        }
    }
    check_key(place, &fields, &keys, partition)?;
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
            entry_changes: entry_changes(place, list)?,
            keep: keep(place, list),
            is_counted,
            conditions,
            fields: fields.always,
            unless_zero: fields.unless_zero,
            optional: fields.optional,
            computed: fields.computed,
            defaults: defaults(model, place, list)?,
        }
        .into(),
    ))
}

/// # Errors
/// A field of the key that is an object or an amount.
fn check_values(place: &RelatedPlace<'_>, by: &[Name]) -> Result<(), ModelError> {
    let field = |by: &Name| place.target.field(by.as_ref()).filter(|field| !is_key_value(field));
    match by.iter().find_map(field) {
        Some(other) => {
            let reason = format!("a key has no `{}`", other.ty.of.name());
            Err(ModelError::unsupported(&place.place, LIST, reason))
        }
        None => Ok(()),
    }
}

/// The defaults of the fields by which entries are ordered and divided.
fn defaults(
    model: &Model,
    place: &RelatedPlace<'_>,
    list: &ListSource,
) -> Result<Vec<(&'static str, Value)>, ModelError> {
    let ordered = place.related.order.iter().map(|order| &order.field);
    let mut defaults = Vec::new();
    for name in ordered.chain(&list.by) {
        let Some(field) = place.target.field(name).filter(|field| field.ty.list.is_none()) else { continue };
        let FieldKind::Stored(StoredField { default: Some(default), .. }) = &field.kind else { continue };
        let is_as_written =
            matches!(field.kind, FieldKind::Stored(StoredField { format: Format::Iso | Format::Number, .. }));
        let value = stored_values(model, field, &default.value).into_iter().next().filter(|_| is_as_written);
        if let (Some(path), Some(value)) = (field.property(), value) {
            defaults.push((property(path)?, value));
        }
    }
    Ok(defaults)
}

/// # Errors
/// A key of the container that is a property of the entries with another value.
fn check_key(
    place: &RelatedPlace<'_>,
    fields: &EntryFields,
    keys: &[&str],
    partition: ListPartition,
) -> Result<(), ModelError> {
    let mut properties = fields.always.iter().chain(&fields.optional);
    let is_other = |name: &str| match partition {
        ListPartition::Field(by) => {
            keys.iter().zip(by.split('/')).any(|(key, by)| *key == name && by != name)
        }
        ListPartition::Element(_) => keys.contains(&name),
        ListPartition::Constant(_) => false,
    };
    match properties.find(|name| is_other(name)) {
        Some(name) => {
            let reason = format!(
                "the key `/{name}` of its container is a property of the entries, too, with another value: give the container another key"
            );
            Err(ModelError::unsupported(&place.place, LIST, reason))
        }
        None => Ok(()),
    }
}

/// Whether a count of the list is written behind.
pub(super) fn counts_behind(model: &Model, place: &RelatedPlace<'_>) -> bool {
    let Some((parent, list)) = place.place.split_once('.') else { return false };
    let is_of_list = |field: &Field| match &field.kind {
        FieldKind::Count(count) => *count.of == *list && matches!(count.kept, Kept::Behind { .. }),
        _ => false,
    };
    model.item(parent).is_some_and(|parent| parent.fields.iter().any(is_of_list))
}

/// The properties of listed items with the partition key of the parent of the list, but for its id.
fn parent_key<'a>(model: &Model, place: &RelatedPlace<'a>, list: &ListSource) -> Vec<&'a PropertyPath> {
    let parent = place.place.split_once('.').and_then(|(parent, _)| model.item(parent));
    let reference = list.by.first().and_then(|by| place.target.field(by)).map(|field| &field.kind);
    let (Some(parent), Some(FieldKind::Reference(reference))) = (parent, reference) else {
        return Vec::new();
    };
    let paths = key_properties(parent, reference, &place.target.fields).unwrap_or_default();
    let of_fields = parent.key.iter().zip(paths).filter(|(part, _)| matches!(part, KeySource::Field(_)));
    of_fields.map(|(_, path)| path).collect()
}

fn partition_by(place: &RelatedPlace<'_>, by: &str) -> Result<ListPartition, ModelError> {
    let property = place.property_of(by)?;
    let Some(field) = place.target.field(by).filter(|field| field.ty.list.is_some()) else {
        return Ok(ListPartition::Field(property));
    };
    Ok(ListPartition::Element(interned(&path_of_elements(field, property))?))
}

/// The path of the elements of an array: of references with copies, the ids in them.
fn path_of_elements(field: &Field, property: &str) -> String {
    match &field.kind {
        FieldKind::Reference(reference) if !reference.copies.is_empty() => format!("{property}[].{ID}"),
        _ => format!("{property}[]"),
    }
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

/// The property that counts the changes of all fields on which the entries of an item depend. An id that is
/// derived from fields may be used again after a deletion, where the count begins anew.
///
/// # Errors
/// A property in an object.
fn entry_changes(place: &RelatedPlace<'_>, list: &ListSource) -> Result<Option<&'static str>, ModelError> {
    let conditions = place.related.conditions.iter().map(|condition| &**condition.field.first());
    let deciding: Vec<&str> = list.by.iter().map(|by| &**by).chain(conditions).collect();
    // Projections change copies and counts without counting that.
    let is_written = |name: &&str| match place.target.field(name).map(|field| &field.kind) {
        Some(FieldKind::Stored(stored)) => stored.source == ValueSource::Input,
        Some(FieldKind::Reference(_)) => true,
        _ => false,
    };
    if deciding.is_empty() || !deciding.iter().all(is_written) || !place.target.id_from.is_empty() {
        return Ok(None);
    }
    let counts = |field: &&Field| match &field.kind {
        FieldKind::Stored(stored) => match &stored.source {
            ValueSource::Version(of) => {
                of.is_empty() || deciding.iter().all(|name| of.iter().any(|of| **of == **name))
            }
            _ => false,
        },
        _ => false,
    };
    let field = place.target.fields.iter().find(counts).and_then(Field::property);
    field.map(property).transpose()
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

/// The partition key of a list under `Query`: the type of the entries, or the values to which `@where` fixes
/// the fields of the key.
fn fixed_key(
    model: &Model,
    place: &RelatedPlace<'_>,
    list: &ListSource,
    keys: &[&str],
) -> Result<&'static str, ModelError> {
    let fixed = conditions(model, place)?;
    let value = |key: &&str| {
        if *key == TYPE {
            return Ok(list.entry_type.clone());
        }
        // A key has the property of a field, or the field's own name.
        let names_key = |declared: &Declared, condition: &Condition| {
            condition.field == *key || declared.field.single().is_some_and(|field| **field == **key)
        };
        let mut conditions = place.related.conditions.iter().zip(&fixed);
        let value = conditions.find_map(|(declared, condition)| match &condition.test {
            _ if !names_key(declared, condition) => None,
            ConditionTest::In(values) => values.first().and_then(key_text),
            _ => None,
        });
        value.map(Cow::into_owned).ok_or_else(|| {
            let reason = format!(
                "the key of a list under `Query` is `/type`, or a value that `@where` fixes; it is `/{key}`"
            );
            ModelError::unsupported(&place.place, LIST, reason)
        })
    };
    let values = keys.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(interned(&joined_key(values.iter().map(String::as_str)))?)
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
            // Items that are older than the field have no default.
            FieldKind::Stored(stored) => stored.default.is_none(),
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

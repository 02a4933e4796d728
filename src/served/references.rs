//! References between served items: the place of a target, and the copies of its fields beside a reference.

use std::borrow::Cow;

use onehop_model::{CopiedField, CopyOrigin, Field, FieldKind, KeySource, Name, ReferenceField, ValueSource};
use onehop_store::{PartitionKey, joined_key, key_text};
use serde_json::{Map, Value, json};

use super::formats::is_currency_of_item;
use super::ids::ItemPlace;
use super::model::{Body, ServedModel, TypeIndex};
use super::names::property_name;
use super::stored;

/// The place of a single reference's target; `None` where the reference is absent.
#[must_use]
pub fn target_place(model: &ServedModel, source: TypeIndex, field: &Field, body: &Body) -> Option<ItemPlace> {
    let FieldKind::Reference(reference) = &field.kind else { return None };
    let id = stored::value_of(model.model(), &[], field, body);
    place_of_id(model, source, reference, id.as_str()?, body)
}

/// The place of a target with this id, referred to from an item of a source type.
#[must_use]
pub fn place_of_id(
    model: &ServedModel,
    source: TypeIndex,
    reference: &ReferenceField,
    id: &str,
    body: &Body,
) -> Option<ItemPlace> {
    let ty = model.index_of(&reference.target)?;
    if reference.partition.is_empty() {
        return ItemPlace::of_id(model, ty, id);
    }
    let fields = &model.ty(source).item.fields;
    let partition = partition_beside(model, (fields, reference), id, body)?;
    Some(ItemPlace { ty, partition, id: id.to_owned() })
}

/// The partition key of a reference's target with this id, from the fields beside the reference.
#[must_use]
pub fn partition_beside(
    model: &ServedModel,
    (fields, reference): (&[Field], &ReferenceField),
    id: &str,
    body: &Body,
) -> Option<PartitionKey> {
    let target = model.ty(model.index_of(&reference.target)?);
    let field = |name: &Name| fields.iter().find(|field| field.name == *name);
    let mut named = key_fields(model, reference).into_iter();
    let value = |part: &KeySource| match part {
        KeySource::Id => Some(Cow::Borrowed(id)),
        KeySource::Type => Some(Cow::Borrowed(target.type_value)),
        KeySource::Field(_) => key_text(stored::get(body, field(named.next()?.1)?.property()?)?),
    };
    let values: Option<Vec<Cow<'_, str>>> = target.item.key.iter().map(value).collect();
    values.map(|values| PartitionKey::new(joined_key(values.iter().map(AsRef::as_ref))))
}

/// The fields beside a reference that hold the partition key of its target, each with its place in the key. A
/// reference names the fields of the key alone, or a field for each path of it.
#[must_use]
pub fn key_fields<'a>(model: &ServedModel, reference: &'a ReferenceField) -> Vec<(usize, &'a Name)> {
    let key = model.index_of(&reference.target).map_or(&[][..], |target| &model.ty(target).item.key);
    let is_whole = reference.partition.len() == key.len();
    let is_field = |place: &usize| matches!(key.get(*place), Some(KeySource::Field(_)));
    let places = (0..key.len()).filter(|place| is_whole || is_field(place));
    places.zip(&reference.partition).filter(|(place, _)| is_field(place)).collect()
}

/// The elements of a list reference: the id and the copies of each.
#[must_use]
pub fn elements(reference: &ReferenceField, body: &Body) -> Vec<(String, Body)> {
    let value = stored::get(body, &reference.property);
    let element = |value: &Value| match value {
        Value::String(id) => Some((id.clone(), Map::new())),
        Value::Object(copies) => Some((copies.get("id")?.as_str()?.to_owned(), copies.clone())),
        _ => None,
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(element).collect()
}

/// The part of a target that is known from its copies, with the properties that are known. An entry may have
/// a reference without the copies beside it.
#[must_use]
pub fn copied_part(
    model: &ServedModel,
    reference: &ReferenceField,
    target: TypeIndex,
    copies: &Body,
    has: impl Fn(&str) -> bool,
) -> (Body, Vec<&'static str>) {
    let (mut part, mut known) = (Map::new(), vec!["id"]);
    let target = model.ty(target);
    for copy in reference.copies.iter().filter(|copy| has(property_name(&copy.property))) {
        let Some(property) = target.item.field(&copy.field).and_then(Field::property) else { continue };
        known.push(property_name(property));
        let value = stored::get(copies, &copy.property);
        if let Some(value) = value {
            stored::set(&mut part, property, value.clone());
        }
        let Some(currency) = copy.currency.as_ref().filter(|path| has(property_name(path))) else { continue };
        let Some(path) = target.item.field(&copy.field).and_then(Field::currency) else { continue };
        match stored::get(copies, currency) {
            Some(code) => {
                known.push(property_name(path));
                stored::set(&mut part, path, code.clone());
            }
            // The source had no amount.
            None if value.is_none_or(Value::is_null) => known.push(property_name(path)),
            None => {}
        }
    }
    (part, known)
}

/// The properties of the frozen copies beside a single reference. Without them the present values of the
/// target would be shown.
pub fn frozen_copies<'a>(
    field: &Field,
    reference: &'a ReferenceField,
) -> impl Iterator<Item = &'static str> + 'a {
    let is_beside = reference.frozen && field.ty.list.is_none();
    let copies = reference.copies.iter().filter(move |_| is_beside);
    copies.flat_map(CopiedField::properties).map(property_name)
}

/// Writes a reference with the copies of its targets' fields. An empty list of a single reference removes it.
pub fn write_reference(model: &ServedModel, field: &Field, targets: &[(ItemPlace, &Body)], body: &mut Body) {
    let FieldKind::Reference(reference) = &field.kind else { return };
    let copy = |(place, target): &(ItemPlace, &Body), copied: &CopiedField, body: &mut Body| {
        let ty = model.ty(place.ty);
        let Some(field) = ty.item.field(&copied.field) else { return };
        let value = stored::value_of(model.model(), &ty.item.fields, field, target);
        stored::set(body, &copied.property, value);
        if let (Some(property), Some(path)) = (&copied.currency, field.currency()) {
            stored::set(body, property, stored::get(target, path).cloned().unwrap_or(Value::Null));
        }
    };
    if field.ty.list.is_some() {
        let element = |target: &(ItemPlace, &Body)| {
            if reference.copies.is_empty() {
                return json!(target.0.id);
            }
            let mut element = Map::from_iter([("id".to_owned(), json!(target.0.id))]);
            for copied in &reference.copies {
                copy(target, copied, &mut element);
            }
            Value::Object(element)
        };
        stored::set(body, &reference.property, Value::Array(targets.iter().map(element).collect()));
        return;
    }
    let target = targets.first();
    stored::set(body, &reference.property, target.map_or(Value::Null, |target| json!(target.0.id)));
    for copied in &reference.copies {
        match target {
            Some(target) => copy(target, copied, body),
            None => {
                for property in copied.properties() {
                    stored::set(body, property, Value::Null);
                }
            }
        }
    }
}

/// Writes the scalars of an item that are copied from the target of one of its references.
pub fn write_copied_scalars(
    model: &ServedModel,
    fields: &[Field],
    reference: &str,
    target: Option<&(ItemPlace, &Body)>,
    body: &mut Body,
) {
    for field in fields {
        let FieldKind::Stored(stored_field) = &field.kind else { continue };
        let ValueSource::Copied(source) = &stored_field.source else { continue };
        let Some(copied) = field_copied_along(fields, reference, &source.from) else { continue };
        let value = target.and_then(|(place, target)| {
            let ty = model.ty(place.ty);
            let copied = ty.item.field(copied)?;
            let value = stored::value_of(model.model(), &ty.item.fields, copied, target);
            if let (Some(path), Some(own)) = (copied.currency(), field.currency())
                && !is_currency_of_item(field)
                && let Some(code) = stored::get(target, path)
            {
                stored::set(body, own, code.clone());
            }
            Some(value)
        });
        stored::set(body, &stored_field.property, value.unwrap_or(Value::Null));
    }
}

/// The field of the target that is copied along a reference, if its origin is there.
#[must_use]
pub fn field_copied_along<'a>(fields: &[Field], reference: &str, origin: &'a CopyOrigin) -> Option<&'a Name> {
    match origin {
        CopyOrigin::Reference { reference: of, field } => (**of == *reference).then_some(field),
        // The only reference to the type leads to its item.
        CopyOrigin::Type { item_type, field } => {
            is_reference_to(fields, reference, item_type).then_some(field)
        }
    }
}

/// Whether a reference leads to items of a type.
fn is_reference_to(fields: &[Field], reference: &str, item_type: &str) -> bool {
    let field = fields.iter().find(|field| *field.name == *reference);
    matches!(field.map(|field| &field.kind), Some(FieldKind::Reference(found)) if *found.target == *item_type)
}

/// The places of a reference's targets in an embedded object with these fields: one, or the elements of a
/// list. None where the reference is absent.
#[must_use]
pub fn embedded_places(
    model: &ServedModel,
    fields: &[Field],
    reference: &ReferenceField,
    object: &Body,
) -> Vec<ItemPlace> {
    let Some(ty) = model.index_of(&reference.target) else { return Vec::new() };
    let place = |id: &str| {
        if reference.partition.is_empty() {
            return ItemPlace::of_id(model, ty, id);
        }
        let partition = partition_beside(model, (fields, reference), id, object)?;
        Some(ItemPlace { ty, partition, id: id.to_owned() })
    };
    match stored::get(object, &reference.property) {
        Some(Value::String(id)) => place(id).into_iter().collect(),
        Some(Value::Array(ids)) => ids.iter().filter_map(|id| place(id.as_str()?)).collect(),
        _ => Vec::new(),
    }
}

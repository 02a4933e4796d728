//! Identity of items: ids that are derived from fields, and the partition keys of new items.

use std::borrow::Cow;

use onehop_model::{Field, FieldKind, Name};
use onehop_store::limits::PARTITION_KEY_BYTES_MAX;
use onehop_store::{KEY_SEPARATOR, PartitionKey, joined_key, key_text, key_value};
use serde_json::{Value, json};
use uuid::Uuid;

use super::ids::{ItemPlace, derived_id};
use super::model::{Body, PartitionSource, ServedModel, TypeIndex};
use super::references::key_fields;
use super::related_fields::{owner_reference, place_fields};
use super::stored;
use crate::domain::error::Refusal;

/// The id that is derived from the fields of `idFrom` and of the partition key. Items of several logical
/// partitions may have entries in one.
pub(super) fn derived(model: &ServedModel, ty: TypeIndex, body: &Body) -> Uuid {
    let ty = model.ty(ty);
    let text = |name: &Name| {
        let field = ty.item.field(name)?;
        match stored::value_of(model.model(), &ty.item.fields, field, body) {
            Value::String(text) => Some(text),
            value => Some(value.to_string()),
        }
    };
    let texts: Vec<String> = place_fields(&ty.item).filter_map(text).collect();
    let parts: Vec<&str> = std::iter::once("fields").chain(texts.iter().map(String::as_str)).collect();
    derived_id(&parts)
}

/// The place of the item of an account that refers to another item, where it follows from both.
#[must_use]
pub fn derived_place(
    model: &ServedModel,
    ty: TypeIndex,
    owner: &ItemPlace,
    account: Uuid,
) -> Option<ItemPlace> {
    let item = &model.ty(ty).item;
    let (_, of_owner) = owner_reference(model.ty(owner.ty).name, item)?;
    let mut body = Body::new();
    stored::set(&mut body, &of_owner.property, json!(owner.id));
    let values: Vec<&str> = owner.partition.as_str().split(KEY_SEPARATOR).collect();
    for (part, by) in key_fields(model, of_owner) {
        let property = item.field(by).and_then(Field::property);
        if let (Some(property), Some(value)) = (property, values.get(part)) {
            stored::set(&mut body, property, key_value(value));
        }
    }
    for name in place_fields(item) {
        if let Some(FieldKind::Reference(reference)) = item.field(name).map(|field| &field.kind)
            && reference.caller
        {
            stored::set(&mut body, &reference.property, json!(account.to_string()));
        }
    }
    let id = derived(model, ty, &body);
    identify(model, ty, id, &mut body).ok()
}

/// Writes the id and the partition key.
///
/// # Errors
/// `BAD_USER_INPUT` on the field of the key, where it is empty or too long.
pub(super) fn identify(
    model: &ServedModel,
    ty: TypeIndex,
    id: Uuid,
    body: &mut Body,
) -> Result<ItemPlace, Refusal> {
    let served = model.ty(ty);
    let id = id.to_string();
    body.insert("id".to_owned(), json!(id));
    let partition = match served.key {
        PartitionSource::Id => PartitionKey::from(id.as_str()),
        PartitionSource::Constant => PartitionKey::from(served.type_value),
        PartitionSource::Properties(properties) => {
            let mut values = Vec::with_capacity(properties.len());
            let max = PARTITION_KEY_BYTES_MAX / properties.len().max(1);
            for property in properties {
                let value = match *property {
                    "type" => Some(Cow::Borrowed(served.type_value)),
                    property => body.get(property).and_then(key_text),
                };
                let value = value.unwrap_or_default();
                if value.is_empty() || value.len() > max {
                    return Err(Refusal::bad_input(property, format_args!("must have 1 to {max} bytes")));
                }
                values.push(value);
            }
            PartitionKey::new(joined_key(values.iter().map(AsRef::as_ref)))
        }
    };
    for (property, value) in served.key_properties.iter().zip(partition.as_str().split(KEY_SEPARATOR)) {
        body.insert((*property).to_owned(), key_value(value));
    }
    Ok(ItemPlace { ty, partition, id })
}

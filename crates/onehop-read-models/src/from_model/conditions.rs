//! Conditions of a list: `@where` as tests of stored values.

use onehop_model::{
    Condition as DeclaredCondition, Field, FieldKind, FieldTest, Format, Literal, Model, RelatedField, TypeOf,
};
use serde_json::Value;

use super::item_types::property;
use super::model_error::ModelError;
use super::related::RelatedPlace;
use crate::condition::{Condition, ConditionTest};

/// The conditions of a field with related items.
pub(super) fn conditions(model: &Model, place: &RelatedPlace<'_>) -> Result<Vec<Condition>, ModelError> {
    place.related.conditions.iter().map(|declared| condition(model, place, declared)).collect()
}

/// The conditions of a field with related items, with its place (`Type.field`).
///
/// # Errors
/// A condition on another field than a stored one of the items themselves.
pub fn list_conditions(
    model: &Model,
    place: &str,
    related: &RelatedField,
) -> Result<Vec<Condition>, ModelError> {
    let target = model.item(&related.item_type).ok_or_else(|| {
        ModelError::unsupported(place, "@where", format!("there is no type `{}`", related.item_type))
    })?;
    conditions(model, &RelatedPlace { place: place.to_owned(), related, target })
}

fn condition(
    model: &Model,
    place: &RelatedPlace<'_>,
    declared: &DeclaredCondition,
) -> Result<Condition, ModelError> {
    let unsupported = |reason: &str| {
        let reason = format!("`{}`: {reason}", declared.field);
        ModelError::unsupported(&place.place, "@where", reason)
    };
    let on_items = || unsupported("a condition of a list is on a stored field of the item itself");
    let field = declared.field.single().and_then(|name| place.target.field(name)).ok_or_else(on_items)?;
    let path = field.property().ok_or_else(on_items)?;
    let default = match &field.kind {
        FieldKind::Count(_) => Value::from(0),
        FieldKind::Stored(stored) if !matches!(stored.format, Format::Iso | Format::Number) => {
            return Err(unsupported("times are compared as texts, not as numbers"));
        }
        FieldKind::Stored(stored) => match &stored.default {
            Some(default) => {
                stored_values(model, field, &default.value).into_iter().next().unwrap_or_default()
            }
            None => Value::Null,
        },
        _ => Value::Null,
    };
    let one = |literal: &Literal| stored_values(model, field, literal).into_iter().next().unwrap_or_default();
    let test = match &declared.test {
        FieldTest::Is(literal) => ConditionTest::In(stored_values(model, field, literal)),
        FieldTest::In(literals) => {
            ConditionTest::In(literals.iter().flat_map(|it| stored_values(model, field, it)).collect())
        }
        FieldTest::Exists(exists) => ConditionTest::Exists(*exists),
        FieldTest::AtLeast(literal) => ConditionTest::AtLeast(one(literal)),
        FieldTest::Below(literal) => ConditionTest::Below(one(literal)),
    };
    Ok(Condition { field: property(path)?, default, test })
}

/// The stored forms of a literal: a value of an enum has its present text first, then older ones.
pub(super) fn stored_values(model: &Model, field: &Field, literal: &Literal) -> Vec<Value> {
    if let (Literal::Enum(name), TypeOf::Enum(of)) = (literal, &field.ty.of) {
        let values = model.enums().iter().filter(|one| one.name == *of).flat_map(|one| &one.values);
        let stored = values.filter(|value| *value.name == **name).flat_map(|value| {
            [&value.stored].into_iter().chain(&value.former).map(|text| Value::from(text.as_str()))
        });
        return stored.collect();
    }
    let value = serde_json::to_value(literal).unwrap_or_default();
    let is_number = matches!(&field.kind, FieldKind::Stored(stored) if stored.format == Format::Number);
    // A decimal is a text in a model.
    let number = value.as_str().filter(|_| is_number).and_then(|text| serde_json::from_str(text).ok());
    vec![number.map_or(value, Value::Number)]
}

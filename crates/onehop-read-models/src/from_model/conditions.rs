//! Conditions of a list: `@where` as tests of stored values.

use onehop_model::{
    Condition as DeclaredCondition, Field, FieldKind, FieldTest, Format, Literal, Model, RelatedField, TypeOf,
};
use serde_json::Value;

use super::item_types::property;
use super::model_error::ModelError;
use super::related::RelatedPlace;
use crate::condition::{Condition, ConditionTest};
use crate::stored_formats::encoded;

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
    let stored = model.stored_place(place.target, &declared.field).ok_or_else(|| {
        let reason =
            format!("`{}`: a condition of a list is on a value that the item stores", declared.field);
        ModelError::unsupported(&place.place, "@where", reason)
    })?;
    let field = stored.field;
    let default = match &field.kind {
        FieldKind::Count(_) => Value::from(0),
        FieldKind::Stored(of) => match &of.default {
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
    let object = stored.object.as_ref().map(property).transpose()?;
    Ok(Condition { field: property(&stored.property)?, object, default, test })
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
    if let Literal::List(elements) = literal {
        let first = |element| stored_values(model, field, element).into_iter().next();
        return vec![Value::Array(elements.iter().filter_map(first).collect())];
    }
    let value = serde_json::to_value(literal).unwrap_or_default();
    let format = match &field.kind {
        FieldKind::Stored(stored) => stored.format,
        _ => Format::Iso,
    };
    vec![encoded(format, value)]
}

//! Stored values: reading and writing the properties of an item as the fields of a model, with former
//! properties, defaults and stored texts of enums.

use onehop_model::{
    Computed, EnumType, Field, FieldKind, Function, Kept, Literal, Model, Name, Scalar, TypeOf, ValueSource,
};
use onehop_read_models::excerpt;
use serde_json::{Value, json};

use super::amounts::{AmountContext, evaluated, stored_form};
use super::formats::{encoded, format_of};
use super::model::Body;
pub use super::properties::{get, set};

/// The default characters of an excerpt.
const EXCERPT_CHARS: u32 = 88;
/// The default digits of a padded number.
const PADDED_CHARS: u32 = 10;

/// The value of a stored field, with former properties and the default.
#[must_use]
pub fn value_of(model: &Model, fields: &[Field], field: &Field, body: &Body) -> Value {
    let FieldKind::Stored(stored) = &field.kind else { return other_value(field, body) };
    let paths = std::iter::once(&stored.property).chain(&stored.former);
    if let Some(value) = paths.into_iter().find_map(|path| get(body, path)) {
        return value.clone();
    }
    match (&stored.source, &stored.default) {
        (ValueSource::Computed(rule), _) => computed(model, fields, (field, rule), body),
        (_, Some(default)) => literal_of(model, field, &default.value),
        (ValueSource::Version(_), None) => json!(1),
        _ => Value::Null,
    }
}

/// The stored value of a count or a reference.
fn other_value(field: &Field, body: &Body) -> Value {
    match &field.kind {
        FieldKind::Count(count) => match &count.kept {
            Kept::Batch { property, former } | Kept::Behind { property, former, .. } => {
                let paths = std::iter::once(property).chain(former);
                paths.into_iter().find_map(|path| get(body, path)).cloned().unwrap_or(json!(0))
            }
            Kept::Query => Value::Null,
        },
        FieldKind::Reference(reference) => {
            let paths = std::iter::once(&reference.property).chain(&reference.former);
            paths.into_iter().find_map(|path| get(body, path)).cloned().unwrap_or(Value::Null)
        }
        _ => Value::Null,
    }
}

/// The fields of an object, and of the item that it is in, for arithmetic.
#[must_use]
pub fn within<'a>(
    model: &'a Model,
    fields: &'a [Field],
    object: &'a Body,
    item: &'a Body,
) -> AmountContext<'a> {
    AmountContext { model, fields, object, item, value_of }
}

/// A literal of a model as it is stored in a field.
#[must_use]
pub fn literal_of(model: &Model, field: &Field, literal: &Literal) -> Value {
    encoded(format_of(field), stored_literal(model, &field.ty.of, literal))
}

/// A literal of a model as it is stored.
#[must_use]
pub fn stored_literal(model: &Model, of: &TypeOf, literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(value) => json!(value),
        Literal::Int(value) => json!(value),
        Literal::Float(value) => json!(value),
        Literal::String(text) => json!(text),
        Literal::Enum(name) => match of {
            TypeOf::Enum(of) => model
                .enum_type(of)
                .and_then(|of| stored_text(of, name))
                .map_or(json!(name), |text| json!(text)),
            _ => json!(name),
        },
        Literal::List(values) => {
            Value::Array(values.iter().map(|value| stored_literal(model, of, value)).collect())
        }
        Literal::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), stored_literal(model, of, value)));
            Value::Object(fields.collect())
        }
    }
}

/// The stored text of an enum's value.
#[must_use]
pub fn stored_text<'a>(of: &'a EnumType, name: &str) -> Option<&'a str> {
    of.values.iter().find(|value| &*value.name == name).map(|value| value.stored.as_str())
}

/// The name of an enum's value by its stored text.
#[must_use]
pub fn enum_name<'a>(of: &'a EnumType, stored: &str) -> Option<&'a str> {
    let is_it = |text: &String| text == stored;
    let found = of.values.iter().find(|value| is_it(&value.stored) || value.former.iter().any(is_it));
    found.map(|value| &*value.name)
}

/// The value at the end of a path of fields through single objects; null where an object is absent, `None`
/// where there is no such field.
fn value_at(model: &Model, fields: &[Field], path: &[Name], body: &Body) -> Option<Value> {
    let (name, below) = path.split_first()?;
    let field = fields.iter().find(|field| field.name == *name)?;
    let value = value_of(model, fields, field, body);
    match (below, &field.ty.of, value) {
        ([], _, value) => Some(value),
        (_, TypeOf::Embedded(of), Value::Object(object)) => {
            value_at(model, &model.embedded_type(of)?.fields, below, &object)
        }
        (_, TypeOf::Embedded(_), Value::Null) => Some(Value::Null),
        _ => None,
    }
}

/// The value of a computed field; `null` where its argument is absent, and of the empty text where the field
/// is non-null.
#[must_use]
pub fn computed(model: &Model, fields: &[Field], (field, rule): (&Field, &Computed), body: &Body) -> Value {
    if matches!(rule.function, Function::Product | Function::Sum) {
        let evaluated = evaluated(within(model, fields, body, body), rule).ok().flatten();
        return evaluated.and_then(|amount| stored_form(field, &amount).ok()).unwrap_or_default();
    }
    let argument = rule.from.first().and_then(|path| value_at(model, fields, path.fields(), body));
    let Some(argument) = argument else { return Value::Null };
    let is_text = matches!(rule.function, Function::Excerpt | Function::Lower)
        || rule.function == Function::Same && field.ty.of == TypeOf::Scalar(Scalar::String);
    let argument = if argument.is_null() && is_text && field.ty.non_null { json!("") } else { argument };
    match (rule.function, &argument) {
        (Function::Excerpt, Value::String(text)) => {
            json!(excerpt(text, rule.length.unwrap_or(EXCERPT_CHARS) as usize))
        }
        (Function::Padded, Value::Number(number)) => {
            let width = rule.length.unwrap_or(PADDED_CHARS) as usize;
            json!(format!("{:0width$}", number.as_u64().unwrap_or_default()))
        }
        (Function::Lower, Value::String(text)) => json!(text.to_lowercase()),
        (Function::Same, value) => value.clone(),
        _ => Value::Null,
    }
}

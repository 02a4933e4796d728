//! Rows of an import as inputs: texts of CSV become values of their fields, and ids of rows become ids of the
//! API.

use std::collections::HashMap;

use onehop_model::{Field, FieldKind, Scalar, TypeOf};
use serde_json::{Map, Number, Value, json};
use uuid::Uuid;

use crate::served::ids::{ItemPlace, derived_id};
use crate::served::input::input_name;
use crate::served::model::{PartitionSource, ServedModel, TypeIndex};

/// Separates the elements of a list in a field of CSV.
const ELEMENTS: char = '|';

/// The places of rows whose place does not follow from the id of the row alone.
#[derive(Debug, Default)]
pub struct RowPlaces(HashMap<(TypeIndex, String), ItemPlace>);

impl RowPlaces {
    /// Whether the places of a type follow from the ids of its rows.
    #[must_use]
    pub fn follow_from_ids(model: &ServedModel, ty: TypeIndex) -> bool {
        let served = model.ty(ty);
        served.item.id_from.is_empty() && !matches!(served.key, PartitionSource::Properties(_))
    }

    /// Remembers the place of a row.
    pub fn insert(&mut self, ty: TypeIndex, id: String, place: ItemPlace) {
        self.0.insert((ty, id), place);
    }

    /// The place of the row with this id: as an id of the API, or by the rows of the import.
    #[must_use]
    pub fn find(&self, model: &ServedModel, ty: TypeIndex, id: &str) -> Option<ItemPlace> {
        if let Some(place) = ItemPlace::decode(model, id).ok().filter(|place| place.ty == ty) {
            return Some(place);
        }
        match Self::follow_from_ids(model, ty) {
            true => ItemPlace::of_id(model, ty, &id_of_row(model, ty, id).to_string()),
            false => self.0.get(&(ty, id.to_owned())).cloned(),
        }
    }
}

/// The id of the item of a row: the row's own where it is a UUID, derived from it otherwise.
#[must_use]
pub fn id_of_row(model: &ServedModel, ty: TypeIndex, id: &str) -> Uuid {
    Uuid::try_parse(id).unwrap_or_else(|_| derived_id(&["import", model.ty(ty).type_value, id]))
}

/// The value of a reference in a row, under the name of the field or of its input.
fn reference_value<'r>(field: &Field, row: &'r Map<String, Value>) -> Option<&'r Value> {
    row.get(input_name(field)).or_else(|| row.get(&*field.name))
}

/// A row as the input of a creation, with ids of the API.
///
/// # Errors
/// A field that the type does not have, or a reference to an unknown row.
pub(crate) fn input_of_row(
    model: &ServedModel,
    ty: TypeIndex,
    row: &Map<String, Value>,
    places: &RowPlaces,
) -> Result<Map<String, Value>, String> {
    converted(model, &model.ty(ty).item.fields, row, places)
}

fn converted(
    model: &ServedModel,
    fields: &[Field],
    row: &Map<String, Value>,
    places: &RowPlaces,
) -> Result<Map<String, Value>, String> {
    let is_known = |name: &str| fields.iter().any(|field| *field.name == *name || input_name(field) == name);
    if let Some(unknown) = row.keys().find(|name| !is_known(name)) {
        return Err(format!("has the field `{unknown}`, which the type does not have"));
    }
    let mut input = Map::new();
    for field in fields {
        if let FieldKind::Reference(reference) = &field.kind {
            let Some(value) = reference_value(field, row) else { continue };
            let target = model.index_of(&reference.target).ok_or("refers to an unknown type")?;
            let id_of = |id: &Value| match id {
                Value::Null => Ok(Value::Null),
                id => {
                    let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                    let place = places.find(model, target, &text);
                    let place = place
                        .ok_or_else(|| format!("{}: there is no {} {text}", field.name, reference.target));
                    place.map(|place| json!(place.encode(model)))
                }
            };
            let value = match value {
                Value::Array(ids) => Value::Array(ids.iter().map(id_of).collect::<Result<_, _>>()?),
                id => id_of(id)?,
            };
            input.insert(input_name(field).to_owned(), value);
            continue;
        }
        let Some(value) = row.get(&*field.name) else { continue };
        input.insert(field.name.to_string(), value_of(model, field, value, places)?);
    }
    Ok(input)
}

fn value_of(model: &ServedModel, field: &Field, value: &Value, places: &RowPlaces) -> Result<Value, String> {
    let TypeOf::Embedded(of) = &field.ty.of else {
        // A JSON number is a decimal, too.
        return Ok(match (&field.ty.of, value) {
            (TypeOf::Scalar(Scalar::Decimal), Value::Number(number)) => json!(number.to_string()),
            (TypeOf::Scalar(Scalar::String | Scalar::Id), Value::Number(number)) => json!(number.to_string()),
            _ => value.clone(),
        });
    };
    let fields = model.embedded(of).map_or(&[][..], |embedded| &embedded.fields);
    match value {
        Value::Array(elements) => {
            let objects = elements.iter().map(|element| value_of(model, field, element, places));
            Ok(Value::Array(objects.collect::<Result<_, _>>()?))
        }
        Value::Object(object) => Ok(Value::Object(converted(model, fields, object, places)?)),
        value => Ok(value.clone()),
    }
}

/// A record of CSV with the types of its fields. A name with a point is a member of an object.
///
/// # Errors
/// A text that is no value of its field.
pub(super) fn typed_row<'a>(
    model: &ServedModel,
    ty: TypeIndex,
    record: impl Iterator<Item = (&'a String, &'a String)>,
) -> Result<Map<String, Value>, String> {
    let mut row = Map::new();
    for (name, text) in record {
        if text.is_empty() {
            continue;
        }
        let mut fields = model.ty(ty).item.fields.as_slice();
        let mut object = &mut row;
        let mut steps = name.trim().split('.').peekable();
        while let Some(step) = steps.next() {
            let field = fields.iter().find(|field| *field.name == *step || input_name(field) == step);
            if steps.peek().is_none() {
                object.insert(step.to_owned(), field.map_or(Ok(json!(text)), |field| typed(field, text))?);
                break;
            }
            fields = match field.map(|field| &field.ty.of) {
                Some(TypeOf::Embedded(of)) => model.embedded(of).map_or(&[][..], |found| &found.fields),
                _ => &[],
            };
            let inner = object.entry(step.to_owned()).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { return Err(format!("`{name}` is in no object")) };
            object = inner;
        }
    }
    Ok(row)
}

fn typed(field: &Field, text: &str) -> Result<Value, String> {
    let is_reference = matches!(field.kind, FieldKind::Reference(_));
    let is_json =
        matches!(field.ty.of, TypeOf::Embedded(_)) || text.starts_with('[') && field.ty.list.is_some();
    if is_json && !is_reference || text.starts_with('[') && field.ty.list.is_some() {
        return serde_json::from_str(text).map_err(|error| format!("{} is no JSON: {error}", field.name));
    }
    if field.ty.list.is_some() {
        let elements = text.split(ELEMENTS).map(|element| single(field, element.trim(), is_reference));
        return Ok(Value::Array(elements.collect::<Result<_, _>>()?));
    }
    single(field, text, is_reference)
}

fn single(field: &Field, text: &str, is_reference: bool) -> Result<Value, String> {
    let TypeOf::Scalar(scalar) = &field.ty.of else { return Ok(json!(text)) };
    let no = |what: &str| format!("{}: {text:?} is no {what}", field.name);
    Ok(match scalar {
        _ if is_reference => json!(text),
        Scalar::Int => {
            Value::Number(text.trim().parse::<i64>().map(Number::from).map_err(|_| no("whole number"))?)
        }
        Scalar::Float => {
            let number = text.trim().parse::<f64>().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or_else(|| no("number"))?)
        }
        Scalar::Boolean => match text.trim() {
            "true" | "1" => json!(true),
            "false" | "0" => json!(false),
            _ => return Err(no("boolean: true or false")),
        },
        Scalar::Money => {
            let (amount, currency) =
                text.trim().split_once(' ').ok_or_else(|| no("amount, such as 12.50 EUR"))?;
            json!({ "amount": amount, "currencyCode": currency.trim() })
        }
        Scalar::DateTime | Scalar::Decimal => json!(text.trim()),
        Scalar::Id | Scalar::String => json!(text),
    })
}

//! Properties of stored items, by their paths.

use onehop_model::PropertyPath;
use serde_json::{Value, json};

use super::model::Body;

/// The value at a path of properties.
#[must_use]
pub fn get<'a>(body: &'a Body, path: &PropertyPath) -> Option<&'a Value> {
    let (first, rest) = path.properties().split_first()?;
    let value = rest.iter().try_fold(body.get(first)?, |value, property| value.get(property))?;
    Some(value).filter(|value| !value.is_null())
}

/// Writes a value at a path of properties; `null` removes the property.
pub fn set(body: &mut Body, path: &PropertyPath, value: Value) {
    let Some((last, parents)) = path.properties().split_last() else { return };
    let mut object = body;
    for property in parents {
        let entry = object.entry(property.clone()).or_insert_with(|| json!({}));
        if !entry.is_object() {
            *entry = json!({});
        }
        let Value::Object(inner) = entry else { return };
        object = inner;
    }
    match value {
        Value::Null => drop(object.remove(last)),
        value => drop(object.insert(last.clone(), value)),
    }
}

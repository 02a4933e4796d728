//! Recognition of items: the properties that tell the items of a type from others (`@where` on a type).
//! Items of a served model have the property `type`, too, by which queries find them.

use onehop_model::{Field, ItemType, Literal, PathCondition, PathTest, PropertyPath};
use serde_json::Value;

/// The properties of the server in every item.
const OWN_PROPERTIES: [&str; 5] = ["id", "type", "version", "deleted", "ttl"];

/// The properties of a new item that its type's conditions ask for, where no field has them.
///
/// # Errors
/// A condition that the server cannot fulfil, as the end of a sentence.
pub fn recognised_properties(item: &ItemType) -> Result<Vec<(&PropertyPath, Value)>, String> {
    let mut properties: Vec<(&PropertyPath, Value)> = Vec::new();
    for PathCondition { path, .. } in &item.recognised_by {
        let is_known = properties.iter().any(|(known, _)| *known == path);
        if is_known || field_of(item, path).is_some() {
            continue;
        }
        let tests = item.recognised_by.iter().filter(|condition| condition.path == *path);
        let tests: Vec<&PathTest> = tests.map(|condition| &condition.test).collect();
        let is_type = path.properties() == ["type"];
        let own = path.properties().first().is_some_and(|first| OWN_PROPERTIES.contains(&first.as_str()));
        let candidates: Vec<Value> = match is_type {
            true => vec![item.type_value.as_str().into()],
            false if own => return Err(format!("names `{path}`, which the server sets")),
            false => tests.iter().flat_map(|test| candidates(test)).chain([Value::Null]).collect(),
        };
        let fits = |value: &Value| tests.iter().all(|test| holds(test, value, literal_value));
        match candidates.into_iter().find(fits) {
            Some(_) if is_type => {}
            Some(value) => properties.push((path, value)),
            None if is_type => {
                return Err(format!("on `type` is `{}` alone: use @item(type)", item.type_value));
            }
            None => return Err(format!("has no value of `{path}` that fulfils all conditions")),
        }
    }
    properties.retain(|(_, value)| !value.is_null());
    Ok(properties)
}

/// The field at the root of whose value a path is.
#[must_use]
pub fn field_of<'a>(item: &'a ItemType, path: &PropertyPath) -> Option<&'a Field> {
    let root = |path: &PropertyPath| path.properties().first().cloned();
    let is_it = |field: &&Field| field.property().is_some_and(|own| own == path || root(own) == root(path));
    item.fields.iter().find(is_it)
}

fn candidates(test: &PathTest) -> Vec<Value> {
    match test {
        PathTest::Is(literal) => vec![literal_value(literal)],
        PathTest::In(literals) => literals.iter().map(literal_value).collect(),
        PathTest::Prefix(prefix) => vec![prefix.as_str().into()],
        PathTest::Exists(true) => vec![true.into()],
        PathTest::Exists(false) => Vec::new(),
    }
}

/// Whether a stored value passes a test, by the stored form of literals.
#[must_use]
pub fn holds(test: &PathTest, value: &Value, stored: impl Fn(&Literal) -> Value) -> bool {
    let is = |literal: &Literal| stored(literal) == *value;
    match test {
        PathTest::Is(literal) => is(literal),
        PathTest::In(literals) => literals.iter().any(is),
        PathTest::Prefix(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix.as_str())),
        PathTest::Exists(exists) => value.is_null() != *exists,
    }
}

/// The stored form of a literal at a path that no field has.
#[must_use]
pub fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Enum(name) => Value::from(&**name),
        literal => serde_json::to_value(literal).unwrap_or_default(),
    }
}

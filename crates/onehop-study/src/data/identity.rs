//! Identity of items: the id of an item whose data file has it elsewhere than at `id`.

use serde_json::Value;

use super::key_text;

/// Gives an item the id that the properties have: the value of one, the values of several with a hyphen
/// between, or its number where there are none.
///
/// # Errors
/// A property that the item lacks.
pub(super) fn identify(item: &mut Value, properties: &[String], number: u64) -> Result<(), String> {
    let mut texts = Vec::new();
    for property in properties {
        let Some(text) = item.get(property).and_then(key_text) else {
            return Err(format!("`{property}` is missing, which `ids` of study.toml names"));
        };
        texts.push(text);
    }
    let id = if properties.is_empty() { number.to_string() } else { texts.join("-") };
    if let Some(object) = item.as_object_mut() {
        // The only property of an id is the id itself.
        if let [property] = properties {
            object.remove(property);
        }
        object.insert("id".to_owned(), Value::String(id));
    }
    Ok(())
}

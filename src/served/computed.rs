//! Computed values: functions of other fields of the same item.

use onehop_model::{Computed, Field, Function, Model};
use onehop_read_models::excerpt;
use serde_json::{Value, json};

use super::model::Body;
use super::stored::value_of;

/// The characters of an excerpt where the model states none.
const EXCERPT_CHARS: u32 = 88;
/// The digits of a padded number where the model states none.
const PADDED_CHARS: u32 = 10;

/// The value of a computed field; `null` where its argument is absent.
#[must_use]
pub fn computed(model: &Model, fields: &[Field], rule: &Computed, body: &Body) -> Value {
    let argument = rule.from.first().and_then(|path| path.single());
    let argument = argument.and_then(|name| fields.iter().find(|field| field.name == *name));
    let Some(argument) = argument.map(|field| value_of(model, fields, field, body)) else {
        return Value::Null;
    };
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

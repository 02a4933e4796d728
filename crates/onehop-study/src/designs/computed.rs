//! Computed fields of stored items and entries, as far as their size and shape matter.

use onehop_model::{Computed, Function};
use serde_json::{Value, json};

const EXCERPT_LENGTH_DEFAULT: usize = 100;
const PADDED_LENGTH_DEFAULT: usize = 10;

/// The value of a computed field. `of` finds the values at a path.
pub(super) fn computed_value(computed: &Computed, of: impl Fn(&[String]) -> Vec<Value>) -> Option<Value> {
    let values = |number: usize| -> Vec<Value> {
        let path = computed.from.get(number);
        path.map(|path| of(&path.fields().iter().map(ToString::to_string).collect::<Vec<_>>()))
            .unwrap_or_default()
    };
    let first = values(0);
    let length = |default: usize| computed.length.map_or(default, |length| length as usize);
    match computed.function {
        Function::Excerpt => {
            let text: String =
                first.first()?.as_str()?.chars().take(length(EXCERPT_LENGTH_DEFAULT)).collect();
            Some(Value::String(text))
        }
        Function::Padded => {
            let (number, length) = (first.first()?.as_i64()?, length(PADDED_LENGTH_DEFAULT));
            Some(Value::String(format!("{number:0length$}")))
        }
        Function::Same => first.into_iter().next(),
        Function::Lower => Some(Value::String(first.first()?.as_str()?.to_lowercase())),
        Function::Product => {
            let factors = (0..computed.from.len()).map(|number| amount(values(number).first()?));
            Some(json!(factors.collect::<Option<Vec<f64>>>()?.into_iter().product::<f64>().round()))
        }
        Function::Sum => Some(json!(first.iter().filter_map(amount).sum::<f64>().round())),
    }
}

/// A number, a text of a number, or the amount of an object.
fn amount(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).or_else(|| amount(value.get("amount")?))
}

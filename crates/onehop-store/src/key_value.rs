//! Values of a partition key: texts, and numbers and Booleans as texts of their own, so that the number 7 is
//! another key than the text "7".

use std::borrow::Cow;

use serde_json::Value;

/// Marks the text of a number or Boolean. No text has control characters.
const LITERAL: char = '\u{1e}';
/// The first whole number that a double does not hold exactly.
const WHOLE_END: f64 = 9_007_199_254_740_992.0;

/// The text of a value in a partition key; `None` for an object, an array and null.
#[must_use]
pub fn key_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => number.as_f64().map(|number| Cow::Owned(key_number(number))),
        Value::Bool(is_true) => Some(Cow::Owned(key_boolean(*is_true))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The value behind a text of a partition key.
#[must_use]
pub fn key_value(text: &str) -> Value {
    let literal = text.strip_prefix(LITERAL).and_then(|literal| serde_json::from_str(literal).ok());
    literal.unwrap_or_else(|| Value::from(text))
}

/// The text of a number. Equal numbers have one text, however they are written.
pub(crate) fn key_number(number: f64) -> String {
    let value = match number.fract() == 0.0 && number.abs() < WHOLE_END {
        true => Value::from(number as i64),
        false => Value::from(number),
    };
    format!("{LITERAL}{value}")
}

pub(crate) fn key_boolean(is_true: bool) -> String {
    format!("{LITERAL}{is_true}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_leads_back_to_its_value() {
        for value in [json!("7"), json!(7), json!(-3), json!(1.5), json!(true), json!(false), json!("")] {
            let text = key_text(&value).expect("a value of a key");
            assert_eq!(key_value(&text), value, "{text:?}");
        }
        assert_eq!(key_text(&json!(7.0)), key_text(&json!(7)));
        assert_ne!(key_text(&json!("7")), key_text(&json!(7)));
        for value in [json!(null), json!([]), json!({})] {
            assert_eq!(key_text(&value), None, "{value}");
        }
    }
}

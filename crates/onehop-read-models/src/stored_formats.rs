//! Stored formats: times as numbers since 1970, and decimals as JSON numbers. Values of the API are texts.

use onehop_model::Format;
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use serde_json::{Number, Value, json};

/// Milliseconds of a second.
const SECOND_MS: i64 = 1_000;

/// The stored form of a value in its API form; of each element of a list.
#[must_use]
pub fn encoded(format: Format, value: Value) -> Value {
    match (format, value) {
        (Format::Iso, value) => value,
        (format, Value::Array(values)) => {
            Value::Array(values.into_iter().map(|value| encoded(format, value)).collect())
        }
        (Format::EpochSeconds, Value::String(text)) => {
            parse_timestamp(&text).map_or(Value::Null, |ms| json!(ms.div_euclid(SECOND_MS)))
        }
        (Format::EpochMillis, Value::String(text)) => {
            parse_timestamp(&text).map_or(Value::Null, |ms| json!(ms))
        }
        (Format::Number, Value::String(text)) => number_of(&text).map_or(Value::Null, Value::Number),
        (_, value) => value,
    }
}

/// The API form of a stored value; of each element of a list.
#[must_use]
pub fn decoded(format: Format, value: Value) -> Value {
    match (format, value) {
        (Format::Iso, value) => value,
        (format, Value::Array(values)) => {
            Value::Array(values.into_iter().map(|value| decoded(format, value)).collect())
        }
        (Format::EpochSeconds, Value::Number(number)) => {
            number.as_i64().map_or(Value::Null, |seconds| json!(format_timestamp(seconds * SECOND_MS)))
        }
        (Format::EpochMillis, Value::Number(number)) => {
            number.as_i64().map_or(Value::Null, |ms| json!(format_timestamp(ms)))
        }
        (Format::Number, Value::Number(number)) => json!(text_of(&number)),
        (_, value) => value,
    }
}

/// A decimal as a JSON number.
fn number_of(text: &str) -> Option<Number> {
    match text.parse::<i64>() {
        Ok(whole) => Some(Number::from(whole)),
        Err(_) => Number::from_f64(text.parse().ok()?),
    }
}

/// A JSON number as digits with an optional point, without an exponent.
#[must_use]
pub fn text_of(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => float.to_string(),
        (None, None) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_their_stored_form() {
        for (format, api, stored) in [
            (Format::EpochSeconds, "2027-01-15T08:00:00.000Z", json!(1_800_000_000)),
            (Format::EpochMillis, "2027-01-15T08:00:00.125Z", json!(1_800_000_000_125_i64)),
            (Format::EpochSeconds, "1969-12-31T23:59:59.000Z", json!(-1)),
            (Format::Number, "12.5", json!(12.5)),
            (Format::Number, "-7", json!(-7)),
            (Format::Number, "0.0000001", json!(0.000_000_1)),
            (Format::Number, "123456789012.345", json!(123_456_789_012.345)),
        ] {
            assert_eq!(encoded(format, json!(api)), stored, "{api}");
            assert_eq!(decoded(format, stored), json!(api));
        }
        let list = json!(["1", "2.5"]);
        assert_eq!(encoded(Format::Number, list.clone()), json!([1, 2.5]));
        assert_eq!(decoded(Format::Number, json!([1, 2.5])), list);
    }
}

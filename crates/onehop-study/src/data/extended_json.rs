//! Extended JSON, as MongoDB's tools export it: `{"$oid": "..."}` stands for its text, `{"$date": ...}` for a
//! time, and `{"$numberLong": "7"}` for a number.

use std::ops::RangeInclusive;

use onehop_runtime::clock::format_timestamp;
use serde_json::{Number, Value};

/// The times that have a text with a year of four digits: from the year 0 to 9999, in ms since 1970.
const TIMES_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Replaces the values of extended JSON in a value by plain ones; says whether there were some.
pub(super) fn make_plain(value: &mut Value) -> bool {
    if let Some(plain) = plain_value(value) {
        *value = plain;
        return true;
    }
    let mut is_changed = false;
    match value {
        Value::Object(object) => object.values_mut().for_each(|inner| is_changed |= make_plain(inner)),
        Value::Array(array) => array.iter_mut().for_each(|inner| is_changed |= make_plain(inner)),
        _ => {}
    }
    is_changed
}

/// The plain value of an object with one key of extended JSON.
fn plain_value(value: &Value) -> Option<Value> {
    let mut entries = value.as_object()?.iter();
    let (Some((key, inner)), None) = (entries.next(), entries.next()) else { return None };
    match (key.as_str(), inner) {
        ("$oid" | "$uuid" | "$symbol", Value::String(text)) => Some(Value::String(text.clone())),
        ("$date", Value::String(text)) => Some(Value::String(text.clone())),
        ("$date", Value::Number(ms)) => time_of_ms(ms.as_i64()?),
        ("$date", wrapped) => time_of_ms(plain_value(wrapped)?.as_i64()?),
        ("$numberInt" | "$numberLong", Value::String(text)) => {
            text.parse::<i64>().ok().map(|number| Value::Number(number.into()))
        }
        ("$numberDouble" | "$numberDecimal", Value::String(text)) => {
            Number::from_f64(text.parse().ok()?).map(Value::Number)
        }
        _ => None,
    }
}

/// A time in ms since 1970, as a text.
fn time_of_ms(ms: i64) -> Option<Value> {
    TIMES_MS.contains(&ms).then(|| Value::String(format_timestamp(ms)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_export_of_mongodb_becomes_plain() {
        let mut item = json!({
            "_id": { "$oid": "5f1f" }, "count": { "$numberLong": "7" }, "price": { "$numberDecimal": "1.50" },
            "at": { "$date": "2025-01-02T03:04:05Z" }, "from": { "$date": { "$numberLong": "1700000000000" } },
            "lines": [{ "product": { "$oid": "aa" }, "text": { "$oid": "bb", "x": 1 } }],
        });
        assert!(make_plain(&mut item));
        let plain = json!({
            "_id": "5f1f", "count": 7, "price": 1.5, "at": "2025-01-02T03:04:05Z",
            "from": "2023-11-14T22:13:20.000Z", "lines": [{ "product": "aa", "text": { "$oid": "bb", "x": 1 } }],
        });
        assert_eq!(item, plain);
    }

    #[test]
    fn other_values_stay() {
        let late = json!({ "$date": { "$numberLong": "9223372036854775807" } });
        assert_eq!(plain_value(&late), None);
        for other in
            [json!({ "a": { "$oid": 7 } }), json!({ "a": { "$numberLong": "x" } }), json!([{}, null, "$oid"])]
        {
            let mut value = other.clone();
            assert!(!make_plain(&mut value));
            assert_eq!(value, other);
        }
    }
}

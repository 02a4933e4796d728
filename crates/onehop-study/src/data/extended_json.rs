//! Extended JSON, as MongoDB's tools export it: `{"$oid": "..."}` stands for its text, `{"$date": ...}` for
//! a time, and `{"$numberLong": "7"}` for a number. Also items as Amazon DynamoDB exports them, whose values
//! have their types: `{"Item": {"id": {"S": "1"}, "count": {"N": "7"}}}`.

use std::ops::RangeInclusive;

use onehop_runtime::clock::format_timestamp;
use serde_json::{Number, Value};

/// The times that have a text with a year of four digits: from the year 0 to 9999, in ms since 1970.
const TIMES_MS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Replaces the values of extended JSON in an item by plain ones; says whether there were some.
pub(super) fn make_plain(item: &mut Value) -> bool {
    if let Some(plain) = typed_item(item) {
        *item = plain;
        return true;
    }
    make_values_plain(item)
}

/// The item in `{"Item": {..}}`, all of whose values have their types.
fn typed_item(item: &Value) -> Option<Value> {
    let mut entries = item.as_object()?.iter();
    let (Some((name, Value::Object(typed))), None) = (entries.next(), entries.next()) else { return None };
    if name != "Item" || typed.is_empty() {
        return None;
    }
    typed.iter().map(|(name, value)| Some((name.clone(), value_of_typed(value)?))).collect()
}

/// The value of `{"S": ..}` and the like.
fn value_of_typed(typed: &Value) -> Option<Value> {
    let mut entries = typed.as_object()?.iter();
    let (Some((ty, inner)), None) = (entries.next(), entries.next()) else { return None };
    let number = |text: &Value| {
        let text = text.as_str()?;
        let integer = text.parse::<i64>().ok().map(Number::from);
        integer.or_else(|| Number::from_f64(text.parse().ok()?)).map(Value::Number)
    };
    match (ty.as_str(), inner) {
        ("S" | "B", Value::String(_)) | ("BOOL", Value::Bool(_)) => Some(inner.clone()),
        ("N", text) => number(text),
        ("NULL", _) => Some(Value::Null),
        ("SS" | "BS", Value::Array(_)) => Some(inner.clone()),
        ("NS", Value::Array(texts)) => texts.iter().map(number).collect(),
        ("L", Value::Array(values)) => values.iter().map(value_of_typed).collect(),
        ("M", Value::Object(values)) => {
            values.iter().map(|(name, value)| Some((name.clone(), value_of_typed(value)?))).collect()
        }
        _ => None,
    }
}

fn make_values_plain(value: &mut Value) -> bool {
    if let Some(plain) = plain_value(value) {
        *value = plain;
        return true;
    }
    let mut is_changed = false;
    match value {
        Value::Object(object) => object.values_mut().for_each(|inner| is_changed |= make_values_plain(inner)),
        Value::Array(array) => array.iter_mut().for_each(|inner| is_changed |= make_values_plain(inner)),
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
    fn an_export_of_dynamodb_becomes_plain() {
        let mut item = json!({ "Item": {
            "PK": { "S": "ORG#1" }, "count": { "N": "7" }, "price": { "N": "1.50" }, "is": { "BOOL": true }, "none": { "NULL": true },
            "tags": { "SS": ["a", "b"] }, "sizes": { "NS": ["1", "2"] },
            "address": { "M": { "city": { "S": "Graz" }, "lines": { "L": [{ "S": "x" }, { "M": {} }] } } },
        } });
        assert!(make_plain(&mut item));
        let plain = json!({
            "PK": "ORG#1", "count": 7, "price": 1.5, "is": true, "none": null, "tags": ["a", "b"], "sizes": [1, 2],
            "address": { "city": "Graz", "lines": ["x", {}] },
        });
        assert_eq!(item, plain);
        for other in
            [json!({ "Item": { "a": { "S": 1 } } }), json!({ "Item": {} }), json!({ "Item": { "a": "S" } })]
        {
            assert!(!make_plain(&mut other.clone()), "{other}");
        }
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

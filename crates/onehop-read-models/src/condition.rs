//! Condition: a test of a field of an item, which decides whether a list has the item.

use std::cmp::Ordering;

use onehop_store::property_in;
use serde_json::{Map, Value};

use crate::body::Body;

/// A test of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The field.
    pub field: &'static str,
    /// The object that has the field, where it is not at the root of the item.
    pub object: Option<&'static str>,
    /// The value where the item, or the object, is without the field; null without a default.
    pub default: Value,
    /// The test.
    pub test: ConditionTest,
}

/// A test of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionTest {
    /// It is one of these.
    In(Vec<Value>),
    /// Whether there is a value.
    Exists(bool),
    /// A number or text that is not less than this one.
    AtLeast(Value),
    /// A number or text that is less than this one.
    Below(Value),
}

impl Condition {
    /// Whether it holds for an item.
    pub(crate) fn holds(&self, item: &Body) -> bool {
        self.holds_for(&item.0)
    }

    /// Whether it holds for the properties of an item.
    #[must_use]
    pub fn holds_for(&self, item: &Map<String, Value>) -> bool {
        let has_object = || self.object.is_none_or(|object| property_in(item, object).is_some());
        let value = match property_in(item, self.field) {
            Some(value) => value,
            None if has_object() => &self.default,
            None => &Value::Null,
        };
        self.test.holds(value)
    }
}

impl ConditionTest {
    /// Whether it holds for a value. Null stands for no value.
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        match self {
            Self::In(values) => values.iter().any(|one| is_equal(value, one)),
            Self::Exists(exists) => value.is_null() != *exists,
            Self::AtLeast(least) => compared(value, least).is_some_and(Ordering::is_ge),
            Self::Below(end) => compared(value, end).is_some_and(Ordering::is_lt),
        }
    }
}

/// Whether two values are the same, numbers by their value: 1 is 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || compared(one, other).is_some_and(Ordering::is_eq)
}

/// The order of two numbers or of two texts.
fn compared(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(test: ConditionTest, default: Value, item: Value) -> bool {
        let Value::Object(item) = item else { panic!("no object") };
        Condition { field: "stock", object: None, default, test }.holds(&Body(item))
    }

    #[test]
    fn an_absent_object_has_no_default() {
        let is_new = Condition {
            field: "/state/name",
            object: Some("state"),
            default: json!("NEW"),
            test: ConditionTest::In(vec![json!("NEW")]),
        };
        let holds = |item: Value| matches!(item, Value::Object(item) if is_new.holds_for(&item));
        assert!(holds(json!({ "state": {} })));
        assert!(holds(json!({ "state": { "name": "NEW" } })));
        assert!(!holds(json!({ "state": { "name": "OLD" } })));
        assert!(!holds(json!({ "state": null })));
        assert!(!holds(json!({})));
    }

    #[test]
    fn an_absent_field_has_its_default() {
        let is_zero = || ConditionTest::In(vec![json!(0)]);
        assert!(holds(is_zero(), json!(0), json!({})));
        assert!(!holds(is_zero(), Value::Null, json!({})));
        assert!(holds(ConditionTest::Exists(false), Value::Null, json!({ "stock": null })));
        assert!(holds(ConditionTest::Exists(true), json!(0), json!({})));
    }

    #[test]
    fn values_are_compared_by_their_kind() {
        let stock = |value: Value| json!({ "stock": value });
        assert!(holds(ConditionTest::In(vec![json!("a"), json!(1)]), Value::Null, stock(json!(1.0))));
        assert!(holds(ConditionTest::AtLeast(json!(5)), Value::Null, stock(json!(5))));
        assert!(!holds(ConditionTest::AtLeast(json!(5)), Value::Null, stock(json!(4.5))));
        assert!(holds(ConditionTest::Below(json!("2027-02")), Value::Null, stock(json!("2027-01-31"))));
        assert!(!holds(ConditionTest::Below(json!(5)), Value::Null, stock(json!("4"))));
    }
}

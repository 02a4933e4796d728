//! Stored count: the number of items as their parent stores it, and as a text where the rule has one.

use serde_json::Value;

use crate::body::Body;
use crate::rule::CountRule;

/// A count as its parent stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCount {
    pub(crate) count: Option<u64>,
    /// The count as a text, where the rule has one.
    text: Option<Value>,
}

impl StoredCount {
    pub(crate) fn of(rule: &CountRule, parent: &Body) -> Self {
        let text = rule.text.and_then(|text| parent.get(text.field).cloned());
        Self { count: parent.get(rule.field).and_then(Value::as_u64), text }
    }

    /// The stored count of so many items.
    pub(crate) fn expected(rule: &CountRule, counted: u64) -> Self {
        Self { count: Some(counted), text: rule.text.map(|text| text.padding.of(counted).into()) }
    }

    /// The field in which the stored count differs from the number of counted items, with its value.
    pub(crate) fn drift(&self, rule: &CountRule, counted: u64) -> Option<(&'static str, Option<u64>)> {
        let expected = Self::expected(rule, counted);
        // A parent without items has no count.
        let is_unwritten = rule.projection.is_some() && self.count.is_none() && counted == 0;
        if is_unwritten {
            return None;
        }
        if self.count != expected.count {
            return Some((rule.field, self.count));
        }
        let text = rule.text.filter(|_| self.text != expected.text)?;
        let stored = self.text.as_ref().and_then(Value::as_str);
        let is_its_text = |number: &u64| Some(text.padding.of(*number).as_str()) == stored;
        Some((text.field, stored.and_then(|stored| stored.parse().ok()).filter(is_its_text)))
    }

    /// Stores the count in the body of its parent.
    pub(crate) fn store(self, rule: &CountRule, parent: &mut Body) {
        let fields = [Some(rule.field), rule.text.map(|text| text.field)];
        let values = [self.count.map(Value::from), self.text];
        for (field, value) in fields.into_iter().zip(values) {
            parent.0.extend(field.zip(value).map(|(field, value)| (field.to_owned(), value)));
        }
    }
}

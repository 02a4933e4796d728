//! Shape of a query as a trial: its tests and its order, as SQL with parameters.

use std::fmt::Write as _;

use onehop_model::{Condition, FieldTest, ItemType, Model, PathCondition, PathTest};
use onehop_store::{property_of_path, property_text};
use serde_json::{Value, json};

use super::operation::PlannedScope;
use super::trial::{TRIAL_ITEMS_MAX, TrialItem, TrialQuery};
use crate::designs::DesignData;

/// The shape of a query before it is text.
pub(super) struct TrialShape {
    /// Stored items that meet it.
    pub items: Vec<Value>,
    pub tests: Vec<(Vec<String>, PropertyTest)>,
    pub order: Vec<(Vec<String>, bool)>,
}

/// A test of a property.
pub(super) enum PropertyTest {
    Equals(Value),
    /// Absent, or another value.
    IsNot(Value),
    /// An array with this element.
    Contains(Value),
    In(Vec<Value>),
    AtLeast(Value),
    Below(Value),
    Exists(bool),
}

impl TrialShape {
    /// The query over these items, in the scope of a plan; `None` without an item.
    pub(super) fn query(
        self,
        (data, container): (&DesignData<'_>, &str),
        scope: PlannedScope,
        limit: u32,
        is_count: bool,
    ) -> Option<TrialQuery> {
        let items = self.items.into_iter().filter_map(|stored| TrialItem::of(data, container, stored));
        let mut items: Vec<TrialItem> = items.take(TRIAL_ITEMS_MAX).collect();
        let first = items.first()?.key.clone();
        let key: Vec<Value> = match scope {
            PlannedScope::Item | PlannedScope::LogicalPartition => first,
            PlannedScope::PartitionPrefix => first.into_iter().take(1).collect(),
            PlannedScope::AllPartitions => Vec::new(),
        };
        items.retain(|item| item.key.starts_with(&key));
        let mut sql = Sql::default();
        if is_count {
            sql.text.push_str("SELECT VALUE COUNT(1) FROM c");
        } else {
            // One more says whether there is more.
            let top = sql.parameter(json!((limit as usize).min(TRIAL_ITEMS_MAX) + 1));
            let _ = write!(sql.text, "SELECT TOP {top} * FROM c");
        }
        let conditions = self.tests.len() as u32;
        for (place, (path, test)) in self.tests.into_iter().enumerate() {
            sql.text.push_str(if place == 0 { " WHERE " } else { " AND " });
            sql.test(&path, test);
        }
        if !self.order.is_empty() && !is_count {
            let order = self.order.iter().map(|(path, descending)| {
                format!(
                    "{} {}",
                    property_text(&property_of_path(path)),
                    if *descending { "DESC" } else { "ASC" }
                )
            });
            let _ = write!(sql.text, " ORDER BY {}", order.collect::<Vec<_>>().join(", "));
        }
        Some(TrialQuery { items, key, text: sql.text, parameters: sql.parameters, conditions })
    }
}

/// The tests that distinguish the items of a type.
pub(super) fn type_tests(item: &ItemType, type_value: &str) -> Vec<(Vec<String>, PropertyTest)> {
    if item.recognised_by.is_empty() {
        return vec![(vec!["type".to_owned()], PropertyTest::Equals(json!(type_value)))];
    }
    let test = |condition: &PathCondition| {
        let test = match &condition.test {
            PathTest::Is(literal) => PropertyTest::Equals(json!(literal)),
            PathTest::In(literals) => {
                PropertyTest::In(literals.iter().map(|literal| json!(literal)).collect())
            }
            PathTest::Exists(exists) => PropertyTest::Exists(*exists),
            PathTest::Prefix(_) => return None,
        };
        Some((condition.path.properties().to_vec(), test))
    };
    item.recognised_by.iter().filter_map(test).collect()
}

/// The test of a condition of a list.
pub(super) fn condition_test(
    model: &Model,
    item: &ItemType,
    condition: &Condition,
) -> Option<(Vec<String>, PropertyTest)> {
    let path = model.stored_place(item, &condition.field)?.property.properties().to_vec();
    let test = match &condition.test {
        FieldTest::Is(literal) => PropertyTest::Equals(json!(literal)),
        FieldTest::In(literals) => PropertyTest::In(literals.iter().map(|literal| json!(literal)).collect()),
        FieldTest::Exists(exists) => PropertyTest::Exists(*exists),
        FieldTest::AtLeast(literal) => PropertyTest::AtLeast(json!(literal)),
        FieldTest::Below(literal) => PropertyTest::Below(json!(literal)),
    };
    Some((path, test))
}

/// The test that a property has the value of an item: of an array, that it has its first element.
pub(super) fn same_value(path: &[String], stored: &Value) -> Option<(Vec<String>, PropertyTest)> {
    let value = path.iter().try_fold(stored, |value, property| value.get(property))?;
    let test = match value {
        Value::Array(elements) => PropertyTest::Contains(elements.first()?.clone()),
        value => PropertyTest::Equals(value.clone()),
    };
    Some((path.to_vec(), test))
}

#[derive(Default)]
struct Sql {
    text: String,
    parameters: Vec<(String, Value)>,
}

impl Sql {
    fn parameter(&mut self, value: Value) -> String {
        let name = format!("@p{}", self.parameters.len());
        self.parameters.push((name.clone(), value));
        name
    }

    fn test(&mut self, path: &[String], test: PropertyTest) {
        let property = property_text(&property_of_path(path));
        let text = match test {
            PropertyTest::Equals(value) => format!("{property} = {}", self.parameter(value)),
            PropertyTest::IsNot(value) => {
                format!("(NOT IS_DEFINED({property}) OR {property} != {})", self.parameter(value))
            }
            PropertyTest::Contains(value) => {
                format!("ARRAY_CONTAINS({property}, {})", self.parameter(value))
            }
            PropertyTest::In(values) => {
                let names: Vec<String> = values.into_iter().map(|value| self.parameter(value)).collect();
                format!("{property} IN ({})", names.join(", "))
            }
            PropertyTest::AtLeast(value) => format!("{property} >= {}", self.parameter(value)),
            PropertyTest::Below(value) => format!("{property} < {}", self.parameter(value)),
            PropertyTest::Exists(true) => format!("IS_DEFINED({property})"),
            PropertyTest::Exists(false) => format!("NOT IS_DEFINED({property})"),
        };
        self.text.push_str(&text);
    }
}

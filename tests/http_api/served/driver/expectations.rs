//! Expected items: the values of their inputs, and their references with the present values of the targets.

use std::collections::BTreeMap;

use onehop::served::{TypeIndex, mutation_name};
use onehop_model::{Action, FieldKind, Scalar, TypeOf};
use serde_json::{Value, json};

use super::inputs::Generated;
use super::selections::Selections;
use super::{Driven, Driver};

impl Driver {
    /// Every item as a point read shows it, by its id.
    pub(super) async fn nodes(&self) -> BTreeMap<String, Value> {
        let mut nodes = BTreeMap::new();
        for item in &self.items {
            let name = self.model.ty(item.ty).name;
            let selection = Selections(&self.model).whole(item.ty);
            let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on {name} {{ {selection} }} }} }}");
            let node = self.data(item.account, &query, json!({ "id": item.id })).await["node"].take();
            assert!(!node.is_null(), "{}: {name} {} is not found", self.name, item.id);
            self.compare_values(&item.values, &node);
            nodes.insert(item.id.clone(), node);
        }
        self.check_batch().await;
        for item in &self.items {
            self.check_references(item, &nodes);
        }
        nodes
    }

    /// Many items come in the order of their ids.
    async fn check_batch(&self) {
        let ids: Vec<&str> = self.items.iter().take(5).map(|item| item.id.as_str()).collect();
        let data =
            self.data(0, "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", json!({ "ids": ids })).await;
        let found: Vec<&str> =
            data["nodes"].as_array().expect("a list").iter().filter_map(|node| node["id"].as_str()).collect();
        assert_eq!(found, ids, "{}", self.name);
    }

    /// The targets of references are shown as they are.
    fn check_references(&self, item: &Driven, nodes: &BTreeMap<String, Value>) {
        for (name, ids) in &item.references {
            let field = self.model.ty(item.ty).item.field(name).expect("a field");
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let shown = match &nodes[&item.id][name] {
                Value::Null => Vec::new(),
                Value::Array(shown) => shown.clone(),
                shown => vec![shown.clone()],
            };
            let place = format!("{}: {}.{name}", self.name, self.model.ty(item.ty).name);
            assert_eq!(shown.len(), ids.len(), "{place}");
            for (shown, id) in shown.iter().zip(ids) {
                let target = &nodes[id];
                // Frozen copies are of the time of the write.
                let is_target = match reference.frozen {
                    true => shown["id"] == target["id"],
                    false => is_part(shown, target),
                };
                assert!(is_target, "{place} shows {shown:#} of {target:#}");
            }
        }
    }

    /// Each value of an input is in the answer.
    pub(super) fn compare_values(&self, values: &serde_json::Map<String, Value>, shown: &Value) {
        for (name, value) in values {
            if let Some(found) = shown.get(name) {
                assert!(agrees(value, found), "{}: {name} is {found} after {value}", self.name);
            }
        }
    }

    /// A value out of its bounds is refused with its field.
    pub(super) async fn check_refusals(&self, ty: TypeIndex, account: usize, generated: &Generated) {
        let served = self.model.ty(ty);
        let mutation = mutation_name(Action::Create, served.name);
        let query = format!(
            "mutation($input: Create{}Input!) {{ {mutation}(input: $input) {{ __typename }} }}",
            served.name
        );
        for field in &served.item.fields {
            let is_text = field.ty.of == TypeOf::Scalar(Scalar::String) && field.ty.list.is_none();
            let Some(max) = field.checks.length_max.filter(|max| is_text && *max < 10_000) else { continue };
            if !generated.values.contains_key(&*field.name) {
                continue;
            }
            let mut input = generated.input.clone();
            input.insert(field.name.to_string(), json!("x".repeat(max as usize + 1)));
            let response = self.server.send(self.token(account), &query, json!({ "input": input })).await;
            let extensions = &response["errors"][0]["extensions"];
            assert_eq!(extensions["code"], "BAD_USER_INPUT", "{}: {response:#}", self.name);
            assert_eq!(extensions["field"], *field.name, "{}: {response:#}", self.name);
        }
    }
}

/// Whether every value of an object is in another one.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| is_part(part, whole)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (part, whole) => part == whole,
    }
}

/// Whether a shown value is the one of an input. An object may show more.
fn agrees(value: &Value, shown: &Value) -> bool {
    match (value, shown) {
        (Value::Object(value), Value::Object(shown)) => value.iter().all(|(name, value)| {
            let reference = name.strip_suffix("Id").and_then(|name| shown.get(name));
            let references = name.strip_suffix("Ids").and_then(|stem| {
                shown.get(&format!("{stem}s")).or_else(|| shown.get(stem)).and_then(Value::as_array)
            });
            match (shown.get(name), reference, references) {
                (Some(shown), ..) => agrees(value, shown),
                (None, Some(reference), _) => reference["id"] == *value,
                (None, None, Some(references)) => {
                    let ids: Vec<&Value> = references.iter().map(|reference| &reference["id"]).collect();
                    value.as_array().is_some_and(|value| value.iter().eq(ids))
                }
                (None, None, None) => value.is_null(),
            }
        }),
        (Value::Array(values), Value::Array(shown)) => {
            values.len() == shown.len() && values.iter().zip(shown).all(|(value, shown)| agrees(value, shown))
        }
        (Value::Number(value), Value::Number(shown)) => value.as_f64() == shown.as_f64(),
        (value, shown) => value == shown,
    }
}

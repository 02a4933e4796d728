//! Targets of references and entries of lists are known in part. They have the same lists and counts as the
//! whole item.

use onehop::served::{TypeIndex, related};
use onehop_model::{Field, FieldKind, ItemType};
use serde_json::{Value, json};

use super::{Driven, Driver};

/// The items of each type, of which fields are compared.
const ITEMS: usize = 4;

impl Driver {
    pub(super) async fn check_targets(&self) {
        for (ty, served) in self.model.types() {
            for item in self.items.iter().filter(|item| item.ty == ty).take(ITEMS) {
                for field in served.item.fields.iter().filter(|field| !field.hidden) {
                    match &field.kind {
                        FieldKind::Reference(reference) => {
                            let target = self.model.index_of(&reference.target).expect("a type");
                            self.check_below(item, field, target, "").await;
                        }
                        FieldKind::Related(list) => {
                            let target = self.model.index_of(&list.item_type).expect("a type");
                            let first = if list.page.connection { "(first: 2)" } else { "" };
                            self.check_below(item, field, target, first).await;
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Compares the items below a field with the items themselves.
    async fn check_below(&self, item: &Driven, field: &Field, target: TypeIndex, arguments: &str) {
        let (owner, below) = (self.model.ty(item.ty).name, self.model.ty(target));
        let selection = selection(&below.item);
        if selection.is_empty() || !below.item.is_node() {
            return;
        }
        let name = &field.name;
        let inner = match related(field) {
            Some(list) if list.page.connection => format!("{{ nodes {{ id {selection} }} }}"),
            _ => format!("{{ id {selection} }}"),
        };
        let query = format!(
            "query($id: ID!) {{ node(id: $id) {{ ... on {owner} {{ {name}{arguments} {inner} }} }} }}"
        );
        let Ok(data) = self.attempt(0, &query, json!({ "id": item.id })).await else { return };
        let shown = &data["node"][&**name];
        let items = match shown {
            Value::Array(items) => items.clone(),
            Value::Object(page) if page.contains_key("nodes") => page["nodes"].as_array().unwrap().clone(),
            Value::Null => return,
            single => vec![single.clone()],
        };
        for shown in items.iter().take(ITEMS) {
            let query = format!(
                "query($id: ID!) {{ node(id: $id) {{ ... on {} {{ id {selection} }} }} }}",
                below.name
            );
            let whole = self.data(0, &query, json!({ "id": shown["id"] })).await;
            assert_eq!(*shown, whole["node"], "{}: below {owner}.{name}", self.name);
        }
    }
}

/// The fields of an item with values that it does not store.
fn selection(item: &ItemType) -> String {
    let open = item.fields.iter().filter(|field| !field.hidden && field.authorization.read.is_none());
    let part = |field: &Field| match &field.kind {
        FieldKind::Related(list) if list.page.connection => {
            Some(format!("{}(first: 2) {{ edges {{ cursor }} }}", field.name))
        }
        FieldKind::Related(_) => Some(format!("{} {{ __typename }}", field.name)),
        FieldKind::Count(_) | FieldKind::HasCaller(_) => Some(field.name.to_string()),
        _ => None,
    };
    open.filter_map(part).collect::<Vec<_>>().join(" ")
}

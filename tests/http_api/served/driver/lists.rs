//! Lists and counts: each is compared with the items that it should have, page by page.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use onehop::served::{ServedModel, TypeIndex, related};
use onehop_model::{
    Condition, FieldKind, FieldTest, ItemType, Literal, Model, QueryKind, RelatedField, RelatedSource,
    Scalar, TypeOf,
};
use serde_json::{Value, json};

use super::selections::Selections;
use super::{Driven, Driver};

/// The items of one page.
const FIRST: usize = 2;

/// A list under test.
struct TestedList<'a> {
    name: &'a str,
    related: &'a RelatedField,
    owner: Option<&'a Driven>,
    /// The values of its arguments.
    values: Vec<Value>,
}

impl<'a> TestedList<'a> {
    fn new(name: &'a str, related: &'a RelatedField, owner: Option<&'a Driven>) -> Self {
        Self { name, related, owner, values: Vec::new() }
    }

    /// The fields of the items that have the values of the arguments.
    fn argument_fields(&self) -> &[onehop_model::Name] {
        match &self.related.source {
            RelatedSource::List(list) if !list.arguments.is_empty() => &list.by,
            _ => &[],
        }
    }

    /// Its arguments, as a request has them.
    fn arguments(&self, model: &ServedModel) -> Vec<String> {
        let item = model.model().item(&self.related.item_type).expect("a type");
        let pairs = self.related.arguments().iter().zip(self.argument_fields()).zip(&self.values);
        let argument = |((argument, by), value): ((_, &onehop_model::Name), &Value)| {
            let is_enum = item.field(by).is_some_and(|field| matches!(field.ty.of, TypeOf::Enum(_)));
            let text = value.as_str().filter(|_| is_enum).map_or_else(|| value.to_string(), str::to_owned);
            format!("{argument}: {text}")
        };
        pairs.map(argument).collect()
    }
}

impl Driver {
    pub(super) async fn check_lists(&self, nodes: &BTreeMap<String, Value>) {
        for query in self.model.model().queries() {
            if let QueryKind::Related(related) = &query.kind {
                let list = TestedList::new(&query.name, related, None);
                for values in self.argument_values(&list, nodes) {
                    let list = TestedList { values, ..TestedList::new(&query.name, related, None) };
                    self.check_list(&list, nodes).await;
                }
            }
        }
        for owner in &self.items {
            for field in &self.model.ty(owner.ty).item.fields {
                match &field.kind {
                    FieldKind::Related(related) => {
                        let list = TestedList::new(&field.name, related, Some(owner));
                        self.check_list(&list, nodes).await;
                    }
                    FieldKind::Count(count) => {
                        let counted = self.model.ty(owner.ty).item.field(&count.of).and_then(related);
                        let counted = counted.expect("a counted list");
                        let list = TestedList::new(&count.of, counted, Some(owner));
                        let expected = self.expected(&list, nodes).len();
                        let shown = &nodes[&owner.id][&*field.name];
                        assert_eq!(shown, &json!(expected), "{}: {}", self.name, field.name);
                    }
                    FieldKind::HasCaller(of) => self.check_has_caller(owner, &field.name, of, nodes).await,
                    _ => {}
                }
            }
        }
    }

    /// The values of a list's arguments that items have; once no values where the list takes none.
    fn argument_values(&self, list: &TestedList<'_>, nodes: &BTreeMap<String, Value>) -> Vec<Vec<Value>> {
        let fields = list.argument_fields();
        if fields.is_empty() {
            return vec![Vec::new()];
        }
        let ty = self.model.index_of(&list.related.item_type).expect("a type");
        let mut all: Vec<Vec<Value>> = Vec::new();
        for item in self.items.iter().filter(|item| item.ty == ty) {
            let mut combinations = vec![Vec::new()];
            for field in fields {
                let value = &nodes[&item.id][&**field];
                let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                let extend = |known: &Vec<Value>| {
                    let known = known.clone();
                    values
                        .iter()
                        .map(move |value| [known.clone(), vec![value.clone()]].concat())
                        .collect::<Vec<_>>()
                };
                combinations = combinations.iter().flat_map(extend).collect();
            }
            all.extend(combinations.into_iter().filter(|values| !values.contains(&Value::Null)));
        }
        all.sort_by_key(|values| json!(values).to_string());
        all.dedup();
        all
    }

    async fn check_has_caller(&self, owner: &Driven, name: &str, of: &str, nodes: &BTreeMap<String, Value>) {
        let list = self.model.ty(owner.ty).item.field(of).and_then(related).expect("a list");
        let expected = self.expected(&TestedList::new(of, list, Some(owner)), nodes);
        let is_own = |node: &&&Value| {
            let item = self.items.iter().find(|item| node["id"] == item.id.as_str());
            item.is_some_and(|item| item.account == 0)
        };
        let ty = self.model.ty(owner.ty).name;
        let query = format!("query($id: ID!) {{ node(id: $id) {{ ... on {ty} {{ {name} }} }} }}");
        let data = self.data(0, &query, json!({ "id": owner.id })).await;
        assert_eq!(data["node"][name], expected.iter().any(|node| is_own(&node)), "{}: {name}", self.name);
    }

    /// The items that a list should have, in its order.
    fn expected<'n>(&self, list: &TestedList<'_>, nodes: &'n BTreeMap<String, Value>) -> Vec<&'n Value> {
        let ty = self.model.index_of(&list.related.item_type).expect("a type");
        let (model, listed) = (self.model.model(), &self.model.ty(ty).item);
        let is_listed = |item: &&Driven| {
            let has = |(field, value): (&onehop_model::Name, &Value)| {
                let own = &nodes[&item.id][&**field];
                own == value || own.as_array().is_some_and(|elements| elements.contains(value))
            };
            item.ty == ty
                && list.argument_fields().iter().zip(&list.values).all(has)
                && list.owner.is_none_or(|owner| self.belongs(list.related, listed, item, owner, nodes))
                && list
                    .related
                    .conditions
                    .iter()
                    .all(|condition| holds(model, listed, condition, &nodes[&item.id]))
        };
        let mut expected: Vec<&Value> =
            self.items.iter().filter(is_listed).map(|item| &nodes[&item.id]).collect();
        expected.sort_by(|one, other| {
            let orderings = list.related.order.iter().map(|order| {
                let of = &listed.field(&order.field).expect("a field").ty.of;
                let value = |node: &Value| ordered(of, &node[&*order.field]);
                let ordering = compare(&value(one), &value(other));
                if order.descending { ordering.reverse() } else { ordering }
            });
            orderings.fold(Ordering::Equal, Ordering::then)
        });
        expected
    }

    /// Whether an item is in a list of an owner.
    fn belongs(
        &self,
        related: &RelatedField,
        listed: &ItemType,
        item: &Driven,
        owner: &Driven,
        nodes: &BTreeMap<String, Value>,
    ) -> bool {
        if let RelatedSource::Find { by: Some(by), through: Some(link) } = &related.source {
            let link_type = self.model.index_of(&link.item_type).expect("a type");
            let leads = |found: &Driven, field: &str, id: &str| {
                found.references.get(field).is_some_and(|ids| ids.iter().any(|found| found == id))
            };
            return self
                .items
                .iter()
                .filter(|found| found.ty == link_type)
                .any(|found| leads(found, by, &owner.id) && leads(found, &link.to, &item.id));
        }
        let by = match &related.source {
            RelatedSource::Partition { by } => by.as_slice(),
            RelatedSource::Find { by, .. } => by.as_slice(),
            RelatedSource::List(list) => list.by.as_slice(),
        };
        let owner_type = self.model.ty(owner.ty).name;
        by.iter().all(|by| match listed.field(by).map(|field| &field.kind) {
            Some(FieldKind::Reference(reference)) if *reference.target == *owner_type => {
                item.references.get(&**by).is_some_and(|ids| ids.contains(&owner.id))
            }
            _ => nodes[&item.id][&**by] == nodes[&owner.id][&**by],
        })
    }

    async fn check_list(&self, list: &TestedList<'_>, nodes: &BTreeMap<String, Value>) {
        let ty = self.model.index_of(&list.related.item_type).expect("a type");
        let shown = self.shown(list, ty).await;
        let expected = self.expected(list, nodes);
        let kept = match &list.related.source {
            RelatedSource::List(source) => source.keep.map_or(expected.len(), |keep| keep as usize),
            _ => expected.len(),
        };
        let max = if list.related.page.connection { usize::MAX } else { list.related.page.max as usize };
        let kept = kept.min(expected.len()).min(max);
        let owner = list.owner.map_or("Query", |owner| self.model.ty(owner.ty).name);
        let place = format!("{}: {owner}.{}", self.name, list.name);
        assert_eq!(shown.len(), kept, "{place} shows {shown:#?} of {expected:#?}");
        for order in &list.related.order {
            let values = |nodes: &mut dyn Iterator<Item = &Value>| -> Vec<Value> {
                nodes.map(|node| node[&*order.field].clone()).collect()
            };
            let shown = values(&mut shown.iter());
            assert_eq!(shown, values(&mut expected.iter().take(kept).copied()), "{place}");
        }
        if list.related.page.connection {
            self.check_backwards(list, ty, &shown).await;
        }
        for node in &shown {
            let id = node["id"].as_str().expect("an id");
            assert!(expected.iter().any(|expected| expected["id"] == id), "{place} shows {id}");
            assert_eq!(node, &nodes[id], "{place}");
        }
        let mut ids: Vec<_> = shown.iter().map(|node| node["id"].to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), shown.len(), "{place} shows an item twice");
    }

    /// The pages from the end on are the pages from the start on.
    async fn check_backwards(&self, list: &TestedList<'_>, ty: TypeIndex, shown: &[Value]) {
        let place = format!("{}: {}", self.name, list.name);
        let selection = Selections(&self.model).whole(ty);
        let inner = format!("nodes {{ {selection} }} pageInfo {{ hasPreviousPage startCursor }}");
        let query =
            list_query(&self.model, list, "before", &format!("last: {FIRST}, before: $before"), &inner);
        let (mut from_end, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let mut page = self.page(list, &query, "before", &cursor).await;
            let nodes = page["nodes"].as_array().expect("a list");
            assert!(nodes.len() <= FIRST, "{place}");
            from_end.extend(nodes.iter().rev().cloned());
            if page["pageInfo"]["hasPreviousPage"] != true {
                break;
            }
            assert_ne!(page["pageInfo"]["startCursor"], cursor, "{place}");
            cursor = page["pageInfo"]["startCursor"].take();
        }
        from_end.reverse();
        assert_eq!(from_end, shown, "{place} from its end");
    }

    /// All items of a list, page by page.
    async fn shown(&self, list: &TestedList<'_>, ty: TypeIndex) -> Vec<Value> {
        let selection = Selections(&self.model).whole(ty);
        if !list.related.page.connection {
            let query = list_query(&self.model, list, "", "", &selection);
            return self.page(list, &query, "", &Value::Null).await.as_array().expect("a list").clone();
        }
        let inner = format!("nodes {{ {selection} }} pageInfo {{ hasNextPage endCursor }}");
        let query = list_query(&self.model, list, "after", &format!("first: {FIRST}, after: $after"), &inner);
        let (mut shown, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let mut page = self.page(list, &query, "after", &cursor).await;
            let nodes = page["nodes"].as_array().expect("a list");
            assert!(nodes.len() <= FIRST, "{}: {}", self.name, list.name);
            shown.extend(nodes.iter().cloned());
            if page["pageInfo"]["hasNextPage"] != true {
                return shown;
            }
            assert_ne!(page["pageInfo"]["endCursor"], cursor, "{}: {}", self.name, list.name);
            cursor = page["pageInfo"]["endCursor"].take();
        }
    }

    /// The answer of a list, from a cursor on.
    async fn page(&self, list: &TestedList<'_>, query: &str, variable: &str, cursor: &Value) -> Value {
        let mut variables = json!({});
        if !variable.is_empty() {
            variables[variable] = cursor.clone();
        }
        if let Some(owner) = list.owner {
            variables["id"] = json!(owner.id);
        }
        let account = list.owner.map_or(0, |owner| owner.account);
        let mut data = self.data(account, query, variables).await;
        match list.owner {
            Some(_) => data["node"][list.name].take(),
            None => data[list.name].take(),
        }
    }
}

/// The query of a list, with a variable for a cursor where it has arguments.
fn list_query(
    model: &ServedModel,
    list: &TestedList<'_>,
    variable: &str,
    arguments: &str,
    inner: &str,
) -> String {
    let cursor = if variable.is_empty() { String::new() } else { format!("${variable}: String") };
    let mut all = list.arguments(model);
    all.extend((!arguments.is_empty()).then(|| arguments.to_owned()));
    let arguments = if all.is_empty() { String::new() } else { format!("({})", all.join(", ")) };
    let field = format!("{}{arguments} {{ {inner} }}", list.name);
    match list.owner {
        Some(owner) => {
            let name = model.ty(owner.ty).name;
            format!("query($id: ID!, {cursor}) {{ node(id: $id) {{ ... on {name} {{ {field} }} }} }}")
        }
        None if cursor.is_empty() => format!("{{ {field} }}"),
        None => format!("query({cursor}) {{ {field} }}"),
    }
}

/// The sort value of a field: a number for decimals and amounts.
fn ordered(of: &TypeOf, value: &Value) -> Value {
    let text = match of {
        TypeOf::Scalar(Scalar::Decimal) => value.as_str(),
        TypeOf::Scalar(Scalar::Money) => value["amount"].as_str(),
        _ => None,
    };
    text.map_or_else(|| value.clone(), |text| json!(text.parse::<f64>().expect("a number")))
}

pub(super) fn holds(model: &Model, listed: &ItemType, condition: &Condition, node: &Value) -> bool {
    let of = &model.stored_place(listed, &condition.field).expect("a stored field").field.ty.of;
    let value = condition.field.fields().iter().fold(node, |value, field| &value[&**field]);
    let value = &ordered(of, value);
    let json_of = |literal: &Literal| ordered(of, &json_of(literal));
    match &condition.test {
        FieldTest::Is(wanted) => *value == json_of(wanted),
        FieldTest::In(wanted) => wanted.iter().any(|wanted| *value == json_of(wanted)),
        FieldTest::Exists(exists) => value.is_null() != *exists,
        FieldTest::AtLeast(bound) => !value.is_null() && compare(value, &json_of(bound)).is_ge(),
        FieldTest::Below(bound) => !value.is_null() && compare(value, &json_of(bound)).is_lt(),
    }
}

fn json_of(literal: &Literal) -> Value {
    match literal {
        Literal::Enum(name) => json!(name.to_string()),
        literal => serde_json::to_value(literal).expect("a literal"),
    }
}

/// The order of two values of a field; an absent value comes first.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (one, other) => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    }
}

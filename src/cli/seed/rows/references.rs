//! References of sample rows: their targets, and the fields with the partition keys of these.

use onehop_model::{Field, FieldKind, ItemType, KeySource, Name};
use onehop_study::rng::StreamRng;
use serde_json::{Map, Value, json};

use super::{SampleRows, elements_of, number_of, row_id};
use crate::served::{leads_to, needs_target};

/// The targets that are looked at for a reference to an item of the same partition.
const TARGETS_MAX: usize = 500;
/// The most partition keys of rows in memory, for references to them.
const KNOWN_KEYS_MAX: usize = 200_000;

impl SampleRows<'_> {
    /// The partition key of a row, as fields; `None` for a row that is under way.
    fn key_fields(&self, item: &ItemType, number: u64) -> Option<Map<String, Value>> {
        let place = (self.place(item), number);
        if let Some(known) = self.known_keys.borrow().get(&place) {
            return Some(known.clone());
        }
        if !self.open.borrow_mut().insert(place) {
            return None;
        }
        let mut fields = self.row(item, number);
        self.open.borrow_mut().remove(&place);
        fields.retain(|name, _| {
            item.key.iter().any(|part| matches!(part, KeySource::Field(key) if **key == **name))
        });
        let mut known = self.known_keys.borrow_mut();
        if known.len() >= KNOWN_KEYS_MAX {
            known.clear();
        }
        known.insert(place, fields.clone());
        Some(fields)
    }

    /// Chooses the targets of references whose partition keys are fields beside them, and these fields.
    pub(super) fn refer_within_partitions(
        &self,
        fields: &[Field],
        row: Option<(&ItemType, u64)>,
        object: &mut Map<String, Value>,
        rng: &mut StreamRng,
    ) {
        let mut fixed: Vec<&Name> = Vec::new();
        // Plain fields with the id of another item: an import takes it from the target.
        let mut implied: Vec<&Name> = Vec::new();
        for field in by_key(fields) {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let Some(target) = self.model.item(&reference.target) else { continue };
            if reference.partition.is_empty() {
                continue;
            }
            let Some(drawn) = object.remove(&*field.name) else { continue };
            // The reference names the fields of the key alone, or a field for each path of it.
            let is_whole = reference.partition.len() == target.key.len();
            let key = target.key.iter().filter(|source| is_whole || matches!(source, KeySource::Field(_)));
            let pairs = reference.partition.iter().zip(key).filter_map(|(by, source)| match source {
                KeySource::Field(of) => Some((by, of)),
                KeySource::Id | KeySource::Type => None,
            });
            let pairs: Vec<(&Name, &Name)> = pairs.collect();
            let is_plain = |by: &Name| fields.iter().any(|field| field.name == *by && is_value(field));
            let is_id = |of: &Name| target.field(of).is_some_and(|field| !is_value(field));
            implied.extend(pairs.iter().filter(|(by, of)| is_plain(by) && is_id(of)).map(|(by, _)| by));
            if fixed.contains(&&field.name) {
                let number = drawn.as_str().and_then(number_of);
                let values = number.and_then(|number| self.key_fields(target, number)).unwrap_or_default();
                for (by, of) in &pairs {
                    object.extend(values.get(&***of).map(|value| (by.to_string(), value.clone())));
                    fixed.push(by);
                }
                object.insert(field.name.to_string(), drawn);
                continue;
            }
            let wanted = drawn.as_array().map_or(1, Vec::len);
            let mut ids: Vec<Value> = Vec::new();
            for _ in 0..wanted {
                let chosen = (0..TARGETS_MAX).find_map(|_| {
                    let id = self.target(&reference.target, row, rng)?;
                    let values = self.key_fields(target, number_of(id.as_str()?)?)?;
                    let fits = |(by, of): &(&Name, &Name)| {
                        !fixed.contains(by) || object.get(&***by) == values.get(&***of)
                    };
                    (!ids.contains(&id) && pairs.iter().all(fits)).then_some((id, values))
                });
                let Some((id, mut values)) = chosen else { break };
                ids.push(id);
                for (by, of) in &pairs {
                    if let Some(value) = values.remove(&***of) {
                        object.insert(by.to_string(), value);
                        fixed.push(by);
                    }
                }
            }
            let value = if drawn.is_array() { Some(Value::Array(ids)) } else { ids.pop() };
            if let Some(value) = value {
                object.insert(field.name.to_string(), value);
                fixed.push(&field.name);
            }
        }
        object.retain(|name, _| !implied.iter().any(|field| ***field == **name));
    }

    /// Whether an optional reference closes a circle of types: its target leads back by needed references,
    /// or is a later type that leads back.
    pub(super) fn is_closing(&self, field: &Field, target: &Name, row: Option<(&ItemType, u64)>) -> bool {
        let place = |name: &Name| self.model.items().iter().position(|item| item.name == *name);
        let Some((item, _)) = row.filter(|(item, _)| !needs_target(field) && item.name != *target) else {
            return false;
        };
        leads_to(self.model, target, &item.name, needs_target)
            || (place(target) > place(&item.name) && leads_to(self.model, target, &item.name, |_| true))
    }

    pub(super) fn reference(
        &self,
        field: &Field,
        target: &Name,
        row: Option<(&ItemType, u64)>,
        rng: &mut StreamRng,
    ) -> Option<Value> {
        if field.ty.list.is_none() {
            return self.target(target, row, rng);
        }
        let mut elements: Vec<Value> = Vec::new();
        for _ in 0..elements_of(&field.checks, rng) {
            let Some(element) = self.target(target, row, rng) else { break };
            if !elements.contains(&element) {
                elements.push(element);
            }
        }
        Some(Value::Array(elements))
    }

    /// A foreign key of a row: the id of a random row of a type; `None` for a type without rows.
    fn target(&self, target: &Name, row: Option<(&ItemType, u64)>, rng: &mut StreamRng) -> Option<Value> {
        // A row refers to earlier rows of its own type.
        let count = match row {
            Some((item, number)) if item.name == *target => number,
            _ => self.counts.get(target).copied().unwrap_or_default(),
        };
        // The square makes some targets far more popular than others.
        let place = |fraction: f64| (fraction * fraction * count as f64) as u64;
        (count > 0).then(|| json!(row_id(target, place(rng.fraction()))))
    }
}

/// Whether a field has a value of its own, and is no reference.
fn is_value(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Stored(_))
}

/// The references of a row or object. A reference comes before the references in its partition key.
fn by_key(fields: &[Field]) -> Vec<&Field> {
    let key_of = |field: &Field| match &field.kind {
        FieldKind::Reference(reference) => reference.partition.clone(),
        _ => Vec::new(),
    };
    let mut ordered: Vec<&Field> = Vec::new();
    let mut left: Vec<&Field> = fields.iter().collect();
    while !left.is_empty() {
        let is_named = |field: &&Field| {
            let names_it = |other: &&Field| other.name != field.name && key_of(other).contains(&field.name);
            left.iter().any(names_it)
        };
        let (later, next): (Vec<_>, Vec<_>) = left.iter().copied().partition(is_named);
        let is_circle = next.is_empty();
        ordered.extend(next);
        if is_circle {
            ordered.extend(later);
            break;
        }
        left = later;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use onehop_model::Model;

    use super::*;

    /// Articles refer to others of their section, and notes to one of them and to its section.
    const WITHIN_PARTITIONS: &str = r#"
extend schema
  @model(name: "press")
  @container(name: "articles", key: ["/section", "/id"])
  @container(name: "notes", key: "/articleId")

type Article @item(container: "articles", partition: ["section", "id"]) {
  id: ID!
  section: String!
  code: String! @unique @pattern(is: "[A-Z][0-9]?")
  related: [Article!]! @reference(partition: "section")
}

type Note @item(container: "notes", partition: "article") @where(path: "/doc", in: ["note", "mark"]) {
  id: ID!
  doc: String!
  section: String!
  article: Article! @reference(partition: "section")
  answered: Note @reference(partition: "article")
}
"#;

    /// Each type needs the next one, but for the first one, which may lead to the last.
    const CIRCLE: &str = r#"
extend schema @model(name: "hotels") @container(name: "all", key: "/id")

type Guest @item(container: "all") { id: ID! favourites: [Hotel!]! @reference friend: Guest @reference }
type Hotel @item(container: "all") { id: ID! chain: Chain! @reference }
type Chain @item(container: "all") { id: ID! owner: Guest! @reference last: Hotel @reference }
"#;

    #[test]
    fn an_optional_reference_closes_no_circle_of_types() {
        let model = Model::read("hotels.graphql", CIRCLE).unwrap();
        let rows = SampleRows::new(&model, 20, 1);
        let rows = |item: &str| rows.of(model.item(item).unwrap()).collect::<Vec<_>>();
        assert!(rows("Guest").iter().all(|row| row["favourites"] == json!([])));
        assert!(rows("Guest").iter().any(|row| row.contains_key("friend")));
        assert!(rows("Hotel").iter().all(|row| row["chain"].is_string()));
        assert!(rows("Chain").iter().all(|row| row["owner"].is_string() && !row.contains_key("last")));
    }

    #[test]
    fn references_within_partitions_agree_with_their_targets() {
        let model = Model::read("press.graphql", WITHIN_PARTITIONS).unwrap();
        let rows = SampleRows::new(&model, 100, 1);
        let rows = |item: &str| -> BTreeMap<String, Map<String, Value>> {
            let rows = rows.of(model.item(item).unwrap());
            rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row)).collect()
        };
        let (articles, notes) = (rows("Article"), rows("Note"));
        let related = |row: &Map<String, Value>| row["related"].as_array().unwrap().clone();
        let sections: HashSet<_> = articles.values().map(|row| row["section"].to_string()).collect();
        assert!((2..=10).contains(&sections.len()), "{sections:?}");
        assert!(articles.values().any(|row| !related(row).is_empty()));
        for row in articles.values() {
            assert!(
                related(row).iter().all(|id| articles[id.as_str().unwrap()]["section"] == row["section"])
            );
        }
        let codes: HashSet<_> = articles.values().map(|row| row["code"].to_string()).collect();
        assert_eq!(codes.len(), articles.len());
        assert!(notes.values().any(|row| row.contains_key("answered")));
        for row in notes.values() {
            assert_eq!(articles[row["article"].as_str().unwrap()]["section"], row["section"]);
            assert!(["note", "mark"].contains(&row["doc"].as_str().unwrap()));
            if let Some(answered) = row.get("answered").and_then(Value::as_str) {
                assert_eq!(notes[answered]["article"], row["article"]);
            }
        }
    }
}

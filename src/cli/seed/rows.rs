//! Rows of sample data for any model: values of each field's type within its checks, and references to other
//! rows. The same seed makes the same rows.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use onehop_model::{
    Checks, Field, FieldKind, ItemType, KeySource, Literal, Model, Name, PathCondition, PathTest, Scalar,
    StoredField, TypeOf, ValueSource,
};
use onehop_study::rng::{Stream, StreamRng};
use serde_json::{Map, Number, Value, json};

use super::values::{decimal, hundredths, instant, numbered, text, whole};

/// The generator of the rows of the first type; each type has its own.
const ROWS: u64 = 1_000;
/// The generator of the values of the first partition key field of the first type.
const KEYS: u64 = 10_000;
/// The values of a field that is part of a partition key: at least these, and at most.
const KEY_VALUES: (u64, u64) = (3, 1_000);
/// Items of a type with references, for each item of a type without.
const REFERRING: u64 = 5;
/// The most elements of a list beyond its least.
const ELEMENTS: u32 = 3;
/// The one currency of all amounts.
const CURRENCY: &str = "EUR";
/// The levels of objects within objects.
const DEPTH_MAX: usize = 8;
/// The targets that are looked at for a reference to an item of the same partition.
const TARGETS_MAX: usize = 500;
/// The most partition keys of rows in memory, for references to them.
const KNOWN_KEYS_MAX: usize = 200_000;
/// The most texts for one value of a unique field with a pattern, which may match few.
const UNIQUE_TRIES: usize = 200;

/// A row: the place of its type, and its number.
type RowPlace = (usize, u64);

/// The rows of a model's types.
pub struct SampleRows<'a> {
    model: &'a Model,
    seed: u64,
    counts: BTreeMap<Name, u64>,
    /// The partition keys of rows that others refer to, as fields.
    known_keys: RefCell<HashMap<RowPlace, Map<String, Value>>>,
    /// The rows under way.
    open: RefCell<HashSet<RowPlace>>,
    /// The rows with each text of a unique field with a pattern, by place of the type, field and text.
    unique_texts: RefCell<HashMap<(usize, Name, String), u64>>,
}

impl<'a> SampleRows<'a> {
    /// So many rows of each type without references, and five times as many of the others.
    pub fn new(model: &'a Model, items: u64, seed: u64) -> Self {
        let count = |item: &ItemType| match item.fields.iter().any(|field| refers(item, field)) {
            true => items * REFERRING,
            false => items,
        };
        let counts = model.items().iter().map(|item| (item.name.clone(), count(item))).collect();
        Self {
            model,
            seed,
            counts,
            known_keys: RefCell::default(),
            open: RefCell::default(),
            unique_texts: RefCell::default(),
        }
    }

    /// The rows of a type, in the form that an import takes.
    pub fn of<'b>(&'b self, item: &'b ItemType) -> impl Iterator<Item = Map<String, Value>> + 'b {
        (0..self.counts[&item.name]).map(move |number| self.row(item, number))
    }

    /// A row of a type.
    fn row(&self, item: &ItemType, number: u64) -> Map<String, Value> {
        let mut rng = StreamRng::new(self.seed, Stream(ROWS + self.place(item) as u64), number);
        let mut row = self.object(&item.fields, Some((item, number)), &mut rng, 0);
        row.insert("id".to_owned(), json!(row_id(&item.name, number)));
        row
    }

    fn place(&self, item: &ItemType) -> usize {
        self.model.items().iter().position(|other| other.name == item.name).unwrap_or_default()
    }

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
    fn refer_within_partitions(
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

    /// The values of the fields of a row, or of an embedded object.
    fn object(
        &self,
        fields: &[Field],
        row: Option<(&ItemType, u64)>,
        rng: &mut StreamRng,
        depth: usize,
    ) -> Map<String, Value> {
        let mut object = Map::new();
        for field in fields {
            // Three of four optional values are there.
            let is_given = field.ty.non_null || rng.below(4) > 0 || is_known_by(row, field);
            let value = match &field.kind {
                FieldKind::Stored(stored) => match &stored.source {
                    ValueSource::Input if *field.name != *"id" => self.input(field, stored, row, rng, depth),
                    ValueSource::Created => Some(json!(instant(rng))),
                    _ => None,
                },
                // Of types that refer to one another, one has no references to the other.
                FieldKind::Reference(reference) if !self.is_closing(field, &reference.target, row) => {
                    self.reference(field, &reference.target, row, rng)
                }
                _ => None,
            };
            if let Some(value) = value.filter(|_| is_given) {
                object.insert(field.name.to_string(), value);
            }
        }
        self.refer_within_partitions(fields, row, &mut object, rng);
        object
    }

    /// Whether an optional reference leads to a later type that leads back.
    fn is_closing(&self, field: &Field, target: &Name, row: Option<(&ItemType, u64)>) -> bool {
        let place = |name: &Name| self.model.items().iter().position(|item| item.name == *name);
        let Some((item, _)) = row.filter(|_| !field.ty.non_null) else { return false };
        place(target) > place(&item.name) && self.leads_to(target, &item.name)
    }

    /// Whether references lead from a type to another.
    fn leads_to(&self, from: &Name, to: &Name) -> bool {
        let (mut open, mut seen) = (vec![from.clone()], Vec::new());
        while let Some(name) = open.pop() {
            if name == *to {
                return true;
            }
            let Some(item) = self.model.item(&name).filter(|_| !seen.contains(&name)) else { continue };
            let targets = item.fields.iter().filter_map(|field| match &field.kind {
                FieldKind::Reference(reference) => Some(reference.target.clone()),
                _ => None,
            });
            open.extend(targets);
            seen.push(name);
        }
        false
    }

    fn reference(
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

    /// The value of an input. Parts of a partition key have few values, and all values fulfil the conditions
    /// on the items of the type.
    fn input(
        &self,
        field: &Field,
        stored: &StoredField,
        row: Option<(&ItemType, u64)>,
        rng: &mut StreamRng,
        depth: usize,
    ) -> Option<Value> {
        let Some((item, _)) = row else { return self.stored(field, stored, row, rng, depth) };
        let key = KeySource::Field(field.name.clone());
        let is_free = stored.unique.is_none() && !item.id_from.contains(&field.name);
        let value = match item.key.iter().position(|source| *source == key).filter(|_| is_free) {
            Some(place) => {
                let (min, max) = KEY_VALUES;
                let values = self.counts[&item.name].isqrt().clamp(min, max);
                let stream = Stream(KEYS + (self.place(item) * item.key.len() + place) as u64);
                let mut of_value = StreamRng::new(self.seed, stream, rng.below_u64(values));
                self.stored(field, stored, row, &mut of_value, depth)
            }
            None => self.stored(field, stored, row, rng, depth),
        };
        self.recognised(item, (field, stored), value, rng)
    }

    /// A value that fulfils the conditions on the items of a type, from `value`.
    fn recognised(
        &self,
        item: &ItemType,
        (field, stored): (&Field, &StoredField),
        value: Option<Value>,
        rng: &mut StreamRng,
    ) -> Option<Value> {
        let mut conditions = item.recognised_by.iter().filter(|condition| condition.path == stored.property);
        let test = conditions.find(|condition| !matches!(condition.test, PathTest::Exists(true)));
        let literal = match test.map(|condition| &condition.test) {
            Some(PathTest::Is(literal)) => literal,
            Some(PathTest::In(literals)) => rng.pick(literals),
            Some(PathTest::Prefix(prefix)) => {
                let text = format!("{prefix}{}", value.as_ref().and_then(Value::as_str).unwrap_or_default());
                let max = field.checks.length_max.map_or(usize::MAX, |max| max as usize);
                return Some(json!(text.chars().take(max).collect::<String>()));
            }
            Some(PathTest::Exists(_)) => return None,
            None => return value,
        };
        match (literal, &field.ty.of) {
            // A condition names the stored text.
            (Literal::String(text), TypeOf::Enum(name)) => {
                let found = self.model.enum_type(name)?.values.iter().find(|value| value.stored == *text)?;
                Some(json!(&*found.name))
            }
            (Literal::String(text), _) => Some(json!(text)),
            (Literal::Int(number), _) => Some(json!(number)),
            (Literal::Float(number), _) => Some(json!(number)),
            (Literal::Boolean(value), _) => Some(json!(value)),
            _ => value,
        }
    }

    fn stored(
        &self,
        field: &Field,
        stored: &StoredField,
        row: Option<(&ItemType, u64)>,
        rng: &mut StreamRng,
        depth: usize,
    ) -> Option<Value> {
        if field.ty.list.is_some() {
            let checks = Checks { length_min: None, length_max: None, ..field.checks.clone() };
            let elements = (0..elements_of(&field.checks, rng))
                .filter_map(|_| self.single(field, &checks, (stored, row), rng, depth));
            return Some(Value::Array(elements.collect()));
        }
        self.single(field, &field.checks, (stored, row), rng, depth)
    }

    fn single(
        &self,
        field: &Field,
        checks: &Checks,
        (stored, row): (&StoredField, Option<(&ItemType, u64)>),
        rng: &mut StreamRng,
        depth: usize,
    ) -> Option<Value> {
        let number = row.map_or(0, |(_, number)| number);
        match &field.ty.of {
            TypeOf::Scalar(scalar) => Some(match scalar {
                Scalar::String | Scalar::Id => json!(self.text(field, checks, (stored, row), rng)),
                Scalar::Int if stored.unique.is_some() => json!(numbered(checks, number)),
                Scalar::Int => json!(whole(checks, 1_000, rng)),
                Scalar::Float => Number::from_f64(hundredths(checks, 1_000, rng) as f64 / 100.0).into(),
                Scalar::Decimal => json!(decimal(hundredths(checks, 1_000, rng))),
                Scalar::Money => {
                    json!({ "amount": decimal(hundredths(checks, 200, rng)), "currencyCode": CURRENCY })
                }
                Scalar::Boolean => json!(rng.below(2) == 0),
                Scalar::DateTime => json!(instant(rng)),
            }),
            TypeOf::Enum(name) => {
                let values = &self.model.enum_type(name)?.values;
                (!values.is_empty()).then(|| json!(&*rng.pick(values).name))
            }
            TypeOf::Embedded(name) if depth < DEPTH_MAX => {
                let embedded = self.model.embedded_type(name)?;
                Some(Value::Object(self.object(&embedded.fields, None, rng, depth + 1)))
            }
            TypeOf::Embedded(_) | TypeOf::Item(_) => None,
        }
    }

    /// A text within the checks; for a unique field another one in each row, as far as its pattern permits.
    fn text(
        &self,
        field: &Field,
        checks: &Checks,
        (stored, row): (&StoredField, Option<(&ItemType, u64)>),
        rng: &mut StreamRng,
    ) -> String {
        let number = row.map_or(0, |(_, number)| number);
        let mut drawn = text(field, checks, (stored, number), rng);
        let (Some((item, _)), Some(_), Some(_)) = (row, &stored.unique, &checks.pattern) else {
            return drawn;
        };
        let mut texts = self.unique_texts.borrow_mut();
        for _ in 0..UNIQUE_TRIES {
            let key = (self.place(item), field.name.clone(), drawn.to_lowercase());
            if *texts.entry(key).or_insert(number) == number {
                break;
            }
            drawn = text(field, checks, (stored, number), rng);
        }
        drawn
    }
}

/// Whether the conditions on the items of a type ask for a value of this field.
fn is_known_by(row: Option<(&ItemType, u64)>, field: &Field) -> bool {
    let is_it = |condition: &PathCondition| {
        field.property() == Some(&condition.path) && condition.test != PathTest::Exists(false)
    };
    row.is_some_and(|(item, _)| item.recognised_by.iter().any(is_it))
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

/// The id of a row.
pub fn row_id(item_type: &str, number: u64) -> String {
    format!("{item_type}-{number}")
}

/// The number of the row with an id.
fn number_of(id: &str) -> Option<u64> {
    id.rsplit_once('-')?.1.parse().ok()
}

/// Whether a field refers to other items.
fn refers(item: &ItemType, field: &Field) -> bool {
    matches!(&field.kind, FieldKind::Reference(reference) if reference.target != item.name)
}

fn elements_of(checks: &Checks, rng: &mut StreamRng) -> u32 {
    let min = checks.length_min.unwrap_or(0);
    let max = checks.length_max.unwrap_or(u32::MAX).min(min.saturating_add(ELEMENTS)).max(min);
    min + rng.below(max - min + 1)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_same_seed_makes_the_same_rows() {
        let model = Model::read("new.graphql", super::super::super::new::MODEL).unwrap();
        let rows = |seed| {
            let rows = SampleRows::new(&model, 5, seed);
            model.items().iter().flat_map(|item| rows.of(item).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
    }
}

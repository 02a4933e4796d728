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

mod references;

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
                FieldKind::Reference(reference) if self.is_closing(field, &reference.target, row) => {
                    field.ty.list.map(|_| json!([]))
                }
                FieldKind::Reference(reference) => self.reference(field, &reference.target, row, rng),
                _ => None,
            };
            if let Some(value) = value.filter(|_| is_given) {
                object.insert(field.name.to_string(), value);
            }
        }
        self.refer_within_partitions(fields, row, &mut object, rng);
        object
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
                let text = value.as_ref().and_then(Value::as_str).unwrap_or_default();
                let prefix = if text.starts_with(prefix) { "" } else { prefix };
                let text = format!("{prefix}{text}");
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

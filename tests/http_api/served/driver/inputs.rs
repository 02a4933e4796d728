//! Generated inputs: values within the checks of their fields, and references to items that are there.

use std::collections::{BTreeMap, BTreeSet};

use onehop::served::input::{InputField, follows_reference, input_fields, input_name};
use onehop::served::{ItemPlace, ServedModel, TypeIndex};
use onehop_model::{
    Action, Checks, Field, FieldKind, FieldType, ItemType, Literal, Name, Normalize, Scalar, StoredField,
    TypeOf,
};
use onehop_store::PartitionKey;
use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::Driven;

/// The letters of generated texts.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
/// The most elements of a generated list.
const ELEMENTS_MAX: usize = 3;

/// A generator of inputs from a seed.
pub(super) struct Inputs {
    state: u64,
    texts: TestRunner,
    number: u32,
}

/// An input with its parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Generated {
    pub(super) input: Map<String, Value>,
    /// The values by their fields.
    pub(super) values: Map<String, Value>,
    /// The ids of the references by their fields.
    pub(super) references: BTreeMap<String, Vec<String>>,
    /// Fields that the server fills.
    left_out: BTreeSet<String>,
    /// Plain fields whose values follow from the targets of references.
    followed: BTreeSet<String>,
}

impl Inputs {
    pub(super) fn new(seed: u64) -> Self {
        let bytes: Vec<u8> = seed.to_be_bytes().iter().copied().cycle().take(32).collect();
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let texts = TestRunner::new_with_rng(Config::default(), random);
        Self { state: seed | 1, texts, number: 0 }
    }

    /// A number below this one: xorshift64*.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end.max(1)
    }

    /// A type that has to have an item before this one can.
    pub(super) fn missing_target(
        &self,
        model: &ServedModel,
        ty: TypeIndex,
        items: &[Driven],
    ) -> Option<TypeIndex> {
        let needed = input_fields(model.ty(ty), Action::Create, &[]).into_iter().find_map(|input| {
            let FieldKind::Reference(reference) = &input.field.kind else { return None };
            let target = model.index_of(&reference.target)?;
            let is_needed = input.is_required && input.field.ty.list.is_none();
            (is_needed && items.iter().all(|item| item.ty != target)).then_some(target)
        });
        needed.filter(|needed| model.ty(*needed).writes(Action::Create))
    }

    /// An input for a new item of a caller; `None` where a needed reference has no target.
    pub(super) fn of(
        &mut self,
        model: &ServedModel,
        ty: TypeIndex,
        caller: Option<&Driven>,
        items: &[Driven],
    ) -> Option<Generated> {
        let fields = input_fields(model.ty(ty), Action::Create, &[]);
        let (item, mut generated) = (&model.ty(ty).item, Generated::default());
        for field in &item.fields {
            if let (FieldKind::Reference(reference), Some(caller)) = (&field.kind, caller)
                && reference.caller
            {
                follow_partition(reference, caller, item, model, &mut generated);
            }
        }
        self.generate(model, (ty, generated), &fields, None, items)
    }

    /// An input for a change of some fields.
    pub(super) fn change(
        &mut self,
        model: &ServedModel,
        item: &Driven,
        items: &[Driven],
    ) -> Option<Generated> {
        let mut fields = input_fields(model.ty(item.ty), Action::Update, &[]);
        // A part of the key of a reference's target goes with the reference.
        let is_part = |name: &str| {
            let fields = &model.ty(item.ty).item.fields;
            fields.iter().any(|field| match &field.kind {
                FieldKind::Reference(reference) => reference.partition.iter().any(|by| **by == *name),
                _ => false,
            })
        };
        fields.retain(|input| self.below(2) == 0 && !is_part(&input.field.name));
        self.generate(model, (item.ty, Generated::default()), &fields, Some(item), items)
    }

    /// An input for an update of these fields; of all where there are none.
    pub(super) fn change_of(
        &mut self,
        model: &ServedModel,
        item: &Driven,
        fields: &[Name],
        items: &[Driven],
    ) -> Option<Generated> {
        let fields = input_fields(model.ty(item.ty), Action::Update, fields);
        self.generate(model, (item.ty, Generated::default()), &fields, Some(item), items)
    }

    fn generate(
        &mut self,
        model: &ServedModel,
        (ty, mut generated): (TypeIndex, Generated),
        fields: &[InputField<'_>],
        before: Option<&Driven>,
        items: &[Driven],
    ) -> Option<Generated> {
        let served = model.ty(ty);
        for input in fields {
            let (name, field) = (input.field.name.to_string(), input.field);
            let is_left_out = !input.is_required && before.is_none() && self.below(3) == 0;
            if is_left_out {
                continue;
            }
            if let FieldKind::Reference(reference) = &field.kind {
                let target = model.index_of(&reference.target)?;
                // An update fills such fields from the new target.
                let follows = |by: &onehop_model::Name| match served.item.field(by).map(|field| &field.kind) {
                    Some(FieldKind::Stored(stored)) => {
                        before.is_some() && !stored.immutable && !served.is_fixed(by)
                    }
                    _ => false,
                };
                let is_near = |item: &&Driven| {
                    let is_same = |by: &onehop_model::Name| {
                        is_same_partition(&served.item, (&generated, before), by, item)
                    };
                    item.ty == target
                        && before.is_none_or(|before| before.id != item.id)
                        && reference.partition.iter().all(|by| follows(by) || is_same(by))
                };
                let mut found: Vec<&Driven> = items.iter().filter(is_near).collect();
                // All targets of a list lie in one logical partition.
                if field.ty.list.is_some() && !reference.partition.is_empty() && !found.is_empty() {
                    let chosen = partition_of(model, found[self.below(found.len())]);
                    found.retain(|item| partition_of(model, item) == chosen);
                }
                let wanted = match field.ty.list {
                    Some(_) => self.below(ELEMENTS_MAX.min(found.len()) + 1),
                    None => usize::from(!found.is_empty() && (field.ty.non_null || self.below(4) > 0)),
                };
                if wanted == 0 && field.ty.non_null && field.ty.list.is_none() {
                    return None;
                }
                let mut ids: Vec<String> = Vec::new();
                for _ in 0..wanted {
                    let chosen = found[self.below(found.len())];
                    if !ids.contains(&chosen.id) {
                        ids.push(chosen.id.clone());
                    }
                    if before.is_none() {
                        follow_partition(reference, chosen, &served.item, model, &mut generated);
                    }
                }
                let value = match field.ty.list {
                    Some(_) => json!(ids),
                    None => ids.first().map_or(Value::Null, |id| json!(id)),
                };
                generated.input.insert(input.name.to_owned(), value);
                generated.references.insert(name, ids);
                continue;
            }
            if generated.values.contains_key(&name) || generated.left_out.contains(&name) {
                continue;
            }
            let mut embedded = Vec::new();
            let value = self.value(model, field, items, &mut embedded)?;
            if !embedded.is_empty() || matches!(field.ty.of, TypeOf::Embedded(_)) {
                generated.references.insert(name.clone(), embedded);
            }
            generated.input.insert(input.name.to_owned(), value.clone());
            generated.values.insert(name, value);
        }
        Some(generated)
    }

    fn value(
        &mut self,
        model: &ServedModel,
        field: &Field,
        items: &[Driven],
        references: &mut Vec<String>,
    ) -> Option<Value> {
        // Null is the default, where there is one.
        let has_default = matches!(&field.kind, FieldKind::Stored(stored) if stored.default.is_some());
        if !field.ty.non_null && !has_default && self.below(4) == 0 {
            return Some(Value::Null);
        }
        let unique = match &field.kind {
            FieldKind::Stored(StoredField { unique, .. }) => *unique,
            _ => None,
        };
        let FieldType { of, list, .. } = &field.ty;
        if list.is_none() {
            return self.single(model, of, &field.checks, unique, items, references);
        }
        let (min, max) = bounds(&field.checks, 0, ELEMENTS_MAX);
        let checks = Checks { length_min: None, length_max: None, ..field.checks.clone() };
        let elements = min + self.below(max - min + 1);
        (0..elements).map(|_| self.single(model, of, &checks, None, items, references)).collect()
    }

    fn single(
        &mut self,
        model: &ServedModel,
        of: &TypeOf,
        checks: &Checks,
        unique: Option<Normalize>,
        items: &[Driven],
        references: &mut Vec<String>,
    ) -> Option<Value> {
        match of {
            TypeOf::Scalar(scalar) => Some(self.scalar(*scalar, checks, unique)),
            TypeOf::Enum(name) => {
                let values = &model.model().enum_type(name)?.values;
                Some(json!(&*values[self.below(values.len())].name))
            }
            TypeOf::Embedded(name) => {
                let mut object = Map::new();
                let fields = &model.embedded(name)?.fields;
                let mut partitions = BTreeMap::new();
                for field in fields {
                    let FieldKind::Reference(reference) = &field.kind else {
                        // The server knows it from the target.
                        if follows_reference(fields, &field.name) {
                            continue;
                        }
                        if matches!(&field.kind, FieldKind::Stored(stored) if stored.source == onehop_model::ValueSource::Input)
                        {
                            object
                                .insert(field.name.to_string(), self.value(model, field, items, references)?);
                        }
                        continue;
                    };
                    let target = model.index_of(&reference.target)?;
                    let mut found: Vec<&Driven> = items.iter().filter(|item| item.ty == target).collect();
                    // References with the same fields beside them lie in one logical partition.
                    if !reference.partition.is_empty() && !found.is_empty() {
                        let chosen = partition_of(model, found[self.below(found.len())]);
                        let chosen = partitions.entry(reference.partition.clone()).or_insert(chosen);
                        found.retain(|item| partition_of(model, item) == *chosen);
                    }
                    let is_wanted = !found.is_empty() && (field.ty.non_null || self.below(2) == 0);
                    let wanted = match field.ty.list {
                        Some(_) => self.below(ELEMENTS_MAX.min(found.len()) + 1),
                        None => 1,
                    };
                    let mut ids: Vec<String> = Vec::new();
                    for _ in 0..if is_wanted { wanted } else { 0 } {
                        let chosen = found[self.below(found.len())];
                        if !ids.contains(&chosen.id) {
                            ids.push(chosen.id.clone());
                        }
                    }
                    references.extend(ids.iter().cloned());
                    match (field.ty.list, ids.first()) {
                        (Some(_), _) => drop(object.insert(input_name(field).to_owned(), json!(ids))),
                        (None, Some(id)) => drop(object.insert(input_name(field).to_owned(), json!(id))),
                        (None, None) if field.ty.non_null => return None,
                        (None, None) => {}
                    }
                }
                Some(Value::Object(object))
            }
            TypeOf::Item(_) => None,
        }
    }

    fn scalar(&mut self, scalar: Scalar, checks: &Checks, unique: Option<Normalize>) -> Value {
        match scalar {
            Scalar::String | Scalar::Id => json!(self.text(checks, unique)),
            Scalar::Int => {
                let (min, max) = range(checks, 0.0, 40.0);
                json!(min as i64 + self.below((max - min) as usize + 1) as i64)
            }
            Scalar::Float => {
                let (min, max) = range(checks, -10.0, 10.0);
                json!(min + (max - min) * (self.below(64) as f64 / 64.0))
            }
            Scalar::Boolean => json!(self.below(2) == 0),
            Scalar::DateTime => json!(format!("2027-02-{:02}T10:00:00.000Z", 1 + self.below(28))),
            Scalar::Decimal => {
                let (min, max) = range(checks, -5.0, 14_000.0);
                let hundredths = (min * 100.0) as i64 + self.below(((max - min) * 100.0) as usize + 1) as i64;
                // Without a last zero, which a stored number does not keep.
                let is_last = hundredths >= (max * 100.0) as i64;
                let hundredths = hundredths
                    + if hundredths % 10 != 0 {
                        0
                    } else if is_last {
                        -1
                    } else {
                        1
                    };
                let sign = if hundredths < 0 { "-" } else { "" };
                let hundredths = hundredths.unsigned_abs();
                json!(format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100))
            }
            Scalar::Money => json!({ "amount": format!("{}.25", self.below(500)), "currencyCode": "EUR" }),
        }
    }

    fn text(&mut self, checks: &Checks, unique: Option<Normalize>) -> String {
        if let Some(pattern) = &checks.pattern {
            let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
            let strategy = string_regex(pattern).expect("a regular expression");
            return strategy.new_tree(&mut self.texts).expect("a text").current();
        }
        let (min, max) = bounds(checks, 1, 12);
        self.number += 1;
        match unique {
            Some(Normalize::Email) => return format!("person{}@example.com", self.number),
            // Letters alone: digits may look like letters.
            Some(_) => return (0..max.clamp(6, 12)).map(|_| self.letter()).collect(),
            None => {}
        }
        let length = min.max(1) + self.below(max.max(1) - min.max(1) + 1);
        (0..length).map(|_| self.letter()).collect()
    }

    fn letter(&mut self) -> char {
        char::from(LETTERS[self.below(LETTERS.len())])
    }
}

fn partition_of(model: &ServedModel, item: &Driven) -> PartitionKey {
    ItemPlace::decode(model, &item.id).unwrap().partition
}

/// Whether the item lies in the logical partition that a field of the input, or of the item before an update,
/// names, as far as it does.
fn is_same_partition(
    ty: &ItemType,
    (generated, before): (&Generated, Option<&Driven>),
    by: &str,
    target: &Driven,
) -> bool {
    match ty.field(by).map(|field| &field.kind) {
        Some(FieldKind::Reference(_)) => {
            let own = generated.references.get(by);
            let own = own.or_else(|| before?.references.get(by));
            own.is_some_and(|own| Some(own) == target.references.get(by))
        }
        _ => {
            let followed = generated.values.get(by).filter(|_| generated.followed.contains(by));
            let own = followed.or_else(|| before?.values.get(by));
            (own.is_none() && before.is_none()) || own == target.values.get(by)
        }
    }
}

/// Sets the plain field that names the logical partition of a chosen target.
fn follow_partition(
    reference: &onehop_model::ReferenceField,
    chosen: &Driven,
    ty: &ItemType,
    model: &ServedModel,
    generated: &mut Generated,
) {
    let keys = &model.ty(chosen.ty).item.key;
    for (by, key) in reference.partition.iter().zip(keys) {
        let Some(FieldKind::Stored(_)) = ty.field(by).map(|field| &field.kind) else { continue };
        let onehop_model::KeySource::Field(key) = key else { continue };
        match chosen.values.get(&**key) {
            Some(value) => {
                generated.input.insert(by.to_string(), value.clone());
                generated.values.insert(by.to_string(), value.clone());
                generated.followed.insert(by.to_string());
            }
            // The server knows it from the target.
            None => drop(generated.left_out.insert(by.to_string())),
        }
    }
}

fn bounds(checks: &Checks, min: usize, max: usize) -> (usize, usize) {
    let least = checks.length_min.map_or(min, |min| min as usize);
    let most = checks.length_max.map_or(max.max(least), |limit| max.max(least).min(limit as usize));
    (least.min(most), most)
}

fn range(checks: &Checks, min: f64, max: f64) -> (f64, f64) {
    let bound = |literal: &Option<Literal>| match literal {
        Some(Literal::Int(bound)) => Some(*bound as f64),
        Some(Literal::Float(bound)) => Some(*bound),
        Some(Literal::String(bound)) => bound.parse().ok(),
        _ => None,
    };
    let least = bound(&checks.range_min).unwrap_or(min);
    (least, bound(&checks.range_max).unwrap_or(least + (max - min)).min(least + (max - min)))
}

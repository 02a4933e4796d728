//! Rows of sample data for any model: values of each field's type within its checks, and references to other
//! rows. The same seed makes the same rows.

use std::collections::BTreeMap;

use onehop_model::{
    Checks, Field, FieldKind, ItemType, KeySource, Literal, Model, Name, Normalize, Scalar, StoredField,
    TypeOf, ValueSource,
};
use onehop_runtime::clock::format_timestamp;
use onehop_study::rng::{Stream, StreamRng};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Number, Value, json};

/// The generator of the rows of the first type; each type has its own.
const ROWS: u64 = 1_000;
/// Items of a type with references, for each item of a type without.
const REFERRING: u64 = 5;
/// The characters of a text whose field has no `@length`.
const TEXT_CHARS: u32 = 200;
/// The characters of a name or a title.
const NAME_CHARS: u32 = 40;
/// The ends of names of fields with short texts.
const SHORT: [&str; 6] = ["name", "title", "subject", "label", "city", "code"];
/// Repetitions beyond the least of a pattern.
const REPETITIONS: u32 = 4;
/// The most elements of a list beyond its least.
const ELEMENTS: u32 = 3;
/// The one currency of all amounts.
const CURRENCY: &str = "EUR";
/// 2026-01-01T00:00:00Z, in milliseconds since 1970: all times are in the year before.
const END_MS: i64 = 1_767_225_600_000;
const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1_000;
/// The levels of objects within objects, and of rows that others are made from.
const DEPTH_MAX: usize = 8;
/// The targets that are looked at for a reference to an item of the same partition.
const TARGETS_MAX: usize = 500;

#[rustfmt::skip]
const WORDS: [&str; 60] = [
    "amber", "apple", "arrow", "autumn", "basket", "bell", "birch", "bridge", "candle", "cedar", "cloud", "copper", "coral",
    "dawn", "delta", "ember", "evening", "fern", "field", "garden", "glass", "harbour", "hazel", "hill", "island", "ivory",
    "juniper", "kettle", "lake", "lantern", "leaf", "lemon", "linen", "maple", "market", "meadow", "mill", "moss", "north",
    "oak", "ocean", "olive", "orchard", "paper", "pebble", "pine", "plum", "quiet", "rain", "river", "saffron", "shore",
    "silver", "stone", "summer", "thistle", "valley", "violet", "willow", "window",
];

/// The rows of a model's types.
pub struct SampleRows<'a> {
    model: &'a Model,
    seed: u64,
    counts: BTreeMap<Name, u64>,
}

impl<'a> SampleRows<'a> {
    /// So many rows of each type without references, and five times as many of the others.
    pub fn new(model: &'a Model, items: u64, seed: u64) -> Self {
        let count = |item: &ItemType| match item.fields.iter().any(|field| refers(item, field)) {
            true => items * REFERRING,
            false => items,
        };
        let counts = model.items().iter().map(|item| (item.name.clone(), count(item))).collect();
        Self { model, seed, counts }
    }

    /// The rows of a type, in the form that an import takes.
    pub fn of<'b>(&'b self, item: &'b ItemType) -> impl Iterator<Item = Map<String, Value>> + 'b {
        (0..self.counts[&item.name]).map(move |number| self.row(item, number, 0))
    }

    /// A row of a type, which does not depend on the rows before it.
    fn row(&self, item: &ItemType, number: u64, depth: usize) -> Map<String, Value> {
        let kind = self.model.items().iter().position(|other| other.name == item.name).unwrap_or_default();
        let mut rng = StreamRng::new(self.seed, Stream(ROWS + kind as u64), number);
        let mut row = self.object(&item.fields, Some((item, number)), &mut rng, depth);
        row.insert("id".to_owned(), json!(row_id(&item.name, number)));
        row
    }

    /// Chooses the targets of references whose partition keys are fields beside them, and these fields.
    fn refer_within_partitions(
        &self,
        fields: &[Field],
        row: Option<(&ItemType, u64)>,
        object: &mut Map<String, Value>,
        rng: &mut StreamRng,
        depth: usize,
    ) {
        let mut fixed: Vec<&Name> = Vec::new();
        for field in fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let Some(target) = self.model.item(&reference.target) else { continue };
            if reference.partition.is_empty() || depth >= DEPTH_MAX {
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
            let wanted = drawn.as_array().map_or(1, Vec::len);
            let mut ids: Vec<Value> = Vec::new();
            for _ in 0..wanted {
                let chosen = (0..TARGETS_MAX).find_map(|_| {
                    let id = self.target(&reference.target, row, rng)?;
                    let values = self.row(target, number_of(id.as_str()?)?, depth + 1);
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
            }
        }
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
            let is_given = field.ty.non_null || rng.below(4) > 0;
            let value = match &field.kind {
                FieldKind::Stored(stored) => match &stored.source {
                    ValueSource::Input if *field.name != *"id" => self.stored(field, stored, row, rng, depth),
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
        self.refer_within_partitions(fields, row, &mut object, rng, depth);
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
            let element = self.target(target, row, rng)?;
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

    fn stored(
        &self,
        field: &Field,
        stored: &StoredField,
        row: Option<(&ItemType, u64)>,
        rng: &mut StreamRng,
        depth: usize,
    ) -> Option<Value> {
        let number = row.map_or(0, |(_, number)| number);
        if field.ty.list.is_some() {
            let checks = Checks { length_min: None, length_max: None, ..field.checks.clone() };
            let elements = (0..elements_of(&field.checks, rng))
                .filter_map(|_| self.single(field, &checks, (stored, number), rng, depth));
            return Some(Value::Array(elements.collect()));
        }
        self.single(field, &field.checks, (stored, number), rng, depth)
    }

    fn single(
        &self,
        field: &Field,
        checks: &Checks,
        (stored, number): (&StoredField, u64),
        rng: &mut StreamRng,
        depth: usize,
    ) -> Option<Value> {
        match &field.ty.of {
            TypeOf::Scalar(scalar) => Some(match scalar {
                Scalar::String | Scalar::Id => json!(text(field, checks, (stored, number), rng)),
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

/// A text, which differs from the other rows where the field is unique.
fn text(
    field: &Field,
    checks: &Checks,
    (stored, number): (&StoredField, u64),
    rng: &mut StreamRng,
) -> String {
    if let Some(pattern) = &checks.pattern
        && let Ok(pattern) = regex_syntax::parse(pattern)
    {
        let mut text = String::new();
        sample(&pattern, rng, &mut text);
        // Few texts may match, so a unique one has the number of its row where that matches, too.
        let numbered = format!("{text}{number}");
        let is_match = |text: &str| is_whole_match(checks.pattern.as_deref().unwrap_or_default(), text);
        let is_short = checks.length_max.is_none_or(|max| numbered.chars().count() <= max as usize);
        return if stored.unique.is_some() && is_short && is_match(&numbered) { numbered } else { text };
    }
    let word = *rng.pick(&WORDS);
    match stored.unique {
        Some(Normalize::Email) => return format!("{word}{number}@example.com"),
        Some(Normalize::Username) => {
            // Zeros fill a short name.
            let width = (checks.length_min.unwrap_or(0) as usize).saturating_sub(word.len());
            return format!("{word}{number:0width$}");
        }
        _ => {}
    }
    let is_short = SHORT.iter().any(|name| field.name.to_ascii_lowercase().ends_with(name));
    let usual = if is_short { NAME_CHARS } else { TEXT_CHARS };
    let max = checks.length_max.unwrap_or(usual).min(usual.max(checks.length_min.unwrap_or(0))) as usize;
    let min = (checks.length_min.unwrap_or(1) as usize).max(max / 4);
    let wanted = min + rng.below((max - min + 1) as u32) as usize;
    let mut text = capitalised(word);
    while text.len() < wanted {
        text.push(' ');
        text.push_str(rng.pick::<&str>(&WORDS));
    }
    let suffix = stored.unique.map(|_| format!(" {number}")).unwrap_or_default();
    text.truncate(max.saturating_sub(suffix.len()));
    let text = text.trim_end().to_owned() + &suffix;
    // A cut before a space can be too short.
    format!("{text:x<min$}", min = checks.length_min.unwrap_or(0) as usize)
}

fn is_whole_match(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|pattern| pattern.is_match(text))
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(characters).collect()
}

/// A text that a regular expression accepts.
fn sample(hir: &Hir, rng: &mut StreamRng, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            // Readable characters where the class has some.
            let ascii: Vec<_> = ranges.iter().filter(|range| range.start().is_ascii_graphic()).collect();
            let range = if ascii.is_empty() { ranges.first() } else { Some(*rng.pick(&ascii)) };
            let Some(range) = range else { return };
            let (start, end) = (u32::from(range.start()), u32::from(range.end()).min(u32::from('~')));
            let code = start + rng.below(end.saturating_sub(start) + 1);
            text.extend(char::from_u32(code));
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.extend(class.ranges().first().map(|range| char::from(range.start())));
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.min.saturating_add(REPETITIONS);
            let max = repetition.max.map_or(most, |max| max.min(most));
            for _ in 0..repetition.min + rng.below(max - repetition.min + 1) {
                sample(&repetition.sub, rng, text);
            }
        }
        HirKind::Capture(capture) => sample(&capture.sub, rng, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| sample(part, rng, text)),
        HirKind::Alternation(parts) => sample(rng.pick(parts), rng, text),
    }
}

/// The least and the largest number of a field, by its check, or 0 and a usual end.
fn range(checks: &Checks, usual: i64) -> (f64, f64) {
    let number = |literal: &Literal| match literal {
        Literal::Int(whole) => Some(*whole as f64),
        Literal::Float(float) => Some(*float),
        Literal::String(text) => text.parse().ok(),
        _ => None,
    };
    let min = checks.range_min.as_ref().and_then(number);
    let max = checks.range_max.as_ref().and_then(number);
    match (min, max) {
        (Some(min), Some(max)) => (min, max.max(min)),
        (Some(min), None) => (min, min + usual as f64),
        (None, Some(max)) => ((max - usual as f64).max(0.0).min(max), max),
        (None, None) => (0.0, usual as f64),
    }
}

fn whole(checks: &Checks, usual: i64, rng: &mut StreamRng) -> i64 {
    let (min, max) = range(checks, usual);
    let (min, max) = (min.ceil() as i64, max.floor() as i64);
    min + rng.below_u64((max - min).unsigned_abs() + 1) as i64
}

/// A whole number that no other row has.
fn numbered(checks: &Checks, number: u64) -> i64 {
    let (min, _) = range(checks, 1_000);
    (min.ceil() as i64).saturating_add_unsigned(number)
}

/// A number in hundredths.
fn hundredths(checks: &Checks, usual: i64, rng: &mut StreamRng) -> i64 {
    let (min, max) = range(checks, usual);
    let (min, max) = ((min * 100.0).ceil() as i64, (max * 100.0).floor() as i64);
    min + rng.below_u64((max - min).unsigned_abs() + 1) as i64
}

fn decimal(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let hundredths = hundredths.unsigned_abs();
    format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
}

fn instant(rng: &mut StreamRng) -> String {
    format_timestamp(END_MS - rng.below_u64(YEAR_MS) as i64)
}

#[cfg(test)]
mod tests {
    use onehop_model::Model;
    use regex::Regex;

    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        let mut rng = StreamRng::new(1, Stream(ROWS), 0);
        for pattern in ["[A-Z]{2}[0-9]{3}", "(red|green)-\\d+", "a?b*c+", "[^x]", "\\p{L}{1,3}", "^x$"] {
            let (parsed, regex) =
                (regex_syntax::parse(pattern).unwrap(), Regex::new(&format!("^(?:{pattern})$")).unwrap());
            for _ in 0..100 {
                let mut text = String::new();
                sample(&parsed, &mut rng, &mut text);
                assert!(regex.is_match(&text), "{pattern}: {text:?}");
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

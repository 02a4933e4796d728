//! Shapes: the types of values that the properties of a file have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::data::{key_text, sample_hash};

/// The properties with the id of an item, that of MongoDB among them.
pub(super) const ID_PROPERTIES: [&str; 2] = ["id", "_id"];
/// Bytes of a text that is an id, in the mean.
pub(super) const ID_BYTES_MAX: u64 = 64;
/// Different values of a property that are kept.
const VALUES_MAX: usize = 5_000;
/// Properties of an object that are kept.
const PROPERTIES_MAX: usize = 200;
/// Properties of objects from which on they may be keys of data.
const FIELDS_OF_OBJECTS_MAX: usize = 20;
/// A key of a map occurs in one of so many objects, or in fewer.
const RARE_KEY: u64 = 4;
/// Levels of objects.
const LEVELS_MAX: usize = 4;
/// Bytes of the texts of a property with few values, in the mean.
const FEW_VALUES_BYTES_MAX: u64 = 40;
/// Seconds of the years 2000 to 2040 since 1970.
const EPOCH_SECONDS: std::ops::Range<i64> = 946_684_800..2_208_988_800;

/// Texts for a missing number in the cells of CSV.
const MISSING: [&str; 9] = ["NA", "N/A", "NaN", "nan", "NULL", "null", "None", "\\N", "-"];

/// The values of a property.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// Lines or objects with a value.
    pub present: u64,
    pub texts: u64,
    /// Texts such as `NA`.
    pub missing: u64,
    /// Texts that are instants.
    pub times: u64,
    /// Texts that begin with a date, among them instants.
    pub dates: u64,
    /// Numbers of 32 bits without a fraction.
    pub integers: u64,
    /// Other numbers.
    pub numbers: u64,
    /// Numbers without a fraction, of any size.
    pub whole: u64,
    /// Numbers that are seconds, or milliseconds, since 1970.
    pub epoch_seconds: u64,
    pub epoch_millis: u64,
    pub booleans: u64,
    /// Of objects, or of the elements of arrays.
    pub objects: u64,
    pub arrays: u64,
    pub text_bytes: u64,
    /// Values that are the id of their item.
    pub same_as_id: u64,
    /// Properties of the objects.
    pub properties: BTreeMap<String, Shape>,
    /// The shape of the elements.
    pub elements: Option<Box<Shape>>,
    /// The type that a property of an embedded object refers to.
    pub target: Option<String>,
    /// A bottom-k sample of the values of scalars, by hash.
    pub values: BTreeMap<u64, (String, u64)>,
    pub threshold: Option<u64>,
}

/// The form of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeForm {
    /// A text such as `2026-11-23T09:20:00Z`.
    Instant,
    /// Another text that begins with a date, so that its order is the order of time.
    Date,
    EpochSeconds,
    EpochMillis,
}

impl Shape {
    /// Adds an item, or a value that is in no item.
    pub fn add(&mut self, value: &Value) {
        let id = value.as_object().and_then(|item| ID_PROPERTIES.iter().find_map(|id| item.get(*id)));
        self.add_within(value, id, 0);
    }

    /// Adds a value of the item with this id.
    fn add_within(&mut self, value: &Value, id: Option<&Value>, level: usize) {
        self.same_as_id += u64::from(id == Some(value));
        self.present += u64::from(!value.is_null());
        match value {
            Value::Null => {}
            Value::Bool(_) => self.booleans += 1,
            Value::Number(number) => {
                let integer = number.as_i64();
                let is_small = integer.is_some_and(|number| i32::try_from(number).is_ok());
                *(if is_small { &mut self.integers } else { &mut self.numbers }) += 1;
                self.whole += u64::from(number.is_i64() || number.is_u64());
                let is_within =
                    |seconds: Option<i64>| seconds.is_some_and(|found| EPOCH_SECONDS.contains(&found));
                self.epoch_seconds += u64::from(is_within(integer));
                self.epoch_millis += u64::from(is_within(integer.map(|millis| millis / 1_000)));
            }
            Value::String(text) => {
                self.texts += 1;
                self.dates += u64::from(is_date(text));
                self.times += u64::from(is_date(text) && text.as_bytes().get(10) == Some(&b'T'));
                self.missing += u64::from(MISSING.contains(&text.as_str()));
                self.text_bytes += text.len() as u64;
            }
            Value::Array(elements) => {
                self.arrays += 1;
                let shape = self.elements.get_or_insert_default();
                elements.iter().for_each(|element| shape.add_within(element, id, level + 1));
            }
            Value::Object(object) => {
                self.objects += 1;
                for (name, value) in object.iter().filter(|_| level < LEVELS_MAX) {
                    if self.properties.contains_key(name) || self.properties.len() < PROPERTIES_MAX {
                        self.properties.entry(name.clone()).or_default().add_within(value, id, level + 1);
                    }
                }
            }
        }
        if let Some(text) = key_text(value) {
            self.sample(text);
        }
    }

    fn sample(&mut self, text: String) {
        let hash = sample_hash(&text);
        if self.threshold.is_some_and(|threshold| hash > threshold) {
            return;
        }
        self.values.entry(hash).or_insert((text, 0)).1 += 1;
        if self.values.len() > VALUES_MAX {
            self.threshold = self.values.pop_last().map(|(hash, _)| hash.saturating_sub(1));
        }
    }

    /// The objects: the values themselves, or the elements of arrays. `None` for scalars, mixed values and
    /// maps.
    pub fn objects(&self) -> Option<&Self> {
        let found = self.elements.as_deref().filter(|_| self.arrays == self.present).unwrap_or(self);
        (found.objects > 0 && found.objects == found.present && !found.is_map()).then_some(found)
    }

    /// Whether the properties of objects are keys of data, such as ids: there are many, each of which few
    /// objects have.
    fn is_map(&self) -> bool {
        self.properties.len() > FIELDS_OF_OBJECTS_MAX
            && self.properties.values().all(|found| found.present * RARE_KEY <= self.objects)
    }

    /// [`Shape::objects`], to be changed.
    pub fn objects_mut(&mut self) -> Option<&mut Self> {
        self.objects()?;
        let is_array = self.elements.is_some() && self.arrays == self.present;
        if is_array { self.elements.as_deref_mut() } else { Some(self) }
    }

    /// Whether the properties of embedded objects refer to a type.
    pub fn refers_to(&self, ty: &str) -> bool {
        let Some(objects) = self.objects() else { return false };
        objects.properties.values().any(|inner| inner.target.as_deref() == Some(ty) || inner.refers_to(ty))
    }

    /// Takes columns with numbers and texts as texts: cells of CSV have no types. Texts such as `NA` among
    /// numbers are no values.
    pub fn settle_cells(&mut self) {
        for column in self.properties.values_mut().filter(|column| column.texts > 0) {
            if column.numbers_are_missing() {
                column.present -= column.texts;
                (column.texts, column.text_bytes) = (0, 0);
                column.values.retain(|_, (text, _)| !MISSING.contains(&text.as_str()));
                continue;
            }
            column.texts = column.present;
            (column.integers, column.numbers, column.whole, column.booleans) = (0, 0, 0, 0);
        }
    }

    /// Whether a column has numbers, and beside them only texts such as `NA`.
    fn numbers_are_missing(&self) -> bool {
        self.integers + self.numbers > 0 && self.texts == self.missing
    }

    /// Whether all values are scalars of one kind.
    pub fn is_key_like(&self) -> bool {
        self.present > 0 && (self.texts == self.present || self.whole == self.present)
    }

    /// Whether all values are texts.
    pub fn has_texts(&self) -> bool {
        self.present > 0 && self.texts == self.present
    }

    /// Whether no sampled value occurs twice.
    pub fn is_unique(&self) -> bool {
        self.is_key_like() && self.values.values().all(|(_, times)| *times == 1)
    }

    /// The number of different values, estimated beyond the sample.
    pub fn different_values(&self) -> f64 {
        let share = self.threshold.map_or(1.0, |threshold| threshold as f64 / u64::MAX as f64);
        self.values.len() as f64 / share
    }

    /// The share of the most frequent sampled value.
    pub fn largest_share(&self) -> f64 {
        let most = self.values.values().map(|(_, times)| *times).max().unwrap_or(0);
        most as f64 / self.present.max(1) as f64
    }

    /// The form of the times where all values are some.
    pub fn time(&self, property: &str) -> Option<TimeForm> {
        /// Words in the names of times, since numbers of other kinds are as large.
        const WORDS: [&str; 16] = [
            "time", "date", "created", "updated", "epoch", "stamp", "modified", "expire", "opened", "closed",
            "started", "finished", "sent", "posted", "placed", "seen",
        ];
        let all = |number: u64| number > 0 && number == self.present;
        let name = property.to_lowercase();
        let is_named = || {
            WORDS.iter().any(|word| name.contains(word))
                || ["at", "on", "ts"].iter().any(|end| name == *end || name.ends_with(&format!("_{end}")))
                || property.ends_with("At")
        };
        match self {
            _ if all(self.times) => Some(TimeForm::Instant),
            _ if all(self.dates) => Some(TimeForm::Date),
            _ if all(self.epoch_seconds) && is_named() => Some(TimeForm::EpochSeconds),
            _ if all(self.epoch_millis) && is_named() => Some(TimeForm::EpochMillis),
            _ => None,
        }
    }

    /// The scalar type in the model language; `None` for objects, arrays and mixed values.
    pub fn scalar(&self) -> Option<&'static str> {
        let all = |number: u64| number > 0 && number == self.present;
        if all(self.times) {
            Some("DateTime")
        } else if all(self.texts) {
            Some("String")
        } else if all(self.integers) {
            Some("Int")
        } else if all(self.integers + self.numbers) {
            Some("Float")
        } else if all(self.booleans) {
            Some("Boolean")
        } else {
            None
        }
    }

    /// The share of the sampled values that another sample of ids has, as far as both are comparable.
    pub fn share_within(&self, ids: &Self) -> f64 {
        let bound = self.threshold.unwrap_or(u64::MAX).min(ids.threshold.unwrap_or(u64::MAX));
        let compared: BTreeSet<u64> = self.values.keys().copied().filter(|hash| *hash <= bound).collect();
        let within = compared.iter().filter(|hash| ids.values.contains_key(hash)).count();
        if compared.is_empty() { 0.0 } else { within as f64 / compared.len() as f64 }
    }

    /// The most frequent value, where there are few different short ones.
    pub fn frequent_of_few(&self, few: usize) -> Option<&str> {
        let is_few = self.threshold.is_none() && (2..=few).contains(&self.values.len()) && self.has_texts();
        let is_short = self.text_bytes <= FEW_VALUES_BYTES_MAX * self.texts;
        let repeats = self.present >= 5 * self.values.len() as u64;
        let most = self.values.values().max_by_key(|(_, times)| *times);
        most.filter(|_| is_few && is_short && repeats && self.dates == 0).map(|(text, _)| text.as_str())
    }
}

/// Whether a text begins with a date such as `2026-11-23`, alone or before a time.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digits =
        |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    is_digits(0, 4)
        && bytes.get(4) == Some(&b'-')
        && is_digits(5, 7)
        && bytes.get(7) == Some(&b'-')
        && is_digits(8, 10)
        && matches!(bytes.get(10), None | Some(b'T' | b' '))
}

//! Shapes: the types of values that the properties of a file have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::data::{key_text, sample_hash};

/// Different values of a property that are kept.
const VALUES_MAX: usize = 5_000;
/// Properties of an object that are kept.
const PROPERTIES_MAX: usize = 200;
/// Levels of objects.
const LEVELS_MAX: usize = 4;

/// The values of a property.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// Lines or objects with a value.
    pub present: u64,
    pub texts: u64,
    pub times: u64,
    pub integers: u64,
    pub numbers: u64,
    pub booleans: u64,
    /// Of objects, or of the elements of arrays.
    pub objects: u64,
    pub arrays: u64,
    pub text_bytes: u64,
    /// Properties of the objects.
    pub properties: BTreeMap<String, Shape>,
    /// The shape of the elements.
    pub elements: Option<Box<Shape>>,
    /// A bottom-k sample of the values of scalars, by hash.
    pub values: BTreeMap<u64, (String, u64)>,
    pub threshold: Option<u64>,
}

impl Shape {
    pub fn add(&mut self, value: &Value, level: usize) {
        self.present += u64::from(!value.is_null());
        match value {
            Value::Null => {}
            Value::Bool(_) => self.booleans += 1,
            Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {
                self.integers += 1;
            }
            Value::Number(_) => self.numbers += 1,
            Value::String(text) => {
                self.texts += 1;
                self.times += u64::from(is_time(text));
                self.text_bytes += text.len() as u64;
            }
            Value::Array(elements) => {
                self.arrays += 1;
                let shape = self.elements.get_or_insert_default();
                elements.iter().for_each(|element| shape.add(element, level + 1));
            }
            Value::Object(object) => {
                self.objects += 1;
                for (name, value) in object.iter().filter(|_| level < LEVELS_MAX) {
                    if self.properties.contains_key(name) || self.properties.len() < PROPERTIES_MAX {
                        self.properties.entry(name.clone()).or_default().add(value, level + 1);
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

    /// Whether all values are scalars of one kind.
    pub fn is_key_like(&self) -> bool {
        self.present > 0 && (self.texts == self.present || self.integers == self.present)
    }

    /// Whether no sampled value occurs twice.
    pub fn is_unique(&self) -> bool {
        self.is_key_like() && self.values.values().all(|(_, times)| *times == 1)
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

    /// The most frequent value, where there are few different ones.
    pub fn frequent_of_few(&self, few: usize) -> Option<&str> {
        let is_few =
            self.threshold.is_none() && (2..=few).contains(&self.values.len()) && self.texts == self.present;
        let repeats = self.present >= 5 * self.values.len() as u64;
        let most = self.values.values().max_by_key(|(_, times)| *times);
        most.filter(|_| is_few && repeats).map(|(text, _)| text.as_str())
    }
}

/// An instant such as `2026-11-23T09:20:00Z`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digits =
        |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    bytes.get(4) == Some(&b'-')
        && bytes.get(10) == Some(&b'T')
        && is_digits(0, 4)
        && is_digits(5, 7)
        && is_digits(8, 10)
}

//! Reader of a TOML table: values with their expected form, and unknown keys with the known ones.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::StudyErrors;
use crate::bounds::Bounds;

/// A table of a TOML file while it is read.
pub(super) struct TableReader<'a, 'i> {
    pub file: &'a str,
    pub text: &'a str,
    /// The name of the table with a dot at its end; empty for the root.
    pub path: String,
    pub table: &'a DeTable<'i>,
}

impl<'a, 'i> TableReader<'a, 'i> {
    pub fn line(&self, place: usize) -> Option<usize> {
        Some(self.text[..place.min(self.text.len())].matches('\n').count() + 1)
    }

    /// Reports the keys that are none of these.
    pub fn only(&self, known: &[&str], errors: &mut StudyErrors) {
        for (key, _) in self.table.iter() {
            if !known.contains(&&**key.get_ref()) {
                let (path, name) = (&self.path, key.get_ref());
                let message = format!("unknown key `{path}{name}`; expected one of {}", known.join(", "));
                errors.add(self.file, self.line(key.span().start), message);
            }
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.table.iter().find(|(known, _)| &**known.get_ref() == key).map(|(_, value)| value)
    }

    pub fn table_of(&self, key: &str, errors: &mut StudyErrors) -> Option<TableReader<'a, 'i>> {
        let value = self.get(key)?;
        let path = format!("{}{key}.", self.path);
        match value.get_ref() {
            DeValue::Table(table) => Some(TableReader { file: self.file, text: self.text, path, table }),
            _ => {
                self.expected(key, value, "a table", errors);
                None
            }
        }
    }

    pub fn expected(&self, key: &str, value: &Spanned<DeValue<'i>>, form: &str, errors: &mut StudyErrors) {
        let found =
            &self.text[value.span().start.min(self.text.len())..value.span().end.min(self.text.len())];
        let message = format!("`{}{key}` is {form}; found {}", self.path, shortened(found));
        errors.add(self.file, self.line(value.span().start), message);
    }

    pub fn text(&self, key: &str, errors: &mut StudyErrors) -> Option<String> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.expected(key, value, "a text", errors);
                None
            }
        }
    }

    /// The texts of all values, which are texts, whole numbers, `true` or `false`.
    pub fn scalars(&self, errors: &mut StudyErrors) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for (key, value) in self.table.iter() {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(integer) => integer.to_string(),
                DeValue::Boolean(is_true) => is_true.to_string(),
                _ => {
                    self.expected(key.get_ref(), value, "a text, a whole number, true or false", errors);
                    continue;
                }
            };
            found.insert(key.get_ref().to_string(), text);
        }
        found
    }

    /// A number within bounds.
    pub fn number(&self, key: &str, (min, max): (f64, f64), errors: &mut StudyErrors) -> Option<f64> {
        let value = self.get(key)?;
        let number = number(value).filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.expected(key, value, &format!("a number from {min} to {max}"), errors);
        }
        number
    }

    /// A number, or two ends such as `[1, 3]`.
    pub fn bounds(&self, key: &str, (min, max): (f64, f64), errors: &mut StudyErrors) -> Option<Bounds> {
        let value = self.get(key)?;
        let is_within = |number: &f64| (min..=max).contains(number);
        let found = match value.get_ref() {
            DeValue::Array(array) => {
                match array.iter().map(number).collect::<Option<Vec<f64>>>().as_deref() {
                    Some([low, high]) if low <= high => Some(Bounds { low: *low, high: *high }),
                    _ => None,
                }
            }
            _ => number(value).map(Bounds::certain),
        };
        let found = found.filter(|bounds| is_within(&bounds.low) && is_within(&bounds.high));
        if found.is_none() {
            let form = format!("a number from {min} to {max}, or two such numbers: [low, high]");
            self.expected(key, value, &form, errors);
        }
        found
    }

    /// A text or a list of texts.
    pub fn texts(&self, key: &str, errors: &mut StudyErrors) -> Vec<String> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let found = match value.get_ref() {
            DeValue::String(text) => Some(vec![text.to_string()]),
            DeValue::Array(array) => {
                let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
                array.iter().map(text).collect()
            }
            _ => None,
        };
        found.unwrap_or_else(|| {
            self.expected(key, value, "a text or a list of texts", errors);
            Vec::new()
        })
    }
}

/// A whole number or a number with a fraction.
pub(super) fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let text = match value.get_ref() {
        DeValue::Integer(integer) => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        _ => return None,
    };
    text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() > SHOWN {
        line.chars().take(SHOWN).chain(['.', '.']).collect()
    } else {
        line.to_owned()
    }
}

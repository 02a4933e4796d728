//! Sources: the items of each type in the data files. A file may have items of several types, as containers
//! of Azure Cosmos DB have; a property such as `type` has the type then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::names::{plain_letters, type_name};
use super::shapes::{ID_PROPERTIES, Shape};
use crate::data::{SYSTEM_PROPERTIES, for_each_item, is_csv, uncompressed_name};
use crate::directory::StudyErrors;

/// Names of properties with the type of an item, in small letters without other characters.
const TYPE_PROPERTIES: [&str; 13] = [
    "type",
    "kind",
    "entity",
    "entitytype",
    "doctype",
    "documenttype",
    "itemtype",
    "recordtype",
    "resourcetype",
    "objecttype",
    "modeltype",
    "class",
    "discriminator",
];
/// Types of one file.
const TYPES_MAX: usize = 30;
/// The share of the properties of two types that both have, up to which they are different types.
const COMMON_SHARE: f64 = 1.0 / 3.0;

/// The items of one type.
pub(super) struct Source {
    /// The name of the type.
    pub name: String,
    pub file: PathBuf,
    /// In a file with several types: the property with the type, and its value.
    pub condition: Option<(String, String)>,
    pub shape: Shape,
}

impl Source {
    /// Whether an item of the file is one of these.
    pub fn has(&self, item: &Value) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|(property, value)| item.get(property).and_then(Value::as_str) == Some(value))
    }
}

/// Reads the files. Two types of one name are an error.
pub(super) fn read_sources(files: &[PathBuf], errors: &mut StudyErrors) -> Vec<Source> {
    let mut sources: Vec<Source> = files.iter().flat_map(|file| sources_of(file, errors)).collect();
    for number in 0..sources.len() {
        let Source { name, file, condition, .. } = &sources[number];
        let is_taken = |name: &str| {
            sources.iter().enumerate().any(|(other, known)| {
                known.name == name && (other < number || known.condition.is_none() && other != number)
            })
        };
        if !is_taken(name) {
            continue;
        }
        let longer = format!("{}{name}", name_of(file));
        if condition.is_some() && !is_taken(&longer) {
            sources[number].name = longer;
        } else if condition.is_some() || sources[..number].iter().any(|known| known.name == *name) {
            let message = format!("a second file gives the type {name}; other file names are expected");
            errors.add(&file.display().to_string(), None, message);
        }
    }
    sources
}

/// The items of a file: of one type, named after the file, or of each type in it.
fn sources_of(file: &Path, errors: &mut StudyErrors) -> Vec<Source> {
    let (mut shape, mut by_property) = (Shape::default(), BTreeMap::<String, Option<ByValue>>::new());
    let name = file.display().to_string();
    let known = errors.to_string();
    for_each_item(Path::new(""), &name, errors, |item, _| {
        shape.add(&item);
        let properties = item.as_object().into_iter().flatten();
        for (property, value) in properties.filter(|(property, _)| is_type_name(property)) {
            let found = by_property.entry(property.clone()).or_insert_with(|| Some(ByValue::new()));
            let of_value = value.as_str().zip(found.as_mut()).map(|(value, known)| {
                known.entry(value.to_owned()).or_default().add(&item);
                known.len()
            });
            // A property with other values, or with many, is no type.
            if of_value.is_none_or(|values| values > TYPES_MAX) {
                *found = None;
            }
        }
        Ok(())
    });
    if shape.objects == 0 && errors.to_string() == known {
        errors.add(&name, None, "the file has no item; JSON lines, a JSON array or CSV are expected");
    }
    let settled = |mut shape: Shape| {
        if is_csv(&name) {
            shape.settle_cells();
        }
        shape
    };
    let total = shape.objects;
    let is_of_all = |values: &ByValue| values.values().map(|shape| shape.objects).sum::<u64>() == total;
    let several = by_property.into_iter().find_map(|(property, values)| {
        let values = values.filter(|values| is_of_all(values) && has_different_types(&property, values))?;
        Some((property, values))
    });
    match several {
        None => vec![Source {
            name: name_of(file),
            file: file.to_owned(),
            condition: None,
            shape: settled(shape),
        }],
        Some((property, values)) => {
            let source = |(value, shape): (String, Shape)| Source {
                name: name_of_value(&value),
                file: file.to_owned(),
                condition: Some((property.clone(), value)),
                shape: settled(shape),
            };
            values.into_iter().map(source).collect()
        }
    }
}

/// The shapes of the items with each value of a property.
type ByValue = BTreeMap<String, Shape>;

fn is_type_name(property: &str) -> bool {
    TYPE_PROPERTIES.contains(&plain_letters(property).as_str())
}

/// Whether the items with different values have different properties: `movie` and `series` that have the same
/// ones are one type.
fn has_different_types(property: &str, values: &ByValue) -> bool {
    let values: Vec<ShapeOfValue<'_>> =
        values.values().map(|shape| ShapeOfValue::new(shape, property)).collect();
    // The values that are like the first, or like one of these.
    let mut alike = vec![0];
    let mut next = 0;
    while let Some(place) = alike.get(next).copied() {
        let others = (0..values.len()).filter(|other| !alike.contains(other));
        let found: Vec<usize> =
            others.filter(|other| values[place].is_one_type_with(&values[*other])).collect();
        alike.extend(found);
        next += 1;
    }
    alike.len() < values.len()
}

/// The items with one value of the property with the type.
struct ShapeOfValue<'s> {
    shape: &'s Shape,
    /// The properties that half of the items or more have.
    usual: BTreeSet<&'s str>,
}

impl<'s> ShapeOfValue<'s> {
    fn new(shape: &'s Shape, type_property: &str) -> Self {
        let is_own = |name: &&str| {
            *name != type_property && !ID_PROPERTIES.contains(name) && !SYSTEM_PROPERTIES.contains(name)
        };
        let usual = shape.properties.iter().filter(|(_, found)| 2 * found.present >= shape.objects);
        Self { shape, usual: usual.map(|(name, _)| name.as_str()).filter(is_own).collect() }
    }

    /// Whether one of the usual properties is never in the other items.
    fn has_own(&self, other: &Self) -> bool {
        self.usual.iter().any(|name| !other.shape.properties.contains_key(*name))
    }

    fn is_one_type_with(&self, other: &Self) -> bool {
        let common = self.usual.intersection(&other.usual).count();
        let all = self.usual.union(&other.usual).count();
        common as f64 > COMMON_SHARE * all as f64 || !self.has_own(other) || !other.has_own(self)
    }
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = Path::new(uncompressed_name(&name)).file_stem();
    type_name(&stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default())
}

/// The type of a value: `salesOrder`, `SALES_ORDER` and `com.shop.SalesOrder` give `SalesOrder`.
fn name_of_value(value: &str) -> String {
    let last = value.rsplit('.').next().unwrap_or(value);
    if last.chars().any(char::is_lowercase) { type_name(last) } else { type_name(&last.to_lowercase()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_give_names() {
        let values = ["salesOrder", "SALES_ORDER", "com.shop.SalesOrder", "sales-orders", "A", ""];
        let names = ["SalesOrder", "SalesOrder", "SalesOrder", "SalesOrder", "A", "Item"];
        assert_eq!(values.map(name_of_value), names);
    }
}

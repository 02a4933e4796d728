//! Ids of two properties: of items none of whose properties is an id, such as the lines of an order by
//! `orderId` and `productId`.

use std::path::Path;

use serde_json::Value;

use super::names::{PARTITION_KEYS, is_id_name, plain_letters};
use super::shapes::{ID_BYTES_MAX, Shape};
use super::sources::Source;
use crate::data::{for_each_item, key_text};
use crate::directory::StudyErrors;

/// Properties that may be a part of an id.
const PARTS_MAX: usize = 6;
/// Sort keys, in small letters without other characters.
const SORT_KEYS: [&str; 3] = ["sk", "sortkey", "rowkey"];

/// The first pair of properties with different values in all items; `None` where there is none.
pub(super) fn composite_id(source: &Source, errors: &mut StudyErrors) -> Option<[String; 2]> {
    let parts = parts(&source.shape);
    let pairs = parts.iter().enumerate().flat_map(|(place, first)| {
        parts.iter().skip(place + 1).map(move |second| ([*first, *second], Shape::default()))
    });
    let mut pairs: Vec<([&String; 2], Shape)> = pairs.collect();
    if pairs.is_empty() {
        return None;
    }
    for_each_item(Path::new(""), &source.file.display().to_string(), errors, |item, _| {
        if source.has(&item) {
            for (pair, values) in &mut pairs {
                let texts = pair.map(|property| item.get(property).and_then(key_text).unwrap_or_default());
                values.add(&Value::String(texts.join("\u{1f}")));
            }
        }
        Ok(())
    });
    let found = pairs.into_iter().find(|(_, values)| values.is_unique());
    found.map(|(pair, _)| pair.map(String::clone))
}

/// Whether items have a partition key and a sort key.
pub(super) fn has_sort_key(shape: &Shape) -> bool {
    let has =
        |names: &[&str]| shape.properties.keys().any(|name| names.contains(&plain_letters(name).as_str()));
    has(&PARTITION_KEYS) && has(&SORT_KEYS)
}

/// The properties that may be parts: keys, then other ids, times and short texts of all items.
fn parts(shape: &Shape) -> Vec<&String> {
    let rank = |property: &str, found: &Shape| {
        let plain = plain_letters(property);
        match () {
            () if PARTITION_KEYS.contains(&plain.as_str()) => 0,
            () if SORT_KEYS.contains(&plain.as_str()) => 1,
            () if is_id_name(property) => 2,
            () if found.time(property).is_some() => 3,
            () if found.has_texts() => 4,
            () => 5,
        }
    };
    let is_part = |found: &Shape| {
        found.present == shape.objects
            && found.is_key_like()
            && found.text_bytes <= ID_BYTES_MAX * found.texts
            && found.values.len() > 1
    };
    let mut parts: Vec<(u8, &String)> = shape
        .properties
        .iter()
        .filter(|(_, found)| is_part(found))
        .map(|(property, found)| (rank(property, found), property))
        .collect();
    parts.sort();
    parts.truncate(PARTS_MAX);
    parts.into_iter().map(|(_, property)| property).collect()
}

//! Data of a study: a survey of data files in bounded memory. Samples are chosen by the hash of an id or of a
//! reference (bottom-k sampling), so that the samples of different types belong together: for each sampled
//! item, the items that refer to it are sampled, too, and counted exactly.

mod embedded;
mod enclosed_items;
mod extended_json;
mod group_sketch;
mod identity;
mod items;
mod places;
mod survey;
#[cfg(test)]
mod tests;
mod visible;

pub(crate) use embedded::{EmbeddedReference, embedded_references, values_at};
pub use group_sketch::{FoundGroup, Group, GroupSketch, HeaviestGroup};
pub(crate) use items::{for_each_item, is_csv, uncompressed_name};
pub(crate) use places::{places_of, value_at};
pub use survey::{DataSurvey, Grouping, SurveyProgress, SurveySpec, TypeSurvey};
pub(crate) use survey::{SYSTEM_PROPERTIES, key_fields};
pub use visible::{VisibleField, VisibleType};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of JSON that the samples of one type, and of one grouping, may have.
pub const SAMPLE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Sampled items of a type.
pub const SAMPLED_ITEMS_MAX: usize = 1_000;
/// Groups of a grouping that are counted exactly.
pub const SAMPLED_GROUPS_MAX: usize = 2_000;
/// Sampled items of a group: the largest page of most requests.
pub const GROUP_ITEMS_MAX: usize = 100;
/// Bytes of one item of a data file: the largest item of Azure Cosmos DB has 2 MB.
pub const LINE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The place of a key among all keys: small ones are sampled.
pub(crate) fn sample_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

/// The place of a key among all keys, from 0 to 1.
pub(crate) fn sample_share(key: &str) -> f64 {
    sample_hash(key) as f64 / u64::MAX as f64
}

/// A scalar as the text of a key; `None` for an absent value, an object or an array.
pub(crate) fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

//! Indexed properties: how many of them a write touches, for the request charge model.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{ContainerSpec, Indexing};

/// Counts the indexed properties in which an item differs before and after a write; an absent item has none. A property
/// with properties of its own counts once, and composite indexes do not count.
pub(super) fn touched(
    spec: &ContainerSpec,
    indexing: Indexing,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> TouchedProperties {
    let [before, after] = [before, after].map(|body| indexed(spec, indexing, body));
    let put = after.iter().filter(|(name, value)| before.get(*name) != Some(*value)).count();
    let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
    TouchedProperties { changed: put + gone, indexed: after.len() }
}

/// Numbers of indexed properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TouchedProperties {
    /// In which the item differs before and after.
    pub changed: usize,
    /// That the item has afterwards.
    pub indexed: usize,
}

/// The indexed properties as they are written; nothing of what is not a JSON object.
fn indexed<'a>(
    spec: &ContainerSpec,
    indexing: Indexing,
    body: Option<&'a [u8]>,
) -> BTreeMap<String, &'a str> {
    let read = |body| serde_json::from_slice::<BTreeMap<String, &'a RawValue>>(body).unwrap_or_default();
    body.map(read)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| spec.indexes(indexing, name))
        .map(|(name, value)| (name, value.get()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContainerName;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("things"),
        partition_key: "home",
        order_by: Some("date"),
        equality: &["owner"],
        newest_types: &[],
        soft_deletes: true,
    };
    const OLD: &[u8] = br#"{"id":"a","home":"h","date":"1","count":1}"#;

    #[test]
    fn a_new_item_touches_every_indexed_property_and_a_deletion_too() {
        for (indexing, properties) in [(Indexing::Needed, 3), (Indexing::All, 4)] {
            assert_eq!(touched(&SPEC, indexing, None, Some(OLD)).changed, properties);
            assert_eq!(touched(&SPEC, indexing, Some(OLD), None).changed, properties);
        }
    }

    #[test]
    fn a_replace_touches_what_it_changes() {
        let counted = br#"{"id":"a","home":"h","date":"1","count":2}"#;
        assert_eq!(touched(&SPEC, Indexing::Needed, Some(OLD), Some(counted)).changed, 0);
        let all = touched(&SPEC, Indexing::All, Some(OLD), Some(counted));
        assert_eq!(all, TouchedProperties { changed: 1, indexed: 4 });
        let other = br#"{"id":"a","home":"h","owner":"ada","count":1}"#;
        assert_eq!(touched(&SPEC, Indexing::Needed, Some(OLD), Some(other)).changed, 2);
    }

    #[test]
    fn items_that_are_found_by_their_id_alone_index_nothing_else() {
        let by_id = ContainerSpec { partition_key: "id", order_by: None, equality: &[], ..SPEC };
        for indexing in [Indexing::Needed, Indexing::All] {
            assert_eq!(touched(&by_id, indexing, None, Some(OLD)).changed, 1);
        }
    }
}

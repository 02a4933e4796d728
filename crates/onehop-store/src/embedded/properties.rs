//! Indexed properties: how many of them a write touches, for the request charge model.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::document::PropertyName;
use crate::{ContainerSpec, Indexing, json_text};

/// Counts the indexed properties in which an item differs before and after a write; an absent item has none. A property
/// with properties of its own counts once, and composite indexes do not count.
pub(super) fn touched(
    spec: &ContainerSpec,
    indexing: Indexing,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> TouchedProperties {
    let index = PropertyIndex::of(spec, indexing);
    let (before, after) = (index.properties_of(before), index.properties_of(after));
    let put = after.iter().filter(|(name, value)| value_of(&before, name) != Some(value.get())).count();
    let gone = before.iter().filter(|(name, _)| value_of(&after, name).is_none()).count();
    TouchedProperties { changed: put + gone, indexed: after.len() }
}

fn value_of<'a>(properties: &[Property<'a>], name: &str) -> Option<&'a str> {
    properties.iter().find(|(found, _)| found == name).map(|(_, value)| value.get())
}

/// Numbers of indexed properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TouchedProperties {
    /// In which the item differs before and after.
    pub changed: usize,
    /// That the item has afterwards.
    pub indexed: usize,
}

/// The name of a property, and its value as JSON text.
type Property<'a> = (Cow<'a, str>, &'a RawValue);

/// The properties that a container indexes.
enum PropertyIndex {
    All,
    /// These, and `id`.
    Needed(Vec<&'static str>),
}

impl PropertyIndex {
    fn of(spec: &ContainerSpec, indexing: Indexing) -> Self {
        if indexing == Indexing::All && !spec.is_found_by_id_alone() {
            return Self::All;
        }
        Self::Needed(spec.needed_properties())
    }

    fn has(&self, property: &str) -> bool {
        match self {
            Self::All => true,
            Self::Needed(needed) => property == "id" || needed.contains(&property),
        }
    }

    /// The indexed properties of an item, each once; nothing of what is not a JSON object.
    fn properties_of<'a>(&self, body: Option<&'a [u8]>) -> Vec<Property<'a>> {
        let Some(body) = body.and_then(|body| json_text(body).ok()) else { return Vec::new() };
        serde_json::Deserializer::from_str(body).deserialize_map(self).unwrap_or_default()
    }
}

impl<'de> Visitor<'de> for &PropertyIndex {
    type Value = Vec<Property<'de>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut properties: Vec<Property<'de>> = Vec::with_capacity(16);
        while let Some((PropertyName(name), value)) = map.next_entry::<PropertyName<'de>, &'de RawValue>()? {
            if !self.has(&name) {
                continue;
            }
            match properties.iter_mut().find(|(found, _)| *found == name) {
                Some(property) => property.1 = value,
                None => properties.push((name, value)),
            }
        }
        Ok(properties)
    }
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

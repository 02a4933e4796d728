//! How many indexed properties a write touches: what the model of request charges is told of it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::store::ContainerSpec;

/// Counts the indexed properties in which an item differs before and after a write; an absent item has none. Indexed
/// is what the policy that `onehop provision` writes includes; its composite indexes are not counted.
pub(super) fn touched(spec: &ContainerSpec, before: Option<&[u8]>, after: Option<&[u8]>) -> usize {
    let (before, after) = (indexed(spec, before), indexed(spec, after));
    let put = after.iter().filter(|(name, value)| before.get(*name) != Some(*value)).count();
    let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
    put + gone
}

/// The indexed properties as they are written; nothing of what is not a JSON object.
fn indexed<'a>(spec: &ContainerSpec, body: Option<&'a [u8]>) -> BTreeMap<String, &'a str> {
    let read = |body| serde_json::from_slice::<BTreeMap<String, &'a RawValue>>(body).unwrap_or_default();
    let policy = spec.indexed_properties();
    body.map(read)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| name == "id" || policy.contains(&name.as_str()))
        .map(|(name, value)| (name, value.get()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ContainerName;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("things"),
        partition_key: "home",
        order_by: Some("date"),
        equality: &["owner"],
        newest_types: &[],
    };
    const OLD: &[u8] = br#"{"id":"a","home":"h","date":"1","count":1}"#;

    #[test]
    fn a_new_item_touches_every_indexed_property_and_a_deletion_too() {
        assert_eq!(touched(&SPEC, None, Some(OLD)), 3);
        assert_eq!(touched(&SPEC, Some(OLD), None), 3);
    }

    #[test]
    fn a_replace_touches_what_it_changes() {
        let counted = br#"{"id":"a","home":"h","date":"1","count":2}"#;
        assert_eq!(touched(&SPEC, Some(OLD), Some(counted)), 0);
        let other = br#"{"id":"a","home":"h","owner":"ada","count":1}"#;
        assert_eq!(touched(&SPEC, Some(OLD), Some(other)), 2);
    }
}

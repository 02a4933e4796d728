//! References: properties whose values are ids of a type, alone or in an array.

use std::collections::{BTreeMap, BTreeSet};

use super::infer::{FoundType, REFERENCE_SHARE};
use super::names::{field_name, is_id_name, is_named_after, reference_name, singular, small};
use super::shapes::Shape;

/// The share of a type's ids that a number without the type's name refers to, from which on it is a
/// reference. Small numbers are ids of every type with numbers.
const COVERED_SHARE: f64 = 0.5;
/// The same share for numbers in arrays, which name few of the items.
const COVERED_SHARE_OF_ARRAYS: f64 = 0.25;
/// Words for an item of the own type.
const OWN_TYPE: [&str; 9] =
    ["parent", "manager", "reports", "reply", "previous", "next", "root", "supervisor", "super"];

/// Finds the types that fields refer to, and names these fields after the reference.
pub(super) fn find_references(types: &mut [FoundType]) {
    let ids: Vec<(String, Shape)> = types.iter().map(|ty| (ty.name.clone(), ty.ids.clone())).collect();
    for ty in types {
        let own = ty.name.clone();
        let mut names: BTreeSet<String> = ty.fields.iter().map(|field| field.name.clone()).collect();
        for field in &mut ty.fields {
            field.target = target(&own, &field.property, &field.shape, &ids);
            if field.target.is_none() {
                find_within(&own, &mut field.shape, &ids);
                continue;
            }
            let name = reference_name(&field.property, field.is_list());
            names.remove(&field.name);
            let is_free = name != "id" && !names.contains(&name);
            field.name = if is_free { name } else { format!("{name}Reference") };
            names.insert(field.name.clone());
            (field.frequent, field.time) = (None, None);
        }
    }
}

/// Finds the types that the properties of embedded objects refer to. Embedded types have no lists of
/// references.
fn find_within(own: &str, shape: &mut Shape, ids: &[(String, Shape)]) {
    let Some(objects) = shape.objects_mut() else { return };
    for (property, inner) in &mut objects.properties {
        inner.target = if inner.is_key_like() { target(own, property, inner, ids) } else { None };
        if inner.target.is_none() {
            find_within(own, inner, ids);
        }
    }
}

/// The name of the field for a reference in an embedded object, which no other property has.
pub(super) fn embedded_reference_name(
    property: &str,
    target: &str,
    properties: &BTreeMap<String, Shape>,
) -> String {
    let name = match reference_name(property, false) {
        // The object itself is named after the item: `customer: { id, name }`.
        name if name == "id" => small(target),
        name => name,
    };
    let mut others = properties.keys().filter(|other| *other != property);
    if others.any(|other| field_name(other) == name) { format!("{name}Reference") } else { name }
}

/// The type whose ids a property has: by its name, or because its texts are ids.
fn target(own: &str, property: &str, found: &Shape, ids: &[(String, Shape)]) -> Option<String> {
    let is_list = found.arrays > 0;
    let shape = match &found.elements {
        Some(elements) if found.arrays == found.present => elements,
        _ => found,
    };
    if !shape.is_key_like() {
        return None;
    }
    let reference = singular(&reference_name(property, false)).to_lowercase();
    let is_named = |ty: &str| is_named_after(property, ty);
    let covered = |ids: &Shape| shape.different_values() / ids.different_values().max(1.0);
    let within = ids.iter().filter(|(_, ids)| shape.share_within(ids) >= REFERENCE_SHARE);
    let mut within: Vec<&(String, Shape)> = within.collect();
    within.sort_by(|(one, of_one), (other, of_other)| {
        let coverage = covered(of_other).min(1.0).total_cmp(&covered(of_one).min(1.0));
        is_named(other).cmp(&is_named(one)).then(coverage)
    });
    let is_own_type = || OWN_TYPE.iter().any(|word| reference.starts_with(word));
    let is_reference = |(ty, ids): &&(String, Shape)| {
        let has_id_name = is_id_name(property);
        match (ty == own, shape.has_texts()) {
            (true, has_texts) => {
                (is_own_type() || (has_texts && has_id_name) || is_named(ty)) && !found.is_unique()
            }
            (false, _) if is_named(ty) => true,
            (false, true) => is_list || has_id_name || !shape.is_unique(),
            (false, false) => {
                let needed = if is_list { COVERED_SHARE_OF_ARRAYS } else { COVERED_SHARE };
                has_id_name && covered(ids) >= needed
            }
        }
    };
    within.into_iter().find(is_reference).map(|(ty, _)| ty.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_named_after_the_item() {
        let names = ["customer_id", "customerId", "PatientID", "GP_ID", "order_ref", "author", "id"];
        assert_eq!(
            names.map(|name| reference_name(name, false)),
            ["customer", "customer", "patient", "gp", "order", "author", "id"]
        );
        assert_eq!(
            ["watcher_ids", "tags", "categoryIds"].map(|name| reference_name(name, true)),
            ["watchers", "tags", "categories"]
        );
    }
}

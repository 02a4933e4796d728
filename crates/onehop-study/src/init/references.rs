//! References: properties whose values are ids of a type, alone or in an array.

use std::collections::{BTreeMap, BTreeSet};

use super::infer::{FoundField, FoundType, REFERENCE_SHARE};
use super::names::{
    field_name, is_count_name, is_id_name, is_id_of, name_match, reference_name, singular, small,
};
use super::shapes::Shape;

/// The share of a type's ids that a number without the type's name refers to, from which on it is a
/// reference. Small numbers are ids of every type with numbers.
const COVERED_SHARE: f64 = 0.5;
/// The same share for numbers in arrays, which name few of the items.
const COVERED_SHARE_OF_ARRAYS: f64 = 0.25;
/// Words for an item of the own type.
const OWN_TYPE: [&str; 9] =
    ["parent", "manager", "reports", "reply", "previous", "next", "root", "supervisor", "super"];

/// The share of a property's values that are ids of a type, from which on it is a reference by the name of
/// that id: `tailnum` in flights of planes of which some are unknown.
const SHARE_OF_THE_SAME_ID: f64 = 0.5;
/// Ids of a type from which on numbers without the type's name may refer to it.
const MANY_IDS: f64 = 20.0;

/// The ids of a type.
struct Ids {
    ty: String,
    /// Their property.
    property: Option<String>,
    shape: Shape,
}

/// Finds the types that fields refer to, and names these fields after the reference.
pub(super) fn find_references(types: &mut [FoundType]) {
    let ids = types.iter().map(|ty| {
        let (property, shape) = (ty.id.property().map(str::to_owned), ty.ids.clone());
        Ids { ty: ty.name.clone(), property, shape }
    });
    let ids: Vec<Ids> = ids.collect();
    for ty in types {
        for field in &mut ty.fields {
            field.target = target(&ty.name, &field.property, &field.shape, &ids);
            match field.target {
                Some(_) => (field.frequent, field.time) = (None, None),
                None => find_within((&ty.name, &field.property), &mut field.shape, &ids),
            }
        }
        name_references(&mut ty.fields);
    }
}

/// Names references so that no other field has their name, their property, or a property of that name in the
/// data.
fn name_references(fields: &mut [FoundField]) {
    let values = fields.iter().filter(|field| field.target.is_none()).map(|field| field.name.clone());
    let mut taken: BTreeSet<String> = values.chain(["id".to_owned()]).collect();
    let properties: BTreeSet<String> = fields.iter().map(|field| field.property.clone()).collect();
    for field in fields.iter_mut().filter(|field| field.target.is_some()) {
        let plain = reference_name(&field.property, field.is_list());
        let numbered = (2..).map(|number| format!("{plain}Reference{number}"));
        let mut names = [plain.clone(), format!("{plain}Reference")].into_iter().chain(numbered);
        let is_free = |name: &String| {
            let is_data = |name: &String| *name != field.property && properties.contains(name);
            [name.clone(), id_property(name)].iter().all(|name| !taken.contains(name) && !is_data(name))
        };
        field.name = names.find(is_free).unwrap_or(plain);
        taken.extend([id_property(&field.name), field.name.clone()]);
    }
}

/// The property of a single reference in items.
pub(super) fn id_property(reference: &str) -> String {
    format!("{reference}Id")
}

/// Finds the types that the properties of embedded objects refer to. Embedded types have no lists of
/// references. `outer`: the property of the objects.
fn find_within((own, outer): (&str, &str), shape: &mut Shape, ids: &[Ids]) {
    let Some(objects) = shape.objects_mut() else { return };
    for (property, inner) in &mut objects.properties {
        // The `id` of the object `customer` is the id of a customer.
        let name = if ["id", "_id"].contains(&property.to_lowercase().as_str()) { outer } else { property };
        inner.target = if inner.is_key_like() { target(own, name, inner, ids) } else { None };
        if inner.target.is_none() {
            find_within((own, property), inner, ids);
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
fn target(own: &str, property: &str, found: &Shape, ids: &[Ids]) -> Option<String> {
    let is_list = found.arrays > 0;
    let shape = match &found.elements {
        Some(elements) if found.arrays == found.present => elements,
        _ => found,
    };
    let is_count = !is_list && !shape.has_texts() && is_count_name(property);
    if !shape.is_key_like() || is_count {
        return None;
    }
    // Parts of an item that name it again.
    let is_own_id = 2 * shape.same_as_id > shape.present;
    let reference = singular(&reference_name(property, false)).to_lowercase();
    let has_same_name = |ids: &Ids| ids.property.as_ref().is_some_and(|id| is_id_of(property, id));
    let match_of = |ids: &Ids| (has_same_name(ids), name_match(property, &ids.ty));
    let covered = |ids: &Ids| shape.different_values() / ids.shape.different_values().max(1.0);
    let is_within = |ids: &&Ids| {
        let needed = if has_same_name(ids) { SHARE_OF_THE_SAME_ID } else { REFERENCE_SHARE };
        shape.share_within(&ids.shape) >= needed
    };
    let mut within: Vec<&Ids> = ids.iter().filter(is_within).collect();
    within.sort_by(|one, other| {
        let coverage = covered(other).min(1.0).total_cmp(&covered(one).min(1.0));
        match_of(other).cmp(&match_of(one)).then(coverage)
    });
    let is_own_type = || OWN_TYPE.iter().any(|word| reference.starts_with(word));
    let is_reference = |ids: &&Ids| {
        let has_id_name = is_id_name(property);
        let is_named = match_of(ids) != (false, None);
        match (ids.ty == own, shape.has_texts()) {
            (true, has_texts) => {
                (is_own_type() || (has_texts && has_id_name) || is_named) && !found.is_unique() && !is_own_id
            }
            (false, _) if is_named => true,
            (false, true) => is_list || has_id_name || !shape.is_unique(),
            (false, false) => {
                let needed = if is_list { COVERED_SHARE_OF_ARRAYS } else { COVERED_SHARE };
                let is_chance = ids.shape.different_values() < MANY_IDS || (shape.is_unique() && !is_list);
                has_id_name && covered(ids) >= needed && !is_chance
            }
        }
    };
    within.into_iter().find(is_reference).map(|ids| ids.ty.clone())
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

//! Checks of stored properties: each belongs to one value of an item.

use std::collections::BTreeMap;

use super::checked::Checked;
use crate::problem::Problem;
use crate::syntax::Span;
use crate::value::{Field, FieldKind, ItemType, PropertyPath, ReferenceField, reserved_properties};

/// Checks that no property has two values, and that no two item types of a container look alike.
pub(super) fn check_properties(checked: &Checked<'_>) {
    for item in &checked.parts.items {
        let reserved = reserved_properties(item, checked.container(&item.container));
        check_type(checked, &item.name, &item.fields, reserved);
    }
    for embedded in &checked.parts.embedded {
        check_type(checked, &embedded.name, &embedded.fields, BTreeMap::new());
    }
    check_types_of_containers(checked);
}

fn check_type(
    checked: &Checked<'_>,
    ty: &str,
    fields: &[Field],
    reserved: BTreeMap<PropertyPath, &'static str>,
) {
    let mut seen: BTreeMap<PropertyPath, String> =
        reserved.iter().map(|(path, words)| (path.clone(), (*words).to_owned())).collect();
    for field in fields {
        let words = format!("`{}`", field.name);
        for path in present_properties(field) {
            // A value at a path leaves no place for another one below it.
            let shared = |seen: &PropertyPath| {
                let (shorter, longer) = if seen.properties().len() < path.properties().len() {
                    (seen, &path)
                } else {
                    (&path, seen)
                };
                longer.properties().starts_with(shorter.properties()).then(|| shorter.to_string())
            };
            let other = seen.iter().find_map(|(known, first)| Some((shared(known)?, first.clone())));
            seen.insert(path.clone(), words.clone());
            // A field that stands twice is already reported.
            if let Some((path, first)) = other.filter(|(_, first)| *first != words) {
                let problem = Problem::SameProperty { ty: ty.to_owned(), path, first, second: words.clone() };
                checked.reports.add(property_span(checked, ty, field), problem);
            }
        }
    }
    // No item of a server has a value there; files of a study may.
    seen.retain(|path, _| !reserved.contains_key(path));
    check_former(checked, ty, fields, &seen);
}

/// The properties of a field's value and of the copies beside it. Entries of lists have computed values, too.
fn present_properties(field: &Field) -> Vec<PropertyPath> {
    let copies = single_reference(field).map_or(&[][..], |reference| &reference.copies);
    let value = match &field.kind {
        FieldKind::Stored(stored) => Some(&stored.property),
        _ => field.property(),
    };
    value.into_iter().chain(copies.iter().map(|copy| &copy.property)).cloned().collect()
}

/// The former properties of the same.
fn former_properties(field: &Field) -> Vec<PropertyPath> {
    let mut properties = field.former().to_vec();
    if let Some(reference) = single_reference(field) {
        let of_copies = |former| {
            reference.copies.iter().filter_map(move |copy| reference.former_copy(former, &copy.property))
        };
        properties.extend(reference.former.iter().flat_map(of_copies));
    }
    properties
}

fn single_reference(field: &Field) -> Option<&ReferenceField> {
    match &field.kind {
        FieldKind::Reference(reference) if field.ty.list.is_none() => Some(reference),
        _ => None,
    }
}

/// A former property is no property of another value, and holds none: that value would move with it.
fn check_former(checked: &Checked<'_>, ty: &str, fields: &[Field], seen: &BTreeMap<PropertyPath, String>) {
    let mut earlier: BTreeMap<PropertyPath, String> = BTreeMap::new();
    for field in fields {
        let words = format!("`{}`", field.name);
        for former in former_properties(field) {
            let holds = |known: &PropertyPath| known.properties().starts_with(former.properties());
            let present = seen.iter().find(|(known, first)| holds(known) && **first != words);
            let other = present.map(|(_, first)| first).or_else(|| earlier.get(&former)).cloned();
            if let Some(first) = other.filter(|first| *first != words) {
                let path = former.to_string();
                let problem = Problem::SameProperty { ty: ty.to_owned(), path, first, second: words.clone() };
                checked.reports.add(property_span(checked, ty, field), problem);
            }
            earlier.entry(former).or_insert_with(|| words.clone());
        }
    }
}

fn property_span(checked: &Checked<'_>, ty: &str, field: &Field) -> Span {
    let Some((span, directives)) = checked.typed_field(ty, &field.name) else { return Span::default() };
    let stored = directives.stored.as_ref().and_then(|stored| stored.property.as_ref());
    stored.map_or(span, |property| property.span)
}

/// Two item types of one container differ by `type`, or by conditions.
fn check_types_of_containers(checked: &Checked<'_>) {
    let items = &checked.parts.items;
    for (place, second) in items.iter().enumerate() {
        let is_same = |first: &&ItemType| {
            first.container == second.container
                && first.recognised_by == second.recognised_by
                && (first.type_value == second.type_value || !first.recognised_by.is_empty())
        };
        if let Some(first) = items[..place].iter().find(is_same) {
            let problem = Problem::SameType {
                first: first.name.to_string(),
                second: second.name.to_string(),
                container: second.container.to_string(),
            };
            checked.reports.add(checked.type_span(&second.name), problem);
        }
    }
}

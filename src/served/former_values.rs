//! Values that items have at a former property of a field.

use onehop_model::{CopiedField, Field, FieldKind, Model, PropertyPath, ReferenceField, TypeOf};
use onehop_store::{property_in, property_mut, property_of_path, set_property};
use serde_json::{Map, Value};

/// Whether objects with these fields may have values at former properties, also in objects below them.
pub(super) fn has_former_properties(model: &Model, fields: &[Field]) -> bool {
    fields.iter().any(|field| {
        let inner = embedded_fields(model, field);
        !field.former().is_empty() || inner.is_some_and(|inner| has_former_properties(model, inner))
    })
}

/// Moves values to the present properties of their fields; says whether one was elsewhere. A value at a
/// former property is newer than one at the present property: it is of a process that serves an older model.
pub(super) fn move_values(model: &Model, fields: &[Field], object: &mut Map<String, Value>) -> bool {
    let mut has_moved = false;
    for field in fields {
        let Some(property) = field.property() else { continue };
        // Of several former properties, the first one was the last in use.
        for former in field.former().iter().rev() {
            if !move_value(object, former, property) {
                continue;
            }
            has_moved = true;
            if let FieldKind::Reference(reference) = &field.kind
                && field.ty.list.is_none()
            {
                move_copies(object, reference, former);
            }
        }
        if let Some(inner) = embedded_fields(model, field)
            && has_former_properties(model, inner)
            && let Some(value) = property_mut(object, &property_of_path(property.properties()))
        {
            let objects = match value {
                Value::Array(elements) => elements.as_mut_slice(),
                value => std::slice::from_mut(value),
            };
            for object in objects.iter_mut().filter_map(Value::as_object_mut) {
                has_moved |= move_values(model, inner, object);
            }
        }
    }
    has_moved
}

/// The fields of the object or objects that a field stores.
pub(super) fn embedded_fields<'a>(model: &'a Model, field: &Field) -> Option<&'a [Field]> {
    match (&field.kind, &field.ty.of) {
        (FieldKind::Stored(_), TypeOf::Embedded(of)) => Some(&model.embedded_type(of)?.fields),
        _ => None,
    }
}

/// Moves the copies beside a reference, as far as their properties have its name.
fn move_copies(object: &mut Map<String, Value>, reference: &ReferenceField, former: &PropertyPath) {
    for property in reference.copies.iter().flat_map(CopiedField::properties) {
        if let Some(former) = reference.former_copy(former, property) {
            move_value(object, &former, property);
        }
    }
}

/// Moves a value from one property to another; says whether there was one.
fn move_value(object: &mut Map<String, Value>, former: &PropertyPath, property: &PropertyPath) -> bool {
    let names = former.properties();
    let (former, property) = (property_of_path(names), property_of_path(property.properties()));
    let Some(value) = property_in(object, &former).cloned() else { return false };
    // Objects on the way to the former property go with their last value.
    for length in (1..=names.len()).rev() {
        let path = property_of_path(&names[..length]);
        let is_kept =
            property_in(object, &path).and_then(Value::as_object).is_some_and(|found| !found.is_empty());
        if length < names.len() && is_kept {
            break;
        }
        set_property(object, &path, Value::Null);
    }
    set_property(object, &property, value);
    true
}

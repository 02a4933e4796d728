//! Relations that several rules ask for: followed references, lists by elements, and the names of entries.

use onehop_model::{
    CopyOrigin, CopySource, Field, FieldKind, ItemType, KeySource, Model, Name, PropertyPath, ReferenceField,
    RelatedSource, ValueSource,
};
use onehop_store::interned;

use super::model_error::ModelError;
use super::related::related_places;

/// Whether a reference never changes, so that an entry never moves.
pub(super) fn is_constant(reference: &ReferenceField) -> bool {
    reference.immutable || reference.caller
}

/// The property of an entry by an element that holds the id of its item.
pub(super) fn element_id(item: &ItemType) -> Result<&'static str, ModelError> {
    Ok(interned(&format!("{}Id", item.type_value))?)
}

/// The fields of the partition key of a reference's target, each with its place in the key. A reference
/// names the fields of the key alone, or a field for each path of it.
pub(super) fn key_fields<'a>(
    target: &ItemType,
    reference: &'a ReferenceField,
) -> impl Iterator<Item = (usize, &'a Name)> {
    let is_whole = reference.partition.len() == target.key.len();
    let is_field = |place: &usize| matches!(target.key.get(*place), Some(KeySource::Field(_)));
    let places: Vec<usize> = (0..target.key.len()).filter(|place| is_whole || is_field(place)).collect();
    places.into_iter().zip(&reference.partition).filter(move |(place, _)| is_field(place))
}

/// The properties beside a reference that hold the partition key of its target, in the order of the key; the
/// one of the reference itself where the key has the id. `None` where one has no property.
pub(super) fn key_properties<'a>(
    target: &ItemType,
    reference: &'a ReferenceField,
    fields: &'a [Field],
) -> Option<Vec<&'a PropertyPath>> {
    let mut named = key_fields(target, reference);
    let property = |part: &KeySource| match part {
        KeySource::Id => Some(&reference.property),
        KeySource::Field(_) => {
            let (_, name) = named.next()?;
            fields.iter().find(|field| field.name == *name)?.property()
        }
        KeySource::Type => None,
    };
    target.key.iter().map(property).collect()
}

/// Whether copies along a reference follow their source.
pub(super) fn is_followed(fields: &[Field], name: &Name, reference: &ReferenceField) -> bool {
    let along_it = |field: &Field| match copied(field) {
        Some(CopySource { from: CopyOrigin::Reference { reference, .. }, frozen: false }) => {
            reference == name
        }
        _ => false,
    };
    (!reference.copies.is_empty() && !reference.frozen) || fields.iter().any(along_it)
}

/// The source of a copied scalar.
pub(super) fn copied(field: &Field) -> Option<&CopySource> {
    match &field.kind {
        FieldKind::Stored(stored) => match &stored.source {
            ValueSource::Copied(copied) => Some(copied),
            _ => None,
        },
        _ => None,
    }
}

/// The list with an entry of each item for each element of an array of references. A list with conditions
/// leaves items out.
pub(super) fn list_by<'a>(model: &'a Model, item: &ItemType, reference: &Name) -> Option<&'a str> {
    related_places(model).into_iter().find_map(|place| match &place.related.source {
        RelatedSource::List(list)
            if place.target.name == item.name
                && list.by == [reference.clone()]
                && place.related.conditions.is_empty() =>
        {
            Some(list.projection.as_str())
        }
        _ => None,
    })
}

//! Stored places: where the value of a path of fields is, through objects.

use super::Model;
use super::field::{Field, TypeOf};
use super::names::{FieldPath, PropertyPath};
use super::types::ItemType;

/// The place of a stored value, in an item or in an object within it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredPlace<'m> {
    /// The last field of the path.
    pub field: &'m Field,
    /// The fields of the item or object that has it.
    pub fields: &'m [Field],
    /// The property of the value, from the root of the item.
    pub property: PropertyPath,
    /// The object that has it; `None` at the root of the item.
    pub object: Option<PropertyPath>,
}

impl Model {
    /// The place of a path of fields; `None` where it leads through a list or a reference, or to no stored
    /// value.
    pub fn stored_place<'m>(&'m self, item: &'m ItemType, path: &FieldPath) -> Option<StoredPlace<'m>> {
        let (first, inner) = path.fields().split_first()?;
        let field = item.field(first)?;
        let mut place =
            StoredPlace { field, fields: &item.fields, property: field.property()?.clone(), object: None };
        for name in inner {
            let TypeOf::Embedded(of) = &place.field.ty.of else { return None };
            if place.field.ty.list.is_some() {
                return None;
            }
            let fields = &self.embedded_type(of)?.fields;
            let field = fields.iter().find(|field| field.name == *name)?;
            let property = place.property.joined(field.property()?);
            place = StoredPlace { field, fields, property, object: Some(place.property) };
        }
        Some(place)
    }
}

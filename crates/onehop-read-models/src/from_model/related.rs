//! Related fields of item types and of `Query`, with their places.

use onehop_model::{
    Field, FieldKind, Format, ItemType, Model, OrderBy, QueryKind, RelatedField, RelatedSource, Scalar,
    TypeOf,
};
use onehop_store::limits::ORDER_PROPERTIES_MAX;
use onehop_store::{OrderProperty, interned, joined_order};

use super::item_types::{property, root_property};
use super::model_error::ModelError;

/// A field with related items.
pub(super) struct RelatedPlace<'a> {
    /// `Type.field`, or `Query.field`.
    pub(super) place: String,
    pub(super) related: &'a RelatedField,
    /// The type of the related items.
    pub(super) target: &'a ItemType,
}

/// All fields with related items: of the item types in the order of the file, then of `Query`.
pub(super) fn related_places(model: &Model) -> Vec<RelatedPlace<'_>> {
    let of_items = model.items().iter().flat_map(|item| {
        item.fields.iter().filter_map(move |field| match &field.kind {
            FieldKind::Related(related) => Some((format!("{}.{}", item.name, field.name), related)),
            _ => None,
        })
    });
    let of_query = model.queries().iter().filter_map(|query| match &query.kind {
        QueryKind::Related(related) => Some((format!("Query.{}", query.name), related)),
        _ => None,
    });
    of_items
        .chain(of_query)
        .filter_map(|(place, related)| {
            Some(RelatedPlace { place, related, target: model.item(&related.item_type)? })
        })
        .collect()
}

/// The order of a field with related items by their properties, as queries of the store name it; `None`
/// without an order.
///
/// # Errors
/// A field that is not stored as a text or a number.
pub fn list_order(model: &Model, related: &RelatedField) -> Result<Option<&'static str>, ModelError> {
    let Some(target) = model.item(&related.item_type) else { return Ok(None) };
    RelatedPlace { place: String::new(), related, target }.order_property()
}

impl RelatedPlace<'_> {
    /// The order of the items by their properties; `None` without an order. A query's direction is the one of
    /// the last field.
    pub(super) fn order_property(&self) -> Result<Option<&'static str>, ModelError> {
        let unsupported = |reason: String| Err(ModelError::unsupported(&self.place, "@order", reason));
        let orders = self.related.order.as_slice();
        if orders.len() > ORDER_PROPERTIES_MAX {
            return unsupported(format!("an order has at most {ORDER_PROPERTIES_MAX} fields"));
        }
        let Some(last) = orders.last() else { return Ok(None) };
        let mut properties = Vec::new();
        for order in orders {
            let Some(name) = self.ordered_property(order)? else { return Ok(None) };
            let is_reversed = order.descending != last.descending;
            properties.push(OrderProperty { name, is_reversed });
        }
        Ok(Some(interned(&joined_order(properties))?))
    }

    /// The property by which the items are ordered, of one field of the order.
    fn ordered_property(&self, order: &OrderBy) -> Result<Option<&'static str>, ModelError> {
        let unsupported = |reason: String| Err(ModelError::unsupported(&self.place, "@order", reason));
        let Some(field) = self.target.field(&order.field) else { return Ok(None) };
        if !is_ordered(field) {
            return unsupported(format!("`{}` is neither stored as a text nor as a number", order.field));
        }
        let path = match (&field.kind, &self.related.source) {
            // Entries store computed values.
            (FieldKind::Stored(stored), RelatedSource::List(_)) => Some(&stored.property),
            _ => field.property(),
        };
        let is_odd = |name: &String| name.contains(',') || name.starts_with('-');
        match path {
            Some(path) if path.properties().iter().any(is_odd) => {
                unsupported(format!("the property `{path}` of an order has a comma, or begins with a minus"))
            }
            Some(path) => property(path).map(Some),
            None => {
                unsupported(format!("`{}` is not stored: give it `@computed(stored: true)`", order.field))
            }
        }
    }

    /// The property `field` of the related items, at their root.
    pub(super) fn property_of(&self, field: &str) -> Result<&'static str, ModelError> {
        match self.target.field(field).and_then(Field::property) {
            Some(path) => root_property(&self.place, path),
            None => Ok(interned(field)?),
        }
    }
}

/// Whether the stored values are texts or numbers in the order of the field's values.
fn is_ordered(field: &Field) -> bool {
    let format = match &field.kind {
        FieldKind::Stored(stored) => stored.format,
        _ => Format::Iso,
    };
    match field.ty.of {
        TypeOf::Scalar(Scalar::Id | Scalar::String | Scalar::Int | Scalar::Float | Scalar::DateTime)
        | TypeOf::Item(_) => true,
        // Minor units are numbers.
        TypeOf::Scalar(Scalar::Money) => true,
        TypeOf::Scalar(Scalar::Decimal) => format == Format::Number,
        _ => false,
    }
}

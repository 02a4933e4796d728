//! References within embedded objects: the point reads of their targets.

use onehop_model::{Field, FieldKind, Name, ReferenceField, Selection, TypeOf};

use super::operation::PlannedOperation;
use super::planner::Planner;
use super::row::Row;
use crate::data::{places_of, values_at};

impl Planner<'_> {
    /// The further operations for the selected fields of embedded objects. `at`: their place, such as
    /// `Order.lines`.
    pub(super) fn embedded(
        &self,
        at: &str,
        of: &Name,
        selection: &Selection,
        objects: &[Row],
        operations: &mut Vec<PlannedOperation>,
    ) {
        let Some(embedded) = self.model().embedded_type(of) else { return };
        for inner in &selection.selections {
            let Some(field) = embedded.fields.iter().find(|field| field.name == inner.field) else {
                continue;
            };
            let values = values_of(field, objects);
            match (&field.kind, &field.ty.of) {
                (FieldKind::Reference(reference), _) if !is_copied(reference, inner) => {
                    let Some(target) = self.model().item(&reference.target) else { continue };
                    let about = format!("{} of {at}.{}", target.name, field.name);
                    let ids = values.into_iter().map(|row| (row.value, row.number));
                    self.look_ups((target, about, self.item_share(target)), inner, ids, operations);
                }
                (FieldKind::Stored(_), TypeOf::Embedded(of)) => {
                    self.embedded(&format!("{at}.{}", field.name), of, inner, &values, operations);
                }
                _ => {}
            }
        }
    }
}

/// Whether a selection has only the id and copied fields of a reference's target, so that nothing is read.
pub(super) fn is_copied(reference: &ReferenceField, selection: &Selection) -> bool {
    let is_stored = |wanted: &Selection| {
        &*wanted.field == "id" || reference.copies.iter().any(|copy| copy.field == wanted.field)
    };
    selection.selections.iter().all(is_stored)
}

/// The values of a field in items or objects, each element of a list alone.
pub(super) fn values_of(field: &Field, objects: &[Row]) -> Vec<Row> {
    let places = [places_of(field)];
    let values = |row: &Row| {
        let values = values_at(&places, &row.value).into_iter();
        values.map(|value| Row { value: value.clone(), number: row.number }).collect::<Vec<_>>()
    };
    objects.iter().flat_map(values).collect()
}

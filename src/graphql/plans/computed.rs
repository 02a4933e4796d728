//! Computed fields: values that follow from several properties of an item, by the same code as in the general
//! executor.

use super::plan::{ComputedField, FieldOwner};
use super::scalars::constant_of;
use super::schema::PlannedSchema;
use crate::served::{Body, stored};

/// Writes the value of a computed field of an object, and returns its bytes in the response budget.
pub(super) fn computed(
    computed: &ComputedField,
    schema: &PlannedSchema,
    out: &mut Vec<u8>,
    object: &[u8],
) -> Option<usize> {
    let model = schema.model_at(computed.model)?;
    let fields = match &computed.of {
        FieldOwner::Item(ty) => &model.ty(*ty).item.fields,
        FieldOwner::Embedded(name) => &model.embedded(name)?.fields,
    };
    let body: Body = serde_json::from_slice(object).ok()?;
    let value = stored::value_of(model.model(), fields, fields.get(computed.field)?, &body);
    let (json, bytes) = constant_of(&computed.kind, &value)?;
    out.extend_from_slice(&json);
    Some(bytes)
}

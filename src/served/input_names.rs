//! Names of the inputs of fields: `authorId` of a reference `author`.

use onehop_model::{Field, FieldKind, ValueSource};

use super::names::interned;

/// The name of a field in an input; `None` of a field that has none there.
#[must_use]
pub fn input_name_of(field: &Field) -> Option<&'static str> {
    let is_input = match &field.kind {
        FieldKind::Stored(stored) => stored.source == ValueSource::Input,
        FieldKind::Reference(reference) => !reference.caller,
        _ => false,
    };
    (is_input && !field.hidden).then(|| input_name(field))
}

/// The name of a field in an input.
#[must_use]
pub fn input_name(field: &Field) -> &'static str {
    let name = match (&field.kind, field.ty.list) {
        (FieldKind::Reference(_), None) => format!("{}Id", field.name),
        (FieldKind::Reference(_), Some(_)) => {
            format!(
                "{}Ids",
                field.name.strip_suffix('s').filter(|stem| !stem.is_empty()).unwrap_or(&field.name)
            )
        }
        _ => field.name.to_string(),
    };
    interned(&name)
}

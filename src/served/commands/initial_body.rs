//! The properties of a new item: initial values of fields, and the values that an input sets.

use onehop_model::{Field, FieldKind, Kept, Literal, PathCondition, PathTest, ValueSource};
use serde_json::{Value, json};

use super::ServedCommands;
use crate::domain::error::Refusal;
use crate::served::formats::{encoded, is_money};
use crate::served::input::{AMOUNT, input_name};
use crate::served::model::{Body, ServedType};
use crate::served::recognition::{field_of, holds, literal_value, recognised_properties};
use crate::served::stored;

impl ServedCommands {
    /// The properties of a new item that no input sets.
    pub(super) fn initial_body(&self, ty: &ServedType) -> Body {
        let mut body = Body::new();
        body.insert("type".to_owned(), json!(ty.type_value));
        body.insert("version".to_owned(), json!(1));
        // The support check has refused conditions without such properties.
        for (path, value) in recognised_properties(&ty.item).unwrap_or_default() {
            stored::set(&mut body, path, value);
        }
        for field in &ty.item.fields {
            self.set_initial(ty, field, &mut body);
        }
        body
    }

    /// # Errors
    /// `BAD_USER_INPUT` on a field whose value violates the type's `@where`.
    pub(super) fn check_recognised(&self, ty: &ServedType, body: &Body) -> Result<(), Refusal> {
        for PathCondition { path, test } in &ty.item.recognised_by {
            let Some(field) = field_of(&ty.item, path) else { continue };
            let stored_form = |literal: &Literal| match field.property() == Some(path) {
                true => stored::literal_of(self.model.model(), field, literal),
                false => literal_value(literal),
            };
            let value = stored::get(body, path).cloned().unwrap_or_default();
            if !holds(test, &value, stored_form) {
                let rule = match test {
                    PathTest::Is(literal) => format!("must be {literal}"),
                    PathTest::In(literals) => format!("must be one of {}", Literal::List(literals.clone())),
                    PathTest::Prefix(prefix) => format!("must begin with {prefix:?}"),
                    PathTest::Exists(true) => "is needed".to_owned(),
                    PathTest::Exists(false) => "cannot have a value".to_owned(),
                };
                let rule = format!("{rule} in items of {}", ty.name);
                return Err(Refusal::bad_input(input_name(field), rule));
            }
        }
        Ok(())
    }

    fn set_initial(&self, ty: &ServedType, field: &Field, body: &mut Body) {
        if let FieldKind::Count(count) = &field.kind
            && let Kept::Batch { property, .. } | Kept::Behind { property, .. } = &count.kept
        {
            stored::set(body, property, json!(0));
        }
        // Entries have it, also where a row of an import leaves it out.
        if let FieldKind::Reference(reference) = &field.kind
            && field.ty.non_null
            && field.ty.list.is_some()
        {
            stored::set(body, &reference.property, json!([]));
        }
        let FieldKind::Stored(stored_field) = &field.kind else { return };
        let value = match (&stored_field.source, &stored_field.default) {
            (ValueSource::Created, _) => encoded(stored_field.format, json!(self.timestamp())),
            (ValueSource::Version(_), None) => json!(1),
            (_, Some(default)) if !self.model.model().leaves_out_default(&ty.item, field) => {
                stored::literal_of(self.model.model(), field, &default.value)
            }
            _ => return,
        };
        stored::set(body, &stored_field.property, value);
    }

    pub(super) fn set_values(&self, ty: &ServedType, values: Vec<(String, Value)>, body: &mut Body) {
        for (name, value) in values {
            let Some(field) = ty.item.field(&name) else { continue };
            let FieldKind::Stored(stored_field) = &field.kind else { continue };
            let model = self.model.model();
            let is_left_out = stored_field.default.as_ref().is_some_and(|default| {
                value == stored::literal_of(model, field, &default.value)
                    && model.leaves_out_default(&ty.item, field)
            });
            let value = match is_money(field) {
                true => value.get(AMOUNT).cloned().unwrap_or_default(),
                false => value,
            };
            stored::set(body, &stored_field.property, if is_left_out { Value::Null } else { value });
        }
    }
}

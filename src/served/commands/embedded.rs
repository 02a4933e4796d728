//! References in embedded objects of an input: their targets exist, and their copies are written.

use futures::future::BoxFuture;
use onehop_model::{Field, FieldKind, TypeOf};
use onehop_store::Ledger;
use serde_json::Value;

use super::ServedCommands;
use crate::domain::error::{CommandError, Refusal};
use crate::served::input::input_name;
use crate::served::model::ServedType;
use crate::served::references::{embedded_place, write_reference};

impl ServedCommands {
    /// Checked values, with the copies of the references in their objects.
    ///
    /// # Errors
    /// `NOT_FOUND` on the input of a reference without its target.
    pub(super) async fn filled(
        &self,
        ty: &ServedType,
        values: Vec<(String, Value)>,
        ledger: &Ledger,
    ) -> Result<Vec<(String, Value)>, CommandError> {
        let mut filled = values;
        for (name, value) in &mut filled {
            let Some(TypeOf::Embedded(of)) = ty.item.field(name).map(|field| &field.ty.of) else { continue };
            let fields = self.model.embedded(of).map_or(&[][..], |embedded| &embedded.fields);
            self.fill(fields, value, ledger).await?;
        }
        Ok(filled)
    }

    /// Fills the objects of a value, and those within them.
    fn fill<'a>(
        &'a self,
        fields: &'a [Field],
        value: &'a mut Value,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<(), CommandError>> {
        Box::pin(async move {
            let object = match value {
                Value::Array(elements) => {
                    for element in elements {
                        self.fill(fields, element, ledger).await?;
                    }
                    return Ok(());
                }
                Value::Object(object) => object,
                _ => return Ok(()),
            };
            for field in fields {
                if let FieldKind::Reference(reference) = &field.kind
                    && let Some(place) = embedded_place(&self.model, reference, object)
                {
                    let found = self.reads.item(&place, ledger).await?;
                    let found = found.ok_or_else(|| {
                        let text = format!("there is no such {}", self.ty(place.ty).type_value);
                        Refusal::not_found(input_name(field), &text)
                    })?;
                    write_reference(&self.model, field, &[(place, &found)], object);
                }
                let TypeOf::Embedded(of) = &field.ty.of else { continue };
                let inner = self.model.embedded(of).map_or(&[][..], |embedded| &embedded.fields);
                let property = field.property().map(|path| path.last());
                if let Some(value) = property.and_then(|property| object.get_mut(property)) {
                    self.fill(inner, value, ledger).await?;
                }
            }
            Ok(())
        })
    }
}

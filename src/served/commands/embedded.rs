//! Embedded objects of an input: the targets of their references exist, and their copies and computed values
//! are written.

use futures::future::BoxFuture;
use onehop_model::{CopyOrigin, Field, FieldKind, TypeOf, ValueSource};
use onehop_store::Ledger;
use serde_json::Value;

use super::ServedCommands;
use crate::domain::error::{CommandError, Refusal};
use crate::served::computed_values::{computed_rule, currency_in_object, write_computed};
use crate::served::formats::is_currency_of_item;
use crate::served::ids::ItemPlace;
use crate::served::input::InputCurrency;
use crate::served::model::{Body, ServedType};
use crate::served::names::interned;
use crate::served::references::{embedded_places, write_copied_scalars, write_reference};
use crate::served::stored;

/// Checked values with the copies and computed values of their objects.
pub(super) struct FilledValues {
    /// The values by their fields.
    pub(super) values: Vec<(String, Value)>,
    /// The currencies of copied amounts, which are properties of the item.
    pub(super) currencies: Vec<InputCurrency>,
}

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
    ) -> Result<FilledValues, CommandError> {
        let mut filled = FilledValues { values, currencies: Vec::new() };
        for (name, value) in &mut filled.values {
            let Some(TypeOf::Embedded(of)) = ty.item.field(name).map(|field| &field.ty.of) else { continue };
            let fields = self.model.embedded(of).map_or(&[][..], |embedded| &embedded.fields);
            self.fill((interned(name), fields), value, &mut filled.currencies, ledger).await?;
        }
        Ok(filled)
    }

    /// Fills the objects of a value, at any depth.
    fn fill<'a>(
        &'a self,
        (input, fields): (&'static str, &'a [Field]),
        value: &'a mut Value,
        currencies: &'a mut Vec<InputCurrency>,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<(), CommandError>> {
        Box::pin(async move {
            let object = match value {
                Value::Array(elements) => {
                    for element in elements {
                        self.fill((input, fields), element, currencies, ledger).await?;
                    }
                    return Ok(());
                }
                Value::Object(object) => object,
                _ => return Ok(()),
            };
            for field in fields {
                if let FieldKind::Reference(reference) = &field.kind {
                    let places = embedded_places(&self.model, fields, reference, object);
                    let found = self.existing_targets(field, places, ledger).await?;
                    let targets: Vec<(ItemPlace, &Body)> =
                        found.iter().map(|(place, target)| (place.clone(), &**target)).collect();
                    if !targets.is_empty() {
                        write_reference(&self.model, field, &targets, object);
                    }
                    if let (None, [target]) = (field.ty.list, &targets[..]) {
                        write_copied_scalars(&self.model, fields, &field.name, Some(target), object);
                        currencies.extend(self.copied_currencies(input, fields, field, target));
                    }
                }
                let TypeOf::Embedded(of) = &field.ty.of else { continue };
                let inner = self.model.embedded(of).map_or(&[][..], |embedded| &embedded.fields);
                let property = field.property().map(|path| path.last());
                if let Some(value) = property.and_then(|property| object.get_mut(property)) {
                    self.fill((input, inner), value, currencies, ledger).await?;
                }
            }
            self.compute_object(fields, object)?;
            Ok(())
        })
    }

    /// The currencies of the amounts that are copied along a reference, where the item has them.
    fn copied_currencies(
        &self,
        input: &'static str,
        fields: &[Field],
        reference: &Field,
        (place, target): &(ItemPlace, &Body),
    ) -> Vec<InputCurrency> {
        let found = fields.iter().filter(|field| is_currency_of_item(field)).filter_map(|field| {
            let FieldKind::Stored(stored_field) = &field.kind else { return None };
            let ValueSource::Copied(source) = &stored_field.source else { return None };
            let copied = match &source.from {
                CopyOrigin::Reference { reference: of, field } if *of == reference.name => field,
                CopyOrigin::Type { item_type, field } if **item_type == *self.ty(place.ty).name => field,
                _ => return None,
            };
            let from = self.ty(place.ty).item.field(copied).and_then(Field::currency)?;
            let code = stored::get(target, from)?.as_str()?.to_owned();
            Some(InputCurrency { path: field.currency()?.clone(), code, name: input })
        });
        found.collect()
    }

    /// Writes the computed values that an object stores.
    fn compute_object(&self, fields: &[Field], object: &mut Body) -> Result<(), Refusal> {
        for field in fields {
            let Some((_, rule)) = computed_rule(field).filter(|(_, rule)| rule.stored) else { continue };
            self.check_amount(fields, field, rule, (object, object))?;
            write_computed(self.model.model(), fields, (field, rule), currency_in_object(field), object);
        }
        Ok(())
    }
}

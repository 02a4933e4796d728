//! Currencies of frozen copies of amounts: an amount that stays as it was written keeps its currency.

use super::Model;
use super::field::{Field, FieldKind, ReferenceField, stem};
use super::names::{Name, PropertyPath};

impl Model {
    /// Gives each frozen copy of an amount a property for its currency, beside it.
    pub(super) fn keep_currencies(&mut self) {
        let items = self.parts.items.iter().map(|item| &item.fields);
        let embedded = self.parts.embedded.iter().map(|embedded| &embedded.fields);
        let found: Vec<_> = items.chain(embedded).map(|fields| self.currencies_of(fields)).collect();
        let items = self.parts.items.iter_mut().map(|item| &mut item.fields);
        let embedded = self.parts.embedded.iter_mut().map(|embedded| &mut embedded.fields);
        for (fields, currencies) in items.chain(embedded).zip(found) {
            for (field, copy, currency) in currencies {
                if let FieldKind::Reference(reference) = &mut fields[field].kind {
                    reference.copies[copy].currency = Some(currency);
                }
            }
        }
    }

    /// The places of fields and of their copies, with the properties of the currencies.
    fn currencies_of(&self, fields: &[Field]) -> Vec<(usize, usize, PropertyPath)> {
        let mut found = Vec::new();
        for (place, field) in fields.iter().enumerate() {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let target = self.item(&reference.target).filter(|_| reference.frozen);
            for (copy, copied) in reference.copies.iter().enumerate() {
                let Some(of_target) =
                    target.and_then(|target| target.field(&copied.field)).and_then(Field::currency)
                else {
                    continue;
                };
                let name = of_target.last();
                let property = match field.ty.list {
                    Some(_) => PropertyPath::property(name),
                    None => free_property(fields, (field, reference), name),
                };
                found.push((place, copy, property));
            }
        }
        found
    }
}

/// A property beside a reference, named after its target's, that holds no other value.
fn free_property(
    fields: &[Field],
    (field, reference): (&Field, &ReferenceField),
    name: &str,
) -> PropertyPath {
    let stem = stem(reference.property.last());
    let base = format!("{stem}{}", Name::new(name).pascal_case());
    let names = std::iter::once(base.clone()).chain((2_u32..).map(|number| format!("{base}{number}")));
    let free = names.map(|name| reference.property.beside(&name)).find(|path| {
        let holds = |other: &Field| match &other.kind {
            FieldKind::Reference(held) => {
                // A copy of the same target with this name has the same value.
                let copies = held.copies.iter().filter(|_| other.name != field.name);
                std::iter::once(&held.property)
                    .chain(copies.map(|copy| &copy.property))
                    .any(|held| held.properties().starts_with(path.properties()))
            }
            _ => other.property().is_some_and(|held| held.properties().starts_with(path.properties())),
        };
        !fields.iter().any(holds)
    });
    free.unwrap_or_else(|| reference.property.beside(&base))
}

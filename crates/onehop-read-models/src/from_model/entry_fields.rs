//! Fields of a list's entries: always stored, stored unless 0, stored where the item has them, computed.

use onehop_model::{
    Computed, CopiedField, CurrencyProperty, DefaultValue, Field, FieldKind, FieldPath, Function, Kept,
    ListSource, Literal, Model, Name, ReferenceField, StoredField, TypeOf, ValueSource,
};

use super::item_types::property;
use super::model_error::ModelError;
use super::related::RelatedPlace;
use crate::computation::Computation;
use crate::rule::{AbsentText, ComputedField};
use onehop_store::interned;

/// The levels of objects within objects that are looked at.
const LEVELS_MAX: usize = 16;

/// The fields of the entries of one list.
#[derive(Default)]
pub(super) struct EntryFields {
    pub(super) always: Vec<&'static str>,
    pub(super) unless_zero: Vec<&'static str>,
    pub(super) optional: Vec<&'static str>,
    pub(super) computed: Vec<ComputedField>,
}

impl EntryFields {
    pub(super) fn of(model: &Model, place: &RelatedPlace<'_>, list: &ListSource) -> Result<Self, ModelError> {
        let mut fields = Self::default();
        for path in &list.fields {
            fields.add(model, place, list, path)?;
        }
        Ok(fields)
    }

    /// A field that every entry has.
    pub(super) fn require(&mut self, field: &'static str) {
        if !self.always.contains(&field) {
            self.always.push(field);
        }
    }

    fn add(
        &mut self,
        model: &Model,
        place: &RelatedPlace<'_>,
        list: &ListSource,
        path: &FieldPath,
    ) -> Result<(), ModelError> {
        let unsupported = || {
            let reason = format!(
                "an entry cannot have `{path}`: it has stored fields of the item, and copies along references"
            );
            ModelError::unsupported(&place.place, "@list", reason)
        };
        let field = place.target.field(path.first()).ok_or_else(unsupported)?;
        match (path.fields(), &field.kind) {
            ([_], FieldKind::Stored(stored)) => {
                self.add_stored(place, list, field, stored)?;
                self.add_currencies(model, field, LEVELS_MAX)
            }
            ([_], FieldKind::Reference(reference)) => {
                self.add_property(field.ty.non_null, &reference.property)?;
                // The copies of an array are in its elements.
                let copies = reference.copies.iter().filter(|_| field.ty.list.is_none());
                for copy in copies {
                    let is_always = field.ty.non_null && has_value(model, reference, &copy.field);
                    self.add_property(is_always, &copy.property)?;
                    self.add_currency(copy)?;
                }
                Ok(())
            }
            ([_, copied], FieldKind::Reference(reference)) if field.ty.list.is_none() => {
                let copy = copy_of(reference, copied).ok_or_else(unsupported)?;
                let is_always = field.ty.non_null && has_value(model, reference, copied);
                self.add_property(is_always, &copy.property)?;
                self.add_currency(copy)
            }
            ([_], FieldKind::Count(count)) => {
                // A parent has no count before a projection has counted its items.
                let (path, is_always) = match &count.kept {
                    Kept::Batch { property, .. } => (property, true),
                    Kept::Behind { property, .. } => (property, false),
                    Kept::Query => return Err(unsupported()),
                };
                self.add_property(is_always, path)?;
                if !orders_by(place, &field.name) {
                    self.unless_zero.push(property(path)?);
                }
                Ok(())
            }
            _ => Err(unsupported()),
        }
    }

    fn add_stored(
        &mut self,
        place: &RelatedPlace<'_>,
        list: &ListSource,
        field: &Field,
        stored: &StoredField,
    ) -> Result<(), ModelError> {
        match &stored.source {
            ValueSource::Id => return Ok(()),
            ValueSource::Computed(computed) if !computed.stored => {
                let computed = computed_field(place, field, stored, computed)?;
                self.computed.push(computed);
                return Ok(());
            }
            _ => {}
        }
        // A value that equals its default may be absent, and so may an empty list.
        let is_always = field.ty.non_null && field.ty.list.is_none() && stored.default.is_none();
        let is_asked_for = orders_by(place, &field.name) || list.by.contains(&field.name);
        let is_zero_absent = |default: &&DefaultValue| !default.sparse && field.ty.non_null && !is_asked_for;
        let default = stored.default.as_ref().filter(is_zero_absent);
        match default.map(|default| &default.value) {
            Some(Literal::Int(0)) => {
                self.optional.push(property(&stored.property)?);
                self.unless_zero.push(property(&stored.property)?);
            }
            _ => self.add_property(is_always, &stored.property)?,
        }
        if let Some(CurrencyProperty::Beside(path) | CurrencyProperty::OfItem(path)) = &stored.currency {
            self.add_property(is_always, path)?;
        }
        Ok(())
    }

    /// Adds the currencies of amounts in objects, where they are properties of the item.
    fn add_currencies(&mut self, model: &Model, field: &Field, levels: usize) -> Result<(), ModelError> {
        let (TypeOf::Embedded(of), Some(levels)) = (&field.ty.of, levels.checked_sub(1)) else {
            return Ok(());
        };
        let inner = model.embedded_type(of).map_or(&[][..], |embedded| &embedded.fields);
        for field in inner {
            if let FieldKind::Stored(StoredField { currency: Some(CurrencyProperty::OfItem(path)), .. }) =
                &field.kind
            {
                self.add_property(false, path)?;
            }
            self.add_currencies(model, field, levels)?;
        }
        Ok(())
    }

    /// Adds the currency of a frozen amount.
    fn add_currency(&mut self, copy: &CopiedField) -> Result<(), ModelError> {
        copy.currency.iter().try_for_each(|path| self.add_property(false, path))
    }

    fn add_property(&mut self, is_always: bool, path: &onehop_model::PropertyPath) -> Result<(), ModelError> {
        let name = property(path)?;
        // Amounts share the property of their currency.
        let is_known = |fields: &[&str]| fields.contains(&name);
        match (is_always, is_known(&self.always), is_known(&self.optional)) {
            (_, true, _) | (false, _, true) => {}
            (false, false, false) => self.optional.push(name),
            (true, false, _) => {
                self.optional.retain(|known| *known != name);
                self.always.push(name);
            }
        }
        Ok(())
    }
}

/// Whether each target of a reference has a value of a field, which its copies then have.
fn has_value(model: &Model, reference: &ReferenceField, field: &Name) -> bool {
    let field = model.item(&reference.target).and_then(|target| target.field(field));
    field.is_some_and(|field| field.ty.non_null)
}

fn copy_of<'a>(reference: &'a ReferenceField, field: &Name) -> Option<&'a CopiedField> {
    reference.copies.iter().find(|copy| copy.field == *field)
}

/// Whether a number orders the list, itself or as a padded text. It is stored also where it is 0.
fn orders_by(place: &RelatedPlace<'_>, number: &Name) -> bool {
    let is_padded = |field: &Name| match place.target.field(field).map(|field| &field.kind) {
        Some(FieldKind::Stored(StoredField { source: ValueSource::Computed(computed), .. })) => {
            computed.from.iter().any(|path| path.single() == Some(number))
        }
        _ => false,
    };
    place.related.order.iter().any(|order| order.field == *number || is_padded(&order.field))
}

fn computed_field(
    place: &RelatedPlace<'_>,
    field: &Field,
    stored: &StoredField,
    computed: &Computed,
) -> Result<ComputedField, ModelError> {
    let unsupported = |reason: String| {
        Err(ModelError::unsupported(&format!("{}.{}", place.target.name, field.name), "@computed", reason))
    };
    let computation = match computed.function {
        Function::Excerpt => {
            Computation::Excerpt { characters_max: computed.length.unwrap_or_default() as usize }
        }
        Function::Lower => Computation::Lower,
        Function::Same => Computation::Same,
        function => {
            let name = onehop_model::Keyword::name(function);
            return unsupported(format!(
                "entries compute EXCERPT, LOWER and SAME; {name} needs `stored: true`"
            ));
        }
    };
    let from = match computed.from.as_slice() {
        [path] => path.single().and_then(|from| place.target.field(from)),
        _ => None,
    };
    match from.and_then(|from| Some((from, from.property()?))) {
        Some((from, from_property)) => Ok(ComputedField {
            field: property(&stored.property)?,
            from: property(from_property)?,
            computation,
            absent: absent_text(field, from)?,
        }),
        None => unsupported("entries compute a value from one stored text of the item".to_owned()),
    }
}

/// The value of a computed field where the item does not have the text.
fn absent_text(field: &Field, from: &Field) -> Result<AbsentText, ModelError> {
    let default = match &from.kind {
        FieldKind::Stored(stored) => stored.default.as_ref().map(|default| &default.value),
        _ => None,
    };
    Ok(match default {
        Some(Literal::String(text)) => AbsentText::Default(interned(text)?),
        _ if from.ty.non_null => AbsentText::Refused,
        _ if field.ty.non_null => AbsentText::Default(""),
        _ => AbsentText::NoValue,
    })
}

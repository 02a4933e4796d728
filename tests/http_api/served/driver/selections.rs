//! Selections of fields: everything of an item but its lists, and its references one level deep.

use onehop::served::{ServedModel, TypeIndex};
use onehop_model::{Field, FieldKind, TypeOf, ValueSource};

/// The selections of a model.
pub(super) struct Selections<'a>(pub(super) &'a ServedModel);

impl Selections<'_> {
    /// Everything of an item.
    pub(super) fn whole(&self, ty: TypeIndex) -> String {
        self.fields(&self.0.ty(ty).item.fields, 1)
    }

    /// The values that inputs set.
    pub(super) fn of_inputs(&self, ty: TypeIndex) -> String {
        let is_input = |field: &&Field| matches!(&field.kind, FieldKind::Stored(stored) if stored.source == ValueSource::Input);
        let fields = self.0.ty(ty).item.fields.iter().filter(is_input);
        fields.filter_map(|field| self.field(field, 1)).collect::<Vec<_>>().join(" ")
    }

    fn fields(&self, fields: &[Field], depth: usize) -> String {
        fields.iter().filter_map(|field| self.field(field, depth)).collect::<Vec<_>>().join(" ")
    }

    fn field(&self, field: &Field, depth: usize) -> Option<String> {
        if field.hidden || field.authorization.read.is_some() {
            return None;
        }
        match (&field.kind, &field.ty.of) {
            (FieldKind::Related(_) | FieldKind::HasCaller(_), _) => None,
            (FieldKind::Reference(reference), _) => {
                let target = self.0.index_of(&reference.target)?;
                let inner = self.fields(&self.0.ty(target).item.fields, depth.checked_sub(1)?);
                Some(format!("{} {{ {inner} }}", field.name))
            }
            (_, TypeOf::Embedded(name)) => {
                let inner = self.fields(&self.0.embedded(name)?.fields, depth);
                Some(format!("{} {{ {inner} }}", field.name))
            }
            (_, TypeOf::Scalar(onehop_model::Scalar::Money)) => {
                Some(format!("{} {{ amount currencyCode }}", field.name))
            }
            _ => Some(field.name.to_string()),
        }
    }
}

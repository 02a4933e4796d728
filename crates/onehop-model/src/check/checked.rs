//! The parts of a model with the positions in its file, for checks.

use crate::reports::Reports;
use crate::syntax::Span;
use crate::typed::{FieldDirectives, TypedModel};
use crate::value::{Container, ContainerName, Field, ItemType, ModelParts};

/// The parts of a model with the positions in its file.
pub(crate) struct Checked<'a> {
    pub parts: &'a ModelParts,
    pub typed: &'a TypedModel,
    pub reports: &'a Reports,
}

impl<'a> Checked<'a> {
    /// The container of a name.
    pub fn container(&self, name: &ContainerName) -> Option<&'a Container> {
        self.parts.containers.iter().find(|container| container.name == *name)
    }

    /// The position of a type's name.
    pub fn type_span(&self, ty: &str) -> Span {
        self.typed
            .types
            .iter()
            .find(|typed| typed.name.value == ty)
            .map(|typed| typed.name.span)
            .unwrap_or_default()
    }

    /// The position of a field's name.
    pub fn field_span(&self, ty: &str, field: &str) -> Span {
        self.typed_field(ty, field).map(|(span, _)| span).unwrap_or_default()
    }

    /// The position of a field's name, and its directives.
    pub fn typed_field(&self, ty: &str, field: &str) -> Option<(Span, &'a FieldDirectives)> {
        let ty = self.typed.types.iter().find(|typed| typed.name.value == ty)?;
        ty.field(field).map(|field| (field.name.span, &field.directives))
    }

    /// The position of one of a field's directives; of the field where it is missing.
    pub fn directive_span(&self, ty: &str, field: &str, directive: &str) -> Span {
        let Some((span, directives)) = self.typed_field(ty, field) else { return Span::default() };
        directives.present.iter().find(|(name, _)| name == directive).map_or(span, |(_, span)| *span)
    }

    /// The fields of item types.
    pub fn item_fields(&self) -> impl Iterator<Item = (&'a ItemType, &'a Field)> {
        self.parts.items.iter().flat_map(|item| item.fields.iter().map(move |field| (item, field)))
    }
}

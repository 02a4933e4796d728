//! Typed directives: each directive of the syntax tree, checked against its definition, as a struct with
//! positions.

mod directives;
mod document;
mod usage;

pub(crate) use directives::{
    AuthDirective, Bounds, ComputedDirective, ContainerDirective, DeletesDirective, FindDirective,
    ItemDirective, ListDirective, PageDirective, PartitionDirective, WhereDirective, WritesDirective,
};
pub(crate) use document::{FieldDirectives, TypedEnum, TypedField, TypedModel, TypedType, typed_model};

//! Resolution of partition keys: which field of an item type fills each path of its container's key.

use super::properties::property_of;
use super::scope::{Role, Scope};
use crate::defaults::TYPE_PROPERTY;
use crate::problem::Problem;
use crate::syntax::{At, Span};
use crate::typed::{ItemDirective, TypedField, TypedType};
use crate::value::{Container, KeySource, Name, PropertyPath};

const ID_PROPERTY: &str = "id";
/// The properties that every item has.
const OWN_PROPERTIES: [&str; 3] = [ID_PROPERTY, TYPE_PROPERTY, "version"];

/// The source of each path of the key. Paths that nothing fills are reported and left out.
pub(super) fn resolve_key(
    scope: &Scope<'_>,
    ty: &TypedType,
    directive: &At<ItemDirective>,
    container: &Container,
) -> Vec<KeySource> {
    if directive.partition.is_empty() {
        let sources = container.key.iter().map(|path| {
            let source = stored_source(ty, path);
            if source.is_none() && !ty.directives.broken {
                let problem = Problem::KeyUnfilled {
                    ty: ty.name.value.clone(),
                    container: container.name.to_string(),
                    path: path.slashed(),
                };
                scope.reports.add(directive.container.span, problem);
            }
            source.filter(|source| is_always_filled(scope, ty, source, directive.container.span))
        });
        return sources.flatten().collect();
    }
    if directive.partition.len() != container.key.len() {
        let problem = Problem::PartitionCount {
            container: container.name.to_string(),
            paths: container.key.len(),
            fields: directive.partition.len(),
        };
        scope.reports.add(directive.partition[0].span, problem);
        return Vec::new();
    }
    let sources = directive.partition.iter().zip(&container.key).filter_map(|(name, path)| {
        let source = named_source(scope, ty, name)?;
        if let Some(property) = taken_property(ty, path, &source) {
            let problem = Problem::KeyTaken {
                ty: ty.name.value.clone(),
                container: container.name.to_string(),
                path: path.slashed(),
                property,
                by: name.value.clone(),
            };
            scope.reports.add(name.span, problem);
        }
        is_always_filled(scope, ty, &source, name.span).then_some(source)
    });
    sources.collect()
}

/// The property of every item that a path of a key names, where a field fills the path that has another one.
fn taken_property(ty: &TypedType, path: &PropertyPath, source: &KeySource) -> Option<&'static str> {
    let [name] = path.properties() else { return None };
    let property = OWN_PROPERTIES.into_iter().find(|own| own == name)?;
    let is_it = match source {
        KeySource::Id => property == ID_PROPERTY,
        KeySource::Type => property == TYPE_PROPERTY,
        KeySource::Field(field) => ty.field(field).and_then(property_of).as_ref() == Some(path),
    };
    (!is_it).then_some(property)
}

/// Whether each item has a value for the key. `false` is already reported.
fn is_always_filled(scope: &Scope<'_>, ty: &TypedType, source: &KeySource, span: Span) -> bool {
    let KeySource::Field(name) = source else { return true };
    let is_filled = ty.field(name).is_some_and(TypedField::is_non_null);
    if !is_filled {
        let problem = Problem::KeyNullable { ty: ty.name.value.clone(), field: name.to_string() };
        scope.reports.add(span, problem);
    }
    is_filled
}

/// The source that `partition` names.
fn named_source(scope: &Scope<'_>, ty: &TypedType, name: &At<String>) -> Option<KeySource> {
    // Each item has an id and a type, also where they are no fields.
    match name.as_str() {
        "id" if ty.field("id").is_none() => return Some(KeySource::Id),
        TYPE_PROPERTY if ty.field(TYPE_PROPERTY).is_none() && ty.directives.conditions.is_empty() => {
            return Some(KeySource::Type);
        }
        _ => {}
    }
    let field = scope.single(ty, name)?;
    let problem = match field.role() {
        Role::Id => return Some(KeySource::Id),
        _ if !is_constant(field) || field.is_list() => {
            Problem::NotConstant { ty: ty.name.value.clone(), field: name.value.clone() }
        }
        _ => return Some(KeySource::Field(Name::new(name))),
    };
    scope.reports.add(name.span, problem);
    None
}

/// Whether a field keeps its value, so that its item stays in its logical partition. Generated updates leave
/// a key field out.
fn is_constant(field: &TypedField) -> bool {
    matches!(field.role(), Role::Id | Role::Reference | Role::Input | Role::Created)
}

/// The source that is stored at a path of the key.
fn stored_source(ty: &TypedType, path: &PropertyPath) -> Option<KeySource> {
    let field = ty
        .fields
        .iter()
        .find(|field| is_constant(field) && !field.is_list() && property_of(field).as_ref() == Some(path));
    match field {
        Some(field) if field.role() == Role::Id => Some(KeySource::Id),
        Some(field) => Some(KeySource::Field(Name::new(&field.name))),
        // A type without the field `id` has items with an id.
        None if path.properties() == ["id"] => Some(KeySource::Id),
        None if path.properties() == [TYPE_PROPERTY] && ty.directives.conditions.is_empty() => {
            Some(KeySource::Type)
        }
        None => None,
    }
}

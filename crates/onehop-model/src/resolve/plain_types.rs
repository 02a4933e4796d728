//! Resolution of enums and embedded types.

use std::collections::BTreeMap;

use super::combinations::Owner;
use super::fields::resolve_fields;
use super::scope::{ROOTS, Scope};
use crate::problem::Problem;
use crate::typed::{TypedEnum, TypedType};
use crate::value::{EmbeddedType, EnumType, EnumValue, Name};

/// The enums of a file.
pub(super) fn resolve_enums(scope: &Scope<'_>) -> Vec<EnumType> {
    scope.typed.enums.iter().map(|it| resolve_enum(scope, it)).collect()
}

fn resolve_enum(scope: &Scope<'_>, it: &TypedEnum) -> EnumType {
    let mut texts = BTreeMap::new();
    let values = it.values.iter().map(|value| {
        let stored = value.stored.as_ref();
        if let Some(format) = stored.and_then(|stored| stored.format.as_ref()) {
            scope.reports.add(format.span, Problem::EnumValueFormat);
        }
        let text = stored.and_then(|stored| stored.property.clone());
        let former = stored.map(|stored| stored.former.as_slice()).unwrap_or_default();
        let span = text.as_ref().map_or(value.name.span, |text| text.span);
        let stored = text.map_or_else(|| value.name.value.clone(), |text| text.value);
        let all = std::iter::once((stored.clone(), span));
        for (text, span) in all.chain(former.iter().map(|text| (text.value.clone(), text.span))) {
            // A value that stands twice is already reported.
            if texts.insert(text.clone(), &value.name.value).is_some_and(|first| *first != value.name.value) {
                let problem = Problem::EnumValueTwice { name: it.name.value.clone(), stored: text };
                scope.reports.add(span, problem);
            }
        }
        EnumValue {
            name: Name::new(&value.name),
            description: value.description.clone(),
            stored,
            former: former.iter().map(|text| text.value.clone()).collect(),
        }
    });
    EnumType { name: Name::new(&it.name), description: it.description.clone(), values: values.collect() }
}

/// The embedded types of a file.
pub(super) fn resolve_embedded(scope: &Scope<'_>) -> Vec<EmbeddedType> {
    let types = scope.typed.types.iter().filter(|ty| !ROOTS.contains(&ty.name.as_str()));
    types.filter_map(|ty| resolve_type(scope, ty)).collect()
}

fn resolve_type(scope: &Scope<'_>, ty: &TypedType) -> Option<EmbeddedType> {
    match (ty.is_item(), ty.is_embedded()) {
        (true, false) => return None,
        (false, false) => {
            if !ty.directives.broken {
                scope.reports.add(ty.name.span, Problem::NoKindOfType { name: ty.name.value.clone() });
            }
            return None;
        }
        (true, true) => {
            let span = ty.directives.embedded.unwrap_or(ty.name.span);
            scope.reports.add(
                span,
                Problem::Contradiction {
                    first: "item".to_owned(),
                    second: "embedded".to_owned(),
                    place: ty.name.value.clone(),
                },
            );
            return None;
        }
        (false, true) => {}
    }
    for (name, span) in &ty.directives.present {
        if !["embedded", "hidden"].contains(&name.as_str()) {
            let problem = Problem::NotAdmitted {
                directive: name.clone(),
                place: format!("the embedded type {}", ty.name.value),
                admitted: "@embedded, @hidden".to_owned(),
            };
            scope.reports.add(*span, problem);
        }
    }
    Some(EmbeddedType {
        name: Name::new(&ty.name),
        description: ty.description.clone(),
        hidden: ty.directives.hidden.is_some(),
        fields: resolve_fields(scope, Owner::Embedded, ty),
    })
}
